/** A gateway that is cut off from the store right after the store took its events. */
import { hostname } from 'node:os';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { listChains } from '#src/gateway/audit/chain/event-store.ts';
import { openRecorder } from '#src/gateway/audit/record/recorder.ts';
import { createAbandonedWatch } from '#src/gateway/audit/verify/close-abandoned.ts';
import { createDatabase } from '#src/platform/db/pool.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { until } from '../../support/until.ts';
import { type AuditHarness, openAuditHarness } from '../harness/audit-harness.ts';
import { openStoreLine } from '../harness/store-line.ts';

let database: TestDatabase;
let harness: AuditHarness;

beforeAll(async () => {
  database = await createTestDatabase();
  harness = await openAuditHarness(database);
});

afterAll(async () => {
  await harness.close();
  await database.drop();
});

test('A-598 events whose answer is lost are written once and no problem of the audit, also when another gateway closes their chain meanwhile', async () => {
  await harness.change();
  const line = await openStoreLine(database.url);
  const { clock } = harness;
  const box = harness.boxOf();
  // Another gateway takes the chain of a process that ended for abandoned, without 45 s of silence.
  const process = `${hostname()}:999999999`;
  const recorder = await openRecorder({
    ...{ db: createDatabase(line.pool), box, clock, log: pino({ level: 'silent' }), process },
  });
  const ended = new AbortController();
  const service = recorder.service.run(ended.signal);
  const written = async (action: string): Promise<number> =>
    (await harness.attack('select from gateway.audit_events where action = $1', [action])).length;
  try {
    await recorder.record({ action: 'token.issued', actor: 'before' });
    line.slow(3_600_000);
    const late = recorder.record({ action: 'token.refused', actor: 'cut' }).catch(() => undefined);
    await until(async () => (await written('token.refused')) === 1);
    await createAbandonedWatch({ db: database.db, box: harness.boxOf(), clock }).look(
      (await listChains(database.db, undefined, 500)).map((row) => ({ ...row, mac: row.mac.toString('hex') })),
    );
    expect(await written('audit.chain_closed')).toBe(1);
    line.slow(0);
    await line.cut();
    await line.restore();
    await late;
    await until(() => recorder.waiting() === 0);
    await recorder.record({ action: 'token.issued', actor: 'after' });
    expect(await written('token.refused')).toBe(1);
    expect(await written('audit.broken')).toBe(0);
    expect(await harness.verify()).toMatchObject({ problems: [], unsigned: 0 });
  } finally {
    ended.abort();
    await service;
    await line.close();
  }
});
