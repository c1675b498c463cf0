/** Making endpoints. The secret is returned once and kept sealed, since every delivery is signed with it. */
import { randomBytes } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import type { Kysely } from 'kysely';
import { Fault, type FaultDetail, validationFault } from '#src/contract/fault.ts';
import type { Clock } from '#src/platform/clock.ts';
import { newId } from '#src/platform/ids.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { countEndpoints, insertEndpoint, updateEndpointUrl } from './endpoint-store.ts';
import { checkTarget, type Resolve, type TargetRules, urlProblem } from './target.ts';

export type NewEndpoint = {
  tenant: string;
  url: string;
  /** Kinds of events that it receives; default all. */
  kinds?: readonly string[];
  owner: { kind: 'api_client' | 'panel'; id: string };
};

export type EndpointsDeps = {
  db: Kysely<unknown>;
  box: SecretBox;
  clock: Clock;
  rules: TargetRules;
  /** Kinds that exist. */
  kinds: readonly string[];
  resolve?: Resolve;
};

const endpointsPerOwnerMax = 20;

export const resolveByDns: Resolve = async (hostname) =>
  (await lookup(hostname, { all: true })).map(({ address }) => address);

export const endpointSecretLabel = (uid: string): string => `webhook-endpoint/${uid}`;

/** Throws VALIDATION_ERROR (TARGET_REFUSED, ENUM) and CONFLICT at the 21st endpoint of an owner. */
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
  if (errors.length > 0) throw validationFault(errors);
  if ((await countEndpoints(deps.db, { tenant: endpoint.tenant, ...endpoint.owner })) >= endpointsPerOwnerMax) {
    throw new Fault('CONFLICT', `There are ${endpointsPerOwnerMax} endpoints already`);
  }
  const created = deps.clock.now();
  const uid = newId('whe', created.getTime());
  const secret = `whsec_${randomBytes(32).toString('base64')}`;
  await insertEndpoint(deps.db, {
    tenant: endpoint.tenant,
    uid,
    ownerKind: endpoint.owner.kind,
    ownerId: endpoint.owner.id,
    url: endpoint.url,
    kinds,
    secret: deps.box.seal(secret, endpointSecretLabel(uid)),
    created,
  });
  return { endpoint_uid: uid, secret };
};

const targetProblem = async (deps: EndpointsDeps, url: string): Promise<string | undefined> => {
  const problem = urlProblem(url, deps.rules);
  if (problem !== undefined) return problem;
  const verdict = await checkTarget(new URL(url), deps.rules, deps.resolve ?? resolveByDns);
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
