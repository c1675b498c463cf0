/**
 * Secrets in files: `NAME_FILE` names a file that holds the value of `NAME`, as orchestrators mount them. The environment of a
 * process can be read by its children and is shown by many tools; a file has an owner and a mode.
 */
import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';

type Field = { path: string; env: string | undefined; secret: boolean };

/** Far longer than every secret; it bounds what a wrong path makes the program read. */
const bytesMax = 64 * 1024;

/** The name of the variable for the file. Undefined: the setting is no secret, or has a setting of its own for its file. */
export const fileVariableOf = ({ env, secret }: Pick<Field, 'env' | 'secret'>): string | undefined =>
  secret && env !== undefined && env !== 'ORDERPASS_MASTER_KEY' ? `${env}_FILE` : undefined;

/** The file that the environment names for a secret setting, as an absolute path. */
export const fileOfSecret = (
  field: Pick<Field, 'env' | 'secret'>,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined => {
  const variable = fileVariableOf(field);
  const file = variable === undefined ? undefined : env[variable];
  return file === undefined || file === '' ? undefined : resolve(file);
};

type FileSecrets = {
  values: { path: string; value: string }[];
  /** `setting`: its path; `path`: with the name of its variable. */
  problems: { setting: string; path: string; message: string }[];
};

/** Without the line break at the end, which editors and `echo` add. */
export const readSecretFiles = (
  fields: readonly Field[],
  env: Readonly<Record<string, string | undefined>>,
): FileSecrets => {
  const found: FileSecrets = { values: [], problems: [] };
  for (const field of fields) {
    const file = fileOfSecret(field, env);
    if (file === undefined) continue;
    const path = `${field.path} (${fileVariableOf(field)})`;
    if (field.env !== undefined && env[field.env]) {
      found.problems.push({
        setting: field.path,
        path,
        message: `give the secret once: as ${field.env} or in the file`,
      });
      continue;
    }
    try {
      found.values.push({ path: field.path, value: readSecret(file) });
    } catch (error) {
      found.problems.push({
        setting: field.path,
        path,
        message: error instanceof Error ? error.message : 'cannot be read',
      });
    }
  }
  return found;
};

/** Throws without the content. */
const readSecret = (file: string): string => {
  const facts = statSync(file);
  // A pipe or a device has no size, and may never end.
  if (!facts.isFile()) throw new Error(`${file} is no file`);
  const { size } = facts;
  if (size > bytesMax) throw new Error(`${file} has ${size} bytes; a secret has at most ${bytesMax}`);
  const value = readFileSync(file, 'utf8').replace(/\r?\n$/, '');
  if (value === '') throw new Error(`${file} is empty`);
  return value;
};
