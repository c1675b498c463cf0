/** What commands for a server elsewhere take from the environment. */
import { homedir } from 'node:os';
import { join } from 'node:path';
import { processSettingsSource } from './settings-source.ts';

/**
 * Credential and signing secret for a remote server. They come only from the environment, since other users can see
 * arguments.
 */
export const remoteCaller = (
  env: Readonly<Record<string, string | undefined>> = processSettingsSource().env,
): { credential: Record<string, string> | undefined; secret: string | undefined } => {
  const { ORDERPASS_API_KEY: key, ORDERPASS_CLIENT_ID: id, ORDERPASS_CLIENT_SECRET: clientSecret } = env;
  const secret = env.ORDERPASS_WEBHOOK_SECRET || undefined;
  if (id && clientSecret) return { credential: { 'x-client-id': id, 'x-client-secret': clientSecret }, secret };
  return { credential: key ? { 'x-api-key': key } : undefined, secret };
};

/** Where `login` keeps its credentials: below XDG_CONFIG_HOME, else below the home folder of the user. */
export const loginFile = (env: Readonly<Record<string, string | undefined>> = processSettingsSource().env): string =>
  join(env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'orderpass', 'logins.json');
