/** Changes of one client that meet: each waits for the other one, and PostgreSQL has to end none of them. */
import { randomUUID } from 'node:crypto';
import { type Kysely, sql } from 'kysely';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createEndLeaked } from '#src/gateway/credentials/change/end-leaked.ts';
import { createRevokeToken } from '#src/gateway/credentials/change/revoke-token.ts';
import { createCredentials, createSignalAdmin } from '#src/gateway/index.ts';
import { hourMs, systemClock } from '#src/platform/clock.ts';
import { createDatabase, createPool } from '#src/platform/db/pool.ts';
import { createSecretBox } from '#src/platform/secret-box.ts';
import { whileLocked } from '../../support/contention.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { until } from '../../support/until.ts';

const box = createSecretBox(Buffer.alloc(32, 9));

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
  await changesOn(database.db).credentials.createTenant('rst_1');
});

afterAll(() => database.drop());

const changesOn = (db: Kysely<unknown>) => {
  const deps = { db, box, clock: systemClock };
  return {
    credentials: createCredentials(deps),
    admin: createSignalAdmin({ ...deps, actor: 'cli:test' }),
    endLeaked: createEndLeaked(deps),
    revokeToken: createRevokeToken(deps),
  };
};

type Changes = ReturnType<typeof changesOn>;

const count = async (statement: string): Promise<number> =>
  Number((await database.pool.query<{ count: string }>(statement)).rows[0]?.count);

const waiting = (): Promise<number> =>
  count(`select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`);

const deadlocks = (): Promise<number> =>
  count('select deadlocks as count from pg_stat_database where datname = current_database()');

/** The two begin in this sequence while the chain of changes is held, and go on when both wait. Returns the deadlocks of it. */
const deadlocksOf = async (
  first: (changes: Changes) => Promise<unknown>,
  second: (changes: Changes) => Promise<unknown>,
): Promise<number> => {
  const before = await deadlocks();
  const pool = createPool({ connection: database.ownerUrl, applicationName: 'changes' }, pino({ level: 'silent' }));
  const changes = changesOn(createDatabase(pool));
  const chain = sql`select from gateway.audit_chains where process = 'changes' for update`;
  await whileLocked(database.db, chain, 2, () =>
    Promise.all([first(changes), until(async () => (await waiting()) > 0).then(() => second(changes))]),
  );
  // A session reports its deadlocks, at the latest, when it ends.
  await pool.end();
  await until(
    async () => (await count(`select count(*) from pg_stat_activity where application_name = 'changes'`)) === 0,
  );
  return (await deadlocks()) - before;
};

/** `sees`: the events of which clients. */
const clientWithStream = async (sees: 'own' | 'all' = 'own') => {
  const { credentials, admin } = changesOn(database.db);
  const { clientId, secretId } = await credentials.createClient({ name: 'till', tenants: ['rst_1'] });
  const streamId = `str_${randomUUID()}`;
  await database.pool.query(
    `insert into gateway.signal_streams (stream_id, client_id, issuer, delivery, created, next_try)
     values ($1, $2, 'https://api.example', 'poll', now(), now())`,
    [streamId, clientId],
  );
  await admin.setReach(clientId, sees);
  const token = { jti: randomUUID(), clientId, expiresMs: Date.now() + hourMs };
  return { clientId, secretId, streamId, token };
};

const by = { reason: 'revoked', actor: 'cli:test' };
const report = { actor: 'github', address: null, requestId: 'req_1', url: null, source: null };

test.each(['pause', 'remove'] as const)(
  'A-669 a token is revoked, and one is reported as leaked, while an operator says %s to the stream of its client',
  async (done) => {
    const stopping = (streamId: string) => (to: Changes) =>
      done === 'pause' ? to.admin.pause(streamId, 'maintenance') : to.admin.remove(streamId);
    const one = await clientWithStream();
    const revoked = await deadlocksOf(({ revokeToken }) => revokeToken(one.token, by), stopping(one.streamId));
    const other = await clientWithStream();
    const leaked = { kind: 'token', id: other.token.jti, ...other.token } as const;
    const reported = await deadlocksOf(({ endLeaked }) => endLeaked(leaked, report), stopping(other.streamId));
    expect({ revoked, reported }).toEqual({ revoked: 0, reported: 0 });
  },
);

test('A-669 a secret is reported as leaked while all tokens of its client are revoked', async () => {
  const { clientId, secretId: id } = await clientWithStream();
  const revoke = ({ credentials }: Changes) => credentials.revokeClientTokens(clientId);
  const leak = ({ endLeaked }: Changes) => endLeaked({ kind: 'client_secret', id }, report);
  expect(await deadlocksOf(leak, revoke)).toBe(0);
});

test('A-669 a client is made while a stream that sees every client is removed', async () => {
  const { streamId } = await clientWithStream('all');
  const make = ({ credentials }: Changes) => credentials.createClient({ name: 'other', tenants: ['rst_1'] });
  expect(await deadlocksOf(make, ({ admin }) => admin.remove(streamId))).toBe(0);
});
