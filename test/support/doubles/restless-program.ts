/** A program that a test kills again and again: after each kill it is started anew, and how often is counted. */
import { type RunningProgram, startProgram } from '../program.ts';

export type RestlessProgram = {
  name: string;
  url(): string;
  kills(): number;
  /** SIGKILL and a new start; resolves when it is up again. False: it is not up at the moment. */
  kill(): Promise<boolean>;
  stop(): Promise<void>;
};

const startMs = 60_000;
const againMs = 250;

/** `onDeath` is called for a process that ended although the test did not kill it. */
export const startRestless = async (
  name: string,
  env: Record<string, string>,
  onDeath: (words: string) => void,
): Promise<RestlessProgram> => {
  let kills = 0;
  let wanted: RunningProgram | undefined;
  const watch = (program: RunningProgram): RunningProgram => {
    wanted = program;
    program.child.once('exit', (code, signal) => {
      if (wanted === program) onDeath(`${name} ended with ${code ?? signal}: ${program.errors().slice(-2000)}`);
    });
    return program;
  };
  let current: Promise<RunningProgram> = startProgram(env).then(watch);
  await current;
  return {
    name,
    url: () => wanted?.url ?? '',
    kills: () => kills,
    kill: async () => {
      const program = wanted;
      if (program === undefined) return false;
      wanted = undefined;
      kills += 1;
      await program.kill();
      current = startAgain(env).then(watch);
      await current;
      return true;
    },
    stop: async () => {
      const program = await current;
      wanted = undefined;
      await program.stop();
    },
  };
};

/** Its store may be dead at the same moment, and a start without a store fails, so the caller starts it again. */
const startAgain = async (env: Record<string, string>): Promise<RunningProgram> => {
  const deadline = Date.now() + startMs;
  for (;;) {
    try {
      return await startProgram(env);
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, againMs));
    }
  }
};
