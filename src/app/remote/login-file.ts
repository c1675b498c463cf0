/**
 * The servers that the user of this machine logged in to, in a file that only this user can read. It holds a credential for
 * each, and which one is used when a command names none.
 */
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { z } from 'zod';
import type { RemoteServer } from './ask-server.ts';

const credential = z.union([
  z.strictObject({ api_key: z.string() }),
  z.strictObject({ client_id: z.string(), client_secret: z.string() }),
]);
export type LoginCredential = z.infer<typeof credential>;

/** `current`: origin of the server of the last login that is left. */
const contents = z.strictObject({ current: z.string().nullable(), servers: z.record(z.string(), credential) });
type Contents = z.infer<typeof contents>;

/** The file can be read by others, or is no file of logins. */
class LoginFileError extends Error {
  override readonly name = 'LoginFileError';
}

const read = (file: string): Contents => {
  let text: string;
  try {
    // On Windows the mode says nothing; there the folder of the user protects the file.
    if (process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0)
      throw new LoginFileError(`${file} holds credentials and can be read by others: chmod 600 it, and rotate them`);
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return { current: null, servers: {} };
    throw error;
  }
  try {
    return contents.parse(JSON.parse(text));
  } catch {
    throw new LoginFileError(`${file} is no file of logins; remove it and log in again`);
  }
};

/** A crash leaves the file as it was. */
const write = (file: string, value: Contents): void => {
  const folder = dirname(file);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const draft = `${file}.${process.pid}`;
  try {
    writeFileSync(draft, `${JSON.stringify(value, undefined, 2)}\n`, { mode: 0o600, flag: 'wx' });
    chmodSync(draft, 0o600);
    renameSync(draft, file);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
};

/** Makes the server the current one. */
export const addLogin = (file: string, origin: string, added: LoginCredential): void => {
  const { servers } = read(file);
  write(file, { current: origin, servers: { ...servers, [origin]: added } });
};

/** Returns the origin; undefined when there was no such login. `origin`: default the current one. */
export const removeLogin = (file: string, origin: string | undefined): string | undefined => {
  const { current, servers } = read(file);
  const removed = origin ?? current;
  if (removed === null || servers[removed] === undefined) return undefined;
  const { [removed]: _ended, ...left } = servers;
  write(file, { current: current === removed ? (Object.keys(left).at(-1) ?? null) : current, servers: left });
  return removed;
};

/** The login of a server, by default of the current one. Undefined: there is none. Throws LoginFileError. */
export const findLogin = (file: string, origin?: string): RemoteServer | undefined => {
  const { current, servers } = read(file);
  const url = origin ?? current;
  const found = url === null ? undefined : servers[url];
  return url === null || found === undefined ? undefined : { url, credential: headersOf(found) };
};

/** Header fields with which a caller shows the credential (interface 3.2). */
export const headersOf = (login: LoginCredential): Record<string, string> =>
  'api_key' in login
    ? { 'x-api-key': login.api_key }
    : { 'x-client-id': login.client_id, 'x-client-secret': login.client_secret };
