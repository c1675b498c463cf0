/**
 * Revokes a credential by its value or its hash, with all tokens issued for it, and returns the events that prove it.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import { Fault } from '#src/contract/fault.ts';
import type { Clock } from '#src/platform/clock.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { type FoundEvent, toFound } from '../audit/event/found-event.ts';
import type { EventFilter } from '../audit/search/filter-store.ts';
import { findEvents } from '../audit/search/search-store.ts';
import { createRevokeToken } from '../credentials/change/revoke-token.ts';
import { createCredentials } from '../credentials/credentials.ts';
import { readTokenEnds } from '../credentials/show/token-end-store.ts';
import { revokePresentedToken } from '../oauth/revoke-presented-token.ts';
import { expiresMsOf } from './issued-tokens.ts';
import { type Traced, traceCredential } from './trace-credential.ts';
import { type HashedCredential, traceHashed } from './trace-hashed.ts';

type Deps = { db: Kysely<unknown>; box: Pick<SecretBox, 'derive' | 'digest'>; clock: Clock; actor: string };

export type RevocationProof = {
  revoked: readonly string[];
  /** The events of the revocation, each with its position in a chain and its hash. */
  events: readonly FoundEvent[];
};

/**
 * Revokes a token alone, an API key, or a client secret or certificate with all tokens of its client up to now, because
 * gateways cannot see which secret a token belongs to. VALIDATION_ERROR, and no change, for a value that was not issued here:
 * ids are public and the checksum proves nothing, so an invented value could otherwise choose which credential is
 * revoked.
 */
export const revokeTraced = async (deps: Deps, value: string): Promise<RevocationProof> =>
  revoke(deps, await traceCredential(deps, value), async () => {
    await revokePresentedToken(deps, value, deps.actor);
  });

/** The same for a credential of which only the hash is known. */
export const revokeHashed = async (deps: Deps, hashed: HashedCredential): Promise<RevocationProof> => {
  const traced = await traceHashed(deps, hashed);
  return revoke(deps, traced, async () => {
    const [issued] = await findEvents(deps.db, { tokenId: hashed.id, action: 'token.issued' }, 1);
    if (issued === undefined || issued.client_id === null) throw notGenuine(hashed.kind, hashed.id);
    const expiresMs = expiresMsOf(issued, await readTokenEnds(deps.db, { tokens: [], clients: [], thumbprints: [] }));
    if (expiresMs <= deps.clock.now().getTime()) return;
    const token = { jti: hashed.id, clientId: issued.client_id, expiresMs };
    await createRevokeToken(deps)(token, { reason: 'revoked by an operator', actor: deps.actor });
  });
};

const revoke = async (deps: Deps, traced: Traced, endToken: () => Promise<void>): Promise<RevocationProof> => {
  const { kind, id, clientId, genuine } = traced;
  if (!genuine) throw notGenuine(kind, id);
  const since = deps.clock.now();
  const credentials = createCredentials(deps);
  if (kind === 'token') {
    await endToken();
    return { revoked: [id], events: await eventsSince(deps, { tokenId: id, action: 'token.revoked' }, since) };
  }
  if (kind === 'api_key') {
    await credentials.revokeApiKey(id, undefined, 'revoked after an incident');
    return { revoked: [id], events: await eventsSince(deps, { credential: id, action: 'key.revoked' }, since) };
  }
  if (clientId === null) throw new Fault('NOT_FOUND', `The client of ${id} is not known`);
  if (kind === 'client_secret') await credentials.retireClientSecret(clientId, id, true);
  else await credentials.removeClientCertificate(clientId, id.slice(id.indexOf('/') + 1));
  await credentials.revokeClientTokens(clientId);
  // Until every gateway knows that the secret ended, one may still issue a token for it, later than the tokens above.
  await pause(retirementMs);
  await credentials.revokeClientTokens(clientId);
  const action = kind === 'client_secret' ? 'secret.retired' : 'client_certificate.removed';
  const events = [
    ...(await eventsSince(deps, { credential: id, action }, since)),
    ...(await eventsSince(deps, { client: clientId, action: 'client.tokens_revoked' }, since)),
  ];
  return { revoked: [id, `tokens of ${clientId} up to ${since.toISOString()}`], events };
};

/** Gateways apply a change within a second; a request that was authenticated before needs a moment to end. */
const retirementMs = 1_500;

const notGenuine = (kind: Traced['kind'], id: string): Fault => {
  const text = `This value claims to be the ${kind.replace('_', ' ')} ${id}, but was not issued here: nothing was revoked`;
  return new Fault('VALIDATION_ERROR', text);
};

const eventsMax = 100;

/** Of the action alone: until every gateway knows of the end, the uses of the credential are newer and would be the first. */
const eventsSince = async (
  { db }: Deps,
  filter: EventFilter & { action: string },
  since: Date,
): Promise<FoundEvent[]> => (await findEvents(db, { ...filter, since }, eventsMax)).map(toFound);
