/** Converts rows to the form that requests need, once when they are read and not on every use. */
import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { equalInConstantTime } from '#src/contract/equal-in-constant-time.ts';
import { isSandboxId } from '#src/contract/sandbox.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import type { OwnLimits } from '../../model/own-limits.ts';
import type { CertificateRow, ClientKeyRow, ClientRow, KeyRow, SecretRow, TenantState } from './credential-store.ts';

type Reach = {
  /** Live tenants. */
  tenants: readonly string[];
  /** Those of them whose API access is off. */
  tenantsDisabled: readonly string[];
  /** Cells of live tenants outside the default cell. Undefined: there are none. */
  cells: ReadonlyMap<string, string> | undefined;
  /** At least one of its tenants has been removed. */
  lostTenant: boolean;
};

/** `tenant`: the one that the key was issued for, also when it does not reach that one. */
export type KeyRecord = Reach & Omit<KeyRow, 'tenant'> & { tenant: string };

/** Public key of a client, for its assertions. */
export type ClientKey = { keyId: string; kty: string; publicKey: KeyObject };

export type ClientRecord = Reach & {
  clientId: string;
  /** null: all. */
  scopes: readonly string[] | null;
  mayUseTokens: boolean;
  mayIntrospect: boolean;
  dpopRequired: boolean;
  /** Its tokens must be bound to a certificate (RFC 8705). */
  certificateRequired: boolean;
  /** See state/certificate-name.ts. Null: none. */
  certificateName: string | null;
  fapi2Required: boolean;
  disabled: boolean;
  quarantinedReason: string | null;
  /** Tokens issued before this time are refused. */
  tokensNotBeforeMs: number | null;
  /** null: the defaults. */
  limits: OwnLimits | null;
  /** null: it may be used from everywhere. */
  allowIp: readonly string[] | null;
  secrets: readonly SecretRow[];
  keys: readonly ClientKey[];
  /** With those that were removed lately, since tokens may be bound to them. */
  certificates: readonly CertificateRow[];
  /** Secrets that matched before, because a digest costs about 10 µs on every request. */
  proven: Map<string, SecretRow>;
};

/**
 * A credential for sandboxes never reaches a real tenant, and the reverse, whatever is stored: release 1.0.0 knows no sandboxes and
 * may have written such a grant or key.
 */
const reachOf = (credential: string, states: readonly TenantState[]): Reach => {
  const isSandbox = isSandboxId(credential);
  const kept = states.filter(({ gone }) => !gone);
  const live = kept.filter(({ id }) => isSandboxId(id) === isSandbox);
  const placed = live.flatMap(({ id, cell }) => (cell === null ? [] : [[id, cell] as const]));
  return {
    tenants: Object.freeze(live.map(({ id }) => id)),
    tenantsDisabled: Object.freeze(live.filter(({ apiEnabled }) => !apiEnabled).map(({ id }) => id)),
    cells: placed.length === 0 ? undefined : new Map(placed),
    lostTenant: kept.length < states.length,
  };
};

export const toKeyRecord = (row: KeyRow | undefined): KeyRecord | undefined =>
  row === undefined
    ? undefined
    : {
        keyId: row.keyId,
        tenant: row.tenant.id,
        revoked: row.revoked,
        leakedMs: row.leakedMs,
        expiresMs: row.expiresMs,
        quarantinedReason: row.quarantinedReason,
        limits: row.limits,
        allowIp: row.allowIp,
        quotaOf: row.quotaOf,
        ...reachOf(row.keyId, [row.tenant]),
      };

export const toClientRecord = (row: ClientRow | undefined): ClientRecord | undefined => {
  if (row === undefined) return undefined;
  const { tenants, keys, ...rest } = row;
  return { ...rest, keys: keys.map(toClientKey), proven: new Map(), ...reachOf(row.clientId, tenants) };
};

const toClientKey = ({ keyId, jwk }: ClientKeyRow): ClientKey => ({
  keyId,
  kty: String(jwk.kty),
  publicKey: createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' }),
});

/** True for a registered certificate that is neither removed nor beyond its end. */
export const liveCertificate = ({ certificates }: ClientRecord, thumbprint: string, nowMs: number): boolean =>
  certificates.some((one) => one.thumbprint === thumbprint && !one.ended && !isOver(one.expiresMs, nowMs));

/**
 * True when the tokens of `issuedMs` that are bound to the certificate have ended: it was registered and is no more, or it was
 * removed after they were issued and registered again.
 */
export const endedCertificate = (
  { certificates }: ClientRecord,
  thumbprint: string,
  issuedMs: number,
  nowMs: number,
): boolean =>
  certificates.some(
    (one) =>
      one.thumbprint === thumbprint &&
      (one.ended ||
        isOver(one.expiresMs, nowMs) ||
        (one.endedBeforeMs !== null && issuedMs < one.endedBeforeMs + leakMarginMs)),
  );

/**
 * After a report of a leaked secret, tokens of its client that are issued within this time are refused too, and after the removal
 * of a certificate tokens that are bound to it: until then a gateway may issue one, since gateways read a change within a second.
 */
export const leakMarginMs = 2_000;

export const isOver = (expiresMs: number | null, nowMs: number): boolean => expiresMs !== null && nowMs >= expiresMs;

/** Compared in place of unknown clients. No secret has this digest: no HMAC-SHA-256 is known to be all zero. */
const nothing: SecretRow = {
  secretId: '',
  digest: Buffer.alloc(32),
  expiresMs: null,
  quarantinedReason: null,
  leakedMs: null,
};

/**
 * Returns the live secret of the client that matches, or undefined. An unknown client takes the same steps as a wrong
 * secret, so that neither the answer nor its time reveals which ids exist. The caller checks the quarantine.
 */
export const provesClient = (
  box: Pick<SecretBox, 'digest'>,
  client: ClientRecord | undefined,
  secret: string,
  nowMs: number,
): SecretRow | undefined => {
  const before = client?.proven.get(secret);
  if (before !== undefined) return client?.disabled || isOver(before.expiresMs, nowMs) ? undefined : before;
  const digest = box.digest(secret);
  const candidates = client === undefined || client.secrets.length === 0 ? [nothing] : client.secrets;
  let match: SecretRow | undefined;
  for (const candidate of candidates) if (equalInConstantTime(candidate.digest, digest)) match = candidate;
  if (client === undefined || client.disabled || match === undefined || match === nothing) return undefined;
  if (isOver(match.expiresMs, nowMs)) return undefined;
  client.proven.set(secret, match);
  return match;
};
