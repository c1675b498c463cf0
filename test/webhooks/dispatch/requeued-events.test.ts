import { type Kysely, sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { recordEvent } from '#src/platform/db/outbox/outbox.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { until } from '../../support/until.ts';
import { startReceiver, status, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import { draftOf, type Engine, startEngine } from '../harness/engine.ts';

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

const seqsOf = (entity: string): number[] =>
  receiver.received
    .map(({ body }) => JSON.parse(body) as { customer: { uid: string }; seq: number })
    .filter(({ customer }) => customer.uid === entity)
    .map(({ seq }) => seq);

const states = async (): Promise<string[]> => (await engine.deliveries()).map(({ state }) => state);

/** Makes events look new again, as after a restore. */
const requeue = async (tx: Kysely<unknown>, upToSeq: number): Promise<void> => {
  await sql`
    insert into outbox.waiting (position, event_id, tenant, kind, event, entity, created)
    select nextval('outbox.event_positions'), id, tenant, kind, event, entity, created from outbox.events
    where seq <= ${upToSeq} order by position`.execute(tx);
};

/** The dispatcher sees one more event of `cus_1` together with them. */
const requeueWithNext = (): Promise<void> =>
  inTransaction(engine.db, async (tx) => {
    await requeue(tx, 1);
    await recordEvent(tx, draftOf({ entity: 'cus_1', seq: 2 }, engine.clock.now()));
  });

test('an event that is queued again after it arrived is not sent again and does not block later ones of its entity', async () => {
  engine.startWorker();
  await engine.record({ entity: 'cus_1', seq: 1 });
  await engine.record({ entity: 'cus_2', seq: 1 });
  await until(async () => (await states()).filter((state) => state === 'succeeded').length === 2);
  await requeueWithNext();
  await until(async () => (await states()).filter((state) => state === 'succeeded').length === 3);
  expect([seqsOf('cus_1'), seqsOf('cus_2')]).toEqual([[1, 2], [1]]);
  const { rows } = await sql<{ places: number; waiting: number }>`
    select (select count(*) from outbox.places) as places, (select count(*) from outbox.waiting) as waiting`.execute(
    engine.db,
  );
  expect(rows).toEqual([{ places: 3, waiting: 0 }]);
});

test('A-138 an event that is queued again during its attempt still blocks the later one of its entity until the answer', async () => {
  engine.startWorker();
  // The endpoint is known to answer, so it may have several attempts at once.
  await engine.record({ entity: 'cus_known', seq: 1 });
  await until(async () => (await states()).includes('succeeded'));
  let answer: (() => void) | undefined;
  receiver.behave((response, { body }) => {
    const end = (): void => void response.writeHead(204).end();
    if (body.includes('"cus_1"') && answer === undefined) answer = end;
    else end();
  });
  await engine.record({ entity: 'cus_1', seq: 1 });
  await until(() => answer !== undefined);
  await requeueWithNext();
  await until(async () => (await states()).length === 3);
  await engine.record({ entity: 'cus_2', seq: 1 });
  await until(async () => (await states()).at(-1) === 'succeeded');
  expect(await states()).toEqual(['succeeded', 'pending', 'waiting', 'succeeded']);
  expect(seqsOf('cus_1')).toEqual([1]);
  receiver.behave(status(204));
  answer?.();
  await until(async () => (await states()).every((state) => state === 'succeeded'));
  expect(seqsOf('cus_1')).toEqual([1, 2]);
});

test('A-138 an event that is queued again for an endpoint made after it waits for the later one in flight there', async () => {
  engine.startWorker();
  await engine.record({ entity: 'cus_1', seq: 1 });
  await until(async () => (await states()).includes('succeeded'));
  const later = await startReceiver();
  try {
    await engine.addEndpoint(later.url);
    await engine.record({ entity: 'cus_known', seq: 1 });
    await until(async () => (await states()).filter((state) => state === 'succeeded').length === 3);
    let answer: (() => void) | undefined;
    later.behave((response) => {
      answer = () => void response.writeHead(204).end();
    });
    await engine.record({ entity: 'cus_1', seq: 2 });
    await until(() => answer !== undefined);
    await requeue(engine.db, 1);
    await until(async () => (await states()).length === 6);
    expect((await states()).filter((state) => state === 'waiting')).toHaveLength(1);
    expect(later.received).toHaveLength(2);
    later.behave(status(204));
    answer?.();
    await until(async () => (await states()).every((state) => state === 'succeeded'));
    expect(later.received).toHaveLength(3);
  } finally {
    await later.close();
  }
});
