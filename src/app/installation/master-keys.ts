/**
 * The master keys that a process was given: the current one and, during a rotation, the one before. A master key seals the
 * root of the installation (sealed-root.ts), and signs backups.
 */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createSecretBox, loadOrCreateMasterKey, parseMasterKey, readMasterKeyFile } from '#src/platform/secret-box.ts';
import { nameOf, type Settings, SettingsError } from '../settings/config.ts';

export type MasterKey = {
  /** 12 hexadecimal digits, derived from the key. They name it in the store, in logs and for operators. */
  id: string;
  bytes: Buffer;
  sealRoot(root: Buffer): Buffer;
  /** Throws when the sealed root was changed. */
  openRoot(sealed: Buffer): Buffer;
};

export type MasterKeys = { current: MasterKey; previous: MasterKey | undefined };

export type KeySettings = Pick<Settings, 'master_key' | 'master_key_file' | 'master_key_previous' | 'data_dir'>;

const idBytes = 6;

/** `bytes`: 32. */
export const createMasterKey = (bytes: Buffer): MasterKey => {
  const own = createSecretBox(bytes);
  const id = own.derive('master-key-id').subarray(0, idBytes).toString('hex');
  // The root of an older installation is its first master key, so its own keys must not seal it.
  const wrapping = createSecretBox(own.derive('root-wrapping'));
  const label = `root/${id}`;
  return {
    id,
    bytes,
    sealRoot: (root) => wrapping.seal(root.toString('base64'), label),
    openRoot: (sealed) => Buffer.from(wrapping.open(sealed, label), 'base64'),
  };
};

/** The key is a file of the data folder, which the program makes and `master-key rotate` replaces. */
export const isOwnKey = ({ master_key, master_key_file }: KeySettings): boolean =>
  master_key === undefined && master_key_file === undefined;

export const ownKeyFile = ({ data_dir }: Pick<KeySettings, 'data_dir'>): string =>
  join(resolve(data_dir), 'master.key');

/**
 * Reads the files now. Throws for a key that cannot be used. `makes`: a start makes the key of the data folder when no key is
 * given and there is none; otherwise it is missing.
 */
export const readMasterKeys = (settings: KeySettings, { makes }: { makes: boolean }): MasterKeys => {
  const { master_key: text, master_key_file: file, master_key_previous: before } = settings;
  const current =
    text !== undefined
      ? parsed(text, 'master_key')
      : file !== undefined
        ? parsed(readFileSync(file, 'utf8'), 'master_key_file')
        : createMasterKey(ownKey(ownKeyFile(settings), makes));
  const previous = before === undefined ? undefined : parsed(before, 'master_key_previous');
  return { current, previous: previous?.id === current.id ? undefined : previous };
};

const ownKey = (path: string, makes: boolean): Buffer => {
  const bytes = makes ? loadOrCreateMasterKey(path) : readMasterKeyFile(path);
  if (bytes === undefined) throw new SettingsError([{ path: nameOf('data_dir'), message: `${path} is missing` }]);
  return bytes;
};

const parsed = (text: string, path: string): MasterKey => {
  const bytes = parseMasterKey(text);
  if (bytes === undefined)
    throw new SettingsError([{ path: nameOf(path), message: 'must be 32 bytes as base64 or hex' }]);
  return createMasterKey(bytes);
};

export const idsOf = ({ current, previous }: MasterKeys): string[] => [
  current.id,
  ...(previous === undefined ? [] : [previous.id]),
];
