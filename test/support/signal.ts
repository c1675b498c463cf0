/**
 * Sends a signal to exactly one process. Of 0 and of numbers below it the system makes every process of a group, or of the
 * machine, so an id that is not there (an empty pid file) is refused. Returns false when the process has ended already.
 */
export const signalOne = (pid: number | undefined, signal: NodeJS.Signals): boolean => {
  if (pid === undefined || !Number.isSafeInteger(pid) || pid <= 1) throw new Error(`no process has the id ${pid}`);
  try {
    return process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
};
