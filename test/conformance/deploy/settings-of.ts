/** What the program makes of the environment that a chart, a unit or an image gives it. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { settingsProblems } from '#src/app/settings/check-settings.ts';
import { settingFields } from '#src/app/settings/config.ts';
import { fileVariableOf } from '#src/app/settings/secret-files.ts';

const fields = settingFields();
const known = new Set(fields.flatMap((field) => [field.env, fileVariableOf(field)]));

export const secretNames = fields.flatMap(({ env, secret }) => (secret && env !== undefined ? [env] : []));

/** Names that the program does not read. */
export const unknownNames = (names: readonly string[]): string[] => names.filter((name) => !known.has(name));

/** Names whose values would be secrets. */
export const secretsAmong = (names: readonly string[]): string[] => names.filter((name) => secretNames.includes(name));

/** The secrets of an installation, as files with the names of their keys. */
export const makeSecrets = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'orderpass-secrets-'));
  const values = {
    master_key: randomBytes(32).toString('base64'),
    database_url: 'postgresql://orderpass:word@127.0.0.1:5432/orderpass',
    redis_url: 'redis://:word@127.0.0.1:6379',
    metrics_token: randomBytes(16).toString('hex'),
  };
  for (const [name, value] of Object.entries(values)) writeFileSync(join(folder, name), `${value}\n`);
  return folder;
};

/** Empty when a start would accept the environment. */
export const problemsOf = (env: Record<string, string>): string[] =>
  settingsProblems({ env }).map(({ path, message }) => `${path}: ${message}`);
