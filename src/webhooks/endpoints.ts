/** Making endpoints. The secret is returned once and kept sealed, since every delivery is signed with it. */
import { randomBytes } from 'node:crypto';
import type { Kysely } from 'kysely';
import { Fault, type FaultDetail, validationFault } from '#src/contract/fault.ts';
import type { Clock } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { newId } from '#src/platform/ids.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { countEndpoints, insertEndpoint, updateEndpointUrl } from './endpoint-store.ts';
import { resolverFor } from './resolve.ts';
import { secretBytes } from './sign.ts';
import { checkTarget, type Resolve, type TargetRules, urlProblem } from './target.ts';

export type NewEndpoint = {
  tenant: string;
  url: string;
  /** Kinds of events that it receives; default all. */
  kinds?: readonly string[];
  /** `whsec_` + base64 of 24 to 64 bytes, or 24 to 128 visible ASCII characters; default made. */
  secret?: string;
  owner: { kind: 'api_client' | 'panel'; id: string };
};

export type EndpointsDeps = {
  /** May be a transaction: the endpoint then exists exactly if that commits. */
  db: Kysely<unknown>;
  box: SecretBox;
  clock: Clock;
  rules: TargetRules;
  /** Kinds that exist. */
  kinds: readonly string[];
  resolve?: Resolve;
};

const endpointsPerOwnerMax = 20;
const secretRule = 'must be whsec_ and base64 of 24 to 64 bytes, or 24 to 128 visible ASCII characters';

export const endpointSecretLabel = (uid: string): string => `webhook-endpoint/${uid}`;

/** Throws VALIDATION_ERROR (TARGET_REFUSED, ENUM, FORMAT) and CONFLICT at the 21st endpoint of an owner. */
export const createEndpoint = async (
  deps: EndpointsDeps,
  endpoint: NewEndpoint,
): Promise<{ endpoint_uid: string; secret: string }> => {
  const kinds = endpoint.kinds ?? deps.kinds;
  const errors: FaultDetail[] = kinds
    .filter((kind) => !deps.kinds.includes(kind))
    .map((kind) => ({
      pointer: 'kinds',
      code: 'ENUM',
      message: `${kind} is not a kind; there are ${deps.kinds.join(', ')}`,
    }));
  const problem = await targetProblem(deps, endpoint.url);
  if (problem !== undefined) errors.push({ pointer: 'url', code: 'TARGET_REFUSED', message: problem });
  const secret = endpoint.secret ?? `whsec_${randomBytes(32).toString('base64')}`;
  if (!isSecret(secret)) errors.push({ pointer: 'secret', code: 'FORMAT', message: secretRule });
  if (errors.length > 0) throw validationFault(errors);
  const created = deps.clock.now();
  const uid = newId('whe', created.getTime());
  await inOne(deps.db, async (tx) => {
    const { tenant, owner } = endpoint;
    if ((await countEndpoints(tx, { tenant, ...owner })) >= endpointsPerOwnerMax) {
      throw new Fault('CONFLICT', `There are ${endpointsPerOwnerMax} endpoints already`);
    }
    await insertEndpoint(tx, {
      tenant,
      uid,
      ownerKind: owner.kind,
      ownerId: owner.id,
      url: endpoint.url,
      kinds,
      secret: deps.box.seal(secret, endpointSecretLabel(uid)),
      created,
    });
  });
  return { endpoint_uid: uid, secret };
};

const inOne = (db: Kysely<unknown>, fn: (tx: Kysely<unknown>) => Promise<void>): Promise<void> =>
  db.isTransaction ? fn(db) : inTransaction(db, fn);

/** Interface 12.5, webhook/create. */
const isSecret = (secret: string): boolean => {
  if (!secret.startsWith('whsec_')) return /^[\x21-\x7e]{24,128}$/.test(secret);
  const bytes = secretBytes(secret);
  return bytes.length >= 24 && bytes.length <= 64 && secret === `whsec_${bytes.toString('base64')}`;
};

const targetProblem = async (deps: EndpointsDeps, url: string): Promise<string | undefined> => {
  const problem = urlProblem(url, deps.rules);
  if (problem !== undefined) return problem;
  const verdict = await checkTarget(new URL(url), deps.rules, deps.resolve ?? resolverFor(deps.rules));
  return verdict.kind === 'allowed' ? undefined : verdict.reason;
};

/** Throws NOT_FOUND. The new address is judged at each delivery like any other. */
export const moveEndpoint = async (
  db: Kysely<unknown>,
  endpoint: { tenant: string; uid: string; url: string },
): Promise<void> => {
  if (await updateEndpointUrl(db, endpoint.tenant, endpoint.uid, endpoint.url)) return;
  throw new Fault('NOT_FOUND', `There is no endpoint ${endpoint.uid}`);
};
