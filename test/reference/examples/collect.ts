/** What a run gives for the document: one answer per operation, and one body per event. */
import { createNormalise } from './normalise.ts';
import { isLater, type Json, type Printed, type Run, readToken } from './run-examples.ts';

/** The event at the end of a countdown. */
export const timeout = 'order.timeout';

type Collected = { answers: Record<string, Json>; events: Record<string, Json> };

type Deps = { url: string; document: Json; printed: Printed; at: Date; runs: readonly Run[] };

export const collect = async ({ runs, ...deps }: Deps): Promise<Collected> => {
  const normalise = createNormalise(deps);
  const later = await readLater(deps, runs);
  const answers: Record<string, Json> = {};
  for (const { operation, path, body } of runs) {
    const answer = isLater(path) ? later[operation] : body;
    if (answers[operation] === undefined && isRecorded(operation)) answers[operation] = normalise(answer);
  }
  const { deliveries } = (await (await fetch(`${deps.url}/demo/receiver/deliveries`)).json()) as Json;
  const first: Record<string, Json> = {};
  for (const { event, body } of deliveries.toSorted((a: Json, b: Json) => (a.body.id < b.body.id ? -1 : 1)))
    first[event] ??= body;
  const [ended] = later.timeouts.events;
  if (ended !== undefined) first[timeout] = JSON.parse(ended.body);
  // Events of one transaction may have any sequence among each other; their names give one. A timeout is there only when the
  // examples are recorded.
  const names = Object.keys(sorted(first)).toSorted((a, b) => Number(a === timeout) - Number(b === timeout));
  const events = sorted(Object.fromEntries(names.map((event) => [event, normalise(first[event])])));
  return { answers: sorted(answers), events };
};

/** Keys, metadata and what a caller did differ in every installation, and the document is this one. */
const isRecorded = (operation: string): boolean =>
  !/^(metadata\.|openapi$|webhook\.keys$|oauth\.(jwks|revoke)$|whoami\.(requests|usage)$)/.test(operation);

const sorted = (members: Record<string, Json>): Record<string, Json> =>
  Object.fromEntries(Object.entries(members).sort(([a], [b]) => (a < b ? -1 : 1)));

/** The answers to requests with ids that earlier answers gave. */
const readLater = async ({ url, printed }: Omit<Deps, 'runs'>, runs: readonly Run[]): Promise<Record<string, Json>> => {
  const authorization = `Bearer ${await readToken(url, printed)}`;
  const get = async (path: string, headers = {}): Promise<Json> =>
    (await fetch(`${url}/api${path}`, { headers: { authorization, ...headers } })).json();
  const bodyOf = (operation: string): Json => runs.find((run) => run.operation === operation)?.body;
  await get('/orders/get?uid=', { 'x-request-id': 'req_12' });
  return {
    'webhook.delivery': await get(`/webhook/delivery?uid=${bodyOf('webhook.deliveries').deliveries[0].uid}`),
    'webhook.redelivery': await get(`/webhook/redelivery?uid=${bodyOf('webhook.redeliver').redelivery.uid}`),
    'whoami.denial': await get('/whoami/denials/req_12'),
    // The endpoint is removed by then, but the event is recorded.
    timeouts: await get(`/events/list?event=${timeout}`),
  };
};
