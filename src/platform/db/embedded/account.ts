/**
 * The user that PostgreSQL runs as. It refuses to run as root, so a start by root hands it to the unprivileged
 * system user `nobody`; everybody else runs it as themselves.
 */
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';

/** Ids to switch to; undefined means the user of this process. */
export type Account = { uid: number; gid: number } | undefined;

const nobodyId = 65_534;

export const isRoot = (): boolean => process.getuid?.() === 0;

/** The account for new data. */
export const unprivilegedAccount = async (): Promise<Account> => {
  if (!isRoot()) return undefined;
  const users = await readFile('/etc/passwd', 'utf8').catch(() => '');
  const [, , uid, gid] = /^nobody:.*$/m.exec(users)?.[0].split(':') ?? [];
  // macOS writes these ids as negative numbers; the kernel reads them as unsigned ones.
  return { uid: Number(uid ?? nobodyId) >>> 0, gid: Number(gid ?? nobodyId) >>> 0 };
};

/** For the `uid` and `gid` options of spawn, which take signed 32-bit numbers. */
export const spawnIds = (account: Account): { uid?: number; gid?: number } =>
  account === undefined ? {} : { uid: account.uid | 0, gid: account.gid | 0 };

/** The environment of Orderpass holds its secrets; PostgreSQL sees none of it. */
export const serverEnvironment = { PATH: '/usr/bin:/bin:/usr/sbin:/sbin', LC_ALL: 'C', TZ: 'UTC' };

export type CommandResult = { ok: boolean; output: string };

/** Runs a short command as the account and collects what it prints. Never rejects: not to be found is a result. */
export const runAs = (account: Account, command: string, args: readonly string[]): Promise<CommandResult> =>
  new Promise((resolve) => {
    const child = spawn(command, args, {
      ...spawnIds(account),
      cwd: '/',
      env: serverEnvironment,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 20_000,
    });
    let output = '';
    const collect = (chunk: Buffer): void => {
      output += chunk.toString();
    };
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);
    child.once('error', (error) => resolve({ ok: false, output: error.message }));
    child.once('close', (code) => resolve({ ok: code === 0, output }));
  });

/** Asked by doing it: mode bits alone do not tell about access lists and mounts. */
export const canEnter = async (folder: string, account: Account): Promise<boolean> =>
  account === undefined || (await runAs(account, '/bin/sh', ['-c', 'cd -- "$1"', 'sh', folder])).ok;
