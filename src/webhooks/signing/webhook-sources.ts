/**
 * The networks that deliveries come from (interface 31.4): plain for people and firewalls, and as a JWT that proves who
 * published them and when, also for a copy.
 */
import { SignJWT } from 'jose';
import { type Clock, hourMs } from '#src/platform/clock.ts';
import { createSigningKeys } from './signing-keys.ts';

type WebhookSourcesDeps = Parameters<typeof createSigningKeys>[0] & {
  clock: Clock;
  /** The public address of the gateway. */
  origin: string;
  /** In CIDR notation. */
  networks: readonly string[];
};

/** chosen: far shorter than the week for which a key stays published after its last signature. */
const validMs = 48 * hourMs;

/** Returns the document as of now. Rejects while the store is away and no key was read before. */
export const createWebhookSources = ({ origin, networks, ...deps }: WebhookSourcesDeps): (() => Promise<string>) => {
  const keys = createSigningKeys(deps, 'rfc9421:ed25519');
  let written: { kid: string; issuedMs: number; text: string } | undefined;
  return async () => {
    const { kid, key } = await keys.current();
    // Whole hours: every gateway publishes the same bytes, so that the entity tag says whether something changed.
    const issuedMs = Math.floor(deps.clock.now().getTime() / hourMs) * hourMs;
    if (written?.kid !== kid || written.issuedMs !== issuedMs) {
      const [issued, expires] = [new Date(issuedMs), new Date(issuedMs + validMs)];
      const signed = await new SignJWT({ networks })
        .setProtectedHeader({ alg: 'EdDSA', kid, typ: 'webhook-sources+jwt' })
        .setIssuer(origin)
        .setIssuedAt(issued)
        .setExpirationTime(expires)
        .sign(key);
      const document = {
        issuer: origin,
        networks,
        issued_iso: issued.toISOString(),
        expires_iso: expires.toISOString(),
        signed_networks: signed,
      };
      written = { kid, issuedMs, text: JSON.stringify(document) };
    }
    return written.text;
  };
};
