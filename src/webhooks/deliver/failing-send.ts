/**
 * Failures on request (interface 25.4): the next deliveries to each endpoint of a sandbox fail as if the receiver had answered 503. What
 * follows is ordinary: the attempt is in the log, and the delivery is repeated.
 */
import type { Kysely } from 'kysely';
import { sandboxHeader } from '#src/contract/headers.ts';
import { takeOneOf, writeFact } from '#src/platform/db/facts.ts';
import { startWait } from '#src/platform/wake.ts';
import type { AuthorizedSend } from '../auth/authorized-send.ts';
import { listEndpointPage } from '../log/endpoint-page-store.ts';
import { claiming } from '../pacing/bounds.ts';
import type { SendResult } from '../send/send-result.ts';

const factOf = (endpointUid: string): string => `webhook-failures:${endpointUid}`;

const endpointsMax = 1_000;

/** The next `count` deliveries to each endpoint of the tenant fail; earlier requests of this kind are forgotten. Returns how many endpoints. */
export const failNextDeliveries = async (db: Kysely<unknown>, tenant: string, count: number): Promise<number> => {
  const endpoints = await listEndpointPage(db, { tenant, after: undefined, limit: endpointsMax });
  for (const { uid } of endpoints) await writeFact(db, factOf(uid), String(count));
  return endpoints.length;
};

const failed: SendResult = {
  address: null,
  status: 503,
  failure: 'status',
  retryAfter: undefined,
  response: 'This failure was asked for by a script of the sandbox',
  timings: { dns: null, connect: null, tls: null, firstByte: null, total: 0 },
};

/** Other deliveries cost nothing: only those with the header of a sandbox are looked up. */
export const createFailingSend =
  (db: Kysely<unknown>, send: AuthorizedSend): AuthorizedSend =>
  async (to, headers, body, signal) => {
    const isAsked = headers[sandboxHeader] === 'true' && (await isAskedFor(db, to.endpointUid, signal));
    return isAsked ? failed : send(to, headers, body, signal);
  };

/**
 * While the database is away nothing is simulated. The wait is bounded, since the lease goes on and the time limit of the attempt
 * begins after it. A failure that is taken later than that is lost.
 */
const isAskedFor = async (db: Kysely<unknown>, endpointUid: string, signal: AbortSignal): Promise<boolean> => {
  let isAsked = false;
  const wait = startWait(claiming.askedMsMax);
  signal.addEventListener('abort', wait.end, { once: true });
  takeOneOf(db, factOf(endpointUid))
    .then((taken) => {
      isAsked = taken;
    })
    .catch(() => undefined)
    .finally(wait.end);
  await wait.over;
  signal.removeEventListener('abort', wait.end);
  return isAsked;
};
