import { afterEach, beforeEach, expect, test } from 'vitest';
import { recordEvent } from '#src/platform/db/outbox/outbox.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { idFloor } from '#src/platform/ids.ts';
import type { Json } from '../../support/ordering.ts';
import { until } from '../../support/until.ts';
import { status } from '../../support/webhook-receiver.ts';
import { draftOf } from '../harness/event-draft.ts';
import { clientOf, keyOf, startWebhookApi, type WebhookApi } from '../harness/webhook-api.ts';

let api: WebhookApi;

beforeEach(async () => {
  api = await startWebhookApi();
});

afterEach(() => api?.close());

const feed = (query: Record<string, string | number> = {}, caller = api.caller) =>
  api.get('/events/list', query, caller);
const seqs = (answer: Json): number[] => answer.json.events.map(({ seq }: { seq: number }) => seq);
const fault = ({ status: code, json }: Json) => [code, json.errors?.[0]?.pointer, json.errors?.[0]?.code];
const order = { kind: 'orders', event: 'order.new', object: 'order' };

/** Follows next_cursor to the end. */
const readOn = async (cursor: string | undefined, query: Record<string, string | number>) => {
  const events: Json[] = [];
  let next = cursor;
  for (;;) {
    const answer = await feed({ ...query, ...(next === undefined ? undefined : { after: next }) });
    if (answer.status !== 200) throw new Error(answer.text);
    events.push(...answer.json.events);
    next = answer.json.next_cursor as string;
    if (answer.json.more !== true) return { events, cursor: next };
  }
};

test('A-142 an event in the feed has the members of interface 12.6, the body byte for byte, and its deliveries', async () => {
  const receiver = await api.receiver(status(500));
  const { uid } = await api.endpoint(receiver.url);
  const stranger = clientOf([api.restuid], { id: 'opc_stranger' });
  await api.endpoint('http://127.0.0.1:2/', {}, stranger);
  api.startWorker();
  const event = await api.record({ entity: 'cus_1', seq: 4 });
  await until(() => receiver.received.length === 1);
  await until(async () => (await feed()).json.events[0]?.deliveries[0]?.attempts_count === 1);
  const answer = await feed();
  expect(answer.json).toEqual({
    success: true,
    events: [
      {
        id: event?.id,
        event: 'customer.changed',
        kind: 'customers',
        entity: 'cus_1',
        seq: 4,
        previous_seq: null,
        created: '2026-03-01T11:00:00.000Z',
        restuid: api.restuid,
        body: receiver.received[0]?.body,
        deliveries: [
          {
            endpoint_uid: uid,
            state: 'pending',
            attempts_count: 1,
            next_attempt_iso: expect.stringMatching(/^2026-03-01T12:00:05/),
            next_attempt: 'planned',
          },
        ],
      },
    ],
    pagesize: 100,
    more: false,
    next_cursor: expect.any(String),
  });
  expect((await feed({}, keyOf(api.restuid))).json.events[0].deliveries).toHaveLength(2);
});

test('A-142 a reader that follows next_cursor gets every event once, in the sequence of each entity, while five writers record', async () => {
  api.startWorker();
  api.startWorker();
  const writers = 5;
  const perWriter = 60;
  let writing = writers;
  const write = async (writer: number): Promise<void> => {
    for (let number = 1; number <= perWriter; number += 1) {
      await inTransaction(api.db, async (tx) => {
        await recordEvent(tx, draftOf({ tenant: api.restuid, entity: `cus_${writer}`, seq: number }, api.clock.now()));
        // Transactions stay open after they took their position, so they commit in another sequence.
        if ((writer + number) % 3 === 0) await new Promise((resolve) => setTimeout(resolve, 40));
      });
    }
    writing -= 1;
  };
  const work = Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)));
  const read: Json[] = [];
  let cursor: string | undefined;
  for (;;) {
    const isLast = writing === 0;
    const more = await readOn(cursor, { pagesize: 7 });
    read.push(...more.events);
    cursor = more.cursor;
    if (isLast && read.length >= writers * perWriter) break;
  }
  await work;
  // Read again from the start: the same events in the same sequence, so nothing appeared before a cursor.
  const whole = await readOn(undefined, { pagesize: 100 });
  expect(read.map(({ id }) => id)).toEqual(whole.events.map(({ id }) => id));
  expect(new Set(read.map(({ id }) => id)).size).toBe(writers * perWriter);
  for (let writer = 0; writer < writers; writer += 1) {
    const own = read.filter(({ entity }) => entity === `cus_${writer}`).map(({ seq }) => seq);
    expect(own).toEqual(Array.from({ length: perWriter }, (_, index) => index + 1));
  }
  const bodies = new Map((await api.core.events()).map((body) => [body.id, body]));
  for (const { id, body } of read) expect(JSON.parse(body)).toEqual(bodies.get(id));
});

test('A-144 kinds without a read scope are left out, and naming one is refused with its scope', async () => {
  const caller = clientOf([api.restuid], { scopes: ['read:webhooks', 'read:orders', 'read:menu'] });
  api.startWorker();
  await api.record({ entity: 'cus_1', seq: 1 });
  await api.record({ entity: 'ord_1', seq: 2, ...order });
  await until(async () => (await feed()).json.events.length === 2);
  expect(seqs(await feed({}, caller))).toEqual([2]);
  const refused = await feed({ kinds: 'orders,customers' }, caller);
  expect(refused.status).toBe(403);
  expect(refused.json.missing_scopes).toEqual(['read:customers']);
  expect(seqs(await feed({ kinds: 'customers' }))).toEqual([1]);
  const delivery = await api.endpoint('http://127.0.0.1:2/', { kinds: ['customers'] });
  await api.record({ entity: 'cus_1', seq: 3 });
  await until(
    async () => (await api.get('/webhook/deliveries', { endpoint_uid: delivery.uid })).json.total_count === 1,
  );
  const [{ uid }] = (await api.get('/webhook/deliveries', { endpoint_uid: delivery.uid })).json.deliveries;
  expect(JSON.parse((await api.get('/webhook/delivery', { uid })).json.delivery.body).seq).toBe(3);
  expect((await api.get('/webhook/delivery', { uid }, caller)).json.delivery.body).toBeNull();
});

test('A-770 the answer of a receiver is null without the read scope of the kind, since it may repeat the body', async () => {
  const caller = clientOf([api.restuid], { scopes: ['read:webhooks', 'read:orders'] });
  const receiver = await api.receiver((response, request) => void response.writeHead(500).end(request.body));
  // The same client, while it has the scope.
  await api.endpoint(receiver.url, { kinds: ['customers'] }, clientOf([api.restuid]));
  api.startWorker();
  await api.record({ entity: 'cus_1', seq: 1 });
  await until(async () => (await api.get('/webhook/deliveries')).json.deliveries[0]?.attempts_count === 1);
  const [{ uid }] = (await api.get('/webhook/deliveries')).json.deliveries;
  const attemptOf = async (by: typeof caller) =>
    (await api.get('/webhook/delivery', { uid }, by)).json.delivery.attempts[0];
  expect(await attemptOf(api.caller)).toMatchObject({ status: 500, response: receiver.received[0]?.body });
  expect(await attemptOf(caller)).toMatchObject({ status: 500, response: null });
});

test('filters by kind, event, entity and time; a cursor belongs to its filters and its restaurant', async () => {
  const other = await api.core.addRestaurant();
  api.startWorker();
  for (let seq = 1; seq <= 6; seq += 1) {
    await api.record(
      seq % 2 === 0
        ? { entity: 'ord_1', seq, ...order, event: seq === 4 ? 'order.closed' : 'order.new' }
        : { entity: `cus_${seq}`, seq },
    );
    api.clock.advance(60_000);
  }
  await api.record({ entity: 'cus_foreign', seq: 1 }, other);
  await until(async () => (await feed()).json.events.length === 6);
  expect(seqs(await feed())).toEqual([1, 2, 3, 4, 5, 6]);
  expect(seqs(await feed({ kinds: 'orders' }))).toEqual([2, 4, 6]);
  expect(seqs(await feed({ event: 'order.closed' }))).toEqual([4]);
  expect(seqs(await feed({ entity: 'cus_3' }))).toEqual([3]);
  expect(seqs(await feed({ entity: 'cus_unknown' }))).toEqual([]);
  expect(seqs(await feed({ since: '2026-03-01T11:03:00Z' }))).toEqual([4, 5, 6]);
  expect(seqs(await feed({ kinds: 'orders', since: '2026-03-01T12:02:00+01:00' }))).toEqual([4, 6]);

  // A reader with `since` continues from there, also when nothing was found.
  const none = await feed({ since: '2026-03-01T11:06:00Z' });
  expect(seqs(none)).toEqual([]);
  expect(seqs(await feed({ cursor: none.json.next_cursor }))).toEqual([]);

  const first = await feed({ kinds: 'orders', pagesize: 2 });
  expect([seqs(first), first.json.more]).toEqual([[2, 4], true]);
  const { next_cursor: cursor } = first.json;
  expect(seqs(await feed({ kinds: 'orders', after: cursor }))).toEqual([6]);
  expect(seqs(await feed({ kinds: 'orders', cursor }))).toEqual([6]);
  expect(seqs(await feed({ after: first.json.events[1].id }))).toEqual([5, 6]);
  expect(fault(await feed({ after: cursor }))).toEqual([400, 'after', 'CURSOR_INVALID']);
  expect(fault(await feed({ kinds: 'orders', after: cursor, cursor }))).toEqual([400, 'cursor', 'MIXED_PAGING']);
  expect(fault(await feed({ kinds: 'orders', cursor: `${cursor}x` }))).toEqual([400, 'cursor', 'CURSOR_INVALID']);
  expect(fault(await feed({ kinds: 'orders', after: cursor }, other.caller))).toEqual([400, 'after', 'CURSOR_INVALID']);
  const [foreign] = (await feed({}, other.caller)).json.events;
  expect(fault(await feed({ after: foreign.id }))).toEqual(fault(await feed({ after: 'evt_invented' })));
  expect(fault(await feed({ after: 'evt_invented' }))).toEqual([400, 'after', 'CURSOR_INVALID']);
  expect(fault(await feed({ pagesize: 101 }))).toEqual([400, 'pagesize', 'RANGE']);
});

test('A-602 a page ends early where the bodies of its events are large, and the cursor leads to each event once', async () => {
  const body = 'x'.repeat(200_000);
  const count = 60;
  await inTransaction(api.db, async (tx) => {
    for (let seq = 1; seq <= count; seq += 1) {
      const isOrder = seq % 2 === 0;
      const draft = {
        tenant: api.restuid,
        entity: 'one',
        seq,
        value: () => ({ uid: 'one', body }),
        ...(isOrder && order),
      };
      await recordEvent(tx, draftOf(draft, api.clock.now()));
    }
  });
  api.startWorker();
  const all = Array.from({ length: count }, (_, index) => index + 1);
  const newest = (await api.core.events()).at(-1)?.id ?? '';
  await until(async () => (await feed({ after: newest })).status === 200);
  for (const [query, wanted] of [
    [{}, all],
    [{ event: 'order.new', entity: 'one' }, all.filter((seq) => seq % 2 === 0)],
  ] as const) {
    const { json, text } = await feed(query);
    expect([json.more, json.pagesize]).toEqual([true, 100]);
    expect(text.length).toBeGreaterThan(4_000_000);
    expect(text.length).toBeLessThan(5_000_000);
    expect((await readOn(undefined, query)).events.map(({ seq }) => seq)).toEqual(wanted);
  }
});

test('the end of the feed has a cursor too, from which later events follow', async () => {
  api.startWorker();
  const empty = await feed();
  expect(empty.json).toMatchObject({ events: [], more: false });
  await api.record({ entity: 'cus_1', seq: 1 });
  await until(async () => (await feed({ after: empty.json.next_cursor })).json.events.length === 1);
  const one = await feed({ after: empty.json.next_cursor });
  await api.record({ entity: 'cus_1', seq: 2 });
  await until(async () => (await feed({ after: one.json.next_cursor })).json.events.length === 1);
  expect(seqs(await feed({ after: one.json.next_cursor }))).toEqual([2]);
});

test('A-145 an event or a cursor of 31 days ago is refused as expired, and a reader that returns in time continues', async () => {
  api.startWorker();
  const old = await api.record({ entity: 'cus_1', seq: 1 });
  await api.record({ entity: 'cus_1', seq: 2 });
  await until(async () => (await feed()).json.events.length === 2);
  const { next_cursor: behind } = (await feed({ pagesize: 1 })).json;
  const { next_cursor: atEnd } = (await feed()).json;
  const day = 24 * 3_600_000;
  api.clock.advance(29 * day);
  expect(seqs(await feed({ after: behind }))).toEqual([2]);
  const { next_cursor: refreshed } = (await feed({ after: atEnd })).json;
  api.clock.advance(2 * day);
  await api.record({ entity: 'cus_1', seq: 3 });
  expect(fault(await feed({ after: old?.id ?? '' }))).toEqual([400, 'after', 'CURSOR_EXPIRED']);
  expect(fault(await feed({ after: behind }))).toEqual([400, 'after', 'CURSOR_EXPIRED']);
  expect(fault(await feed({ cursor: atEnd }))).toEqual([400, 'cursor', 'CURSOR_EXPIRED']);
  const gone = `${idFloor('evt', api.clock.now().getTime() - 31 * day)}0000000000000000`;
  expect(fault(await feed({ after: gone }))).toEqual([400, 'after', 'CURSOR_EXPIRED']);
  await until(async () => seqs(await feed({ after: refreshed })).length === 1);
  expect(seqs(await feed({ after: refreshed }))).toEqual([3]);
  // Events older than 30 days are not shown, even while they are still stored.
  expect(seqs(await feed())).toEqual([3]);
});

test('a cursor behind a page without events expires as early as events behind it may be gone, because a gap would not show', async () => {
  const day = 24 * 3_600_000;
  const places = 1_000;
  await inTransaction(api.db, async (tx) => {
    for (let seq = 1; seq <= places; seq += 1)
      await recordEvent(tx, draftOf({ tenant: api.restuid, entity: 'cus_1', seq }, api.clock.now()));
    await recordEvent(tx, draftOf({ tenant: api.restuid, ...order, entity: 'ord_1', seq: 1 }, api.clock.now()));
  });
  api.startWorker();
  const wanted = { event: 'order.new' };
  await until(async () => (await readOn(undefined, wanted)).events.length === 1);
  api.clock.advance(20 * day);
  // As many places are looked at as one page may, and none of them has such an event.
  const { json } = await feed(wanted);
  expect([json.events, json.more]).toEqual([[], true]);
  expect(seqs(await feed({ ...wanted, after: json.next_cursor }))).toEqual([1]);
  api.clock.advance(15 * day);
  expect(fault(await feed({ ...wanted, after: json.next_cursor }))).toEqual([400, 'after', 'CURSOR_EXPIRED']);
});
