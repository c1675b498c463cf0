/**
 * Adds events to the tree when a head has moved, and keeps the newest checkpoint in memory for the public document. It runs
 * on the heads that the guard reads in any case, so an idle gateway sends no statement for it.
 */
import type { Kysely } from 'kysely';
import type { Logger } from '#src/platform/log.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import type { ChainRow } from '../chain/event-store.ts';
import { addLeaves } from './add-leaves.ts';
import { signTree } from './prove.ts';
import { openCheckpointKey } from './signed-note.ts';

type TreeWatchDeps = { db: Kysely<unknown>; box: Pick<SecretBox, 'derive'>; log: Logger };

export type TreeWatch = {
  /** Never rejects. `rows`: heads whose signatures and ends were checked. */
  onHeads(rows: readonly ChainRow[]): Promise<void>;
  /** Body of /.well-known/audit-log. */
  document(): string;
};

/** Bounds how long a backlog delays the next check of the heads. */
const pagesMax = 20;

export const createTreeWatch = ({ db, box, log }: TreeWatchDeps): TreeWatch => {
  const key = openCheckpointKey(box);
  const added = new Map<number, number>();
  let checkpoint: string | null = null;

  const addMoved = async (rows: readonly ChainRow[]): Promise<void> => {
    const moved = rows.filter(({ chain, seq }) => added.get(chain) !== seq);
    if (moved.length === 0) return;
    for (let page = 0; page < pagesMax; page += 1) {
      const done = await addLeaves(db, moved);
      if (done === 'busy') return;
      checkpoint = await signTree(db, key);
      if (done === 'more') continue;
      for (const { chain, seq } of moved) added.set(chain, seq);
      return;
    }
  };
  return {
    onHeads: (rows) =>
      addMoved(rows).catch((error: unknown) =>
        log.warn({ err: error }, 'events could not be added to the tree of the audit; trying again'),
      ),
    document: () => JSON.stringify({ origin: key.origin, vkeys: [key.vkey], checkpoint }),
  };
};
