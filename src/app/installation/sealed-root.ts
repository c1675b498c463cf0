/**
 * The root of an installation: 32 bytes from which every other key is derived, stored sealed by the master key. To rotate the
 * master key is to seal the root once more: what is sealed, signed or stored as a digest stays as it is. A store of an
 * earlier release derived everything from its master key itself, which therefore is its root.
 */
import { randomBytes } from 'node:crypto';
import type { Kysely } from 'kysely';
import { equalInConstantTime } from '#src/contract/equal-in-constant-time.ts';
import { settleFact } from '#src/platform/db/facts.ts';
import { createSecretBox } from '#src/platform/secret-box.ts';
import { type SettingProblem, SettingsError } from '../settings/config.ts';
import { idsOf, type MasterKey, type MasterKeys } from './master-keys.ts';
import { insertSealed, listSealed } from './sealed-root-store.ts';

const rootBytes = 32;
const checkFact = 'master_key_check';

/** Tells a root from every other one without revealing it. Earlier releases compare it too. */
const checkOf = (root: Buffer): string => createSecretBox(root).derive('master-key-check').toString('hex');

export type OpenedRoot = { root: Buffer /** The given key that opened it. */; key: MasterKey };

/**
 * `tx`: a transaction with the lock of the root (lockRoot). The first start of an installation makes the root; the first
 * start of this release on an older store seals it. Throws SettingsError when no given key opens the root.
 */
export const openRoot = async (tx: Kysely<unknown>, keys: MasterKeys): Promise<OpenedRoot> => {
  const sealed = await listSealed(tx);
  if (sealed.size === 0) return sealFirst(tx, keys);
  const opener = openerOf(sealed.keys(), keys);
  if (opener === undefined) throw refusal(keys, [...sealed.keys()]);
  return { root: await openWith(tx, opener, sealed), key: opener };
};

/** The given key that opens the root; the current one if both do. Undefined: neither. */
export const openerOf = (sealedBy: Iterable<string>, { current, previous }: MasterKeys): MasterKey | undefined => {
  const ids = new Set(sealedBy);
  return [current, previous].find((key) => key !== undefined && ids.has(key.id));
};

/** Throws when what is stored was changed: the sealed root is authenticated by the master key, and has a check value. */
export const openWith = async (
  tx: Kysely<unknown>,
  key: MasterKey,
  sealed: ReadonlyMap<string, Buffer>,
): Promise<Buffer> => {
  const root = opened(key, sealed.get(key.id));
  const settled = await settleFact(tx, checkFact, checkOf(root));
  if (!equalInConstantTime(settled, checkOf(root)))
    throw new Error(`the root that master key ${key.id} opens is that of another store`);
  return root;
};

const opened = (key: MasterKey, sealed: Buffer | undefined): Buffer => {
  if (sealed === undefined) throw new Error(`master key ${key.id} was removed: it does not open this store any more`);
  try {
    return key.openRoot(sealed);
  } catch (error) {
    throw new Error(`the root that is sealed by master key ${key.id} was changed in the database`, { cause: error });
  }
};

const sealFirst = async (tx: Kysely<unknown>, keys: MasterKeys): Promise<OpenedRoot> => {
  const made = randomBytes(rootBytes);
  const settled = await settleFact(tx, checkFact, checkOf(made));
  const candidates: [Buffer, MasterKey][] = [[made, keys.current]];
  for (const one of [keys.current, keys.previous]) if (one !== undefined) candidates.push([one.bytes, one]);
  const [root, key] = candidates.find(([bytes]) => equalInConstantTime(settled, checkOf(bytes))) ?? [];
  if (root === undefined || key === undefined) throw refusal(keys, []);
  await insertSealed(tx, key.id, key.sealRoot(root));
  return { root, key };
};

const refusal = (keys: MasterKeys, sealedBy: readonly string[]): SettingsError => {
  const given = idsOf(keys).join(' and ');
  const by = sealedBy.length === 0 ? 'another key' : `the key ${sealedBy.join(' or ')}`;
  const message = `this store is sealed by ${by}, and the given key is ${given}. Give that key, or the data folder that holds it; to replace it, give the new key, and that one as ORDERPASS_MASTER_KEY_PREVIOUS, and run master-key rotate`;
  const problem: SettingProblem = { path: 'master_key (ORDERPASS_MASTER_KEY)', message };
  return new SettingsError([problem]);
};
