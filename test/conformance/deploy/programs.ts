/** Programs of the system that check what is deployed. Tests that need one skip themselves where it is missing. */
import { execFile, execFileSync } from 'node:child_process';

/** `args` ask for the version. */
export const hasProgram = (name: string, args: readonly string[]): boolean => {
  try {
    execFileSync(name, args, { stdio: 'ignore' });
    return true;
  } catch {
    process.stderr.write(`skipped: tests with ${name}, which is not on the PATH\n`);
    return false;
  }
};

export type Ended = { code: number; stdout: string; stderr: string };

export const runProgram = (name: string, args: readonly string[], cwd?: string): Promise<Ended> =>
  new Promise((resolve) => {
    execFile(name, args, { cwd, maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : typeof error.code === 'number' ? error.code : 1, stdout, stderr }),
    );
  });
