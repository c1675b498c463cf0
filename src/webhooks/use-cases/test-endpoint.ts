/** One attempt with a made-up event (interface 12.5, webhook/test). It is neither recorded nor tried again. */
import { buildEventBody, tenantMember } from '#src/contract/event.ts';
import { Fault } from '#src/contract/fault.ts';
import { type Clock, unixSeconds } from '#src/platform/clock.ts';
import { newId } from '#src/platform/ids.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { createTurns } from '#src/platform/sharing/semaphore.ts';
import type { AuthorizedSend } from '../auth/authorized-send.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { LoggedAttempt } from '../log/delivery-log-store.ts';
import { askedSeconds } from '../pacing/retry-schedule.ts';
import { redactResponse } from '../send/redact-response.ts';
import { secretTexts } from '../signing/opened-secrets.ts';
import type { SignedHeaders } from '../signing/signed-headers.ts';

/** The body of an example; `event` is its type. */
export type EventExample = Readonly<Record<string, unknown>> & { readonly event: string };

/** Without an example the event is `webhook.test`. */
export type TestEndpoint = (endpoint: Endpoint, signal: AbortSignal, example?: EventExample) => Promise<LoggedAttempt>;

type TestEndpointDeps = {
  send: AuthorizedSend;
  clock: Clock;
  box: Pick<SecretBox, 'open'>;
  headersFor: SignedHeaders;
};

/**
 * chosen: tests at once in this process, each of which may take as long as an attempt. The tests of one owner leave most of them to
 * others, and a few wait for their turn, as when a client tests all of its endpoints.
 */
const turnBounds = {
  ofEach: { atOnceMax: 16, waitingMax: 48 },
  ofAll: { atOnceMax: 64, waitingMax: 64 },
  waitMsMax: 5_000,
};

/** The client that owns the endpoint, or its tenant. */
const ownerOf = ({ ownerKind, ownerId, tenant }: Endpoint): string => (ownerKind === 'api_client' ? ownerId : tenant);

/** Throws OVERLOADED. */
export const createTestEndpoint = (deps: TestEndpointDeps): TestEndpoint => {
  const turns = createTurns(turnBounds);
  return async (endpoint, signal, example) => {
    const owner = ownerOf(endpoint);
    const leave = await turns.acquire({ each: owner, sharer: owner }, signal);
    if (leave === undefined)
      throw new Fault('OVERLOADED', 'Too many endpoints are being tested; try again shortly', {
        headers: { 'retry-after': '5' },
      });
    return attempt(deps, endpoint, signal, example).finally(leave);
  };
};

const testBody = ({ uid, tenant }: Endpoint, id: string, created: Date): string =>
  buildEventBody({
    event: 'webhook.test',
    object: 'webhook',
    value: { uid },
    id,
    created,
    tenant,
    seq: 0,
    previousSeq: null,
  });

/** `test` distinguishes it from an event of that type that happened. */
const exampleBody = ({ tenant }: Endpoint, id: string, created: Date, example: EventExample): string =>
  JSON.stringify({
    ...example,
    ...{ id, created: created.toISOString(), [tenantMember]: tenant, seq: 0, previous_seq: null, test: true },
  });

const attempt = async (
  { send, clock, box, headersFor }: TestEndpointDeps,
  endpoint: Endpoint,
  signal: AbortSignal,
  example: EventExample | undefined,
): Promise<LoggedAttempt> => {
  const started = clock.now();
  const id = newId('evt', started.getTime());
  const body = example === undefined ? testBody(endpoint, id, started) : exampleBody(endpoint, id, started, example);
  const delivery = {
    ...endpoint,
    uid: newId('dlv', started.getTime()),
    endpointUid: endpoint.uid,
    eventId: id,
    body,
    attemptsCount: 0,
  };
  const headers = await headersFor(delivery, unixSeconds(started));
  const { address, status, failure, retryAfter, response, timings } = await send(delivery, headers, body, signal);
  const asked = askedSeconds({ status, retryAfter }, clock.now());
  return {
    uid: newId('att', started.getTime()),
    number: 1,
    started,
    address,
    status,
    failure,
    retryAfterSeconds: asked ?? null,
    response: response === null ? null : redactResponse(response, secretTexts(box, delivery)),
    dnsMs: timings.dns,
    connectMs: timings.connect,
    tlsMs: timings.tls,
    firstByteMs: timings.firstByte,
    totalMs: timings.total,
  };
};
