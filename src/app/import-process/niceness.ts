/**
 * Lowers the priority of the import process, so that all other work goes first. On Linux, where the kernel groups the
 * processes of a session (sched(7), autogroup), niceness counts only within the session: sessions share a core evenly, and
 * each session has a niceness of its own. Every backend of PostgreSQL is a session.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';

/**
 * Below the program, which may have been started with a niceness of its own. It leaves a tenth of the share of a core that other
 * processes get under load: an import takes a little longer, and other requests do not.
 */
const below = (niceness: number): number => Math.min(19, niceness + 10);

/**
 * Lowers this process. On Linux a priority belongs to a thread, and V8 has threads before the first line of a program runs.
 */
export const lowerProcess = (): void => {
  for (const thread of [0, ...threads()]) lower(thread);
  lowerSession('self', process.ppid);
};

/** Lowers another process, if the system allows it: only root may lower processes of other users. */
export const lowerOther = (pid: number): void => {
  if (!lower(pid)) return;
  const parent = /^PPid:\s+(\d+)$/m.exec(read(`/proc/${pid}/status`) ?? '')?.[1];
  if (parent !== undefined) lowerSession(pid, Number(parent));
};

/**
 * False when the system refuses, as a filter of system calls may, or when the thread has ended: imports then run with the
 * priority of everything else. `0` is the calling thread.
 */
const lower = (id: number): boolean => {
  try {
    setPriority(id, below(getPriority(process.ppid)));
    return true;
  } catch {
    return false;
  }
};

const triesMax = 5;
/** For users other than root, the kernel accepts ten such changes a second in total. */
const againMs = 130;

const lowerSession = (pid: number | 'self', parent: number, tries = 1): void => {
  const [own, others] = [groupOf(pid), groupOf(parent)];
  // In the session of its parent it would lower the processes that must go first.
  if (own === undefined || others === undefined || own.name === others.name) return;
  try {
    writeFileSync(`/proc/${pid}/autogroup`, String(below(others.niceness)));
  } catch (error) {
    const isBusy = (error as NodeJS.ErrnoException).code === 'EAGAIN';
    if (isBusy && tries < triesMax) setTimeout(() => lowerSession(pid, parent, tries + 1), againMs).unref();
  }
};

/** From `/autogroup-123 nice 0`; undefined where the kernel has no such groups. */
const groupOf = (pid: number | 'self'): { name: string; niceness: number } | undefined => {
  const [name, , niceness] = read(`/proc/${pid}/autogroup`)?.trim().split(' ') ?? [];
  return name === undefined ? undefined : { name, niceness: Number(niceness ?? 0) };
};

const threads = (): number[] => {
  try {
    return readdirSync('/proc/self/task').map(Number);
  } catch {
    // On other systems a priority belongs to the process.
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
