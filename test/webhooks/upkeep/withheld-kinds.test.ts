import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { updateEndpoint } from '#src/webhooks/endpoints/endpoints.ts';
import type { OwnerRights } from '#src/webhooks/index.ts';
import { redeliverSpan } from '#src/webhooks/redeliver/redeliver.ts';
import { until } from '../../support/until.ts';
import { startReceiver, status, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import { type Engine, startEngine, tenant } from '../harness/engine.ts';

const every = ['customers', 'orders', 'loyaltylog', 'menu'];

let engine: Engine;
let receiver: WebhookReceiver;
let uid: string;
let readable: readonly string[];
let changes: number;

const rights: OwnerRights = {
  version: async () => String(changes),
  kindsOf: async (owners) => owners.map(() => readable),
};

const allow = (kinds: readonly string[]): void => {
  readable = kinds;
  changes += 1;
};

beforeEach(async () => {
  engine = await startEngine();
  receiver = await startReceiver();
  [readable, changes] = [every, 0];
  const owner = { kind: 'api_client', id: 'opc_till' } as const;
  ({ endpointUid: uid } = await engine.addEndpoint(receiver.url, { kinds: ['customers', 'orders'], owner }));
});

afterEach(async () => {
  await engine.close();
  await receiver.close();
});

const order = (entity: string, seq = 1) =>
  engine.record({ entity, seq, kind: 'orders', event: 'order.new', object: 'order', trailing: {} });

const stored = async (): Promise<{ withheld: string[]; cancelling: boolean }> => {
  const { rows } = await sql<{ withheld: string[]; cancelling: boolean }>`
    select withheld_kinds as withheld, cancel_through is not null as cancelling
    from webhooks.endpoints where uid = ${uid}`.execute(engine.db);
  const [row] = rows;
  if (row === undefined) throw new Error('no endpoint');
  return row;
};

const isWithheld = (...kinds: string[]) =>
  until(async () => {
    const { withheld, cancelling } = await stored();
    return !cancelling && withheld.join() === kinds.join();
  });

const states = async (): Promise<Record<string, string>> =>
  Object.fromEntries((await engine.deliveries()).map(({ entity, state }) => [entity, state]));

const entities = (): string[] =>
  receiver.received.map(({ body }) => {
    const { event, order: ofOrder, customer } = JSON.parse(body);
    return event === 'order.new' ? ofOrder.uid : customer.uid;
  });

test('A-248 a kind that the owner may not read any more is neither sent nor dispatched; other kinds go on, and the right brings it back', async () => {
  receiver.behave(status(503));
  engine.startWorker({ rights });
  await order('ord_1');
  await order('ord_1', 2);
  await engine.record({ entity: 'cus_1', seq: 1 });
  await until(() => receiver.received.length === 2);
  allow(['customers']);
  await isWithheld('orders');
  expect(await states()).toEqual({ ord_1: 'cancelled', cus_1: 'pending' });

  receiver.behave(status(204));
  await order('ord_2');
  await engine.record({ entity: 'cus_2', seq: 1 });
  engine.advance(10_000);
  await until(async () => (await states()).cus_1 === 'succeeded' && (await states()).cus_2 === 'succeeded');
  expect(await states()).not.toHaveProperty('ord_2');

  allow(every);
  await isWithheld();
  await order('ord_3');
  await until(async () => (await states()).ord_3 === 'succeeded');
  const span = { endpointUid: uid, since: new Date(engine.clock.now().getTime() - 60_000), until: undefined };
  await inTransaction(engine.db, (tx) =>
    redeliverSpan(tx, { tenant, client: undefined }, { ...span, everything: false }, engine.clock.now()),
  );
  await until(() => receiver.received.length === 8);
  expect(entities().slice(2).sort()).toEqual(['cus_1', 'cus_2', 'ord_1', 'ord_1', 'ord_2', 'ord_3']);
});

test('A-248 deliveries that wait for a slot in the worker are not sent after the right has ended', async () => {
  let release = (): void => {};
  receiver.behave((response) => {
    release = () => void response.writeHead(204).end();
  });
  for (let number = 1; number <= 20; number += 1) await order(`ord_${number}`);
  engine.startWorker({ rights, settings: { endpoint_concurrency_max: 1 } });
  await until(() => receiver.received.length === 1);
  allow([]);
  await until(async () => (await stored()).withheld.length === 2);
  release();
  await isWithheld('customers', 'orders');
  expect(receiver.received).toHaveLength(1);
  expect(Object.values(await states()).toSorted()).toEqual([...Array(19).fill('cancelled'), 'succeeded']);
});

test('A-248 an endpoint without any right gets no digest, and its redelivery is refused', async () => {
  await inTransaction(engine.db, (tx) =>
    updateEndpoint(tx, { tenant, client: undefined }, uid, { digest: true }, engine.clock.now()),
  );
  await order('ord_1');
  allow([]);
  const stop = engine.startWorker({ rights });
  await isWithheld('customers', 'orders');
  await stop();
  // A digest is due. The next worker looks for digests when it starts.
  await sql`
    insert into webhooks.digests (endpoint_uid, next_from) values (${uid}, now() - interval '3 hours')
    on conflict (endpoint_uid) do update set next_from = excluded.next_from`.execute(engine.db);
  engine.startWorker({ rights });
  await until(async () => (await sql`select from webhooks.digests`.execute(engine.db)).rows.length === 0);
  const span = { endpointUid: uid, since: new Date(0), until: undefined, everything: true };
  const outcome = await inTransaction(engine.db, (tx) =>
    redeliverSpan(tx, { tenant, client: undefined }, span, engine.clock.now()),
  );
  expect(outcome).toBe('withheld');
  expect(receiver.received).toEqual([]);
});
