/**
 * What is asked of the process for long work gives way to everything else. On Linux a niceness counts among the processes of
 * one session only where the kernel groups them so (sched(7), autogroup): sessions share a core evenly, whatever runs in
 * them, and a session has a niceness of its own. Every backend of PostgreSQL is a session.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';

/** A tenth of what the others get of a core when all want it: who imports waits a little, nobody else does. */
const niceness = 10;

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
  lowerSession('self', process.ppid);
};

/** Lowers another process, if the system lets us: one of another user only root may. */
export const lowerOther = (pid: number): void => {
  try {
    setPriority(pid, niceness);
  } catch {
    return;
  }
  const parent = /^PPid:\s+(\d+)$/m.exec(read(`/proc/${pid}/status`) ?? '')?.[1];
  if (parent !== undefined) lowerSession(pid, Number(parent));
};

const triesMax = 5;
/** The kernel takes ten such changes in a second, of all who are not root. */
const againMs = 130;

const lowerSession = (pid: number | 'self', parent: number, tries = 1): void => {
  const [own, others] = [groupOf(pid), groupOf(parent)];
  // With the session of its parent it would lower those to whom it is to give way.
  if (own === undefined || others === undefined || own === others) return;
  try {
    writeFileSync(`/proc/${pid}/autogroup`, String(niceness));
  } catch (error) {
    const isBusy = (error as NodeJS.ErrnoException).code === 'EAGAIN';
    if (isBusy && tries < triesMax) setTimeout(() => lowerSession(pid, parent, tries + 1), againMs).unref();
  }
};

/** `/autogroup-123 nice 0`; undefined where the kernel has no such groups. */
const groupOf = (pid: number | 'self'): string | undefined => read(`/proc/${pid}/autogroup`)?.split(' ', 1)[0];

const threads = (): number[] => {
  try {
    return readdirSync('/proc/self/task').map(Number);
  } catch {
    // Elsewhere a priority is that of the process.
    return [];
  }
};

const read = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
};
