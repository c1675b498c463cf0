/**
 * The user that PostgreSQL runs as. PostgreSQL refuses to run as root, so a start by root gives it a user id that no other
 * program has: only root can then reach its files and its socket, which asks for no password. Every other user runs it under
 * its own id.
 */
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import type { Logger } from 'pino';

/** Ids to switch to; undefined means the user of this process. */
export type Account = { uid: number; gid: number } | undefined;

const unprivilegedId = 65_534;

export const isRoot = (): boolean => process.getuid?.() === 0;

/** systemd reserves this range of user ids, and it lies below the limit of a 16-bit id map in a container. */
const ownIds = { first: 60_706, last: 61_183 };
const triesMax = 20;

/** True for an id in the range that Orderpass uses for its servers. */
export const isOwnId = (uid: number): boolean => uid >= ownIds.first && uid <= ownIds.last;

/**
 * An account for a server that root starts: an id without a name and without a process. It is the unprivileged account where
 * the system allows no process such an id. Undefined: the user of this process.
 */
export const ownAccount = async (log: Logger): Promise<Account> => {
  if (!isRoot()) return undefined;
  if (process.platform !== 'linux') return unprivilegedAccount();
  const users = await readFile('/etc/passwd', 'utf8').catch(() => '');
  for (let tries = 0; tries < triesMax; tries += 1) {
    const id = randomInt(ownIds.first, ownIds.last + 1);
    const account = { uid: id, gid: id };
    const isNamed = users.split('\n').some((line) => line.split(':')[2] === String(id));
    if (isNamed || (await hasProcesses(id))) continue;
    if ((await runAs(account, '/bin/sh', ['-c', 'exit 0'])).ok) return account;
    break;
  }
  log.warn(
    'PostgreSQL runs under the shared unprivileged user, since no other user id is available: other processes of that user can reach its data',
  );
  return unprivilegedAccount();
};

const hasProcesses = async (uid: number): Promise<boolean> => {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const owners = await Promise.all(pids.map((pid) => stat(`/proc/${pid}`).catch(() => undefined)));
  return owners.some((owner) => owner?.uid === uid);
};

/** The unprivileged account of the system, which has a name: initdb asks for one. Undefined: the user of this process. */
export const unprivilegedAccount = async (): Promise<Account> => {
  if (!isRoot()) return undefined;
  const users = await readFile('/etc/passwd', 'utf8').catch(() => '');
  const [, , uid, gid] = /^nobody:.*$/m.exec(users)?.[0].split(':') ?? [];
  // macOS writes these ids as negative numbers; the kernel reads them as unsigned ones.
  return { uid: Number(uid ?? unprivilegedId) >>> 0, gid: Number(gid ?? unprivilegedId) >>> 0 };
};

/** For the `uid` and `gid` options of spawn, which take signed 32-bit numbers. */
export const spawnIds = (account: Account): { uid?: number; gid?: number } =>
  account === undefined ? {} : { uid: account.uid | 0, gid: account.gid | 0 };

/** The environment of Orderpass holds secrets, so PostgreSQL gets none of it. */
export const serverEnvironment = { PATH: '/usr/bin:/bin:/usr/sbin:/sbin', LC_ALL: 'C', TZ: 'UTC' };

export type CommandResult = { ok: boolean; output: string };

/** Runs a short command as the account and collects its output. Never rejects: a missing command is a result too. */
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

/** Tries it, since mode bits do not cover access lists and mounts. */
export const canEnter = async (folder: string, account: Account): Promise<boolean> =>
  account === undefined || (await runAs(account, '/bin/sh', ['-c', 'cd -- "$1"', 'sh', folder])).ok;
