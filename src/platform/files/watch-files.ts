/** Notices changed files. They are looked at by path, which notices a rename and a changed symbolic link as it notices a write. */
import { stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

const lookEveryMs = 1_000;
/** chosen: short for an operator who waits, and long for what reads a large file. */
const againEveryMs = 10_000;

/**
 * Calls `changed` after each change until `signal` is aborted, and once at the start, since a file may have changed before
 * the first look. A change may be several writes in turn: `changed` is called when nothing differs between two looks.
 * `paths`, `isSettled`: asked at each look. While it is not settled, since something beside the files may be the reason,
 * `changed` is called every 10 s too.
 */
export const watchFiles = async (
  paths: () => readonly string[],
  changed: () => unknown,
  signal: AbortSignal,
  isSettled: () => boolean = () => true,
): Promise<void> => {
  let handled = await lookAt(paths());
  let calledMs = performance.now();
  await changed();
  let before = handled;
  while (!signal.aborted) {
    await sleep(lookEveryMs, undefined, { signal }).catch(() => undefined);
    const found = await lookAt(paths());
    const isDue = found !== handled || (!isSettled() && performance.now() - calledMs >= againEveryMs);
    if (isDue && found === before && !signal.aborted) {
      handled = found;
      calledMs = performance.now();
      await changed();
    }
    before = found;
  }
};

/** Differs whenever one of the files does. */
const lookAt = async (paths: readonly string[]): Promise<string> => {
  const looks = paths.map(async (path) => {
    try {
      const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
      return [path, dev, ino, size, mtimeNs, ctimeNs].join(':');
    } catch (error) {
      return `${path}:${String(Reflect.get(Object(error), 'code'))}`;
    }
  });
  return (await Promise.all(looks)).join(' ');
};
