/**
 * Writes the changes of an import, a stored plan or a revert to a locked menu. It raises the version, copies the old
 * rows for reverts, writes the elements in batches and records the event. Runs in the caller's transaction.
 */
import type { Kysely } from 'kysely';
import { recordEvent } from '#src/platform/db/outbox/outbox.ts';
import { type ChangeNames, changedUids, changesMenu } from '../plan/change-names.ts';
import { type Batch, moveElements, raiseVersion, removeElements, writeBatch } from './import-store.ts';
import { outdatePlans } from './record-store.ts';
import { keepForRevert } from './undo-store.ts';

export type CarryOut = {
  restuid: string;
  /** The client that owns the elements; null: the panel. */
  owner: string | null;
  /** The new point of sale of moved elements; null when none is moved. */
  posUid: string | null;
  cause: 'import' | 'revert';
  baseVersion: number;
  names: ChangeNames;
  /** Categories first. */
  batches: AsyncIterable<Batch> | Iterable<Batch>;
  /** Called with the part that is written, 0 to 1. */
  onWritten?: (share: number) => void;
  now: Date;
};

/** Returns the version of the menu. It stays the same when no change is visible to readers. */
export const writeChanges = async (tx: Kysely<unknown>, work: CarryOut): Promise<number> => {
  const { restuid, owner, names, now } = work;
  const total = names.categories.created.length + names.categories.updated.length + countOf(names.products);
  if (!changesMenu(names)) {
    if (work.posUid !== null && names.movedCategories.length + names.movedProducts.length > 0) {
      await moveElements(tx, restuid, work.posUid, names);
      // The version stays, so it does not tell plans that remove, or take back, what has moved.
      await outdatePlans(tx, restuid, owner);
    }
    return work.baseVersion;
  }
  const version = await raiseVersion(tx, restuid);
  await keepForRevert(tx, { restuid, owner, version }, [
    { kind: 'category', uids: [...changedUids(names.categories), ...names.movedCategories] },
    { kind: 'product', uids: [...changedUids(names.products), ...names.movedProducts] },
  ]);
  let written = 0;
  for await (const batch of work.batches) {
    await writeBatch(tx, { restuid, owner }, batch);
    written += batch.count;
    work.onWritten?.(written / Math.max(total, written));
  }
  await removeElements(tx, restuid, names, now);
  if (work.posUid !== null) await moveElements(tx, restuid, work.posUid, names);
  await recordMenuChange(tx, work, version);
  return version;
};

const countOf = ({ created, updated }: ChangeNames['products']): number => created.length + updated.length;

/** Records menu.changed (interface 12.1). The menu has no uid, so the uid of the restaurant names the entity. */
const recordMenuChange = async (tx: Kysely<unknown>, work: CarryOut, version: number): Promise<void> => {
  await recordEvent(tx, {
    tenant: work.restuid,
    kind: 'menu',
    event: 'menu.changed',
    entity: work.restuid,
    seq: version,
    created: work.now,
    object: 'menu',
    value: () => ({
      version,
      previous_version: work.baseVersion,
      cause: work.cause,
      categories: work.names.categories,
      products: work.names.products,
    }),
  });
};
