/** Starts the real program as a child process, as `npm start` does, and talks to it over HTTP. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type CommandResult, runInPool } from './doubles/command-pool.ts';
import { databaseNameOf, databaseUrl } from './test-server.ts';

export const root = resolve(import.meta.dirname, '../..');
const launcherIn = (folder: string): string => join(folder, 'src/cli/launch.mjs');

export type RunningProgram = {
  url: string;
  /** Everything on stdout so far. */
  output(): string;
  errors(): string;
  child: ChildProcess;
  /** SIGINT, as Ctrl-C; resolves to the exit code. */
  stop(): Promise<number | null>;
  /** SIGKILL, as a crash. */
  kill(): Promise<void>;
};

/** A folder for one test's data that an unprivileged database server may enter. */
export const makeDataDir = (): { path: string; remove(): void } => {
  const path = mkdtempSync(join(tmpdir(), 'orderpass-'));
  chmodSync(path, 0o755);
  return { path: join(path, 'data'), remove: () => rmSync(path, { recursive: true, force: true }) };
};

export const plainEnv = (): Record<string, string> =>
  Object.fromEntries(
    Object.entries(process.env).filter(
      (entry): entry is [string, string] =>
        entry[1] !== undefined && !/^(ORDERPASS_|DATABASE_|REDIS_URL|PORT$|NODE_ENV|VITEST)/.test(entry[0]),
    ),
  );

/** What is kept beside a database must not lie with that of another test: a folder for each database, when none is named. */
const ownFolders = new Map<string, ReturnType<typeof makeDataDir>>();
const withFolder = (env: Record<string, string>): Record<string, string> => {
  if (env.DATABASE_URL === undefined || env.ORDERPASS_DATA_DIR !== undefined) return env;
  const name = databaseNameOf(env.DATABASE_URL);
  const folder = ownFolders.get(name) ?? makeDataDir();
  if (ownFolders.size === 0)
    process.once('exit', () => {
      for (const { remove } of ownFolders.values()) remove();
    });
  ownFolders.set(name, folder);
  return { ORDERPASS_DATA_DIR: folder.path, ...env };
};

/** With TEST_DATABASE_POOLER=on a program of this release on the server of the test run reaches it through the pooler. */
const withPooler = (env: Record<string, string>): Record<string, string> => {
  const { TEST_POOLER_URL: pooler, TEST_POOLED_URL: server } = process.env;
  const { DATABASE_URL: url, DATABASE_DIRECT_URL: direct } = env;
  if (pooler === undefined || server === undefined || url === undefined || direct !== undefined) return env;
  const name = databaseNameOf(url);
  if (databaseUrl(server, name) !== url) return env;
  return { ...env, DATABASE_DIRECT_URL: url, DATABASE_URL: databaseUrl(pooler, name) };
};

const environmentOf = (env: Record<string, string>, folder: string): Record<string, string> =>
  withFolder(folder === root ? withPooler(env) : env);

/**
 * Starts the program and waits until it says where it listens. `folder`: a checkout with another release of it. `through`: a command
 * that becomes the program, such as one that sets limits of the system.
 */
export const startProgram = async (
  env: Record<string, string>,
  folder = root,
  flags: readonly string[] = [],
  through: readonly string[] = [],
): Promise<RunningProgram> => {
  const [command = process.execPath, ...args] = [...through, process.execPath, launcherIn(folder), 'start', ...flags];
  const child = spawn(command, args, {
    cwd: folder,
    env: { ...plainEnv(), PORT: '0', ...environmentOf(env, folder) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  let errors = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  const exited = new Promise<number | null>((resolveExit) => child.once('exit', (code) => resolveExit(code)));
  const url = await new Promise<string>((resolveUrl, reject) => {
    const look = (): void => {
      const match = /^Orderpass (?:listens on (\S+)|runs as)/m.exec(output);
      if (match !== null) resolveUrl(match[1] ?? '');
    };
    child.stdout.on('data', look);
    void exited.then((code) => reject(new Error(`the program ended with ${code}\n${output}\n${errors}`)));
  });
  return {
    url,
    output: () => output,
    errors: () => errors,
    child,
    stop: () => {
      child.kill('SIGINT');
      return exited;
    },
    kill: async () => {
      child.kill('SIGKILL');
      await exited;
    },
  };
};

export type { CommandResult };

/** One command of the command line in a process of its own, as a script would call it. `folder`: as for `startProgram`. */
export const runProcess = (
  args: readonly string[],
  env: Record<string, string>,
  folder = root,
  input = '',
): Promise<CommandResult> =>
  new Promise((resolveResult) => {
    const child = execFile(
      process.execPath,
      [launcherIn(folder), ...args],
      { cwd: folder, env: { ...plainEnv(), ...environmentOf(env, folder) } },
      (error, stdout, stderr) => {
        resolveResult({ code: error === null ? 0 : typeof error.code === 'number' ? error.code : 1, stdout, stderr });
      },
    );
    // A command that reads nothing may end first.
    child.stdin?.on('error', () => undefined).end(input);
  });

/** A start is about its process, another release is not loaded in the pool, and Node reads its own variables at its start only. */
const needsProcess = (args: readonly string[], env: Record<string, string>, folder: string): boolean =>
  args[0] === 'start' || folder !== root || Object.keys(env).some((name) => /^NODE_(?!ENV$)/.test(name));

/**
 * One command of the command line: what it prints and its exit code. It runs in a process that stays for the next one, since
 * loading the program costs more than most commands; `runProcess` starts one for each.
 */
export const runCommand = (
  args: readonly string[],
  env: Record<string, string>,
  folder = root,
  input = '',
): Promise<CommandResult> => {
  const pool = process.env.TEST_COMMAND_POOL;
  return pool === undefined || needsProcess(args, env, folder)
    ? runProcess(args, env, folder, input)
    : runInPool(pool, { args, env: { ...plainEnv(), ...environmentOf(env, folder) }, input });
};

/** A command that reads standard input. */
export const runWithInput = (
  args: readonly string[],
  env: Record<string, string>,
  input: string,
): Promise<CommandResult> => runCommand(args, env, root, input);

/** One command with `--json`; its object. Throws with the error text when the command fails. `folder`: as for `startProgram`. */
export const runJson = async (
  args: readonly string[],
  env: Record<string, string>,
  folder = root,
): Promise<Record<string, string>> => {
  const result = await runCommand([...args, '--json'], env, folder);
  if (result.code !== 0) throw new Error(`${args.join(' ')} ended with ${result.code}: ${result.stderr}`);
  return JSON.parse(result.stdout) as Record<string, string>;
};

/** A command that runs until a signal ends it. */
export const startCommand = (
  args: readonly string[],
  env: Record<string, string>,
): { interrupt(): void; ended: Promise<CommandResult> } => {
  const child = spawn(process.execPath, [launcherIn(root), ...args], {
    cwd: root,
    env: { ...plainEnv(), ...environmentOf(env, root) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const ended = new Promise<CommandResult>((resolveResult) => {
    child.on('close', (code) => resolveResult({ code: code ?? 1, stdout, stderr }));
  });
  return { interrupt: () => child.kill('SIGINT'), ended };
};
