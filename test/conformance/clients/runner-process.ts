/** The runner of a language: a process that takes steps and gives answers as lines of JSON (scenario.json, `form`). */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export type Answer = { value?: unknown; info?: unknown; error?: unknown };

export type Runner = {
  /** Throws, with what the process wrote to standard error, when the process ends before it answers. */
  send(step: object): Promise<Answer>;
  close(): Promise<void>;
};

export type RunnerCommand = {
  command: string;
  args: readonly string[];
  cwd?: string;
  env?: Readonly<Record<string, string>>;
};

export const startRunner = ({ command, args, cwd, env }: RunnerCommand): Runner => {
  const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'pipe'] });
  const waiting = new Map<number, { resolve(answer: Answer): void; reject(error: Error): void }>();
  let errors = '';
  let last = 0;
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  createInterface({ input: child.stdout }).on('line', (line) => {
    const { id, ...answer } = JSON.parse(line) as Answer & { id: number };
    waiting.get(id)?.resolve(answer);
    waiting.delete(id);
  });
  const ended = new Promise<void>((resolve) => {
    const end = (reason: string): void => {
      for (const { reject } of waiting.values()) reject(new Error(`${command} ${reason}\n${errors}`));
      waiting.clear();
      resolve();
    };
    child.once('error', (error) => end(error.message));
    child.once('close', (code) => end(`ended with ${code}`));
  });
  child.stdin.on('error', () => undefined);
  return {
    send: (step) => {
      last += 1;
      const id = last;
      child.stdin.write(`${JSON.stringify({ ...step, id })}\n`);
      return new Promise((resolve, reject) => {
        if (child.exitCode !== null) reject(new Error(`${command} ended with ${child.exitCode}\n${errors}`));
        waiting.set(id, { resolve, reject });
      });
    },
    close: () => {
      child.stdin.end();
      return ended;
    },
  };
};
