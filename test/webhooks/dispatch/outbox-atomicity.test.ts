import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { recordEvent, setKinds } from '#src/platform/db/outbox/outbox.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { until } from '../../support/until.ts';
import { startReceiver, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import { draftOf, type Engine, startEngine, tenant } from '../harness/engine.ts';
import { spawnWorker } from '../harness/spawn-worker.ts';

let engine: Engine;
let receiver: WebhookReceiver;

beforeEach(async () => {
  engine = await startEngine();
  receiver = await startReceiver();
  await engine.addEndpoint(receiver.url);
});

afterEach(async () => {
  await engine.close();
  await receiver.close();
});

type Body = {
  customer: Record<string, unknown> & { uid: string };
  seq: number;
  previous_seq: number | null;
  truncated?: boolean;
};

const bodies = (): Body[] => receiver.received.map(({ body }) => JSON.parse(body) as Body);

test('A-129 a change that is rolled back leaves no event and no trace in the sequence', async () => {
  engine.startWorker();
  await engine.record({ entity: 'cus_1', seq: 1 });
  const rolledBack = inTransaction(engine.db, async (tx) => {
    await recordEvent(tx, draftOf({ entity: 'cus_1', seq: 2 }, engine.clock.now()));
    throw new Error('the change failed');
  });
  await expect(rolledBack).rejects.toThrow('the change failed');
  await engine.record({ entity: 'cus_1', seq: 2 });
  await until(() => receiver.received.length === 2);
  expect(bodies().map(({ seq, previous_seq: previous }) => [seq, previous])).toEqual([
    [1, null],
    [2, 1],
  ]);
  const { rows } = await sql<{ count: number }>`select count(*) as count from outbox.events`.execute(engine.db);
  expect(rows[0]?.count).toBe(2);
});

test('A-129 a process that dies after its commit leaves the event, one that dies before leaves none', async () => {
  expect(await spawnWorker('change', engine.url, '', 'cus_before').ended).toBe('SIGKILL');
  expect(await spawnWorker('record', engine.url, '', 'cus_after').ended).toBe('SIGKILL');
  engine.startWorker();
  await engine.record({ entity: 'cus_last', seq: 1 });
  await until(() => bodies().some(({ customer }) => customer.uid === 'cus_last'));
  await until(() => receiver.received.length === 2);
  expect(new Set(bodies().map(({ customer }) => customer.uid))).toEqual(new Set(['cus_after', 'cus_last']));
});

test('A-129 of a body above 256 KiB the longest lists are null and truncated is true', async () => {
  engine.startWorker();
  const value = () => ({
    uid: 'cus_1',
    short: ['kept'],
    nested: { long: Array.from({ length: 30_000 }, (_, index) => `entry ${index}`) },
  });
  const event = await engine.record({ entity: 'cus_1', seq: 1, value });
  await until(() => receiver.received.length === 1);
  expect(receiver.received[0]?.body).toBe(event?.body);
  expect(Buffer.byteLength(event?.body ?? '')).toBeLessThanOrEqual(256 * 1024);
  expect(bodies()[0]).toMatchObject({
    customer: { uid: 'cus_1', short: ['kept'], nested: { long: null } },
    truncated: true,
  });
});

test('A-128 the body has its members in their order, and seq and previous_seq per entity and kind', async () => {
  engine.startWorker();
  await engine.record({ entity: 'cus_1', seq: 4 });
  await engine.record({ entity: 'cus_2', seq: 1 });
  await engine.record({ entity: 'cus_1', seq: 7 });
  await until(() => receiver.received.length === 3);
  const members = ['event', 'customer', 'id', 'created', 'restuid', 'seq', 'previous_seq', 'change', 'changed_fields'];
  for (const { body, headers } of receiver.received) {
    const parsed = JSON.parse(body) as Record<string, unknown>;
    expect(Object.keys(parsed)).toEqual(members);
    expect(parsed).toMatchObject({ restuid: tenant, id: headers['webhook-id'] });
    expect(parsed.created).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  }
  const of = (uid: string) =>
    bodies()
      .filter(({ customer }) => customer.uid === uid)
      .map(({ seq, previous_seq: previous }) => [seq, previous]);
  expect([of('cus_1'), of('cus_2')]).toEqual([
    [
      [4, null],
      [7, 4],
    ],
    [[1, null]],
  ]);
});

test('A-127 while a kind is off its events are neither recorded nor sent, and the next one shows the gap', async () => {
  engine.startWorker();
  await engine.record({ entity: 'cus_1', seq: 1 });
  await inTransaction(engine.db, (tx) => setKinds(tx, tenant, { customers: false }));
  expect(await engine.record({ entity: 'cus_1', seq: 2 })).toBeUndefined();
  await inTransaction(engine.db, (tx) => setKinds(tx, tenant, { customers: true }));
  await engine.record({ entity: 'cus_1', seq: 3 });
  await until(() => receiver.received.length === 2);
  expect(bodies().map(({ seq, previous_seq: previous }) => [seq, previous])).toEqual([
    [1, null],
    [3, 1],
  ]);
});
