/** What is asked of the process for long work gives way to everything else. */
import { readdirSync } from 'node:fs';
import { setPriority } from 'node:os';

/** A third of what the others get of a core when all want it: who imports waits a little, nobody else does. */
export const niceness = 5;

/** Lowers this process. On Linux a priority is that of a thread, and V8 has threads before the first line of a program runs. */
export const lowerProcess = (): void => {
  setPriority(niceness);
  for (const thread of threads()) {
    try {
      setPriority(thread, niceness);
    } catch {
      // It has ended meanwhile.
    }
  }
};

const threads = (): number[] => {
  try {
    return readdirSync('/proc/self/task').map(Number);
  } catch {
    // Elsewhere a priority is that of the process.
    return [];
  }
};
