/**
 * Adds events to the tree when a head has moved, and keeps the newest checkpoint in memory for the public document. It runs
 * on the heads that the guard reads in any case, so an idle gateway sends no statement for it.
 */
import type { Kysely } from 'kysely';
import { type Clock, minuteMs } from '#src/platform/clock.ts';
import type { Logger } from '#src/platform/log.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import type { ChainPosition } from '../chain/event-store.ts';
import { addLeaves } from './add-leaves.ts';
import { listCheckpointKeys, registerCheckpointKey } from './checkpoint-keys.ts';
import { signTree } from './prove.ts';
import type { CheckpointKey } from './signed-note.ts';

type TreeWatchDeps = {
  db: Kysely<unknown>;
  box: Pick<SecretBox, 'derive'>;
  clock: Clock;
  log: Logger;
  /** The key of the settings now. */
  readKey: () => CheckpointKey;
  /** Verifier keys of witnesses. */
  witnesses: readonly string[];
};

export type TreeWatch = {
  /** Never rejects. `heads`: those whose signatures and ends were checked. */
  onHeads(heads: readonly ChainPosition[]): Promise<void>;
  /** Gets a newer checkpoint with the signature of a witness. */
  onCosigned(checkpoint: string): void;
  /**
   * Newest checkpoint of this process. Where there is a witness, the one with its signature, unless the witness has signed no
   * newer one for `witnessMsMax`.
   */
  newest(): string | null;
  /** The key that signs, which the store has. */
  key(): CheckpointKey;
  /** Body of /.well-known/audit-log. */
  document(): string;
};

/** Bounds how long a backlog delays the next check of the heads. */
const pagesMax = 20;
/** chosen: a working witness signs within seconds. A sink must not lack checkpoints when it is away or refuses the audit. */
const witnessMsMax = 2 * minuteMs;

export const createTreeWatch = ({ db, box, clock, log, readKey, witnesses }: TreeWatchDeps): TreeWatch => {
  const added = new Map<number, number>();
  let checkpoint: string | null = null;
  let witnessed: string | null = null;
  /** Since when the witness has signed no newer checkpoint although there is one; undefined when it has signed the newest. */
  let waitsSince: Date | undefined;
  let key = readKey();
  let keys = [{ vkey: key.vkey, since_iso: null as string | null, until_iso: null as string | null }];
  let isRegistered = false;

  const readKeys = async (): Promise<void> => {
    keys = (await listCheckpointKeys(db, box, key)).map(({ vkey, since, until }) => ({
      vkey,
      since_iso: since.toISOString(),
      until_iso: until?.toISOString() ?? null,
    }));
  };
  const addMoved = async (heads: readonly ChainPosition[]): Promise<void> => {
    const next = readKey();
    if (!isRegistered || next !== key) {
      await registerCheckpointKey({ db, box, clock }, next);
      // The newest checkpoint is signed anew, also without an event.
      added.clear();
      key = next;
      isRegistered = true;
    }
    const moved = heads.filter(({ chain, seq }) => added.get(chain) !== seq);
    if (moved.length === 0) return;
    await readKeys();
    for (let page = 0; page < pagesMax; page += 1) {
      const done = await addLeaves(db, moved);
      if (done === 'busy') return;
      checkpoint = await signTree(db, key);
      waitsSince = sizeOf(checkpoint) === sizeOf(witnessed) ? undefined : (waitsSince ?? clock.now());
      if (done === 'more') continue;
      for (const { chain, seq } of moved) added.set(chain, seq);
      return;
    }
  };
  return {
    onHeads: (heads) =>
      addMoved(heads).catch((error: unknown) =>
        log.warn({ err: error }, 'events could not be added to the tree of the audit; trying again'),
      ),
    onCosigned: (text) => {
      if (text !== witnessed) waitsSince = sizeOf(text) === sizeOf(checkpoint) ? undefined : clock.now();
      witnessed = text;
    },
    key: () => key,
    newest: () => {
      const waitedMs = waitsSince === undefined ? 0 : clock.now().getTime() - waitsSince.getTime();
      return witnesses.length === 0 || waitedMs >= witnessMsMax ? checkpoint : witnessed;
    },
    document: () => {
      const vkeys = keys.map(({ vkey }) => vkey);
      return JSON.stringify({ origin: key.origin, vkeys, keys, checkpoint, witnesses, witnessed });
    },
  };
};

/** The second line of a checkpoint: how many events it covers. */
const sizeOf = (checkpoint: string | null): string | undefined => checkpoint?.split('\n')[1];
