/** Runs commands of the command line one after another, each with an environment of its own, for the process that sends them. */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { runCommandLine } from '#src/cli/index.ts';
import type { AskedCommand, CommandResult } from './command-pool.ts';

const streams = ['stdout', 'stderr'] as const;
const standardError = 2;

let written = { stdout: '', stderr: '' };

/** The log writes to the descriptor and not to the stream (platform/log.ts). */
const takeLog = (): void => {
  const { write, writeSync } = fs;
  const asText = (data: unknown): string =>
    typeof data === 'string' ? data : Buffer.from(data as Uint8Array).toString();
  const ownWrite = (fd: number, data: unknown, ...rest: unknown[]): void => {
    if (fd !== standardError) return Reflect.apply(write, fs, [fd, data, ...rest]);
    written.stderr += asText(data);
    const done = rest.findLast((value) => typeof value === 'function');
    if (done !== undefined) process.nextTick(done, null, Buffer.byteLength(asText(data)));
  };
  const ownWriteSync = (fd: number, data: unknown, ...rest: unknown[]): number => {
    if (fd !== standardError) return Reflect.apply(writeSync, fs, [fd, data, ...rest]);
    written.stderr += asText(data);
    return Buffer.byteLength(asText(data));
  };
  Object.assign(fs, { write: ownWrite, writeSync: ownWriteSync });
  syncBuiltinESMExports();
};

for (const name of streams) {
  process[name].write = (chunk: string | Uint8Array, ...rest: unknown[]): boolean => {
    written[name] += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
    const done = rest.find((value): value is () => void => typeof value === 'function');
    if (done !== undefined) queueMicrotask(done);
    return true;
  };
}
takeLog();

/** A busy machine takes seconds to end a connection; what is left open never ends. */
const endMs = 30_000;
const lookMs = 20;

/** Connections and timers that the command leaves open: they would keep a process of its own from ending. */
const leftOpen = async (before: readonly string[]): Promise<string[]> => {
  for (let waitedMs = 0; ; waitedMs += lookMs) {
    const known = [...before];
    const left = process.getActiveResourcesInfo().filter((name) => {
      const at = known.indexOf(name);
      if (at !== -1) known.splice(at, 1);
      return at === -1;
    });
    if (left.length === 0 || waitedMs >= endMs) return left;
    await sleep(lookMs);
  }
};

/** What the command would do at the end of a process of its own, such as writing the rest of its log. */
const endAsProcess = (before: readonly unknown[], code: number): void => {
  for (const listener of process.listeners('exit')) {
    if (before.includes(listener)) continue;
    listener.call(process, code);
    process.off('exit', listener);
  }
};

/** The process reads nothing itself. Each command has a standard input of its own, which ends behind its text. */
const giveInput = (input: string): void => {
  const value = Readable.from(input === '' ? [] : [Buffer.from(input)]);
  Object.defineProperty(process, 'stdin', { configurable: true, value });
};

const run = async ({ args, env, input = '' }: AskedCommand): Promise<CommandResult> => {
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  written = { stdout: '', stderr: '' };
  giveInput(input);
  const before = process.getActiveResourcesInfo();
  const listeners = process.listeners('exit');
  const code = await runCommandLine(args);
  const left = await leftOpen(before);
  endAsProcess(listeners, code);
  if (left.length === 0) return { code, ...written };
  return { code: 1, stdout: written.stdout, stderr: `${written.stderr}the command leaves open: ${left.join(', ')}\n` };
};

process.on('message', (asked: AskedCommand) => {
  void run(asked).then((result) => process.send?.(result));
});
process.on('disconnect', () => process.exit());
