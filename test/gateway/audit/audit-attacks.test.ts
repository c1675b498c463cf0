/** Attacks by a writer of all tables without the master key: verification finds each and goes on naming it. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { hashEvent } from '#src/gateway/audit/chain/chain.ts';
import { insertEvents, listChainEvents } from '#src/gateway/audit/chain/event-store.ts';
import { type ChainedEvent, completeEvent } from '#src/gateway/audit/event/event.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { type AuditHarness, openAuditHarness } from '../harness/audit-harness.ts';

let harness: AuditHarness;

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});

afterEach(async () => {
  await harness.close();
  for (const name of ['heads', ...tables]) await database.pool.query(`drop table if exists kept_${name}`);
});

afterAll(() => database.drop());

type Attack = {
  title: string;
  /** Default: F-21. */
  id?: string;
  /** Runs before the last changes and saves what the attack restores. */
  before?: (harness: AuditHarness) => Promise<void>;
  act: (harness: AuditHarness) => Promise<void>;
  /** The chain and the seq that verification must name. */
  place: { chain: number; seq: number | null };
  /** The database is consistent in itself; only the external heads contradict it. */
  consistent?: true;
};

const tables = ['audit_chains', 'audit_events', 'audit_sink_positions', 'audit_hours', 'audit_hour_positions'];

const keep = async ({ attack }: AuditHarness, condition = 'true'): Promise<void> => {
  await attack(`create table kept_heads as select * from gateway.audit_chains where ${condition}`);
};

const putHeadsBack = async ({ attack }: AuditHarness): Promise<void> => {
  await attack('delete from gateway.audit_chains where chain in (select chain from kept_heads)');
  await attack('insert into gateway.audit_chains select * from kept_heads');
};

/** Edits the events of a chain and computes the hashes anew from `from` on. */
const rehash = async (
  { database, attack }: AuditHarness,
  chain: number,
  edit: (event: ChainedEvent) => ChainedEvent,
): Promise<string> => {
  const events = await listChainEvents(database.db, chain, { seq: 0 }, 10_000);
  let before = '0'.repeat(64);
  for (const event of events.map(edit)) {
    before = hashEvent(before, chain, event.seq, event);
    await attack(`update gateway.audit_events set actor = $1, hash = decode($2, 'hex') where chain = $3 and seq = $4`, [
      event.actor,
      before,
      chain,
      event.seq,
    ]);
  }
  return before;
};

const forge = async ({ database }: AuditHarness, chain: number, seq: number, before: string): Promise<void> => {
  const event = completeEvent({ action: 'key.revoked', actor: 'mallory' }, new Date());
  await insertEvents(database.db, [{ ...event, chain, seq, hash: hashEvent(before, chain, seq, event) }]);
};

const endOf = async ({ attack }: AuditHarness, chain: number): Promise<{ seq: number; hash: string }> => {
  const [end] = await attack(
    `select seq::int, encode(hash, 'hex') as hash from gateway.audit_events where chain = $1 order by seq desc limit 1`,
    [chain],
  );
  return end as { seq: number; hash: string };
};

/** A head with this number, whose signature is that of another chain. */
const forgeHead = async ({ attack }: AuditHarness, chain: number, from: number, seq: number): Promise<void> =>
  void (await attack(
    `insert into gateway.audit_chains
     select $1, process, opened, $3, hash, signed, $2 <> 0, '[]', mac, 0, anchor_hash, anchor_mac
     from gateway.audit_chains where chain = $2`,
    [chain, from, seq],
  ));

const attacks: Attack[] = [
  {
    title: 'an event of the chain of changes is changed',
    act: async ({ attack }) =>
      void (await attack("update gateway.audit_events set actor = 'x' where chain = 0 and seq = 3")),
    place: { chain: 0, seq: 3 },
  },
  {
    title: 'an event is changed, and every later hash is computed anew',
    act: async (at) => void (await rehash(at, 0, (event) => (event.seq === 3 ? { ...event, actor: 'x' } : event))),
    place: { chain: 0, seq: 6 },
  },
  {
    title: 'the same, and the hash in the head is changed too',
    act: async (at) => {
      const end = await rehash(at, 0, (event) => (event.seq === 3 ? { ...event, actor: 'x' } : event));
      await at.attack("update gateway.audit_chains set hash = decode($1, 'hex') where chain = 0", [end]);
    },
    place: { chain: 0, seq: null },
  },
  {
    title: 'an event in the middle is deleted',
    act: async ({ attack }) => void (await attack('delete from gateway.audit_events where chain = 0 and seq = 3')),
    place: { chain: 0, seq: 3 },
  },
  {
    title: 'the last events are deleted',
    act: async ({ attack }) => void (await attack('delete from gateway.audit_events where chain = 0 and seq > 4')),
    place: { chain: 0, seq: 5 },
  },
  {
    title: 'the last events of the chain of a process are deleted',
    act: async ({ attack }) => void (await attack('delete from gateway.audit_events where chain = 1 and seq > 2')),
    place: { chain: 1, seq: 3 },
  },
  {
    title: 'the last events are deleted and an older signed head is restored',
    before: (at) => keep(at, 'chain = 0'),
    act: async (at) => {
      await putHeadsBack(at);
      await at.attack('delete from gateway.audit_events where chain = 0 and seq > 4');
    },
    place: { chain: 0, seq: 5 },
  },
  {
    title: 'the same happens to the chain of a process',
    before: (at) => keep(at, 'chain = 1'),
    act: async (at) => {
      await putHeadsBack(at);
      await at.attack('delete from gateway.audit_events where chain = 1 and seq > (select seq from kept_heads)');
    },
    place: { chain: 1, seq: 3 },
  },
  {
    title: 'two events swap positions',
    act: async ({ attack }) =>
      void (await attack('update gateway.audit_events set seq = 7 - seq where chain = 0 and seq in (3, 4)')),
    place: { chain: 0, seq: 3 },
  },
  {
    title: 'a second event gets the number of another',
    act: async ({ attack }) =>
      void (await attack(`
        create temp table twin as select * from gateway.audit_events where chain = 0 and seq = 3;
        update twin set at = at + interval '1 second', actor = 'mallory';
        insert into gateway.audit_events select * from twin; drop table twin`)),
    place: { chain: 0, seq: 4 },
  },
  {
    title: 'a chain is forged',
    act: async (at) => {
      await forgeHead(at, 90, 1, 1);
      await forge(at, 90, 1, '0'.repeat(64));
    },
    place: { chain: 90, seq: null },
  },
  {
    title: 'a chain with a negative number is forged',
    act: async (at) => {
      await forgeHead(at, -1, 1, 1);
      await forge(at, -1, 1, '0'.repeat(64));
    },
    place: { chain: -1, seq: null },
  },
  {
    id: 'F-24',
    title: 'events are inserted into a chain with the lowest number and without a head',
    act: (at) => forge(at, -(2 ** 31), 1, '0'.repeat(64)),
    place: { chain: -(2 ** 31), seq: 1 },
  },
  {
    title: 'a chain of changes is forged',
    act: (at) => forgeHead(at, 91, 0, 0),
    place: { chain: 91, seq: null },
  },
  {
    title: 'a chain of changes with the highest number is forged',
    act: (at) => forgeHead(at, 2 ** 31 - 1, 0, 0),
    place: { chain: 2 ** 31 - 1, seq: null },
  },
  {
    id: 'F-24',
    title: 'events are inserted into a chain without a head',
    act: (at) => forge(at, 92, 1, '0'.repeat(64)),
    place: { chain: 92, seq: 1 },
  },
  {
    id: 'F-24',
    title: 'an event with a right hash is appended to the chain of changes',
    act: async (at) => {
      const { seq, hash } = await endOf(at, 0);
      await forge(at, 0, seq + 1, hash);
    },
    place: { chain: 0, seq: 7 },
  },
  {
    id: 'F-24',
    title: 'an event with a right hash is appended to the chain of a process',
    act: async (at) => {
      const { seq, hash } = await endOf(at, 1);
      await forge(at, 1, seq + 1, hash);
    },
    place: { chain: 1, seq: 5 },
  },
  {
    id: 'F-23',
    title: 'both tables are emptied',
    act: async ({ attack }) => void (await attack('truncate gateway.audit_chains, gateway.audit_events')),
    place: { chain: 0, seq: null },
    consistent: true,
  },
  {
    id: 'F-23',
    title: 'the heads are deleted',
    act: async ({ attack }) => void (await attack('delete from gateway.audit_chains')),
    place: { chain: 0, seq: null },
  },
  {
    title: 'the chain of a process is deleted as a whole',
    act: async ({ attack }) =>
      void (await attack(
        'with gone as (delete from gateway.audit_chains where chain = 1) delete from gateway.audit_events where chain = 1',
      )),
    place: { chain: 1, seq: null },
  },
  {
    title: 'the attested heads of a head are edited',
    act: async ({ attack }) => void (await attack("update gateway.audit_chains set seen = '[]' where chain = 0")),
    place: { chain: 0, seq: null },
  },
  {
    id: 'F-37',
    title: 'an event is hidden from the search for its request',
    act: async ({ attack }) =>
      void (await attack('update gateway.audit_events set ids_indexed = not ids_indexed where chain = 1 and seq = 2')),
    place: { chain: 1, seq: 2 },
  },
  {
    title: 'the time of an event is moved by less than the hash covers',
    act: async ({ attack }) =>
      void (await attack("update gateway.audit_events set at = at + interval '3 us' where chain = 0 and seq = 3")),
    place: { chain: 0, seq: 3 },
  },
  {
    title: 'the beginning of a chain is moved',
    act: async ({ attack }) => void (await attack('update gateway.audit_chains set anchor_seq = 2 where chain = 0')),
    place: { chain: 0, seq: null },
  },
  {
    title: 'the chain of changes is assigned to another process',
    act: async ({ attack }) => void (await attack("update gateway.audit_chains set process = 'x' where chain = 0")),
    place: { chain: 0, seq: null },
  },
  {
    id: 'F-23',
    title: 'every table of the audit is restored to an earlier state',
    before: async ({ attack }) => {
      for (const name of tables) await attack(`create table kept_${name} as select * from gateway.${name}`);
    },
    act: async ({ attack }) => {
      for (const name of tables) {
        await attack(`delete from gateway.${name}`);
        await attack(`insert into gateway.${name} select * from kept_${name}`);
      }
    },
    place: { chain: 0, seq: 5 },
    consistent: true,
  },
];

const modes = ['running', 'stopped'] as const;

const cases = attacks.flatMap((attack) =>
  modes.map((mode): [string, Attack, string] => [
    `${attack.id ?? 'F-21'} while the program is ${mode}, ${attack.title}`,
    attack,
    mode,
  ]),
);

test.each(cases)(
  '%s: it is named, also after a start and work',
  async (_title, { before, act, place, consistent }, mode) => {
    harness = await openAuditHarness(database);
    await harness.start();
    // Chain 0: four changes, then two. Chain 1: two refusals, then two.
    for (let i = 0; i < 4; i += 1) await harness.changeHere();
    for (let i = 0; i < 2; i += 1) await harness.request();
    await before?.(harness);
    await harness.changeHere();
    await harness.change();
    for (let i = 0; i < 2; i += 1) await harness.request();
    expect(await harness.verify()).toMatchObject({ problems: [], unsigned: 0 });
    if (mode === 'stopped') await harness.stop();
    await act(harness);
    const named = async (): Promise<void> => {
      const expected = expect.arrayContaining([expect.objectContaining(place)]);
      expect((await harness.verify()).problems).toEqual(expected);
      // A running program records what it found in the audit itself.
      if (consistent !== true || mode === 'running') {
        expect((await harness.verify({ blind: true })).problems.length).toBeGreaterThan(0);
      }
    };
    const work = async (): Promise<void> => {
      await harness.change();
      await harness.changeHere();
      await harness.request();
      await harness.retain(400);
      await harness.change();
    };
    if (mode === 'stopped') {
      await harness.change();
      await harness.start();
    }
    await work();
    await named();
    await harness.stop();
    await named();
    // This one has started and worked after the attack already.
    if (mode === 'stopped') return;
    await harness.start();
    await work();
    await named();
    await harness.stop();
    await named();
  },
);

test('F-21 a forged chain of changes is named once, and later changes share one new chain', async () => {
  harness = await openAuditHarness(database);
  await harness.change();
  for (const chain of [91, 93, 95]) {
    await forgeHead(harness, chain, 0, 0);
    for (let i = 0; i < 5; i += 1) await harness.change();
  }
  const named = await harness.attack(
    `select details::json ->> 'chain' as chain from gateway.audit_events where action = 'audit.broken' order by at, chain, seq`,
  );
  expect(named.map(({ chain }) => chain)).toEqual(['91', '93', '95']);
  const opened = await harness.attack('select chain from gateway.audit_chains where chain not in (91, 93, 95)');
  expect(opened).toHaveLength(4);
});

test('F-21 a recorded problem whose details a writer of the tables replaced by other text, with hashes computed anew, is named', async () => {
  harness = await openAuditHarness(database);
  await harness.change();
  await forgeHead(harness, 91, 0, 0);
  for (let i = 0; i < 3; i += 1) await harness.change();
  const [found] = await harness.attack(
    `select chain, seq from gateway.audit_events where action = 'audit.broken' and details::json ->> 'chain' = '91'`,
  );
  const { chain, seq } = found as { chain: number; seq: number };
  for (const details of ['x', 'null', '{"chain":"91"}']) {
    await harness.attack(`update gateway.audit_events set details = $1 where chain = $2 and seq = $3`, [
      details,
      chain,
      seq,
    ]);
    await rehash(harness, chain, (event) => event);
    expect((await harness.verify()).problems).toContainEqual(expect.objectContaining({ chain }));
  }
});
