/** The server elsewhere that a command asks, and the credential for it. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { RemoteServer } from '#src/app/remote/ask-server.ts';
import { findLogin } from '#src/app/remote/login-file.ts';
import { loginFile, remoteCaller } from '#src/app/settings/remote-caller.ts';
import { settingsOf } from '../../terminal/command-settings.ts';
import { UsageError } from '../../terminal/output.ts';

/** Its origin. Credentials are sent without encryption to this machine alone. */
export const originOf = (text: string): string => {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw new UsageError('--url must be an http or https address');
  const { protocol, hostname, origin, username, password } = new URL(text);
  if (username !== '' || password !== '') throw new UsageError('--url must not contain credentials');
  if (protocol === 'http:' && !isHere(hostname))
    throw new UsageError(`--url must begin with https:// since ${hostname} is not this machine`);
  return origin;
};

export const isHere = (hostname: string): boolean =>
  /^(localhost|.+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);

/**
 * With `--url` that server, with the credential of the environment or else of its login. Without it the server of the last
 * login. Throws UsageError when there is no credential.
 */
export const remoteServer = (url: string | undefined): RemoteServer => {
  if (url === undefined) {
    const login = findLogin(loginFile());
    if (login === undefined) throw new UsageError('log in first: orderpass login --url https://orders.example');
    return login;
  }
  const origin = originOf(url);
  const { credential } = remoteCaller();
  if (credential !== undefined) return { url: origin, credential };
  const login = findLogin(loginFile(), origin);
  if (login !== undefined) return login;
  throw new UsageError(
    'log in (orderpass login --url …), or set ORDERPASS_API_KEY, or ORDERPASS_CLIENT_ID and ORDERPASS_CLIENT_SECRET',
  );
};

/** Undefined: this machine has an installation, or there is no login. */
export const loginWithoutInstallation = async (command: Command): Promise<RemoteServer | undefined> => {
  const { database_url, data_dir } = await settingsOf(command);
  return database_url !== undefined || existsSync(resolve(data_dir)) ? undefined : findLogin(loginFile());
};
