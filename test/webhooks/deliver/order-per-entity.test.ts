import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { startReceiver, status, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import { type Engine, startEngine } from '../harness/engine.ts';

let engine: Engine;
let receiver: WebhookReceiver;

beforeEach(async () => {
  engine = await startEngine();
  receiver = await startReceiver();
});

afterEach(async () => {
  await engine.close();
  await receiver.close();
});

type Seen = { entity: string; seq: number };

const seen = (): Seen[] =>
  receiver.received.map(({ body }) => {
    const event = JSON.parse(body) as { customer: { uid: string }; seq: number };
    return { entity: event.customer.uid, seq: event.seq };
  });

const states = async (): Promise<string[]> => (await engine.deliveries()).map(({ state }) => state);

test('A-137 while the first event of a customer fails its later ones wait; events of others arrive', async () => {
  receiver.behave((response, { body }) => {
    response.writeHead(body.includes('cus_stuck') ? 500 : 204).end();
  });
  await engine.addEndpoint(receiver.url);
  engine.startWorker();
  await engine.record({ entity: 'cus_stuck', seq: 1 });
  await engine.record({ entity: 'cus_stuck', seq: 2 });
  await engine.record({ entity: 'cus_other', seq: 1 });
  await engine.record({ entity: 'cus_other', seq: 2 });
  await until(async () => (await states()).filter((state) => state === 'succeeded').length === 2);
  expect((await states()).slice(0, 2)).toEqual(['pending', 'waiting']);
  expect(seen().filter(({ entity }) => entity === 'cus_stuck')).toEqual([{ entity: 'cus_stuck', seq: 1 }]);

  receiver.behave(status(204));
  engine.advance(6_000);
  await until(async () => (await states()).every((state) => state === 'succeeded'));
  expect(
    seen()
      .filter(({ entity }) => entity === 'cus_stuck')
      .map(({ seq }) => seq),
  ).toEqual([1, 1, 2]);
});

test('A-138 the sequence per entity is strict with parallel producers, three workers and restarts, and every event arrives', async () => {
  // Answers are delayed by different times, so that workers would overtake each other without the entity queues.
  receiver.behave((response, _request, number) => {
    setTimeout(() => response.writeHead(204).end(), (number * 7) % 12);
  });
  await engine.addEndpoint(receiver.url);
  const entities = 12;
  const eventsEach = 25;
  const stops = [engine.startWorker(), engine.startWorker(), engine.startWorker()];
  const producing = Promise.all(
    Array.from({ length: entities }, async (_, entity) => {
      for (let seq = 1; seq <= eventsEach; seq += 1) await engine.record({ entity: `cus_${entity}`, seq });
    }),
  );
  await until(() => receiver.received.length > 50);
  await stops[0]?.();
  engine.startWorker();
  await producing;
  await stops[1]?.();
  engine.startWorker();
  await until(async () => {
    const all = await states();
    return all.length === entities * eventsEach && all.every((state) => state === 'succeeded');
  });
  for (let entity = 0; entity < entities; entity += 1) {
    const seqs = seen()
      .filter((event) => event.entity === `cus_${entity}`)
      .map(({ seq }) => seq);
    // A stopped worker may have sent an event whose result it could not write: the event is repeated, never out of
    // sequence.
    const steps = seqs.filter((seq, index) => seq !== seqs[index - 1]);
    expect(steps).toEqual(Array.from({ length: eventsEach }, (_, index) => index + 1));
  }
});
