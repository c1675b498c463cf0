import { afterEach, beforeEach, expect, test } from 'vitest';
import { outboxChannel, recordEvent } from '#src/platform/db/outbox/outbox.ts';
import { createDatabase } from '#src/platform/db/pool.ts';
import { afterCommit, inTransaction } from '#src/platform/db/transaction.ts';
import { openStoreLine } from '../../gateway/harness/store-line.ts';
import { type Notifications, openNotifications } from '../../support/database.ts';
import { until } from '../../support/until.ts';
import { startReceiver, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import { draftOf, type Engine, startEngine } from '../harness/engine.ts';
import { type Killable, spawnWorker } from '../harness/spawn-worker.ts';

let engine: Engine;
let receiver: WebhookReceiver;
let notifications: Notifications;
let child: Killable | undefined;

beforeEach(async () => {
  engine = await startEngine();
  receiver = await startReceiver();
  await engine.addEndpoint(receiver.url);
  notifications = await openNotifications(engine.url, [outboxChannel]);
});

afterEach(async () => {
  await child?.kill();
  child = undefined;
  await notifications.close();
  await engine.close();
  await receiver.close();
});

/** Longer than a test may last, so that a poll brings nothing. */
const neverMs = 3_600_000;

/** The first event may be found when the dispatcher starts. The others come only after it looks again. */
const sendThree = async (): Promise<void> => {
  for (let seq = 1; seq <= 3; seq += 1) {
    await engine.record({ entity: 'cus_1', seq });
    await until(() => receiver.received.length === seq);
  }
};

const arrived = (entity: string): boolean => receiver.received.some(({ body }) => body.includes(entity));

test('a commit wakes the dispatcher of another process without a poll', async () => {
  child = spawnWorker('deliver', engine.url, engine.masterKey.toString('base64'), String(neverMs));
  await sendThree();
});

test('a commit wakes the dispatcher of its own process in memory, without a notification', async () => {
  engine.startWorker({ lookEveryMs: neverMs });
  await sendThree();
});

test('an event is delivered after the next poll when its process dies between the commit and the hint', async () => {
  engine.startWorker();
  await engine.record({ entity: 'cus_before', seq: 1 });
  await until(() => arrived('cus_before') && notifications.received.length === 1);
  expect(await spawnWorker('record', engine.url, '', 'cus_unhinted').ended).toBe('SIGKILL');
  await until(() => arrived('cus_unhinted'));
  await engine.record({ entity: 'cus_after', seq: 1 });
  await until(() => notifications.received.length > 1);
  expect(notifications.received).toHaveLength(2);
});

test('an event is delivered after the next poll when the connection of its hint breaks, and the next hint is sent', async () => {
  engine.startWorker();
  const line = await openStoreLine(engine.url);
  try {
    const db = createDatabase(line.pool);
    const record = (entity: string, atCommit?: () => void) =>
      inTransaction(db, async (tx) => {
        if (atCommit !== undefined) afterCommit(tx, atCommit);
        await recordEvent(tx, draftOf({ entity, seq: 1 }, engine.clock.now()));
      });
    await record('cus_before');
    await until(() => arrived('cus_before') && notifications.received.length === 1);
    await record('cus_unhinted', () => void line.cut());
    await until(() => arrived('cus_unhinted'));
    await line.restore();
    await until(() =>
      record('cus_after').then(
        () => true,
        () => false,
      ),
    );
    await until(() => arrived('cus_after') && notifications.received.length > 1);
    expect(notifications.received).toHaveLength(2);
  } finally {
    await line.close();
  }
});
