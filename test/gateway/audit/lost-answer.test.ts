/** A gateway that is cut off from the store, and what its requests wait for once the store is back. */

import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { listChains } from '#src/gateway/audit/chain/event-store.ts';
import { openRecorder } from '#src/gateway/audit/record/recorder.ts';
import { createAbandonedWatch } from '#src/gateway/audit/verify/close-abandoned.ts';
import { verifyAudit } from '#src/gateway/index.ts';
import { createDatabase } from '#src/platform/db/pool.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { until } from '../../support/until.ts';
import { type AuditHarness, openAuditHarness } from '../harness/audit-harness.ts';
import { openHarness } from '../harness/gateway-harness.ts';
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

test('A-674 once the store is back no request is refused because of the outage, however many come at once', async () => {
  await harness.change();
  const line = await openStoreLine(database.url);
  const recorder = await openRecorder({
    ...{ db: createDatabase(line.pool), box: harness.boxOf(), clock: harness.clock },
    ...{ log: pino({ level: 'silent' }), process: 'away' },
  });
  const ended = new AbortController();
  const service = recorder.service.run(ended.signal);
  const record = (): Promise<void> => recorder.record({ action: 'token.issued', actor: 'away' });
  const storedOf = async (actor: string): Promise<number> =>
    (await harness.attack('select from gateway.audit_events where actor = $1', [actor])).length;
  try {
    await record();
    await line.cut();
    await expect(record()).rejects.toMatchObject({ code: 'OVERLOADED' });
    line.slow(3);
    await line.restore();
    let isBack = false;
    let refused = 0;
    const count = (): Promise<void> => {
      const wasBack = isBack;
      return record().catch(() => {
        if (wasBack) refused += 1;
      });
    };
    const answers: Promise<void>[] = [];
    // Statements run one after the other: where a second one has stored events, the recorder has the answer to the first.
    let first = 0;
    const written = until(async () => {
      const stored = await storedOf('away');
      if (first === 0 && stored > 1) first = stored;
      return first > 0 && stored > first;
    }).then(() => {
      isBack = true;
    });
    for (let turns = 0; turns < 300; turns += isBack ? 1 : 0) {
      answers.push(count(), count(), count(), count());
      await sleep(1);
    }
    await written;
    await Promise.all(answers);
    expect(refused).toBe(0);
  } finally {
    ended.abort();
    await service;
    await line.close();
  }
});

test('A-833 tokens are issued while the connection that writes the audit is silent, and the audit has each once', async () => {
  const { openDoor, createClient, createTenant, database: store, box, close } = await openHarness();
  const line = await openStoreLine(store.url);
  try {
    const door = await openDoor({ pool: line.pool });
    const { client_id, client_secret } = await createClient([await createTenant()]);
    const body = new URLSearchParams({ client_id, client_secret, grant_type: 'client_credentials' });
    let asked = 0;
    const ask = async (): Promise<number> => {
      asked += 1;
      return (await fetch(`${door.url}/api/oauth/token`, { method: 'POST', body })).status;
    };
    expect(await ask()).toBe(200);
    line.silence('"action":"token.issued"');
    const statuses = await Promise.all([ask(), ask(), ask()]);
    expect(line.silent()).toBe(1);
    // On a busy machine the first ones have waited too long.
    expect(statuses.filter((status) => status !== 200 && status !== 503)).toEqual([]);
    await until(async () => (await ask()) === 200);
    expect(line.silent()).toBe(1);
    const { rows } = await store.pool.query("select from gateway.audit_events where action = 'token.issued'");
    expect(rows).toHaveLength(asked);
    expect(await verifyAudit({ db: store.db, box })).toMatchObject({ problems: [], unsigned: 0 });
  } finally {
    await line.restore();
    await close();
    await line.close();
  }
});

test('A-833 while each answer of the store takes longer than a second, events are written, each once', async () => {
  await harness.change();
  const line = await openStoreLine(database.url);
  const recorder = await openRecorder({
    ...{ db: createDatabase(line.pool), box: harness.boxOf(), clock: harness.clock },
    ...{ log: pino({ level: 'silent' }), process: 'slow' },
  });
  const ended = new AbortController();
  const service = recorder.service.run(ended.signal);
  try {
    await recorder.record({ action: 'token.issued', actor: 'slow' });
    line.slow(1_300);
    // Its caller may have waited too long.
    await recorder.record({ action: 'token.issued', actor: 'slow' }).catch(() => undefined);
    await until(() => recorder.waiting() === 0);
    const stored = await harness.attack("select from gateway.audit_events where actor = 'slow'");
    expect(stored).toHaveLength(2);
  } finally {
    line.slow(0);
    ended.abort();
    await service;
    await line.close();
  }
});
