/** Checkpoints and proofs of the audit, by what others run, and forgeries by someone who has the master key. */
import { spawnSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { writeAttestedHeads } from '#src/gateway/audit/chain/attested-heads.ts';
import { appendToChain, chainStart, headLabel, signAnchor, signHead } from '#src/gateway/audit/chain/chain.ts';
import { replaceHead } from '#src/gateway/audit/chain/chain-store.ts';
import { listChainEvents, listChains, updateAnchors } from '#src/gateway/audit/chain/event-store.ts';
import { addLeaves } from '#src/gateway/audit/tree/add-leaves.ts';
import { openCheckpointKey } from '#src/gateway/audit/tree/signed-note.ts';
import { describeTree } from '#src/gateway/audit/tree/tree-state-store.ts';
import { readWitnessKey } from '#src/gateway/audit/tree/witness/cosignature.ts';
import { createWitness } from '#src/gateway/audit/tree/witness/witness.ts';
import {
  createCredentials,
  newestCheckpoint,
  proveConsistency,
  proveEvent,
  verifyAgainst,
  verifyCheckpoint,
  witnessedCheckpoint,
} from '#src/gateway/index.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { until } from '../../../support/until.ts';
import { type AuditHarness, openAuditHarness } from '../../harness/audit-harness.ts';
import { closeServer, listen } from '../../harness/public-door.ts';
import { startWitness } from './witness-server.ts';

let database: TestDatabase;
let harness: AuditHarness;
let folder: string;

beforeAll(async () => {
  database = await createTestDatabase();
});

beforeEach(async () => {
  harness = await openAuditHarness(database);
  folder = mkdtempSync(join(tmpdir(), 'orderpass-'));
});

afterEach(async () => {
  await harness.close();
  rmSync(folder, { recursive: true, force: true });
});

afterAll(() => database.drop());

const deps = () => ({ db: database.db, box: harness.boxOf({ blind: true }) });
const newest = async () => (await newestCheckpoint(deps())).checkpoint;
const changes = async (count: number): Promise<void> => {
  for (let n = 0; n < count; n += 1) await harness.change();
};
const sizeOf = (checkpoint: string): number => Number(checkpoint.split('\n')[1]);

/** The programs of the guide. */
const guide = readFileSync(
  new URL('../../../../src/app/reference/guide/secure/audit-checkpoints.md', import.meta.url),
  'utf8',
);
const program = (language: string): string => new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 's').exec(guide)?.[1] ?? '';

const runProgram = (command: string, file: string, vkey: string, proof: string): number | null => {
  const path = join(folder, file);
  writeFileSync(path, program(file.endsWith('.mjs') ? 'js' : 'python'));
  writeFileSync(join(folder, 'event.proof'), proof);
  return spawnSync(command, [path, join(folder, 'event.proof'), vkey], { encoding: 'utf8' }).status;
};

const hasPython = spawnSync('python3', ['-c', 'import cryptography']).status === 0;
const programs = [
  ['node', 'check.mjs', true],
  ['python3', 'check.py', hasPython],
] as const;

for (const [command, file, isThere] of programs)
  test.skipIf(!isThere)(
    `A-424 the ${command} program of the guide accepts a proof of each event, below 2 kB, and refuses an altered one`,
    async () => {
      await changes(11);
      const { checkpoint, vkey } = await newestCheckpoint(deps());
      for (const seq of [1, 2, 8, 11]) {
        const proof = await proveEvent(deps(), `0-${seq}`, checkpoint);
        expect(proof.length).toBeLessThan(2_000);
        expect(runProgram(command, file, vkey, proof)).toBe(0);
      }
      const proof = await proveEvent(deps(), '0-8', checkpoint);
      const leaf = /extra (\S+)/.exec(proof)?.[1] ?? '';
      const other = Buffer.from(Buffer.from(leaf, 'base64').toString().replace('0-8', '0-9')).toString('base64');
      const altered = [
        proof.replace(leaf, other),
        proof.replace('index 7', 'index 6'),
        proof.replace('\n11\n', '\n12\n'),
      ];
      for (const text of altered) {
        expect(text).not.toBe(proof);
        expect(runProgram(command, file, vkey, text)).not.toBe(0);
      }
    },
  );

const sumdb = '/usr/local/go/src/cmd/vendor/golang.org/x/mod';

/** Checks a proof by the packages note and tlog: its exit code. */
const prepareGo = (vkey: string): ((proof: string, against: string) => number | null) => {
  mkdirSync(join(folder, 'mod'));
  cpSync(join(sumdb, 'sumdb/note'), join(folder, 'mod/sumdb/note'), { recursive: true });
  cpSync(join(sumdb, 'sumdb/tlog'), join(folder, 'mod/sumdb/tlog'), { recursive: true });
  writeFileSync(join(folder, 'mod/go.mod'), 'module golang.org/x/mod\ngo 1.22\n');
  writeFileSync(
    join(folder, 'go.mod'),
    'module check\ngo 1.22\nrequire golang.org/x/mod v0.0.0\nreplace golang.org/x/mod => ./mod\n',
  );
  cpSync(new URL('./check.go.txt', import.meta.url), join(folder, 'main.go'));
  return (proof, against) =>
    spawnSync('/usr/local/go/bin/go', ['run', '.', vkey, proof, against], {
      cwd: folder,
      encoding: 'utf8',
      env: { ...process.env, GOFLAGS: '-mod=mod', GOPROXY: 'off', GOTOOLCHAIN: 'local' },
    }).status;
};

test.skipIf(!existsSync(sumdb))(
  'A-425 the libraries of the Go checksum database accept proofs of events and of consistency',
  async () => {
    await changes(5);
    const old = await newest();
    await changes(8);
    const { checkpoint, vkey } = await newestCheckpoint(deps());
    const run = prepareGo(vkey);
    const event = await proveEvent(deps(), '0-4', checkpoint);
    const continues = await proveConsistency(deps(), old);
    expect([run(event, checkpoint), run(continues, old)]).toEqual([0, 0]);
    expect(run(event.replace('index 3', 'index 2'), checkpoint)).not.toBe(0);
    expect(
      run(
        continues.replace(/old 5\n./, (text) => `${text.slice(0, -1)}${text.endsWith('A') ? 'B' : 'A'}`),
        old,
      ),
    ).not.toBe(0);
  },
);

/** A checkpoint after each of some numbers of events. */
const checkpointsAfter = async (...sizes: number[]): Promise<string[]> => {
  const kept: string[] = [];
  for (const size of sizes) {
    await changes(size - sizeOf(kept.at(-1) ?? '\n0'));
    kept.push(await newest());
  }
  return kept;
};

test.skipIf(!existsSync(sumdb))(
  'A-494 the same libraries accept a proof between any two kept checkpoints, of which neither is the newest',
  async () => {
    const kept = await checkpointsAfter(3, 6, 8);
    await changes(5);
    const run = prepareGo((await newestCheckpoint(deps())).vkey);
    for (const [from, to] of [
      [0, 1],
      [0, 2],
      [1, 2],
      [1, 1],
    ] as const) {
      const [older = '', newer = ''] = [kept[from], kept[to]];
      const proof = await proveConsistency(deps(), older, newer);
      expect(proof.endsWith(`\n\n${newer}`)).toBe(true);
      expect(run(proof, older)).toBe(0);
      // The proof is about these two: with another older one it proves nothing.
      if (from !== to) expect(run(proof, kept.at(to) ?? '')).not.toBe(0);
    }
  },
);

test('A-494 no proof leads from a checkpoint to an older one, or to one of another audit', async () => {
  const [first = '', second = ''] = await checkpointsAfter(3, 6);
  await expect(proveConsistency(deps(), second, first)).rejects.toThrow('has 6 events, and the other one only 3');
  await forge((details, seq) => (seq === 5 ? '{"forged":1}' : details));
  await expect(proveConsistency(deps(), first, second)).rejects.toThrow('not the one of this checkpoint');
  await expect(proveConsistency(deps(), first, first.replace('\n3\n', '\n4\n'))).rejects.toThrow('not signed by a key');
});

/** With the master key: rewrites the events of chain 0, its head, and the whole tree. */
const forge = async (alter: (details: string, seq: number) => string | undefined): Promise<void> => {
  const { db, box } = deps();
  const [row] = await listChains(db, -1, 1);
  if (row === undefined) throw new Error('no chain');
  const events = await listChainEvents(db, 0, { seq: 0 }, 1_000);
  const altered = events.flatMap((event) => {
    const details = alter(event.details, event.seq);
    return details === undefined ? [] : [{ ...event, details }];
  });
  const { events: forged, end } = appendToChain(0, { seq: 0, hash: chainStart }, altered);
  await harness.attack('delete from gateway.audit_events where chain = 0 and seq > $1', [end.seq]);
  for (const { seq, details, actor, tenants, action, at, hash } of forged) {
    await harness.attack(
      `update gateway.audit_events set details = $2, actor = $3, tenants = $4, action = $5, at = $6, hash = decode($7, 'hex')
       where chain = 0 and seq = $1`,
      [seq, details, actor, tenants, action, at, hash],
    );
  }
  const head = { ...row, ...end, seen: writeAttestedHeads([]) };
  await replaceHead(db, head, signHead(box.derive(headLabel), head), row.mac);
  await harness.attack('truncate gateway.audit_tree_leaves, gateway.audit_tree_nodes');
  await newestCheckpoint(deps());
};

const check = async (checkpoint: string) => verifyCheckpoint(deps(), checkpoint, 3);

test('A-426 an older checkpoint shows an event that was changed, deleted or moved with the master key in hand', async () => {
  await changes(7);
  const kept = await newest();
  await changes(3);
  const events = await listChainEvents(database.db, 0, { seq: 0 }, 100);
  expect(await check(kept)).toMatchObject({ problem: null, problems: [] });
  const forgeries: [string, (details: string, seq: number) => string | undefined][] = [
    ['changed', (details, seq) => (seq === 4 ? '{"forged":1}' : details)],
    ['deleted', (details, seq) => (seq === 4 ? undefined : details)],
    [
      'moved',
      (details, seq) => (seq === 4 || seq === 5 ? (events[8 - seq]?.details ?? '') + ' '.repeat(seq) : details),
    ],
  ];
  for (const [, alter] of forgeries) {
    await forge(alter);
    expect((await harness.verify({ blind: true })).problems).toEqual([]);
    expect((await check(kept)).problem).toBe('the events are not those of the checkpoint');
    await expect(proveConsistency(deps(), kept)).rejects.toThrow('not the one of this checkpoint');
  }
});

test('A-427 an older checkpoint shows a tail that was cut off, a restored backup, and one that went on', async () => {
  await changes(4);
  const tables = ['audit_events', 'audit_chains', 'audit_tree_leaves', 'audit_tree_nodes'];
  await newest();
  for (const table of tables) await harness.attack(`create table public.${table} as select * from gateway.${table}`);
  await changes(4);
  const kept = await newest();
  for (const table of tables) {
    await harness.attack(`truncate gateway.${table}`);
    await harness.attack(`insert into gateway.${table} select * from public.${table}`);
    await harness.attack(`drop table public.${table}`);
  }
  expect((await harness.verify({ blind: true })).problems).toEqual([]);
  expect((await check(kept)).problem).toBe('the checkpoint has 8 events, and the tree only 4');
  harness.clock.move(1_000);
  for (let n = 0; n < 6; n += 1) {
    await createCredentials({ ...deps(), clock: harness.clock }).createTenant(`tenant_other_${n}`);
  }
  await newest();
  expect((await check(kept)).problem).toBe('the events are not those of the checkpoint');
});

test('A-428 without the master key a changed node at the edge, or a changed event, is shown, and a checkpoint by another key is refused', async () => {
  await changes(6);
  const kept = await newest();
  await harness.attack('update gateway.audit_tree_nodes set hash = sha256(hash) where level = 1 and position = 2');
  expect((await check(kept)).problem).not.toBeNull();
  await harness.attack('delete from gateway.audit_tree_nodes');
  await harness.attack('delete from gateway.audit_tree_leaves');
  await newest();
  expect(await check(kept)).toMatchObject({ problem: null, problems: [] });
  await harness.attack('update gateway.audit_events set hash = sha256(hash) where chain = 0 and seq = 2');
  expect((await check(kept)).problems).toEqual([{ chain: 0, seq: 2, problem: 'the event, or its place, was changed' }]);
  await harness.attack('delete from gateway.audit_events where chain = 0 and seq = 2');
  expect((await check(kept)).problems).toEqual([{ chain: 0, seq: 2, problem: 'the event is missing' }]);
  const signature = /— \S+ (\S+)/.exec(kept)?.[1] ?? '';
  const forged = Buffer.from(signature, 'base64');
  forged.writeUInt8(forged.readUInt8(20) ^ 1, 20);
  expect((await check(kept.replace(signature, forged.toString('base64')))).problem).toContain('not signed by a key');
});

test('A-429 the tree keeps the hashes of events that the retention dropped, and proofs and checkpoints hold', async () => {
  await changes(3);
  const kept = await newest();
  harness.clock.move(100 * 86_400_000);
  await changes(2);
  await newest();
  await harness.retain(30);
  const [left] = await harness.attack('select min(seq)::int as seq from gateway.audit_events where chain = 0');
  expect(left).toEqual({ seq: 4 });
  expect(await check(kept)).toMatchObject({ size: 3, problem: null, problems: [] });
  expect(await proveEvent(deps(), '0-2', kept)).toContain('index 1\n');
});

const dayMs = 86_400_000;

/** Events of two chains in turn, one of each a day; those of each day are added to the tree by themselves. */
const daysOf = async (count: number): Promise<void> => {
  for (let day = 0; day < count; day += 1) {
    await harness.change();
    await harness.request();
    await newest();
    harness.clock.move(dayMs);
  }
};

/** With the master key: the chain begins after this event, as if the retention had dropped all before. */
const beginAfter = async (chain: number, seq: number): Promise<void> => {
  const { db, box } = deps();
  const [event] = await listChainEvents(db, chain, { seq: seq - 1 }, 1);
  if (event === undefined) throw new Error('no such event');
  const anchor = { seq, hash: event.hash };
  await updateAnchors(db, [{ chain, ...anchor, mac: signAnchor(box.derive(headLabel), chain, anchor) }]);
  await harness.attack('delete from gateway.audit_events where chain = $1 and seq <= $2', [chain, seq]);
};

test.each(['changes', 'requests'])(
  'A-426 an older checkpoint shows events that a new beginning of their chain cut off: %s',
  async (which) => {
    await harness.start();
    await daysOf(12);
    await harness.stop();
    const kept = await newest();
    expect(await check(kept)).toMatchObject({ dropped: 0, problem: null, problems: [] });
    const [other] = await harness.attack('select chain from gateway.audit_chains where chain > 0');
    const chain = which === 'changes' ? 0 : Number(other?.chain);
    await beginAfter(chain, 12);
    expect((await harness.verify({ blind: true })).problems).toEqual([]);
    const { problem, problems, dropped } = await check(kept);
    expect([problem, dropped]).toEqual([null, 12]);
    expect(problems.at(-1)).toEqual({ chain, seq: 12, problem: 'the event is missing' });
  },
);

test('A-429 what the retention drops of several chains, which were added day by day or late, is not missing', async () => {
  await harness.start();
  for (let n = 0; n < 40; n += 1) {
    await harness.change();
    await harness.request();
    harness.clock.move(dayMs);
  }
  await newest();
  await daysOf(60);
  await harness.stop();
  const kept = await newest();
  harness.clock.move(20 * dayMs);
  await harness.retain(30);
  const found = await check(kept);
  expect(found).toMatchObject({ problem: null, problems: [] });
  expect(found.dropped).toBeGreaterThan(100);
});

test('A-430 many processes that add leaves at once make one tree, and one that dies in between leaves nothing half done', async () => {
  await changes(9);
  const ends = [{ chain: 0, seq: 9 }];
  const client = await database.pool.connect();
  await client.query('begin');
  await client.query("select pg_advisory_xact_lock(hashtext('gateway.audit_tree'))");
  await client.query("insert into gateway.audit_tree_leaves (position, chain, seq, hash) values (0, 0, 1, '\\x00')");
  expect(await addLeaves(database.db, ends)).toBe('busy');
  await client.query('rollback');
  client.release();
  for (let done = 'more'; done !== 'all'; ) {
    [done = 'more'] = await Promise.all(Array.from({ length: 4 }, () => addLeaves(database.db, ends, 2)));
  }
  const leaves = await harness.attack(
    'select position::int, seq::int from gateway.audit_tree_leaves order by position',
  );
  expect(leaves).toEqual(Array.from({ length: 9 }, (_, position) => ({ position, seq: position + 1 })));
  const kept = await newest();
  expect(await check(kept)).toMatchObject({ size: 9, problem: null, problems: [] });
});

type Published = {
  origin: string;
  vkeys: string[];
  keys: { vkey: string; since_iso: string; until_iso: string | null }[];
  checkpoint: string | null;
  witnesses: string[];
  witnessed: string | null;
};

const published = async (): Promise<Published> =>
  (await (await fetch(`${harness.url()}/.well-known/audit-log`)).json()) as Published;

test('A-430 a proof and a checkpoint wait for a process that adds leaves, and have the events that it did not know', async () => {
  await changes(3);
  const client = await database.pool.connect();
  await client.query('begin');
  await client.query("select pg_advisory_xact_lock(hashtext('gateway.audit_tree'))");
  const [proof, checkpoint] = [proveEvent(deps(), '0-3'), newest()];
  let isDone = false;
  void Promise.allSettled([proof, checkpoint]).then(() => {
    isDone = true;
  });
  await until(async () => {
    const asked = await harness.attack(
      `select 1 from pg_stat_activity where datname = current_database() and query like '%pg_try_advisory_xact_lock%'`,
    );
    return asked.length > 0 || isDone;
  });
  expect(isDone).toBe(false);
  await client.query('rollback');
  client.release();
  expect(await proof).toContain('index 2');
  expect(sizeOf(await checkpoint)).toBe(3);
  await expect(proveEvent(deps(), '0-4')).rejects.toThrow('No event 0-4 is in the tree');
});

test('events of a closed chain count as waiting until they are leaves', async () => {
  await harness.start();
  await harness.changeHere();
  await harness.request();
  await harness.stop();
  const [ends] = await harness.attack(
    `select sum(seq)::int as events, bool_or(closed) as closed from gateway.audit_chains`,
  );
  // The gateway may have added two events at once, which makes a node as well.
  await harness.attack('truncate gateway.audit_tree_leaves, gateway.audit_tree_nodes');
  expect([ends?.closed, (await describeTree(database.db)).waiting]).toEqual([true, ends?.events]);
  await newest();
  expect((await describeTree(database.db)).waiting).toBe(0);
});

test('A-431 a running gateway adds the events of every chain, and its public document has the key and the checkpoint', async () => {
  await harness.start();
  await harness.changeHere();
  await harness.request();
  await until(async () => {
    const [ends] = await harness.attack('select sum(seq)::int as events from gateway.audit_chains');
    const { checkpoint } = await published();
    return checkpoint !== null && sizeOf(checkpoint) === ends?.events && sizeOf(checkpoint) > 1;
  });
  const { origin, vkeys, checkpoint } = await published();
  expect(checkpoint?.startsWith(`${origin}\n`)).toBe(true);
  expect(vkeys).toEqual([(await newestCheckpoint(deps())).vkey]);
  expect(await check(checkpoint ?? '')).toMatchObject({ problem: null, problems: [] });
});

const newKey = (): string => String(generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' }));

test('A-433 a key of the settings signs, the document keeps older keys with their times, and checkpoints of each hold', async () => {
  await harness.start();
  await harness.changeHere();
  await until(async () => (await published()).checkpoint !== null);
  const kept = [(await published()).checkpoint ?? ''];
  const { vkeys: first, origin } = await published();
  const pems = [newKey(), newKey()];
  for (const audit_key of pems) {
    await harness.stop();
    harness.clock.move(60_000);
    await harness.start({ audit_key });
    await harness.changeHere();
    await until(async () => (await published()).checkpoint !== null && (await published()).vkeys[0] !== first[0]);
    kept.push((await published()).checkpoint ?? '');
  }
  const { keys, vkeys, origin: later } = await published();
  expect(later).toBe(origin);
  expect([vkeys.length, vkeys[2], new Set(vkeys).size]).toEqual([3, first[0], 3]);
  expect(keys.map(({ until_iso }) => until_iso === null)).toEqual([true, false, false]);
  expect(keys[1]?.until_iso).toBe(keys[0]?.since_iso);
  for (const checkpoint of kept) expect(await check(checkpoint)).toMatchObject({ problem: null, problems: [] });
  const [events] = await harness.attack(
    "select count(*)::int as events from gateway.audit_events where action = 'audit.key_changed'",
  );
  expect(events).toEqual({ events: 2 });
  const current = { ...deps(), checkpointKey: pems[1] };
  expect((await newestCheckpoint(current)).vkey).toBe(vkeys[0]);
  const proof = await proveEvent(current, '0-1');
  expect([
    runProgram('node', 'check.mjs', vkeys[0] ?? '', proof),
    runProgram('node', 'check.mjs', first[0] ?? '', proof),
  ]).toEqual([0, 1]);
  // A command without the key does not sign with another one, and a writer of the table cannot add one.
  await expect(newest()).rejects.toThrow('ORDERPASS_AUDIT_KEY_FILE');
  const other = await newestCheckpoint({ ...deps(), checkpointKey: pems[1] });
  await harness.attack('update gateway.audit_checkpoint_keys set public_key = sha256(public_key) where until is null');
  expect((await check(other.checkpoint)).problem).toContain('not signed by a key');
});

test('A-434 a witness that checks proofs itself signs each newer checkpoint, and none of an audit that was set back', async () => {
  const witness = await startWitness();
  const { vkey } = await newestCheckpoint(deps());
  witness.trust(vkey.split('+')[0] ?? '', vkey);
  await harness.start({ audit_witness_url: witness.url, audit_witness_key: witness.vkey });
  expect((await published()).witnesses).toEqual([witness.vkey]);
  const sizes: number[] = [];
  for (let round = 0; round < 2; round += 1) {
    for (let n = 0; n < 3; n += 1) await harness.changeHere();
    const [ends] = await harness.attack('select sum(seq)::int as events from gateway.audit_chains');
    await until(async () => sizeOf((await published()).witnessed ?? '\n0') >= Number(ends?.events));
    const { witnessed } = await published();
    expect(witness.hasSigned(witnessed ?? '')).toBe(true);
    expect(await check(witnessed ?? '')).toMatchObject({ problem: null });
    sizes.push(sizeOf(witnessed ?? ''));
  }
  expect(witness.sizes()).toEqual(expect.arrayContaining(sizes));
  expect(witness.sizes().length).toBeGreaterThan(1);
  // A cosignature that was lost: the witness names the size that it knows, and the gateway continues from there.
  await harness.stop();
  await harness.attack('delete from gateway.audit_cosigned');
  await harness.start({ audit_witness_url: witness.url, audit_witness_key: witness.vkey });
  await harness.changeHere();
  await until(async () => sizeOf((await published()).witnessed ?? '\n0') > Math.max(...sizes));
  // A size that a writer of the table forged, and a text that is no checkpoint, keep nothing from the witness.
  for (const forged of ['size = 9000000000000000', "checkpoint = 'x'", "checkpoint = 'x', size = 9000000000000000"]) {
    const last = Math.max(...witness.sizes());
    await harness.attack(`update gateway.audit_cosigned set ${forged}`);
    await harness.changeHere();
    await until(() => Promise.resolve(Math.max(...witness.sizes()) > last));
    await until(async () => sizeOf((await published()).witnessed ?? '\n0') > last);
  }
  // An audit with another content is refused.
  await harness.stop();
  const signed = witness.sizes().length;
  await forge((details, seq) => (seq === 2 ? '{"forged":1}' : details));
  await harness.attack('delete from gateway.audit_cosigned');
  await harness.start({ audit_witness_url: witness.url, audit_witness_key: witness.vkey });
  await harness.changeHere();
  const refused = witness.refused();
  await until(() => Promise.resolve(witness.refused() > refused));
  expect(witness.sizes()).toHaveLength(signed);
  expect((await published()).witnessed).toBeNull();
  await witness.close();
});

test('A-742 a checkpoint of another log that the same witness signed is not shown, and keeps no newer one from the witness', async () => {
  const witness = await startWitness();
  const { vkey } = await newestCheckpoint(deps());
  witness.trust(vkey.split('+')[0] ?? '', vkey);
  const other = openCheckpointKey({ derive: () => Buffer.alloc(32, 9) });
  witness.trust(other.origin, other.vkey);
  const foreign = other.write(5_000_000, Buffer.alloc(32, 1));
  const answer = await fetch(`${witness.url}add-checkpoint`, { method: 'POST', body: `old 0\n\n${foreign}` });
  expect(answer.status).toBe(200);
  const cosigned = `${foreign}${await answer.text()}`;
  expect(witness.hasSigned(cosigned)).toBe(true);
  await harness.start({ audit_witness_url: witness.url, audit_witness_key: witness.vkey });
  await harness.changeHere();
  await until(async () => (await published()).witnessed !== null);
  await harness.stop();
  await harness.attack('update gateway.audit_cosigned set checkpoint = $1, size = 5000000', [cosigned]);
  await expect(witnessedCheckpoint(deps(), witness.vkey)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await harness.start({ audit_witness_url: witness.url, audit_witness_key: witness.vkey });
  for (let n = 0; n < 3; n += 1) await harness.changeHere();
  const [ends] = await harness.attack('select sum(seq)::int as events from gateway.audit_chains');
  const shown: string[] = [];
  await until(async () => {
    const { witnessed } = await published();
    if (witnessed !== null) shown.push(witnessed);
    return witnessed !== null && sizeOf(witnessed) >= Number(ends?.events) && witnessed !== cosigned;
  });
  expect(shown).not.toContain(cosigned);
  expect((await witnessedCheckpoint(deps(), witness.vkey)).checkpoint.split('\n')[0]).toBe(vkey.split('+')[0]);
  await witness.close();
});

test('A-774 an audit that is set back below what its witness signed is named in the log, also while it is smaller', async () => {
  const witness = await startWitness();
  const signer = openCheckpointKey(deps().box);
  witness.trust(signer.origin, signer.vkey);
  const lines: string[] = [];
  const cosigned: string[] = [];
  const key = readWitnessKey(witness.vkey);
  if (key === undefined) throw new Error('the key of the witness is not one');
  const service = createWitness({
    db: database.db,
    log: pino({ level: 'warn' }, { write: (line) => void lines.push(line) }),
    key: () => signer,
    url: witness.url,
    witness: key,
    holder: 'test',
    onCosigned: (checkpoint) => void cosigned.push(checkpoint),
  });
  const runUntil = async (isDone: () => boolean): Promise<void> => {
    const ended = new AbortController();
    const running = service.run(ended.signal);
    await until(() => Promise.resolve(isDone()));
    ended.abort();
    await running;
  };
  await changes(4);
  const tables = ['audit_events', 'audit_chains', 'audit_tree_leaves', 'audit_tree_nodes'];
  await newest();
  for (const table of tables) await harness.attack(`create table public.${table} as select * from gateway.${table}`);
  await changes(4);
  await newest();
  await runUntil(() => cosigned.length > 0);
  expect(lines).toEqual([]);
  for (const table of tables) {
    await harness.attack(`truncate gateway.${table}`);
    await harness.attack(`insert into gateway.${table} select * from public.${table}`);
    await harness.attack(`drop table public.${table}`);
  }
  await runUntil(() => lines.length > 0);
  expect(lines[0]).toContain('it was set back');
  expect(witness.sizes()).toHaveLength(1);
  await witness.close();
});

/** Takes what the HTTP sink sends. */
const startReceiver = async (): Promise<{ url: string; lines: Record<string, string>[]; server: Server }> => {
  const lines: Record<string, string>[] = [];
  const server = createServer(async (request, response) => {
    for (const line of (await text(request)).trim().split('\n')) lines.push(JSON.parse(line) as Record<string, string>);
    response.writeHead(204).end();
  });
  return { url: await listen(server), lines, server };
};

test('A-435 a sink gets the newest checkpoint as a line, which a verification against the file passes over', async () => {
  const file = join(folder, 'audit.jsonl');
  const receiver = await startReceiver();
  await harness.start({ audit_file: file, audit_http_url: receiver.url });
  await harness.changeHere();
  const lines = (): Record<string, string>[] =>
    (existsSync(file) ? readFileSync(file, 'utf8') : '')
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Record<string, string>);
  const isCheckpoint = (line: Record<string, string>): boolean => line['event.action'] === 'audit.checkpoint';
  const checkpoints = () => lines().filter(isCheckpoint);
  await until(() => checkpoints().length > 0 && receiver.lines.some(isCheckpoint));
  const received = receiver.lines.find(isCheckpoint)?.['orderpass.checkpoint'] ?? '';
  expect(await check(received)).toMatchObject({ problem: null, problems: [] });
  const [line] = checkpoints();
  expect(await check(line?.['orderpass.checkpoint'] ?? '')).toMatchObject({ problem: null, problems: [] });
  await harness.stop();
  await closeServer(receiver.server);
  const again = async function* () {
    for (const text of readFileSync(file, 'utf8').trimEnd().split('\n')) yield text;
  };
  const compared = await verifyAgainst(deps(), again());
  expect(compared).toEqual({ compared: lines().length - checkpoints().length, problems: [] });
});

test('A-599 a sink gets checkpoints without the signature of the witness once the witness has signed none for 2 minutes', async () => {
  const witness = await startWitness();
  const receiver = await startReceiver();
  const checkpoints = () => receiver.lines.flatMap((line) => line['orderpass.checkpoint'] ?? []);
  // This witness does not know the audit, so it refuses each checkpoint.
  await harness.start({
    audit_http_url: receiver.url,
    audit_witness_url: witness.url,
    audit_witness_key: witness.vkey,
  });
  await harness.changeHere();
  await until(async () => (await published()).checkpoint !== null);
  expect(checkpoints()).toEqual([]);
  harness.clock.move(3 * 60_000);
  await until(() => checkpoints().length > 0);
  expect(await check(checkpoints()[0] ?? '')).toMatchObject({ problem: null, problems: [] });
  await harness.stop();
  await closeServer(receiver.server);
  await witness.close();
});

test('A-495 requests and changes are answered while the tree is locked, and the next checkpoint has them', async () => {
  await harness.start();
  await harness.changeHere();
  await until(async () => (await published()).checkpoint !== null);
  const before = sizeOf((await published()).checkpoint ?? '');
  const client = await database.pool.connect();
  await client.query('begin');
  // A statement that reads or writes leaves, nodes or keys of checkpoints waits until the end of this transaction.
  await client.query("select pg_advisory_xact_lock(hashtext('gateway.audit_tree'))");
  const tables = ['leaves', 'nodes'].map((name) => `gateway.audit_tree_${name}`);
  await client.query(`lock table ${tables.join(', ')}, gateway.audit_checkpoint_keys in access exclusive mode`);
  const events = async (): Promise<number> =>
    Number((await client.query('select sum(seq)::int as events from gateway.audit_chains')).rows[0]?.events);
  const work = async (): Promise<void> => {
    for (let n = 0; n < 20; n += 1) await harness.request();
    await harness.changeHere();
  };
  let isAnswered = false;
  const answered = work().then(() => {
    isAnswered = true;
  });
  let stored = 0;
  try {
    await until(() => isAnswered);
    await until(async () => {
      stored = await events();
      return stored > before;
    });
  } finally {
    await client.query('rollback');
    client.release();
    await answered;
  }
  await until(async () => sizeOf((await published()).checkpoint ?? '\n0') >= stored);
});
