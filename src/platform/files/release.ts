/** Which release of the program this is, and the commit that it was made from. */
import { readFileSync } from 'node:fs';

const root = new URL('../../../', import.meta.url);

const manifest = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as {
  version: string;
  /** Of a package: config/package/build.mjs writes it. */
  gitHead?: string;
};

/** MAJOR.MINOR.PATCH of the last release that the program contains. */
export const programVersion: string = manifest.version;

/** Below 0 when the first release is older, above 0 when it is newer. */
export const compareReleases = (a: string, b: string): number => a.localeCompare(b, 'en', { numeric: true });

const textOf = (file: URL): string | undefined => {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
};

/** The commit that is checked out in a clone, read without git, which a server may not have. */
const readHead = (git: URL): string | undefined => {
  const head = textOf(new URL('HEAD', git))?.trim();
  const ref = /^ref: (refs\/\S+)$/.exec(head ?? '')?.[1];
  if (ref === undefined) return head;
  const packed = textOf(new URL('packed-refs', git))?.split('\n');
  return textOf(new URL(ref, git))?.trim() ?? packed?.find((line) => line.endsWith(` ${ref}`))?.split(' ')[0];
};

const found = manifest.gitHead ?? readHead(new URL('.git/', root)) ?? '';

/** Undefined where it is not known: in an image, and in a folder that is no clone. */
export const programCommit: string | undefined = /^[0-9a-f]{40}$/.test(found) ? found : undefined;

/** How an operator calls a command, for messages: of the compiled package by its name, in a clone by npm. */
export const commandLine = import.meta.url.endsWith('.ts') ? 'npm run -s cli --' : 'orderpass';
