/**
 * Makes, changes and removes endpoints. A secret is returned once and stored sealed, because every delivery is signed
 * with it. Addresses are checked before a transaction is open, since names are resolved over the network.
 */
import { randomBytes } from 'node:crypto';
import type { Kysely } from 'kysely';
import { Fault, type FaultDetail, validationFault } from '#src/contract/fault.ts';
import { type Clock, hourMs } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { newId } from '#src/platform/ids.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { type EndpointAuth, sealAuth } from '../auth/endpoint-auth.ts';
import type { SignatureScheme } from '../signing/message-signature.ts';
import { endpointSecretLabel } from '../signing/opened-secrets.ts';
import { secretBytes } from '../signing/sign.ts';
import { resolverFor } from '../target/resolve.ts';
import { checkTarget, type Resolve, type TargetRules, urlProblem } from '../target/target.ts';
import { assertAuthStays, assertFitting } from './assert-fitting.ts';
import type { Endpoint, Viewer } from './endpoint.ts';
import {
  countEndpoints,
  disableEndpoint,
  findEndpoint,
  forgetFailures,
  insertEndpoint,
  markRemoved,
  saveEndpoint,
  updateEndpointUrl,
} from './endpoint-store.ts';

export type NewEndpoint = {
  tenant: string;
  url: string;
  /** Kinds of events that it receives; default all. */
  kinds?: readonly string[];
  /** Must pass `isSecret`; default: a new random one. */
  secret?: string | undefined;
  owner: { kind: 'api_client' | 'panel'; id: string };
  description?: string | null;
  /** Default true. */
  enabled?: boolean;
  signatureHeader?: string | null;
  signature?: SignatureScheme | null;
  /** Default: true unless a message signature, which is asymmetric too, is wanted. */
  v1a?: boolean | undefined;
  maxPerSecond?: number | null;
  digest?: boolean;
  auth?: EndpointAuth | null;
};

export type EndpointsDeps = {
  /** May be a transaction: the endpoint then exists exactly if it commits. */
  db: Kysely<unknown>;
  box: SecretBox;
  clock: Clock;
  rules: TargetRules;
  /** All kinds of events. */
  kinds: readonly string[];
  resolve?: Resolve;
  /** The operator's name of the plain hex header; without it only names of endpoints are compared with other headers. */
  signatureHeader?: string;
};

/** Interface 12.5. */
const endpointsPerOwnerMax = 20;
export const secretRule = 'whsec_ and base64 of 24 to 64 bytes, or 24 to 128 visible ASCII characters';

export const makeSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;

/**
 * Checks all values first. `alongside` runs in the same transaction. Throws VALIDATION_ERROR (TARGET_REFUSED, ENUM,
 * FORMAT), and CONFLICT at the 21st endpoint of an owner.
 */
export const createEndpoint = async (
  deps: EndpointsDeps,
  endpoint: NewEndpoint,
  alongside?: (tx: Kysely<unknown>, made: Endpoint) => Promise<void>,
): Promise<{ endpointUid: string; secret: string }> => {
  const errors: FaultDetail[] = (endpoint.kinds ?? [])
    .filter((kind) => !deps.kinds.includes(kind))
    .map((kind) => ({
      pointer: 'kinds',
      code: 'ENUM',
      message: `${kind} is not a kind; there are ${deps.kinds.join(', ')}`,
    }));
  const problem = await targetProblem(deps, endpoint.url);
  if (problem !== undefined) errors.push(problem);
  if (endpoint.secret !== undefined && !isSecret(endpoint.secret))
    errors.push({ pointer: 'secret', code: 'FORMAT', message: `must be ${secretRule}` });
  if (errors.length > 0) throw validationFault(errors);
  const made = await inOne(deps.db, async (tx) => {
    const added = await addEndpoint({ ...deps, db: tx }, endpoint);
    await alongside?.(tx, added.endpoint);
    return added;
  });
  return { endpointUid: made.endpoint.uid, secret: made.secret };
};

/**
 * Adds an endpoint in the transaction `db`, with values that were checked one by one. Throws CONFLICT at the 21st endpoint
 * of an owner, and VALIDATION_ERROR for values that do not go together.
 */
export const addEndpoint = async (
  {
    db,
    box,
    clock,
    kinds,
    signatureHeader: operatorsHeader = '',
  }: Pick<EndpointsDeps, 'db' | 'box' | 'clock' | 'kinds' | 'signatureHeader'>,
  { tenant, owner, ...wanted }: NewEndpoint,
): Promise<{ endpoint: Endpoint; secret: string }> => {
  const created = clock.now();
  const uid = newId('whe', created.getTime());
  const secret = wanted.secret ?? makeSecret();
  if ((await countEndpoints(db, { tenant, ...owner })) >= endpointsPerOwnerMax) {
    throw new Fault('CONFLICT', `There are ${endpointsPerOwnerMax} endpoints already`);
  }
  const enabled = wanted.enabled ?? true;
  const endpoint: Endpoint = {
    tenant,
    uid,
    ownerKind: owner.kind,
    ownerId: owner.id,
    url: wanted.url,
    description: wanted.description ?? null,
    kinds: wanted.kinds ?? kinds,
    withheldKinds: [],
    enabled,
    disabledReason: enabled ? null : 'owner',
    signatureHeader: wanted.signatureHeader ?? null,
    signature: wanted.signature ?? null,
    v1a: wanted.v1a ?? (wanted.signature ?? null) === null,
    maxPerSecond: wanted.maxPerSecond ?? null,
    digest: wanted.digest ?? false,
    ...sealAuth(box, uid, wanted.auth ?? null),
    secret: box.seal(secret, endpointSecretLabel(uid)),
    previousSecret: null,
    previousSecretExpires: null,
    cancelThrough: null,
    created,
  };
  assertFitting(endpoint, operatorsHeader);
  await insertEndpoint(db, endpoint);
  return { endpoint, secret };
};

const inOne = <T>(db: Kysely<unknown>, fn: (tx: Kysely<unknown>) => Promise<T>): Promise<T> =>
  db.isTransaction ? fn(db) : inTransaction(db, fn);

/** Interface 12.5, webhook/create. */
export const isSecret = (secret: string): boolean => {
  if (!secret.startsWith('whsec_')) return /^[\x21-\x7e]{24,128}$/.test(secret);
  const bytes = secretBytes(secret);
  return bytes.length >= 24 && bytes.length <= 64 && secret === `whsec_${bytes.toString('base64')}`;
};

/** Resolves the host over the network. */
export const targetProblem = async (
  { rules, resolve }: Pick<EndpointsDeps, 'rules' | 'resolve'>,
  url: string,
  pointer = 'url',
): Promise<FaultDetail | undefined> => {
  const refused = (message: string): FaultDetail => ({ pointer, code: 'TARGET_REFUSED', message });
  const problem = urlProblem(url, rules);
  if (problem !== undefined) return refused(problem);
  const verdict = await checkTarget(new URL(url), rules, resolve ?? resolverFor(rules));
  return verdict.kind === 'allowed' ? undefined : refused(verdict.reason);
};

export type EndpointChanges = Partial<
  Pick<
    Endpoint,
    | 'url'
    | 'description'
    | 'kinds'
    | 'enabled'
    | 'signatureHeader'
    | 'signature'
    | 'v1a'
    | 'maxPerSecond'
    | 'digest'
    | 'auth'
    | 'authShown'
  >
>;

/**
 * Enabling clears the failures and the hold of the breaker; disabling cancels unfinished deliveries. Returns undefined when
 * there is no such endpoint. Throws VALIDATION_ERROR for values that do not go together.
 */
export const updateEndpoint = async (
  tx: Kysely<unknown>,
  viewer: Viewer,
  uid: string,
  changes: EndpointChanges,
  now: Date,
  operatorsHeader = '',
): Promise<Endpoint | undefined> => {
  const before = await findEndpoint(tx, viewer, uid, { lock: true });
  if (before === undefined) return undefined;
  const isDisabling = before.enabled && changes.enabled === false;
  const isEnabling = !before.enabled && changes.enabled === true;
  const after: Endpoint = { ...before, ...changes, disabledReason: isEnabling ? null : before.disabledReason };
  assertFitting(after, operatorsHeader);
  assertAuthStays(before, after);
  await saveEndpoint(tx, after);
  if (isEnabling) await forgetFailures(tx, uid, now);
  if (isDisabling) await disableEndpoint(tx, uid, 'owner', now);
  return isDisabling ? { ...after, disabledReason: 'owner' } : after;
};

/** Cancels unfinished deliveries. Returns false when there is no such endpoint. */
export const removeEndpoint = async (tx: Kysely<unknown>, viewer: Viewer, uid: string, now: Date): Promise<boolean> => {
  const endpoint = await findEndpoint(tx, viewer, uid, { lock: true });
  if (endpoint === undefined) return false;
  await disableEndpoint(tx, uid, 'owner', now);
  await markRemoved(tx, uid, now);
  return true;
};

/** Without `secret` a new one is made. */
export type Rotation = { secret?: string | undefined; overlapHours: number };

type RotationOutcome = { secret: string } | 'absent' | 'overlap_running';

const noOverlap = { previousSecret: null, previousSecretExpires: null };

/** The old secret signs beside the new one until the overlap ends. */
export const rotateSecret = async (
  { db: tx, box, clock }: Pick<EndpointsDeps, 'db' | 'box' | 'clock'>,
  viewer: Viewer,
  uid: string,
  rotation: Rotation,
): Promise<RotationOutcome> => {
  const before = await findEndpoint(tx, viewer, uid, { lock: true });
  if (before === undefined) return 'absent';
  const now = clock.now();
  if (before.previousSecretExpires !== null && before.previousSecretExpires > now) return 'overlap_running';
  const secret = rotation.secret ?? makeSecret();
  const expires = new Date(now.getTime() + rotation.overlapHours * hourMs);
  await saveEndpoint(tx, {
    ...before,
    secret: box.seal(secret, endpointSecretLabel(uid)),
    ...(rotation.overlapHours === 0 ? noOverlap : { previousSecret: before.secret, previousSecretExpires: expires }),
  });
  return { secret };
};

/** The old secret signs no longer. Returns false when there is no such endpoint. */
export const endOverlap = async (tx: Kysely<unknown>, viewer: Viewer, uid: string): Promise<boolean> => {
  const before = await findEndpoint(tx, viewer, uid, { lock: true });
  if (before === undefined) return false;
  await saveEndpoint(tx, { ...before, ...noOverlap });
  return true;
};

/** Changes the address without a check; each delivery checks it as always. An endpoint that was removed stays as it is. */
export const moveEndpoint = (
  db: Kysely<unknown>,
  { tenant, uid, url }: { tenant: string; uid: string; url: string },
): Promise<void> => updateEndpointUrl(db, tenant, uid, url);
