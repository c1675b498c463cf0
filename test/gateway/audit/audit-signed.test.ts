/** Signatures in searches, exports, positions of sinks and verdicts, and the audit of an installation of the first version. */
import { createHmac } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { appendToChain, chainStart, headLabel, signAnchor, signHead } from '#src/gateway/audit/chain/chain.ts';
import { insertChain, insertEvents } from '#src/gateway/audit/chain/event-store.ts';
import { completeEvent } from '#src/gateway/audit/event/event.ts';
import { createAuditSinks } from '#src/gateway/audit/sinks/feed-sinks.ts';
import { exportAudit, findAuditEvent, listVerifications, searchAudit, startVerification } from '#src/gateway/index.ts';
import { supervise } from '#src/platform/supervisor.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { until } from '../../support/until.ts';
import { type AuditHarness, openAuditHarness } from '../harness/audit-harness.ts';

let database: TestDatabase;
let harness: AuditHarness;
let folder: string;

const log = pino({ level: 'silent' });

beforeAll(async () => {
  database = await createTestDatabase();
});

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'orderpass-'));
  harness = await openAuditHarness(database);
});

afterEach(async () => {
  await harness.close();
  rmSync(folder, { recursive: true, force: true });
});

afterAll(() => database.drop());

const deps = () => ({ db: database.db, box: harness.boxOf(), clock: harness.clock, actor: 'cli:ada' });

test('F-24 search and export mark each event as signed or not signed', async () => {
  await harness.start();
  await harness.changeHere();
  await harness.stop();
  const [end] = await harness.attack(
    `select seq::int, encode(hash, 'hex') as hash from gateway.audit_events where chain = 0 order by seq desc limit 1`,
  );
  const made = completeEvent({ action: 'key.revoked', actor: 'mallory' }, harness.clock.now());
  const forged = appendToChain(0, end as { seq: number; hash: string }, [made]).events;
  const headless = appendToChain(77, { seq: 0, hash: chainStart }, [made]).events;
  await insertEvents(database.db, [...forged, ...headless]);
  const { events } = await searchAudit(deps(), { filter: { action: 'key.revoked' }, limit: 10 });
  expect(events.map((event) => [event.actor, event.signed])).toEqual([
    ['mallory', false],
    ['mallory', false],
  ]);
  const genuine = await searchAudit(deps(), { filter: { action: 'tenant.created' }, limit: 10 });
  expect(genuine.events.map((event) => event.signed)).toEqual([true]);
  const pieces: string[] = [];
  await exportAudit(deps(), { format: 'csv', write: async (piece) => void pieces.push(piece) });
  const [head = '', ...lines] = pieces.join('').trimEnd().split('\r\n');
  expect(head.endsWith(',orderpass.signed,orderpass.source.network')).toBe(true);
  const signedOf = (text: string): (string | undefined)[] =>
    lines.filter((line) => line.includes(text)).map((line) => line.split(',').at(-2));
  expect(signedOf('mallory')).toEqual(['false', 'false']);
  expect(signedOf(',tenant.created,')).toEqual(['true']);
});

test('F-24 forged chains with the lowest and the highest number end neither a search nor later exports', async () => {
  const at = new Date(harness.clock.now().getTime() + 60_000);
  for (const chain of [-(2 ** 31), 2 ** 31 - 1]) {
    const made = completeEvent({ action: 'key.revoked', actor: `mallory${chain}` }, at);
    await insertEvents(database.db, appendToChain(chain, { seq: 0, hash: chainStart }, [made]).events);
    await harness.attack(
      `insert into gateway.audit_chains
       select $1, 'x', opened, 1, hash, signed, true, '[]', mac, 0, anchor_hash, anchor_mac
       from gateway.audit_chains where chain = 0`,
      [chain],
    );
  }
  await harness.change();
  const actors: (string | null)[] = [];
  let before: string | undefined;
  do {
    const page = await searchAudit(deps(), { filter: {}, before, limit: 1 });
    for (const event of page.events) {
      actors.push(event.actor);
      expect((await findAuditEvent(deps(), event.id))?.hash).toBe(event.hash);
    }
    before = page.next;
  } while (before !== undefined && actors.length < 50);
  expect(actors.filter((actor) => actor?.startsWith('mallory'))).toHaveLength(2);
  expect(actors.length).toBeGreaterThan(3);
  const write = async (): Promise<void> => undefined;
  const first = await exportAudit(deps(), { format: 'jsonl', write });
  await harness.start();
  await harness.request();
  await harness.stop();
  const lines: string[] = [];
  await exportAudit(deps(), { format: 'jsonl', after: first.cursor, write: async (text) => void lines.push(text) });
  expect(lines.join('')).toContain('"request.denied"');
  expect(lines.join('')).not.toContain('mallory');
});

test('F-24 a forged position of a sink is ignored, and the events that it would have skipped are sent', async () => {
  const file = join(folder, 'audit.jsonl');
  const settings = { audit_days: 365, audit_stdout: 'off' as const, audit_file: file };
  const sinkDuring = async (work: () => Promise<void>): Promise<void> => {
    const ended = new AbortController();
    const sinks = createAuditSinks({ db: database.db, box: harness.boxOf(), log, holder: 'test' }, settings);
    const running = supervise(sinks, ended.signal, log);
    await work();
    ended.abort();
    await running;
  };
  const taken = (): string => (existsSync(file) ? readFileSync(file, 'utf8') : '');
  await harness.change();
  await sinkDuring(() => until(() => taken().includes('"event.id":"0-1"')));
  await harness.attack('update gateway.audit_sink_positions set seq = 100 where chain = 0');
  await harness.change();
  await sinkDuring(() => until(() => taken().includes('"event.id":"0-2"')));
});

test('F-24 a forged verdict of a verification is not shown as a verdict', async () => {
  await harness.start();
  await harness.changeHere();
  const verdicts = async () => (await listVerifications(deps(), 5)).map(({ state }) => state);
  await startVerification({ ...deps(), log }, { actor: 'ada', address: '127.0.0.1' });
  await until(async () => (await verdicts())[0] === 'sound');
  await harness.attack('update gateway.audit_events set actor = $1 where chain = 0 and seq = 1', ['mallory']);
  await startVerification({ ...deps(), log }, { actor: 'ada', address: '127.0.0.1' });
  await until(async () => (await verdicts())[0] === 'broken');
  await harness.attack(
    'update gateway.audit_verifications set problem = null, problem_chain = null, problem_seq = null',
  );
  expect(await verdicts()).toEqual(['interrupted', 'sound']);
});

/** A chain as the first version wrote it, with `events` events, of which the head covers `signed`. */
const oldChain = async (chain: number, process: string, { events, signed }: { events: number; signed: number }) => {
  const key = harness.boxOf({ blind: true }).derive(headLabel);
  const now = harness.clock.now();
  const all = Array.from({ length: events }, () =>
    completeEvent({ action: 'request.denied', outcome: 'failure' }, now),
  );
  const appended = appendToChain(chain, { seq: 0, hash: chainStart }, all).events;
  const hash = appended[signed - 1]?.hash ?? chainStart;
  const head = { chain, process, opened: now, seq: signed, hash, signed: now, closed: false, seen: '[[0,2]]' };
  const start = { seq: 0, hash: chainStart };
  await harness.attack('select gateway.audit_partition($1)', [now]);
  await insertChain(database.db, {
    ...{ ...head, mac: signHead(key, head) },
    ...{ anchorSeq: 0, anchorHash: chainStart, anchorMac: signAnchor(key, chain, start) },
  });
  await insertEvents(database.db, appended);
};

test('F-58 an audit of the first version still verifies, and the next start signs the events that its killed processes left unsigned', async () => {
  await oldChain(0, 'changes', { events: 2, signed: 2 });
  await oldChain(1, 'elsewhere:1', { events: 5, signed: 3 });
  await oldChain(2, `${hostname()}:4194305`, { events: 5, signed: 3 });
  expect(await harness.verify()).toMatchObject({ problems: [], unsigned: 4, events: 12 });
  const unsigned = await searchAudit(deps(), { filter: { action: 'request.denied' }, limit: 50 });
  expect(unsigned.events.filter((event) => event.signed === false)).toHaveLength(4);
  await harness.start();
  const closed = () => harness.attack('select chain from gateway.audit_chains where closed order by chain');
  await until(async () => (await closed()).length === 1);
  expect(await closed()).toEqual([{ chain: 2 }]);
  expect(await harness.verify()).toMatchObject({ problems: [], unsigned: 2 });
  // A process on another host is detected by a silence of 45 s, which counts from the look that closed the other chain.
  const now = performance.now.bind(performance);
  const passed = vi.spyOn(performance, 'now').mockImplementation(() => now() + 46_000);
  onTestFinished(() => passed.mockRestore());
  await until(async () => (await closed()).length === 2);
  expect(await closed()).toEqual([{ chain: 1 }, { chain: 2 }]);
  expect(await harness.verify()).toMatchObject({ problems: [], unsigned: 0 });
  await harness.attack('delete from gateway.audit_events where chain = 2 and seq = 5');
  expect((await harness.verify({ blind: true })).problems).toContainEqual(
    expect.objectContaining({ chain: 2, seq: 5 }),
  );
});

test('F-21 a signature by another key is invalid', async () => {
  await harness.change();
  await harness.attack('update gateway.audit_chains set mac = $1 where chain = 0', [
    createHmac('sha256', 'guessed').update('head').digest(),
  ]);
  await harness.change();
  expect((await harness.verify({ blind: true })).firstProblem).toMatchObject({ chain: 0, seq: null });
});
