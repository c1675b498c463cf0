/** Notices changed files. They are looked at by path, which notices a rename and a changed symbolic link as it notices a write. */
import { stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

const lookEveryMs = 1_000;

/**
 * Calls `changed` after each change until `signal` is aborted, and once at the start, since a file may have changed before
 * the first look. A change may be several writes in turn: `changed` is called when nothing differs between two looks.
 * `paths`: asked at each look.
 */
export const watchFiles = async (
  paths: () => readonly string[],
  changed: () => unknown,
  signal: AbortSignal,
): Promise<void> => {
  let handled = await lookAt(paths());
  await changed();
  let before = handled;
  while (!signal.aborted) {
    await sleep(lookEveryMs, undefined, { signal }).catch(() => undefined);
    const found = await lookAt(paths());
    if (found !== handled && found === before && !signal.aborted) {
      handled = found;
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
