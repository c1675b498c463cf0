/**
 * The rotation of the master key, in two transactions. The first seals the root by the new key too: from then on a process
 * starts with either key. The second removes the old key, once every running process would find the new one at its next
 * start. Each can be repeated, and a crash between them leaves both keys valid.
 */
import type { Kysely } from 'kysely';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { listKeyHolders } from './key-holder.ts';
import { hasTable, type KeyHolderRow } from './key-holder-store.ts';
import type { MasterKey, MasterKeys } from './master-keys.ts';
import { openerOf, openWith } from './sealed-root.ts';
import { deleteSealed, insertSealed, listSealed, lockRoot } from './sealed-root-store.ts';

/** Appends the event of a change to the audit, in its transaction. */
export type RecordKey = (
  tx: Kysely<unknown>,
  action: 'master_key.added' | 'master_key.removed',
  key: string,
) => Promise<void>;

type RotationDeps = { db: Kysely<unknown>; record: RecordKey };

/** Seals the root by `target` too; does nothing if it is sealed so already. */
export const addKey = ({ db, record }: RotationDeps, given: MasterKeys, target: MasterKey): Promise<void> =>
  inTransaction(db, async (tx) => {
    await lockRoot(tx);
    const sealed = await listSealed(tx);
    if (sealed.has(target.id)) return;
    const key = openerOf(sealed.keys(), given);
    if (key === undefined) throw new Error('another rotation has removed the given key meanwhile');
    await insertSealed(tx, target.id, target.sealRoot(await openWith(tx, key, sealed)));
    await record(tx, 'master_key.added', target.id);
  });

/** The running processes that could not start again with `target`; none: every other key is removed. */
export const removeOthers = ({ db, record }: RotationDeps, target: MasterKey): Promise<KeyHolderRow[]> =>
  inTransaction(db, async (tx) => {
    await lockRoot(tx);
    // Without the list, a key could be removed that a running process needs.
    if (!(await hasTable(tx, 'key_holders')))
      throw new Error('the schema has no list of running processes yet: run migrate, and restart the processes');
    const sealed = await listSealed(tx);
    // The keys that work are removed only if the one that stays works too.
    await openWith(tx, target, sealed);
    const waiting = (await listKeyHolders(tx)).filter(({ keys }) => !keys.includes(target.id));
    if (waiting.length > 0) return waiting;
    for (const key of sealed.keys())
      if (key !== target.id) {
        await deleteSealed(tx, key);
        await record(tx, 'master_key.removed', key);
      }
    return [];
  });
