import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { recordEvent } from '#src/platform/db/outbox/outbox.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { updateEndpoint } from '#src/webhooks/endpoints/endpoints.ts';
import type { OwnerRights } from '#src/webhooks/index.ts';
import { redeliverSpan } from '#src/webhooks/redeliver/redeliver.ts';
import { until } from '../../support/until.ts';
import { startReceiver, status, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import { type Engine, startEngine, tenant } from '../harness/engine.ts';
import { draftOf } from '../harness/event-draft.ts';

const every = ['customers', 'orders', 'loyaltylog', 'menu'];

let engine: Engine;
let receiver: WebhookReceiver;
let uid: string;
let readable: readonly string[];
let changes: number;

const rights: OwnerRights = {
  kinds: every,
  changesSince: async (version) => ({
    version: String(changes),
    changed: version === String(changes) ? [] : version === undefined ? 'all' : ['opc_till'],
  }),
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
    select withheld_kinds as withheld, withheld_through is not null as cancelling
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
  receiver.behave(status(503, { 'retry-after': '3600' }));
  engine.startWorker({ rights });
  await order('ord_1');
  await order('ord_1', 2);
  await engine.record({ entity: 'cus_1', seq: 1 });
  await until(() => receiver.received.length === 2);
  allow(['customers']);
  await isWithheld('orders', 'loyaltylog', 'menu');
  expect(await states()).toEqual({ ord_1: 'cancelled', cus_1: 'pending' });

  receiver.behave(status(204));
  await order('ord_2');
  await engine.record({ entity: 'cus_2', seq: 1 });
  engine.advance(4_000_000);
  await until(async () => (await states()).cus_1 === 'succeeded' && (await states()).cus_2 === 'succeeded');
  expect(await states()).not.toHaveProperty('ord_2');

  allow(every);
  await isWithheld();
  await order('ord_3');
  await until(async () => (await states()).ord_3 === 'succeeded');
  const span = { endpointUid: uid, since: new Date(engine.clock.now().getTime() - 5_000_000), until: undefined };
  await inTransaction(engine.db, (tx) =>
    redeliverSpan(tx, { tenant, client: undefined }, { ...span, everything: false }, engine.clock.now()),
  );
  await until(() => receiver.received.length === 8);
  expect(entities().slice(2).sort()).toEqual(['cus_1', 'cus_2', 'ord_1', 'ord_1', 'ord_2', 'ord_3']);
});

test('A-248 deliveries that wait for a slot in the worker are not sent after the right has ended', async () => {
  engine.startWorker({ rights, settings: { endpoint_concurrency_max: 1 } });
  // A worker leases ahead for a receiver that answers quickly.
  for (let number = 1; number <= 5; number += 1) await order(`quick_${number}`);
  await until(async () => Object.values(await states()).filter((state) => state === 'succeeded').length === 5);
  let release = (): void => {};
  receiver.behave((response) => {
    release = () => void response.writeHead(204).end();
  });
  await inTransaction(engine.db, async (tx) => {
    const now = engine.clock.now();
    const kind = { kind: 'orders', event: 'order.new', object: 'order', trailing: {} };
    for (let number = 1; number <= 20; number += 1)
      await recordEvent(tx, draftOf({ entity: `ord_${number}`, seq: 1, ...kind }, now));
  });
  const leased = async (): Promise<number> => {
    const { rows } = await sql`
      select from webhooks.deliveries where state = 'pending' and lease_until > ${engine.clock.now()}`.execute(
      engine.db,
    );
    return rows.length;
  };
  await until(async () => receiver.received.length === 6 && (await leased()) > 3);
  allow([]);
  await until(async () => (await stored()).withheld.length > 0);
  release();
  await isWithheld(...every, 'webhook');
  await until(async () => !Object.values(await states()).includes('pending'));
  expect(Object.values(await states()).toSorted()).toEqual([
    ...Array(19).fill('cancelled'),
    ...Array(6).fill('succeeded'),
  ]);
  expect(receiver.received).toHaveLength(6);
});

test('A-248 an endpoint without any right gets no digest, and its redelivery is refused', async () => {
  await inTransaction(engine.db, (tx) =>
    updateEndpoint(tx, { tenant, client: undefined }, uid, { digest: true }, engine.clock.now()),
  );
  await order('ord_1');
  allow([]);
  const stop = engine.startWorker({ rights });
  await isWithheld(...every, 'webhook');
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

test('A-248 deliveries of a kind that left the endpoint are cancelled when the right to read it ends', async () => {
  receiver.behave(status(503));
  engine.startWorker({ rights });
  await order('ord_1');
  await until(() => receiver.received.length === 1);
  await inTransaction(engine.db, (tx) =>
    updateEndpoint(tx, { tenant, client: undefined }, uid, { kinds: ['customers'] }, engine.clock.now()),
  );
  allow(['customers']);
  await until(async () => (await states()).ord_1 === 'cancelled');
});

test('A-248 a delivery that a worker of the release before has made is cancelled and not sent', async () => {
  allow([]);
  const stop = engine.startWorker({ rights });
  await isWithheld(...every, 'webhook');
  await stop();
  await order('ord_1');
  // That worker does not know the column.
  await sql`update webhooks.endpoints set withheld_kinds = '{}' where uid = ${uid}`.execute(engine.db);
  receiver.behave(status(503));
  const old = engine.startWorker();
  await until(() => receiver.received.length === 1);
  await old();
  await sql`update webhooks.endpoints set withheld_kinds = ${[...every, 'webhook']}::text[] where uid = ${uid}`.execute(
    engine.db,
  );
  engine.advance(10_000);
  engine.startWorker({ rights });
  await until(async () => (await states()).ord_1 === 'cancelled');
  expect(receiver.received).toHaveLength(1);
});

test('A-248 the rights of 2,500 endpoints are stored, although they are more than one page', async () => {
  await sql`
    insert into webhooks.endpoints (tenant, uid, owner_kind, owner_id, url, kinds, secret, created)
    select tenant || number, uid || number, owner_kind, owner_id, url, kinds, secret, created
    from webhooks.endpoints, generate_series(1, 2500) as number where uid = ${uid}`.execute(engine.db);
  allow(['customers']);
  engine.startWorker({ rights });
  const withheld = async (): Promise<number> => {
    const { rows } = await sql<{ count: number }>`
      select count(*) as count from webhooks.endpoints where 'orders' = any(withheld_kinds) and withheld_through is null`.execute(
      engine.db,
    );
    return rows[0]?.count ?? 0;
  };
  await until(async () => (await withheld()) === 2501);
});

test('A-248 a delivery whose attempt was in flight when the right ended is cancelled when that attempt has failed', async () => {
  let fail = (): void => {};
  receiver.behave((response) => {
    fail = () => void response.writeHead(500).end();
  });
  engine.startWorker({ rights });
  await order('ord_1');
  await until(() => receiver.received.length === 1);
  allow([]);
  await isWithheld(...every, 'webhook');
  fail();
  await until(async () => (await states()).ord_1 === 'cancelled');
});

test('A-248 a change of one client makes a worker read the rights of that client only', async () => {
  const owner = { kind: 'api_client', id: 'opc_other' } as const;
  await engine.addEndpoint(receiver.url, { kinds: ['orders'], owner });
  const asked: string[][] = [];
  const noted: OwnerRights = {
    ...rights,
    kindsOf: async (owners) => {
      asked.push(owners.map(({ clientId }) => clientId));
      return rights.kindsOf(owners);
    },
  };
  engine.startWorker({ rights: noted });
  await until(() => asked.length === 1);
  allow(['customers']);
  await isWithheld('orders', 'loyaltylog', 'menu');
  expect([asked[0]?.toSorted(), asked[1]]).toEqual([['opc_other', 'opc_till'], ['opc_till']]);
});

test('A-248 a worker that starts sends nothing before it has read the rights', async () => {
  const asked = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  const slow: OwnerRights = {
    ...rights,
    kindsOf: async (owners) => {
      asked.resolve();
      await answered.promise;
      return rights.kindsOf(owners);
    },
  };
  allow([]);
  await order('ord_1');
  engine.startWorker({ rights: slow });
  await asked.promise;
  const heartbeat = async (): Promise<number> => {
    const { rows } = await sql<{ seen: Date }>`select seen from webhooks.workers`.execute(engine.db);
    return rows[0]?.seen.getTime() ?? 0;
  };
  await until(async () => (await states()).ord_1 === 'pending' && (await heartbeat()) > 0);
  // By then a worker that is allowed to send would have claimed several times.
  const first = await heartbeat();
  try {
    await until(async () => (await heartbeat()) > first + 1_500);
    expect(receiver.received).toEqual([]);
  } finally {
    answered.resolve();
  }
  await until(async () => (await states()).ord_1 === 'cancelled');
  expect(receiver.received).toEqual([]);
});
