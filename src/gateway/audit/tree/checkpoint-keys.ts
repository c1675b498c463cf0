/**
 * The keys that sign checkpoints, one after the other. A gateway enters the key that it signs with; older keys stay, so that
 * checkpoints that were kept can be verified. Rows carry a MAC, because a writer of the table could add a key of its own.
 */
import { createHmac } from 'node:crypto';
import type { Kysely } from 'kysely';
import { equalInConstantTime } from '#src/contract/equal-in-constant-time.ts';
import { Fault } from '#src/contract/fault.ts';
import type { Clock } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { ensurePartition } from '../chain/event-store.ts';
import { extendChanges, lockChanges } from '../chain/open-chain.ts';
import { type KeyRow, lockKeyRows, readKeyRows, saveKeyRow } from './checkpoint-key-store.ts';
import { type CheckpointKey, type CheckpointVerifier, openCheckpointKey } from './signed-note.ts';
import { treeSize } from './tree-store.ts';

type Db = Kysely<unknown>;
type Box = Pick<SecretBox, 'derive'>;

/** `checkpointKey`: the private key of the settings in PEM. Default: the derived key. */
export type TreeDeps = { db: Db; box: Box; checkpointKey?: string | undefined };

/** `until`: null for the key that signs now. */
type KnownKey = CheckpointVerifier & { since: Date; until: Date | null };

const macOf = (box: Box, { publicKey, since, until }: KeyRow): Buffer =>
  createHmac('sha256', box.derive('audit-checkpoint-keys'))
    .update(JSON.stringify([publicKey.toString('hex'), since.toISOString(), until?.toISOString() ?? null]))
    .digest();

/** Newest first. Rows that this installation did not write are left out. */
export const listCheckpointKeys = async (db: Db, box: Box, key: CheckpointKey): Promise<KnownKey[]> => {
  const rows = await readKeyRows(db);
  return rows
    .filter((row) => equalInConstantTime(row.mac, macOf(box, row)))
    .map(({ publicKey, since, until }) => ({ ...key.verifierOf(publicKey), since, until }));
};

const write = (tx: Db, box: Box, row: KeyRow): Promise<void> => saveKeyRow(tx, { ...row, mac: macOf(box, row) });

/** Enters the key of this process as the one that signs. A change is in the audit. */
export const registerCheckpointKey = (
  { db, box, clock }: { db: Db; box: Box; clock: Clock },
  key: CheckpointKey,
): Promise<void> =>
  inTransaction(db, async (tx) => {
    await lockKeyRows(tx);
    // Whole milliseconds, which the store keeps and the MAC covers.
    const now = clock.now();
    const known = await listCheckpointKeys(tx, box, key);
    const current = known.find(({ until }) => until === null);
    if (current?.publicKey.equals(key.publicKey)) return;
    const before = current ?? (await derivedBefore(tx, key, now));
    if (before !== undefined) await write(tx, box, { ...before, until: now });
    const since = known.find(({ publicKey }) => publicKey.equals(key.publicKey))?.since ?? now;
    await write(tx, box, { publicKey: key.publicKey, since, until: null });
    if (before === undefined) return;
    await ensurePartition(tx, now);
    const row = await lockChanges(tx, box, now);
    const details = JSON.stringify({ from: before.vkey, to: key.vkey });
    await extendChanges(tx, box, row, now, [{ action: 'audit.key_changed', actor: 'system', details }]);
  });

/** Before the first entry the derived key signed, unless there was nothing to sign. */
const derivedBefore = async (tx: Db, key: CheckpointKey, since: Date): Promise<KnownKey | undefined> =>
  key.derived.publicKey.equals(key.publicKey) || (await treeSize(tx)) === 0
    ? undefined
    : { ...key.derived, since, until: since };

/** Those whose checkpoints are accepted. Before the first entry: the derived key and that of the settings. */
export const verifiersOf = async ({ db, box, checkpointKey }: TreeDeps): Promise<CheckpointVerifier[]> => {
  const key = openCheckpointKey(box, checkpointKey);
  const known = await listCheckpointKeys(db, box, key);
  return known.length === 0 ? [key, key.derived] : known;
};

/** The key for a command. Fault VALIDATION_ERROR when the gateways sign with another one. */
export const signingKeyOf = async ({ db, box, checkpointKey }: TreeDeps): Promise<CheckpointKey> => {
  const key = openCheckpointKey(box, checkpointKey);
  const current = (await listCheckpointKeys(db, box, key)).find(({ until }) => until === null);
  if (current !== undefined && !current.publicKey.equals(key.publicKey)) {
    throw new Fault(
      'VALIDATION_ERROR',
      `The gateways sign checkpoints with the key ${current.vkey}: set ORDERPASS_AUDIT_KEY_FILE here as for them`,
    );
  }
  return key;
};
