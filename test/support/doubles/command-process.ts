/** Runs commands of the command line one after another, each with an environment of its own, for the process that sends them. */
import { runCommandLine } from '#src/cli/index.ts';
import type { AskedCommand, CommandResult } from './command-pool.ts';

const streams = ['stdout', 'stderr'] as const;

const run = async ({ args, env }: AskedCommand): Promise<CommandResult> => {
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  const written = { stdout: '', stderr: '' };
  const originals = { stdout: process.stdout.write, stderr: process.stderr.write };
  for (const name of streams) {
    process[name].write = (chunk: string | Uint8Array, ...rest: unknown[]): boolean => {
      written[name] += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
      const done = rest.find((value): value is () => void => typeof value === 'function');
      if (done !== undefined) queueMicrotask(done);
      return true;
    };
  }
  try {
    const code = await runCommandLine(args);
    return { code, ...written };
  } finally {
    for (const name of streams) process[name].write = originals[name];
  }
};

process.on('message', (asked: AskedCommand) => {
  void run(asked).then((result) => process.send?.(result));
});
process.on('disconnect', () => process.exit());
