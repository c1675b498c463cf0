/** Stores made while the panel itself held the accounts of the staff go on as they are. */
import { createHash } from 'node:crypto';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { allMigrations } from '#src/app/migrations.ts';
import { migrate } from '#src/platform/db/migrate.ts';
import { createEmptyDatabase } from '../support/database.ts';
import { makeDataDir, runJson, startProgram } from '../support/program.ts';

/** What the panel of then wrote about its migration. */
const recorded = {
  feature: 'panel',
  number: 1,
  name: 'users-and-sessions',
  sha256: '3f51fdc0b613259f2df87824efbc788b7f17e485946117f4d3a03656bd0c3362',
};
const email = 'admin@example.com';
/** Made then, from this password under this master key. */
const password = 'kept over the years';
const masterKey = Buffer.alloc(32, 7).toString('base64');
const stored = '$argon2id$v=19$m=19456,t=2,p=1$dzTfwyQTW3Rn1ApBgrMTSg$Q6mS1JCN6WYIBIu-vxw9EFjkEumHXUtckkZKhD0qnBs';

test('a store whose accounts the panel had made starts, and its people sign in as before', async () => {
  const accounts = allMigrations.find(({ sql }) => createHash('sha256').update(sql).digest('hex') === recorded.sha256);
  const database = await createEmptyDatabase();
  const data = makeDataDir();
  try {
    await migrate(
      database.pool,
      allMigrations.filter((migration) => migration !== accounts),
      { log: pino({ level: 'silent' }) },
    );
    await database.pool.query(accounts?.sql ?? 'the migration of then is not there any more');
    await database.pool.query(
      'insert into platform.migrations (feature, number, name, sha256) values ($1, $2, $3, $4)',
      Object.values(recorded),
    );
    await database.pool.query(
      `insert into panel.users (id, email, role, password, created_at) values ('usr_then', $1, 'admin', $2, '2026-01-01')`,
      [email, stored],
    );
    const settings = {
      ...{ ORDERPASS_DATA_DIR: data.path, DATABASE_URL: database.url, ORDERPASS_MASTER_KEY: masterKey },
    };
    const program = await startProgram(settings);
    try {
      const signIn = (given: string) =>
        fetch(`${program.url}/panel/sign-in`, {
          method: 'POST',
          headers: { 'content-type': 'application/x-www-form-urlencoded', origin: program.url },
          body: new URLSearchParams({ email, password: given }),
          redirect: 'manual',
        });
      expect((await signIn('another password')).status).toBe(422);
      const answer = await signIn(password);
      expect(answer.status).toBe(303);
      expect(answer.headers.getSetCookie().join()).toContain('__Host-orderpass=');
      expect(await runJson(['user', 'list'], settings)).toMatchObject({
        users: [{ user_id: 'usr_then', email, state: 'active' }],
      });
    } finally {
      await program.stop();
    }
    const { rows } = await database.pool.query('select number from platform.migrations where feature = $1', ['panel']);
    expect(rows).toEqual([{ number: 1 }]);
  } finally {
    await database.drop();
    data.remove();
  }
});
