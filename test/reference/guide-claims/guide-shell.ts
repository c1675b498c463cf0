/** A bash in which the commands of the guide run as a reader pastes them, one after the other with shared variables. */
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../../support/until.ts';

export type Shell = {
  /** Runs commands; what they print on standard output, and their exit code. */
  run(commands: string): Promise<{ output: string; code: number }>;
  /** Everything that all commands printed so far, also those in the background. */
  printed(): string;
  errors(): string;
  /** Ends the shell and what it started in the background. */
  close(): Promise<void>;
};

export const openShell = ({ cwd, env }: { cwd: string; env: Record<string, string> }): Shell => {
  // A group of its own, so that programs in the background end with it.
  const child = spawn('bash', ['--noprofile', '--norc', '-s'], { cwd, env, detached: true, stdio: 'pipe' });
  let [ends, errors] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => {
    ends += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  const outputs: string[] = [];
  return {
    run: async (commands) => {
      const file = join(cwd, `step-${outputs.length}.sh`);
      const output = `${file}.out`;
      outputs.push(output);
      writeFileSync(file, commands);
      const before = ends.length;
      // Output goes to a file, so that a program in the background cannot print into the answer of a later command.
      child.stdin.write(`. ${file} >${output}\necho "ended $?"\n`);
      await until(() => child.exitCode !== null || ends.indexOf('\n', before) !== -1);
      return { output: readFileSync(output, 'utf8'), code: Number(ends.slice(before).replace('ended ', '') || 1) };
    },
    printed: () => outputs.map((output) => readFileSync(output, 'utf8')).join(''),
    errors: () => errors,
    close: async () => {
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGTERM');
      await exited;
    },
  };
};
