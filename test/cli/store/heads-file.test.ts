/** The file of the data folder with the heads of the audit: which user it belongs to, and a process that cannot read it. */
import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, mkdirSync, readdirSync, renameSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openExternalHeads } from '#src/gateway/audit/chain/external-heads.ts';
import { createSecretBox } from '#src/platform/secret-box.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { makeDataDir, runCommand, runJson, startProgram } from '../../support/program.ts';
import { until } from '../../support/until.ts';

/** Id of a user without rights; any user but root would do. */
const other = 65_534;

let database: TestDatabase;
let folder: ReturnType<typeof makeDataDir>;
let env: Record<string, string>;

beforeAll(async () => {
  database = await createTestDatabase();
  folder = makeDataDir();
  mkdirSync(folder.path);
  env = {
    DATABASE_URL: database.url,
    ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
    ORDERPASS_DATA_DIR: folder.path,
    NODE_ENV: 'production',
  };
});

afterAll(async () => {
  await database?.drop();
  folder?.remove();
});

const headsFile = (): string => {
  const [name = ''] = readdirSync(folder.path).filter((one) => /^audit-heads-\w+\.json$/.test(one));
  return join(folder.path, name);
};

test.runIf(process.getuid?.() === 0)(
  'A-615 what a command of root writes of the audit belongs to the owner of the data folder',
  async () => {
    chownSync(folder.path, other, other);
    for (const name of ['One', 'Two']) {
      await runJson(['restaurant', 'create', '--name', name], env);
      const { uid, gid, mode } = statSync(headsFile());
      expect([uid, gid, mode & 0o777]).toEqual([other, other, 0o600]);
    }
    chownSync(folder.path, 0, 0);
  },
);

test.runIf(process.getuid?.() === 0)(
  'A-615 where the data folder belongs to another user, the error names both users and the command that repairs it',
  () => {
    chownSync(folder.path, other, other);
    chmodSync(folder.path, 0o700);
    process.seteuid?.(other - 1);
    try {
      const open = () => openExternalHeads(createSecretBox(randomBytes(32)), { dataDir: folder.path, database: 'one' });
      expect(open).toThrow(
        `${folder.path} belongs to user ${other}, and this process runs as user ${other - 1}, who may not enter it. As root, ` +
          `give it with its files to this user: chown -R ${other - 1} ${folder.path}`,
      );
    } finally {
      process.seteuid?.(0);
      chmodSync(folder.path, 0o755);
      chownSync(folder.path, 0, 0);
    }
  },
);

test('A-615 a command that adds nothing to the audit leaves the file of its heads as it is', async () => {
  await runJson(['restaurant', 'create', '--name', 'Three'], env);
  const before = statSync(headsFile());
  expect((await runCommand(['client', 'list'], env)).code).toBe(0);
  const after = statSync(headsFile());
  expect([after.ino, after.mtimeMs]).toEqual([before.ino, before.mtimeMs]);
});

test('A-615 a process that cannot read the file of the heads starts, compares the chains and logs the reason; a command names the file', async () => {
  const path = headsFile();
  renameSync(path, `${path}.kept`);
  // No user can read this, not even root.
  symlinkSync(path, path);
  const refused = await runCommand(['client', 'list'], env);
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(path)]);
  const program = await startProgram(env);
  try {
    const said = (text: string): number => (program.output() + program.errors()).split(text).length - 1;
    expect(said('the heads of the audit in the data folder cannot be read')).toBe(1);
    // The first reading of all heads is over then.
    await until(() => said('the heads of the audit could not be saved outside of the database') > 0);
    await database.pool.query('delete from gateway.audit_events where chain = 0');
    await database.pool.query('delete from gateway.audit_chains where chain = 0');
    await until(() => said('the chain is missing') > 0);
  } finally {
    await program.stop();
  }
});
