/** The cost of heads of processes that ended long ago: each start of a process adds one, and none is ever removed. */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Kysely, KyselyPlugin } from 'kysely';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { openChain } from '#src/gateway/audit/chain/open-chain.ts';
import { auditProblems } from '#src/gateway/audit/chain/problem.ts';
import { createAuditGuard } from '#src/gateway/audit/verify/guard.ts';
import { openExternalHeads, verifyAudit } from '#src/gateway/index.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { until } from '../../support/until.ts';
import { type AuditHarness, openAuditHarness } from '../harness/audit-harness.ts';

let database: TestDatabase;
let harness: AuditHarness;

beforeAll(async () => {
  database = await createTestDatabase();
});
beforeEach(async () => {
  harness = await openAuditHarness(database);
});
afterEach(() => harness.close());
afterAll(() => database?.drop());

/** Counts the heads that are read as a whole, with the ends that they attest. */
const countHeads = (): { db: Kysely<unknown>; read: () => number } => {
  let read = 0;
  const plugin: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      read += result.rows.filter((row) => 'seen' in row).length;
      return result;
    },
  };
  return { db: database.db.withPlugin(plugin), read: () => read };
};

/** `process` is of another host, so that nothing closes it within this test. */
const open = (db: Kysely<unknown>, box = harness.boxOf()): Promise<{ chain: number }> =>
  inTransaction(db, (tx) => openChain(tx, box, { now: harness.clock.now(), process: 'elsewhere:1' }));

test('A-587 the guard reads a head again only after it was written, and finds one that was edited or deleted, or that lacks an end known elsewhere', async () => {
  await harness.change();
  const box = harness.boxOf();
  const edited = (await open(database.db, box)).chain;
  const deleted = (await open(database.db, box)).chain;
  const behind = (await open(database.db, box)).chain;
  const { db, read } = countHeads();
  const looks: number[] = [];
  const onHeads = async (): Promise<void> => void looks.push(read());
  const { clock } = harness;
  const ended = new AbortController();
  const guard = createAuditGuard({ db, box, clock, log: pino({ level: 'silent' }), onHeads }).run(ended.signal);
  const external = openExternalHeads(box);
  const isFound = (chain: number, problem: string) => () =>
    external.problems().some((one) => one.chain === chain && one.problem.startsWith(problem));
  try {
    await until(() => looks.length >= 2);
    expect(looks[0]).toBe(4);
    expect(looks[1]).toBe(4);
    // Only the end is kept, without the signature and what the head attests.
    expect(external.known().get(edited)).toEqual({ seq: 0, hash: '0'.repeat(64) });
    await harness.attack('update gateway.audit_chains set seen = $1 where chain = $2', ['[]', edited]);
    await until(isFound(edited, auditProblems.headSignature));
    await harness.attack('delete from gateway.audit_chains where chain = $1', [deleted]);
    await until(isFound(deleted, auditProblems.chainMissing));
    const other = openExternalHeads(harness.boxOf());
    other.note(behind, { seq: 3, hash: 'a'.repeat(64) });
    await until(async () => {
      // The guard may save at the same time; each process merges what the other wrote when it saves again.
      await other.save();
      return isFound(behind, auditProblems.endMissing)();
    });
  } finally {
    ended.abort();
    await guard;
  }
});

test('A-587 what a process knows is written again after another process replaced the file by one that lacks it', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'orderpass-heads-'));
  try {
    const { derive } = harness.boxOf();
    const openFile = () => openExternalHeads({ derive }, { dataDir, database: 'same' });
    const [one, other] = [openFile(), openFile()];
    other.note(2, { seq: 5, hash: 'a'.repeat(64) });
    await other.save();
    const [name = ''] = await readdir(dataDir);
    const file = join(dataDir, name);
    const ofOther = await readFile(file);
    one.note(1, { seq: 3, hash: 'a'.repeat(64) });
    await one.save();
    expect(openFile().known().size).toBe(2);
    // The other process read the file before, and renames its draft now. The first one learns nothing from it.
    await writeFile(file, ofOther);
    await one.save();
    expect(openFile().known().size).toBe(2);
  } finally {
    await rm(dataDir, { recursive: true });
  }
});

test('A-587 the number of a new chain is found without reading the heads of all earlier ones', async () => {
  for (let i = 0; i < 150; i += 1) await open(database.db);
  const { db, read } = countHeads();
  expect((await open(db)).chain).toBe(151);
  // 50 are attested by the chain of changes, and 20 are searched for the newest signed one.
  expect(read()).toBeLessThan(100);
});

test('A-587 a verification that compares many known ends shows that it still works', async () => {
  await harness.change();
  const box = harness.boxOf();
  for (let i = 1; i <= 2_000; i += 1) openExternalHeads(box).note(i, { seq: 0, hash: '0'.repeat(64) });
  let shown = 0;
  const { problems } = await verifyAudit({ db: database.db, box }, () => {
    shown += 1;
  });
  expect(problems).toHaveLength(100);
  expect(shown).toBeGreaterThanOrEqual(5);
});
