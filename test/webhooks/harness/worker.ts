/**
 * A process of its own for tests that kill one: `deliver` runs a worker until SIGTERM, `record` writes one event and
 * dies after the commit and before its hint, `change` dies before the commit. The last argument is the entity of the event, or
 * for `deliver` the milliseconds between two looks for work without a hint.
 */
import { pino } from 'pino';
import { systemClock } from '#src/platform/clock.ts';
import { recordEvent } from '#src/platform/db/outbox/outbox.ts';
import { createDatabase, createPool } from '#src/platform/db/pool.ts';
import { afterCommit, inTransaction } from '#src/platform/db/transaction.ts';
import { createSecretBox } from '#src/platform/secret-box.ts';
import { supervise } from '#src/platform/supervisor.ts';
import { createWebhooks } from '#src/webhooks/index.ts';
import { draftOf } from './event-draft.ts';
import { allRights, testSettings } from './test-settings.ts';

const [, , mode = '', url = '', masterKey = '', last = ''] = process.argv;
const log = pino({ level: 'silent' });
const pool = createPool({ connection: url, applicationName: 'worker' }, log);
const db = createDatabase(pool);
const die = (): void => void process.kill(process.pid, 'SIGKILL');

if (mode === 'deliver') {
  const { services } = createWebhooks({
    db,
    pool,
    box: createSecretBox(Buffer.from(masterKey, 'base64')),
    clock: systemClock,
    log,
    settings: testSettings(),
    rights: allRights,
    rules: { allowPrivate: true, allowedOrigins: [] },
    ...(last === '' ? undefined : { lookEveryMs: Number(last) }),
  });
  const stop = new AbortController();
  process.once('SIGTERM', () => stop.abort());
  await supervise(services, stop.signal, log);
  // Without process.exit, so that anything left that keeps the process alive shows.
  await pool.end();
} else {
  await inTransaction(db, async (tx) => {
    if (mode === 'record') afterCommit(tx, die);
    await recordEvent(tx, draftOf({ entity: last, seq: 1 }, systemClock.now()));
    if (mode === 'change') die();
  });
}
