/**
 * Processes that stay and run the commands of all test files, each one command at a time: loading the program anew costs more
 * than most commands. The run of the tests owns the pool; test files ask it over a socket.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createConnection, createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { json } from 'node:stream/consumers';

/** `input`: what the command reads from standard input, which is empty otherwise. */
export type AskedCommand = { args: readonly string[]; env: Readonly<Record<string, string>>; input?: string };
export type CommandResult = { code: number; stdout: string; stderr: string };

/** More commands than this at the same time wait for each other. */
const processesMax = 6;

const script = resolve(import.meta.dirname, 'command-process.ts');
const cwd = resolve(import.meta.dirname, '../../..');
const compileCache = join(cwd, 'src/cli/compile-cache.mjs');

/** `folder`: where the socket is made. `path` is for `runInPool`. */
export const startCommandPool = async (folder: string) => {
  const idle: ChildProcess[] = [];
  const all = new Set<ChildProcess>();
  const waiting: ((child: ChildProcess) => void)[] = [];

  const begin = (): ChildProcess => {
    const execArgv = ['--import', compileCache];
    const child = fork(script, { cwd, execArgv, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    all.add(child);
    child.on('exit', () => all.delete(child));
    return child;
  };
  const take = (): ChildProcess | Promise<ChildProcess> =>
    idle.pop() ?? (all.size < processesMax ? begin() : new Promise((give) => waiting.push(give)));
  const release = (child: ChildProcess): void => {
    const next = waiting.shift();
    if (child.connected) next === undefined ? idle.push(child) : next(child);
    else next?.(begin());
  };

  const run = async (asked: AskedCommand): Promise<CommandResult> => {
    const child = await take();
    child.send(asked);
    const result = await new Promise<CommandResult>((answer) => {
      const onExit = (code: number | null): void =>
        onMessage({ code: 1, stdout: '', stderr: `the process ended: ${code}` });
      const onMessage = (message: unknown): void => {
        child.off('exit', onExit).off('message', onMessage);
        answer(message as CommandResult);
      };
      child.on('exit', onExit).on('message', onMessage);
    });
    release(child);
    return result;
  };

  const server = createServer({ allowHalfOpen: true }, (socket) => {
    void json(socket)
      .then((asked) => run(asked as AskedCommand))
      .then((result) => socket.end(JSON.stringify(result)))
      .catch((error: unknown) => socket.destroy(error instanceof Error ? error : undefined));
    socket.on('error', () => undefined);
  });
  const path = join(folder, 'commands.sock');
  server.listen(path);
  await once(server, 'listening');
  return {
    path,
    stop: async (): Promise<void> => {
      server.close();
      await Promise.all([...all].map((child) => Promise.all([once(child, 'exit'), child.disconnect()])));
    },
  };
};

export const runInPool = async (path: string, asked: AskedCommand): Promise<CommandResult> => {
  const socket = createConnection({ path, allowHalfOpen: true });
  socket.end(JSON.stringify(asked));
  return (await json(socket)) as CommandResult;
};
