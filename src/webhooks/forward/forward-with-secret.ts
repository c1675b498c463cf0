/**
 * Sends events to an address that a developer names, signed like deliveries with a secret that the developer gives.
 * There is no `v1a` signature, because its key never leaves the server.
 */
import { tenantMember } from '#src/contract/event.ts';
import { type Clock, unixSeconds } from '#src/platform/clock.ts';
import { newId } from '#src/platform/ids.ts';
import type { Send } from '../send/send.ts';
import { secretKeys, signedText, v1Field } from '../signing/sign.ts';
import { headersWith } from '../signing/signed-headers.ts';
import type { Forwarded } from './forward.ts';

export type SecretForward = (
  what: { secret: string; signatureHeader: string; event: { id: string; body: string }; url: string },
  signal: AbortSignal,
) => Promise<Forwarded>;

type ForwardDeps = { clock: Clock; send: Send };

/** Never throws for a receiver. */
export const createForwardWithSecret =
  ({ clock, send }: ForwardDeps): SecretForward =>
  async ({ secret, signatureHeader, event: { id, body }, url }, signal) => {
    const keys = secretKeys(secret);
    const timestampSeconds = unixSeconds(clock.now());
    const headers = headersWith({
      eventId: id,
      timestampSeconds,
      signature: v1Field(keys.v1(signedText({ id, timestampSeconds, body }), 'base64')),
      hex: { [signatureHeader]: keys.hex(body, 'hex') },
      uid: newId('dlv', clock.now().getTime()),
      attempt: 1,
      tenant: tenantIn(body),
    });
    const { status, failure, timings } = await send(url, headers, body, signal);
    return { status, failure, ms: timings.total };
  };

const tenantIn = (body: string): string => String((JSON.parse(body) as Record<string, unknown>)[tenantMember]);
