/** Remembers records of one kind of credential, and reads missing ones from the store. */

import { answerInTime } from '#src/platform/db/answer-in-time.ts';
import { createRecentMap, type RecentMap } from '#src/platform/recent-map.ts';
import { cannotCheck, orFault } from './cannot-check.ts';
import { type EpochConfirmation, type Remembered, storeWaitMsMax } from './confirm-epoch.ts';
import type { Found as FoundRow } from './credential-store.ts';
import { type CredentialState, isSameState } from './epoch-store.ts';

/** undefined: unknown. A promise only when the store must be asked; it rejects with OVERLOADED. */
export type Found<T> = T | undefined | Promise<T | undefined>;

export type LookupCache<T> = Remembered & {
  find(name: string): Found<T>;
  figures(): LookupFigures;
};

/** Since the start. `misses`: look-ups that waited for the store. */
export type LookupFigures = { entries: number; hits: number; misses: number };

type LookupCacheDeps<T> = {
  entriesMax: number;
  /** Checks format and checksum without the store. */
  isWellFormed: (name: string) => boolean;
  /** The id under which a change names the credential. */
  idOfName: (name: string) => string;
  idOf: (record: T) => string;
  read: (name: string) => Promise<FoundRow<T>>;
  /**
   * id -> the last name with it that the store does not know. A map of its own, so that invented names never evict real
   * records.
   */
  unknown: RecentMap<string, string>;
  confirmation: Pick<EpochConfirmation, 'isFresh' | 'makeFresh' | 'state' | 'generation'>;
};

/** Concurrent readings. Each invented well-formed name costs a query, and these must not use up the pool. */
const loadsMax = 256;
/** chosen: records read ahead of the confirmed state, between two readings of the epoch. */
const aheadMax = 2_000;

export const createLookupCache = <T>(deps: LookupCacheDeps<T>): LookupCache<T> => {
  const { isWellFormed, idOfName, idOf, unknown, confirmation } = deps;
  const names = new Map<string, string>();
  const known = createRecentMap<string, T>(deps.entriesMax, (evicted) => {
    for (const record of evicted) names.delete(idOf(record));
  });
  const ahead = new Map<string, CredentialState>();
  let loading = new Map<string, Promise<T | undefined>>();
  let loads = 0;
  let hits = 0;
  let misses = 0;

  const drop = (name: string): void => {
    const record = known.get(name);
    if (record !== undefined) names.delete(idOf(record));
    known.delete(name);
    if (unknown.get(idOfName(name)) === name) unknown.delete(idOfName(name));
  };

  /**
   * A record is remembered when it was read in the confirmed state. One that was read ahead of it is remembered until the
   * next confirmation, and longer only when that passes its state: otherwise it may be of a history that was undone. One
   * that was read before it is not, because a change since then may name it.
   */
  const remember = (name: string, record: T | undefined, state: CredentialState): void => {
    const confirmed = confirmation.state();
    if (confirmed === undefined || confirmed.store !== state.store) return;
    if (!isSameState(confirmed, state)) {
      if (state.epoch <= confirmed.epoch || ahead.size >= aheadMax) return;
      ahead.set(name, state);
    }
    if (record === undefined) unknown.set(idOfName(name), name);
    else {
      known.set(name, record);
      names.set(idOf(record), name);
    }
  };

  const read = async (name: string, own: Map<string, Promise<T | undefined>>): Promise<T | undefined> => {
    const startedIn = confirmation.generation();
    loads += 1;
    try {
      const { row: record, state } = await answerInTime(deps.read(name), storeWaitMsMax);
      if (startedIn === confirmation.generation()) remember(name, record, state);
      return record;
    } finally {
      loads -= 1;
      own.delete(name);
    }
  };

  /** Readings of one name are shared. */
  const load = (name: string): Promise<T | undefined> => {
    misses += 1;
    const running = loading.get(name);
    if (running !== undefined) return running;
    if (loads >= loadsMax) return Promise.reject(cannotCheck('too many look-ups at once'));
    const started = read(name, loading);
    loading.set(name, started);
    return started;
  };

  const recall = (name: string): Found<T> => {
    const record = known.get(name);
    if (record === undefined && unknown.get(idOfName(name)) !== name) return load(name);
    hits += 1;
    return record;
  };

  return {
    find: (name) => {
      const record = known.get(name);
      // A remembered name is well-formed; only other names pay for the check.
      if (record === undefined && !isWellFormed(name)) return undefined;
      if (!confirmation.isFresh()) return orFault(confirmation.makeFresh().then(() => recall(name)));
      if (record !== undefined) {
        hits += 1;
        return record;
      }
      const found = recall(name);
      return found instanceof Promise ? orFault(found) : found;
    },
    forget: (ids) => {
      for (const id of ids) {
        const name = names.get(id);
        if (name !== undefined) known.delete(name);
        names.delete(id);
        unknown.delete(id);
      }
      // Running readings are not shared any more, because they may have begun before the change.
      if (ids.size > 0) loading = new Map();
    },
    forgetAll: () => {
      known.clear();
      names.clear();
      unknown.clear();
      ahead.clear();
      loading = new Map();
    },
    settle: (wasPassed) => {
      for (const [name, state] of ahead) if (!wasPassed(state)) drop(name);
      ahead.clear();
    },
    figures: () => ({ entries: known.size(), hits, misses }),
  };
};
