/**
 * The user that PostgreSQL runs as. It refuses to run as root, so a start by root gives it a user id of its own, which no
 * other program has: its files and its socket, which asks for no password, are then out of reach of every process but
 * root's. Everybody else runs it as themselves.
 */
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import type { Logger } from 'pino';

/** Ids to switch to; undefined means the user of this process. */
export type Account = { uid: number; gid: number } | undefined;

const nobodyId = 65_534;

export const isRoot = (): boolean => process.getuid?.() === 0;

/** The table of user ids that systemd keeps leaves these unused, and they are below every limit of a container's 16-bit map. */
const ownIds = { first: 60_706, last: 61_183 };
const triesMax = 20;

/** True for an id that only servers of Orderpass have. */
export const isOwnId = (uid: number): boolean => uid >= ownIds.first && uid <= ownIds.last;

/**
 * An account for a server started by root: an id without a name and without a process. `nobody` where the system lets no
 * process have such an id. Undefined: the user of this process.
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
    'PostgreSQL runs as nobody since no other user id is to be had: other processes of nobody can reach its data',
  );
  return unprivilegedAccount();
};

const hasProcesses = async (uid: number): Promise<boolean> => {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const owners = await Promise.all(pids.map((pid) => stat(`/proc/${pid}`).catch(() => undefined)));
  return owners.some((owner) => owner?.uid === uid);
};

/** `nobody`, by which initdb runs: it asks for a user with a name. Undefined: the user of this process. */
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
