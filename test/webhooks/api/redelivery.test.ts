import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { attemptsMax } from '#src/webhooks/pacing/retry-schedule.ts';
import { entityQueueName } from '#src/webhooks/queue/entity-queue-store.ts';
import { retentionMs } from '#src/webhooks/queue/retention-period.ts';
import { whileLocked } from '../../support/contention.ts';
import { statementsOf } from '../../support/statements-of.ts';
import { until } from '../../support/until.ts';
import { status, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import { keyOf, startWebhookApi, type WebhookApi } from '../harness/webhook-api.ts';

let api: WebhookApi;

beforeEach(async () => {
  api = await startWebhookApi();
});

afterEach(() => api?.close());

const seqsOf = ({ received }: WebhookReceiver, entity: string): number[] =>
  received
    .map(({ body }) => JSON.parse(body) as { customer: { uid: string }; seq: number })
    .filter(({ customer }) => customer.uid === entity)
    .map(({ seq }) => seq);

const redeliver = (body: object) => api.post('/webhook/redeliver', body);
const countsOf = async (redelivery: string): Promise<Record<string, number>> =>
  (await api.get('/webhook/deliveries', { redelivery_uid: redelivery })).json.counts;
const attemptsOf = async (): Promise<number[]> =>
  (await api.get('/webhook/deliveries')).json.deliveries.map((one: { attempts_count: number }) => one.attempts_count);
/** Attempts of all deliveries. */
const areRecorded = (count: number) => async (): Promise<boolean> => {
  const { rows } = await sql`select from webhooks.attempts`.execute(api.db);
  return rows.length === count;
};
const start = '2026-03-01T00:00:00Z';

const isDispatched = async (): Promise<boolean> => {
  const { rows } = await sql`select from outbox.waiting limit 1`.execute(api.db);
  return rows.length === 0;
};

test('A-140 one event that succeeded is sent again with its id, as a new delivery', async () => {
  const receiver = await api.receiver();
  const { uid } = await api.endpoint(receiver.url);
  api.startWorker();
  const event = await api.record({ entity: 'cus_1', seq: 1 });
  await until(async () => (await api.get('/webhook/deliveries')).json.counts.succeeded === 1);
  api.clock.advance(1_000);
  const answer = await redeliver({ endpoint_uid: uid, event_id: event?.id });
  expect(answer.json.redelivery).toEqual({ uid: expect.stringMatching(/^rdl_/), queued: 1, state: 'done' });
  await until(() => receiver.received.length === 2);
  const [first, second] = receiver.received;
  expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
  expect(second?.body).toBe(first?.body);
  expect(second?.headers['x-orderpass-attempt']).toBe('1');
  expect(second?.headers['x-orderpass-delivery']).not.toBe(first?.headers['x-orderpass-delivery']);
  const { uid: redelivery } = answer.json.redelivery;
  await until(async () => (await countsOf(redelivery)).succeeded === 1);
  const listed = await api.get('/webhook/deliveries', { event_id: event?.id ?? '' });
  expect(listed.json.deliveries.map((one: { redelivery_uid: string }) => one.redelivery_uid)).toEqual([
    redelivery,
    null,
  ]);
  for (const { uid: delivery } of listed.json.deliveries as { uid: string }[])
    expect((await api.get('/webhook/delivery', { uid: delivery })).json.delivery.uid).toBe(delivery);
  const feed = await api.get('/events/list');
  expect(feed.json.events[0].deliveries).toEqual([
    { endpoint_uid: uid, state: 'succeeded', attempts_count: 1, next_attempt_iso: null, next_attempt: null },
  ]);
});

test('A-140 all events since a time that did not succeed are sent, also those never sent before, in the sequence of each entity', async () => {
  const receiver = await api.receiver(status(500));
  const { uid } = await api.endpoint(receiver.url, { kinds: ['customers'] });
  const late = await api.receiver();
  const stop = api.startWorker();
  await api.record({ entity: 'cus_1', seq: 1 });
  await api.record({ entity: 'cus_2', seq: 1 });
  // Both retries must be planned before the clock moves, or it never reaches them.
  await until(async () => String(await attemptsOf()) === '1,1');
  // 410 disables the endpoint, and later events make no delivery.
  receiver.behave(status(410));
  api.clock.advance(10_000);
  await until(async () => (await api.get('/webhook/endpoint', { uid })).json.endpoint.disabled_reason === 'gone');
  await api.record({ entity: 'cus_1', seq: 2 });
  await api.record({ entity: 'cus_1', seq: 3 });
  await until(isDispatched);
  const refused = await redeliver({ endpoint_uid: uid, since: start });
  expect([refused.status, refused.json.error]).toEqual([409, 'CONFLICT']);
  // Otherwise the next worker may find them first, when the endpoint is enabled again.
  await until(async () => (await api.get('/events/list')).json.events.length === 4);
  await stop();

  // The endpoint is enabled again before its backlog is cancelled; the events are sent again all the same.
  api.clock.advance(1_000);
  await api.post('/webhook/update', { uid, enabled: true, url: late.url });
  const second = api.startWorker();
  await api.record({ entity: 'cus_9', seq: 1 });
  await until(() => late.received.length === 1);
  await until(async () => (await api.get('/webhook/deliveries', { state: 'succeeded' })).json.total_count === 1);
  const answer = await redeliver({ endpoint_uid: uid, since: start });
  expect(answer.json.redelivery).toMatchObject({ queued: 4, state: 'done' });
  await until(async () => (await countsOf(answer.json.redelivery.uid)).succeeded === 4);
  expect(seqsOf(late, 'cus_1')).toEqual([1, 2, 3]);
  expect(seqsOf(late, 'cus_2')).toEqual([1]);
  expect(seqsOf(late, 'cus_9')).toEqual([1]);
  const everything = await redeliver({ endpoint_uid: uid, since: start, all: true });
  expect(everything.json.redelivery.queued).toBe(5);
  await until(async () => (await countsOf(everything.json.redelivery.uid)).succeeded === 5);
  const nothing = await redeliver({ endpoint_uid: uid, since: start });
  expect(nothing.json.redelivery).toMatchObject({ queued: 0, state: 'done' });
  await second();
});

test('a redelivered earlier event goes before later ones that wait or will be retried', async () => {
  const receiver = await api.receiver();
  const { uid } = await api.endpoint(receiver.url, { kinds: ['customers'] });
  api.startWorker();
  const early = await api.record({ entity: 'cus_1', seq: 1 });
  await until(async () => (await api.get('/webhook/deliveries', { state: 'succeeded' })).json.total_count === 1);
  receiver.behave(status(500));
  await api.record({ entity: 'cus_1', seq: 2 });
  await api.record({ entity: 'cus_1', seq: 3 });
  await until(async () => {
    const { deliveries } = (await api.get('/webhook/deliveries', { state: 'pending' })).json;
    return deliveries[0]?.attempts_count === 1;
  });
  receiver.behave(status(204));
  const before = receiver.received.length;
  await redeliver({ endpoint_uid: uid, event_id: early?.id });
  // The clock was not moved: the retry due in 5 s follows the earlier event at once.
  await until(() => receiver.received.length === before + 3);
  expect(seqsOf(receiver, 'cus_1').slice(before)).toEqual([1, 2, 3]);
});

test('a redelivered earlier event that is added during the attempt of a later one goes next, even if that attempt fails', async () => {
  let release = (): void => undefined;
  const receiver = await api.receiver();
  const { uid } = await api.endpoint(receiver.url, { kinds: ['customers'] });
  api.startWorker();
  const early = await api.record({ entity: 'cus_1', seq: 1 });
  await until(async () => (await api.get('/webhook/deliveries', { state: 'succeeded' })).json.total_count === 1);
  receiver.behave((response) => {
    release = () => void response.writeHead(500).end();
  });
  await api.record({ entity: 'cus_1', seq: 2 });
  await until(() => receiver.received.length === 2);
  const answer = await redeliver({ endpoint_uid: uid, event_id: early?.id });
  expect((await countsOf(answer.json.redelivery.uid)).waiting).toBe(1);
  receiver.behave(status(204));
  release();
  await until(() => receiver.received.length === 4);
  expect(seqsOf(receiver, 'cus_1')).toEqual([1, 2, 1, 2]);
  await until(async () => (await api.get('/webhook/deliveries', { state: 'succeeded' })).json.total_count === 3);
});

test('an unfinished delivery is not sent twice by a redelivery, only sooner', async () => {
  const receiver = await api.receiver(status(500));
  const { uid } = await api.endpoint(receiver.url, { kinds: ['customers'] });
  api.startWorker();
  await api.record({ entity: 'cus_1', seq: 1 });
  await api.record({ entity: 'cus_1', seq: 2 });
  await until(
    async () => (await api.get('/webhook/deliveries', { state: 'pending' })).json.deliveries[0]?.attempts_count === 1,
  );
  receiver.behave(status(204));
  const answer = await redeliver({ endpoint_uid: uid, since: start });
  expect(answer.json.redelivery.queued).toBe(2);
  await until(async () => (await countsOf(answer.json.redelivery.uid)).succeeded === 2);
  expect(seqsOf(receiver, 'cus_1')).toEqual([1, 1, 2]);
  // The one that was tried has ended for a new one; the one that was not tried is the same.
  expect((await api.get('/webhook/deliveries')).json.counts).toMatchObject({ succeeded: 2, cancelled: 1 });
});

test('A-850 an event that is redelivered after each failure, 18 times within seconds, keeps all attempts of its schedule', async () => {
  const receiver = await api.receiver(status(500));
  const { uid } = await api.endpoint(receiver.url, { kinds: ['customers'] });
  api.startWorker();
  const event = await api.record({ entity: 'cus_1', seq: 1 });
  await api.record({ entity: 'cus_1', seq: 2 });
  const pending = async () => (await api.get('/webhook/deliveries', { state: 'pending' })).json.deliveries[0];
  await until(areRecorded(1));
  for (let count = 2; count <= 19; count += 1) {
    expect((await redeliver({ endpoint_uid: uid, event_id: event?.id })).json.redelivery.queued).toBe(1);
    await until(areRecorded(count));
  }
  expect(seqsOf(receiver, 'cus_1')).toEqual(Array(19).fill(1));
  expect(await pending()).toMatchObject({ event_id: event?.id, attempts_count: 1, next_attempt: 'planned' });
  const { counts } = (await api.get('/webhook/deliveries')).json;
  expect(counts).toEqual({ pending: 1, waiting: 1, succeeded: 0, exhausted: 0, cancelled: 18 });
  receiver.behave(status(204));
  // The first delay of the schedule, with its jitter.
  api.clock.advance(6_000);
  await until(async () => (await api.get('/webhook/deliveries', { state: 'succeeded' })).json.total_count === 2);
  expect(seqsOf(receiver, 'cus_1')).toEqual([...Array(20).fill(1), 2]);
});

test('a large redelivery is queued in steps by the workers, one at a time per endpoint, and its progress can be read', async () => {
  const receiver = await api.receiver();
  const { uid } = await api.endpoint(receiver.url, { kinds: ['orders'] });
  for (let number = 0; number < 350; number += 1) await api.record({ entity: `cus_${number % 20}`, seq: number + 1 });
  let stop = api.startWorker();
  await until(async () => (await api.get('/events/list', { kinds: 'customers' })).json.events.length === 100);
  await until(isDispatched);
  await stop();
  await api.post('/webhook/update', { uid, kinds: ['customers'] });
  const answer = await redeliver({ endpoint_uid: uid, since: start });
  expect(answer.json.redelivery).toMatchObject({ queued: 100, state: 'running' });
  expect(await countsOf(answer.json.redelivery.uid)).toMatchObject({ pending: 20, waiting: 80 });
  const second = await redeliver({ endpoint_uid: uid, since: start });
  expect([second.status, second.json.error]).toEqual([409, 'CONFLICT']);
  stop = api.startWorker();
  await until(async () => (await countsOf(answer.json.redelivery.uid)).succeeded === 350);
  for (let entity = 0; entity < 20; entity += 1) {
    const seqs = seqsOf(receiver, `cus_${entity}`);
    expect(seqs).toEqual(seqs.toSorted((left, right) => left - right));
  }
  expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(350);
  // Once it is done another one may start; nothing is left to send.
  const next = await redeliver({ endpoint_uid: uid, since: start });
  expect([next.status, next.json.redelivery.queued]).toEqual([200, 0]);
  await until(async () => (await redeliver({ endpoint_uid: uid, since: start })).status === 200);
  expect((await countsOf(next.json.redelivery.uid)).pending).toBe(0);
  await stop();
});

test('A-644 a step of a redelivery ends at a bound of bytes, and the next one goes on there', async () => {
  const receiver = await api.receiver();
  const { uid } = await api.endpoint(receiver.url, { kinds: ['orders'] });
  const value = () => ({ uid: 'cus_1', note: 'x'.repeat(150_000) });
  for (let seq = 1; seq <= 20; seq += 1) await api.record({ entity: 'cus_1', seq, value });
  const stop = api.startWorker();
  await until(isDispatched);
  await stop();
  await api.post('/webhook/update', { uid, kinds: ['customers'] });
  const answer = await redeliver({ endpoint_uid: uid, since: start });
  expect(answer.json.redelivery).toMatchObject({ queued: 7, state: 'running' });
  api.startWorker();
  await until(async () => (await countsOf(answer.json.redelivery.uid)).succeeded === 20);
  expect(seqsOf(receiver, 'cus_1')).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
});

test('after a worker is killed during a large redelivery, another one goes on: every event is queued once and arrives', async () => {
  api.clock.set(new Date());
  const receiver = await api.receiver();
  const { uid } = await api.endpoint(receiver.url, { kinds: ['orders'] });
  for (let number = 0; number < 400; number += 1) await api.record({ entity: `cus_${number % 10}`, seq: number + 1 });
  const stop = api.startWorker();
  await until(isDispatched);
  await stop();
  await api.post('/webhook/update', { uid, kinds: ['customers'] });
  const since = new Date(api.clock.now().getTime() - 3_600_000).toISOString();
  const answer = await redeliver({ endpoint_uid: uid, since });
  expect(answer.json.redelivery).toMatchObject({ queued: 100, state: 'running' });
  const worker = api.spawnWorker();
  await until(() => receiver.received.length >= 130);
  await worker.kill();
  api.spawnWorker();
  await until(async () => (await countsOf(answer.json.redelivery.uid)).succeeded === 400);
  const { rows } = await sql<{
    queued: number;
    state: string;
  }>`select queued, state from webhooks.redeliveries`.execute(api.db);
  expect(rows).toEqual([{ queued: 400, state: 'done' }]);
  expect((await api.get('/webhook/deliveries')).json.total_count).toBe(400);
  expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(400);
  for (let entity = 0; entity < 10; entity += 1) {
    // Without repeats, which have the same id.
    const seqs = [...new Set(seqsOf(receiver, `cus_${entity}`))];
    expect(seqs).toEqual(seqs.toSorted((left, right) => left - right));
  }
});

test('a redelivery names an event or a time within 30 days, and an endpoint whose kind it is', async () => {
  const { uid } = await api.endpoint('http://127.0.0.1:2/', { kinds: ['orders'] });
  api.startWorker();
  const event = await api.record({ entity: 'cus_1', seq: 1 });
  await until(async () => (await api.get('/events/list')).json.events.length === 1);
  const refusal = async (body: object): Promise<unknown> => {
    const { status: code, json } = await redeliver({ endpoint_uid: uid, ...body });
    return [code, json.errors?.[0]?.pointer, json.errors?.[0]?.code];
  };
  expect(await refusal({})).toEqual([400, 'event_id', 'REQUIRED']);
  expect(await refusal({ event_id: 'evt_1', since: start })).toEqual([400, 'since', 'CONFLICTING_VALUES']);
  expect(await refusal({ since: '2026-01-29T11:00:00Z' })).toEqual([400, 'since', 'RANGE']);
  expect(await refusal({ since: start, until: start })).toEqual([400, 'until', 'RANGE']);
  expect(await refusal({ event_id: 'evt_invented' })).toEqual([404, undefined, undefined]);
  expect(await refusal({ event_id: event?.id })).toEqual([404, undefined, undefined]);
});

const progressOf = (redelivery: string, caller = api.caller) =>
  api.get('/webhook/redelivery', { uid: redelivery }, caller);

test('F-08 the state of a redelivery can be read: how much is queued, the states of its deliveries, and when it finished', async () => {
  const receiver = await api.receiver(status(500));
  const { uid } = await api.endpoint(receiver.url, { kinds: ['customers'] });
  const events = 250;
  for (let number = 1; number <= events; number += 1) await api.record({ entity: `cus_${number}`, seq: 1 });
  const stopFirst = api.startWorker();
  await until(isDispatched);
  await stopFirst();
  // No worker runs, so only the first step is queued, by the request itself.
  const first = (await redeliver({ endpoint_uid: uid, since: start, all: true })).json.redelivery;
  expect(first.state).toBe('running');
  const begun = (await progressOf(first.uid)).json.redelivery;
  expect(begun).toMatchObject({ uid: first.uid, endpoint_uid: uid, state: 'running', queued: first.queued });
  expect(begun.counts).toEqual({ pending: first.queued, waiting: 0, succeeded: 0, exhausted: 0, cancelled: 0 });
  expect(begun.finished_iso).toBeNull();

  const stop = api.startWorker();
  await until(async () => (await progressOf(first.uid)).json.redelivery.state === 'sending');
  const queued = (await progressOf(first.uid)).json.redelivery;
  expect(queued).toMatchObject({ queued: events, finished_iso: null });
  receiver.behave(status(204));
  await until(async () => {
    // Failed attempts are retried at their time.
    api.clock.advance(10_000);
    return (await progressOf(first.uid)).json.redelivery.state === 'finished';
  });
  const finished = (await progressOf(first.uid)).json.redelivery;
  expect(finished).toMatchObject({
    queued: events,
    counts: { pending: 0, waiting: 0, succeeded: events, exhausted: 0, cancelled: 0 },
    finished_iso: expect.stringMatching(/^2026-03-01T/),
  });

  // A redelivery of one event has a state as well; one without events is finished; other clients find none.
  api.clock.advance(1_000);
  const [event] = (await api.get('/events/list')).json.events;
  const one = (await redeliver({ endpoint_uid: uid, event_id: event.id })).json.redelivery.uid;
  await until(async () => (await progressOf(one)).json.redelivery.state === 'finished');
  expect((await progressOf(one)).json.redelivery).toMatchObject({ queued: 1, counts: { succeeded: 1 } });
  const none = (await redeliver({ endpoint_uid: uid, since: start })).json.redelivery.uid;
  await until(async () => (await progressOf(none)).json.redelivery.state === 'finished');
  expect((await progressOf(none)).json.redelivery).toMatchObject({ queued: 0, counts: { succeeded: 0 } });
  expect((await progressOf(one, keyOf(api.restuid))).status).toBe(200);
  const stranger = await progressOf(one, { ...api.caller, id: 'opc_stranger' });
  expect([stranger.status, stranger.json.error]).toEqual([404, 'NOT_FOUND']);
  expect((await progressOf('rdl_none')).status).toBe(404);
  await stop();
});

test('A-852 polls of a redelivery of 60,000 events count its deliveries once in a while, and a caller who may not see it gets nothing', async () => {
  const { uid } = await api.endpoint('http://127.0.0.1:1234/hook', { kinds: ['customers'] });
  const { uid: redelivery } = (await redeliver({ endpoint_uid: uid, since: start })).json.redelivery;
  await sql`update webhooks.redeliveries set queued = 60000`.execute(api.db);
  await sql`
    insert into webhooks.deliveries (tenant, uid, endpoint_uid, event_id, event, kind, entity, seq, position, state, created, finished,
      redelivery_uid)
    select ${api.restuid}, 'dlv_' || number, ${uid}, 'evt_0000' || number, 'customer.changed', 'customers', 'cus_1', number, number,
      'succeeded', ${api.clock.now()}, ${api.clock.now()}, ${redelivery}
    from generate_series(1, 60000) as number`.execute(api.db);
  const answers: unknown[] = [];
  const statements = await statementsOf(async () => {
    for (let round = 0; round < 5; round += 1)
      answers.push(...(await Promise.all(Array.from({ length: 6 }, () => progressOf(redelivery)))));
  });
  const finished = { state: 'finished', queued: 60_000, counts: { pending: 0, succeeded: 60_000, cancelled: 0 } };
  expect(answers).toHaveLength(30);
  for (const answer of answers) expect(answer).toMatchObject({ status: 200, json: { redelivery: finished } });
  expect((await progressOf(redelivery, { ...api.caller, id: 'opc_stranger' })).status).toBe(404);
  // A machine that is busy may need some seconds for the 30 polls.
  const counts = statements.filter(({ text }) => text.includes('count(*) as count, max(finished)'));
  expect(counts.length).toBeGreaterThan(0);
  expect(counts.length).toBeLessThan(10);
  // It is counted anew.
  await sql`update webhooks.deliveries set state = 'exhausted' where seq = 1`.execute(api.db);
  await until(async () => (await progressOf(redelivery)).json.redelivery.counts.exhausted === 1);
});

test('A-723 a redelivery whose deliveries a later one takes over counts them as cancelled, and not as delivered', async () => {
  const receiver = await api.receiver(status(503));
  const { uid } = await api.endpoint(receiver.url, { kinds: ['customers'] });
  const events = [];
  for (const entity of ['cus_1', 'cus_2', 'cus_3']) events.push(await api.record({ entity, seq: 1 }));
  // It is not tried, and so belongs to one redelivery after the other; those that were tried end for new ones.
  await api.record({ entity: 'cus_3', seq: 2 });
  api.startWorker();
  await until(areRecorded(3));
  const first = (await redeliver({ endpoint_uid: uid, since: start })).json.redelivery;
  expect(first).toMatchObject({ queued: 4, state: 'done' });
  await until(areRecorded(6));
  const begun = { state: 'sending', counts: { pending: 3, waiting: 1 } };
  expect((await progressOf(first.uid)).json.redelivery).toMatchObject(begun);

  const [event] = events;
  const second = (await redeliver({ endpoint_uid: uid, event_id: event?.id })).json.redelivery;
  expect((await progressOf(first.uid)).json.redelivery).toMatchObject({
    state: 'sending',
    queued: 4,
    counts: { pending: 2, waiting: 1, cancelled: 1 },
  });
  await until(areRecorded(7));
  const third = (await redeliver({ endpoint_uid: uid, since: start })).json.redelivery;
  expect((await progressOf(first.uid)).json.redelivery).toMatchObject({
    state: 'finished',
    queued: 4,
    counts: { pending: 0, waiting: 0, succeeded: 0, exhausted: 0, cancelled: 4 },
  });
  expect((await progressOf(second.uid)).json.redelivery).toMatchObject({ queued: 1, counts: { cancelled: 1 } });
  receiver.behave(status(204));
  await until(async () => {
    // Failed attempts are retried at their time.
    api.clock.advance(60_000);
    return (await progressOf(third.uid)).json.redelivery.state === 'finished';
  });
  expect((await progressOf(third.uid)).json.redelivery.counts).toMatchObject({ succeeded: 4, cancelled: 0 });
  // Once the log may lack deliveries that it had, it is not known what they were.
  api.clock.advance(retentionMs);
  expect((await progressOf(first.uid)).json.redelivery.counts).toMatchObject({ cancelled: 3 });
});

test('a redelivery during the last attempt of a delivery sends the event again after it failed, because nothing else would', async () => {
  let fail: (() => void) | undefined;
  const receiver = await api.receiver(status(500));
  const { uid } = await api.endpoint(receiver.url, { kinds: ['customers'] });
  api.startWorker();
  const event = await api.record({ entity: 'cus_1', seq: 1 });
  const pending = async () => (await api.get('/webhook/deliveries', { state: 'pending' })).json.deliveries[0];
  await until(async () => (await pending())?.attempts_count === 1);
  await sql`update webhooks.deliveries set attempts_count = ${attemptsMax - 1}`.execute(api.db);
  receiver.behave((response) => {
    fail = () => void response.writeHead(500).end();
  });
  api.clock.advance(10_000);
  await until(() => fail !== undefined);
  receiver.behave(status(204));
  const queue = entityQueueName({ endpointUid: uid, kind: 'customers', entity: 'cus_1' });
  const key = sql`hashtextextended(${queue}, 20)`;
  const isAwaited = async (): Promise<boolean> => {
    const { rows } = await sql`select from pg_locks where locktype = 'advisory' and not granted
      and (classid::bigint << 32 | objid::bigint) = ${key}`.execute(api.db);
    return rows.length === 1;
  };
  // The result of the attempt waits for its queue first, and the redelivery behind it.
  const answer = await whileLocked(api.db, sql`select pg_advisory_xact_lock(${key})`, 2, async () => {
    fail?.();
    await until(isAwaited);
    return redeliver({ endpoint_uid: uid, event_id: event?.id });
  });
  expect(answer.json.redelivery).toMatchObject({ queued: 1, state: 'done' });
  expect((await api.get('/webhook/deliveries', { state: 'exhausted' })).json.total_count).toBe(1);
  expect((await api.get('/webhook/deliveries')).json.total_count).toBe(2);
  await until(() => receiver.received.length === 3);
});

test('a redelivery while the last attempt of a delivery is in flight sends the event again, because that attempt may fail', async () => {
  let fail: (() => void) | undefined;
  const receiver = await api.receiver(status(500));
  const { uid } = await api.endpoint(receiver.url, { kinds: ['customers'] });
  api.startWorker();
  const event = await api.record({ entity: 'cus_1', seq: 1 });
  const inState = async (state: string) => (await api.get('/webhook/deliveries', { state })).json.deliveries;
  await until(async () => (await inState('pending'))[0]?.attempts_count === 1);
  await sql`update webhooks.deliveries set attempts_count = ${attemptsMax - 1}`.execute(api.db);
  receiver.behave((response) => {
    fail = () => void response.writeHead(500).end();
  });
  api.clock.advance(10_000);
  await until(() => fail !== undefined);
  receiver.behave(status(204));
  const answer = await redeliver({ endpoint_uid: uid, event_id: event?.id });
  expect(answer.json.redelivery).toMatchObject({ queued: 1, state: 'done' });
  fail?.();
  await until(async () => (await inState('succeeded')).length === 1);
  expect(await inState('exhausted')).toHaveLength(1);
});

test('A-506 an event with two unfinished deliveries, after a worker lost its last attempt, can be redelivered, and one of them joins', async () => {
  const receiver = await api.receiver(() => undefined);
  const { uid } = await api.endpoint(receiver.url, { kinds: ['customers'] });
  const stop = api.startWorker();
  const event = await api.record({ entity: 'cus_1', seq: 1 });
  await until(() => receiver.received.length === 1);
  await sql`update webhooks.deliveries set attempts_count = ${attemptsMax - 1}`.execute(api.db);
  const first = await redeliver({ endpoint_uid: uid, event_id: event?.id });
  expect(first.json.redelivery.queued).toBe(1);
  // The end of the worker cuts the attempt, which then does not count.
  await stop();
  const unfinished = async (): Promise<number> => {
    const { counts } = (await api.get('/webhook/deliveries')).json;
    return counts.pending + counts.waiting;
  };
  await sql`update webhooks.deliveries set lease_token = null, lease_until = null`.execute(api.db);
  expect(await unfinished()).toBe(2);
  receiver.behave(status(204));
  const second = await redeliver({ endpoint_uid: uid, event_id: event?.id });
  expect([second.status, second.json.redelivery?.queued]).toEqual([200, 1]);
  expect((await redeliver({ endpoint_uid: uid, since: start })).status).toBe(200);
  api.startWorker();
  await until(async () => (await unfinished()) === 0);
});

test('A-506 a redelivery whose step fails does not hold up that of another endpoint', async () => {
  const ends = [await api.receiver(), await api.receiver()];
  const uids: string[] = [];
  for (const { url } of ends) uids.push((await api.endpoint(url, { kinds: ['orders'] })).uid);
  for (let number = 0; number < 150; number += 1) await api.record({ entity: `cus_${number}`, seq: 1 });
  const stop = api.startWorker();
  await until(isDispatched);
  await stop();
  for (const uid of uids) await api.post('/webhook/update', { uid, kinds: ['customers'] });
  for (const endpoint_uid of uids) {
    api.clock.advance(10);
    expect((await redeliver({ endpoint_uid, since: start })).json.redelivery.state).toBe('running');
  }
  await sql`create function public.refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$`.execute(
    api.db,
  );
  await sql`create trigger refuse before insert on webhooks.deliveries for each row
    when (new.endpoint_uid = ${sql.lit(uids[0])}) execute function public.refuse()`.execute(api.db);
  api.clock.advance(10);
  api.startWorker();
  await until(() => ends[1]?.received.length === 150);
});
