/** Refuses folders on file systems that keep no files, before the program creates something in them. */
import { statfsSync } from 'node:fs';
import path from 'node:path';

/** File systems of the kernel that keep no files, by their number in statfs(2). */
const pseudoTypes: ReadonlyMap<number, string> = new Map([
  [0x9fa0, 'proc'],
  [0x62656572, 'sysfs'],
  [0x1cd1, 'devpts'],
  [0x27e0eb, 'cgroup'],
  [0x63677270, 'cgroup2'],
  [0x64626720, 'debugfs'],
  [0x74726163, 'tracefs'],
  [0x73636673, 'securityfs'],
]);

/**
 * Throws when `folder`, or its nearest existing parent, lies on such a file system. There `mkdir` reports that the parent is
 * missing although it exists, and a recursive `mkdir` retries without end.
 */
export const assertRealFolder = (folder: string): void => {
  for (let place = path.resolve(folder); ; place = path.dirname(place)) {
    const type = typeOf(place);
    const name = type === undefined ? undefined : pseudoTypes.get(type);
    if (name !== undefined)
      throw new Error(
        `${folder} cannot keep data: ${place} is a file system of the kernel (${name}). Choose another folder`,
      );
    if (type !== undefined || place === path.dirname(place)) return;
  }
};

/** Undefined for a missing folder. Other errors are reported better by the code that uses the folder. */
const typeOf = (place: string): number | undefined => {
  try {
    return statfsSync(place).type;
  } catch {
    return undefined;
  }
};
