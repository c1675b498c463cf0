/**
 * `backup.json`: what a backup holds, and the proof that it is complete and unchanged. It is written last. Its HMAC is made with
 * a key that is derived from the master key, so a file that was damaged or replaced is found, and so is a foreign backup.
 */
import { createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { equalInConstantTime } from '#src/contract/equal-in-constant-time.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';

/** Why a backup or a restore was refused or failed, in words for an operator. */
export class BackupError extends Error {
  override readonly name = 'BackupError';
}

export const manifestName = 'backup.json';
/** These two names are those of pg_basebackup, which operators know. */
export const archiveName = 'base.tar';
export const postgresManifestName = 'backup_manifest';
export const masterKeyName = 'master.key';

const backupFile = z.strictObject({
  /** Without folders. */
  name: z.string().regex(/^[a-z][a-z0-9._-]*$/),
  size: z.int().min(0),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});

const manifestSchema = z.strictObject({
  format: z.literal(1),
  id: z.string(),
  /** All that was committed before is in the backup. */
  taken_at: z.iso.datetime(),
  finished_at: z.iso.datetime(),
  orderpass: z.string(),
  postgres: z.string(),
  wal: z.strictObject({ start: z.string(), end: z.string(), timeline: z.int() }),
  files: z.array(backupFile).min(1),
});

export type BackupFile = z.infer<typeof backupFile>;
export type BackupManifest = z.infer<typeof manifestSchema>;

type Box = Pick<SecretBox, 'derive'>;

const macOf = (box: Box, manifest: BackupManifest): Buffer =>
  createHmac('sha256', box.derive('backup-manifest'))
    .update(JSON.stringify(manifestSchema.parse(manifest)))
    .digest();

export const writeManifest = (box: Box, manifest: BackupManifest): string =>
  `${JSON.stringify({ ...manifest, mac: macOf(box, manifest).toString('hex') }, null, 2)}\n`;

export type SealedManifest = {
  manifest: BackupManifest;
  /** `box`: of the master key itself. False when the manifest was changed or was made with another master key. */
  fits(box: Box): boolean;
};

/** Undefined for a path that leads to nothing. BackupError for one that the user may not read, or that leads to something else. */
export const undefinedIfAbsent = (error: NodeJS.ErrnoException): undefined => {
  if (error.code === 'ENOENT') return undefined;
  throw new BackupError(`${error.path ?? ''} cannot be read: ${error.message}`);
};

/** BackupError for a folder without a complete backup. */
export const readManifest = async (folder: string): Promise<SealedManifest> => {
  const text = await readFile(join(folder, manifestName), 'utf8').catch(undefinedIfAbsent);
  if (text === undefined)
    throw new BackupError(`${folder} is not a complete backup: ${manifestName}, which is written last, is missing`);
  const sealed = manifestSchema.extend({ mac: z.string() }).safeParse(parse(text));
  if (!sealed.success) throw new BackupError(`${join(folder, manifestName)} is damaged, or of another version`);
  const { mac, ...manifest } = sealed.data;
  return { manifest, fits: (box) => equalInConstantTime(Buffer.from(mac, 'hex'), macOf(box, manifest)) };
};

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
