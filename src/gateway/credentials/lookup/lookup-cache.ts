/** Remembers records of one kind of credential, and reads missing ones from the store. */

import { answerInTime } from '#src/platform/db/answer-in-time.ts';
import { createRecentMap, type RecentMap } from '#src/platform/recent-map.ts';
import { cannotCheck, orFault } from './cannot-check.ts';
import { type EpochConfirmation, storeWaitMsMax } from './confirm-epoch.ts';
import type { Found as FoundRow } from './credential-store.ts';

/** undefined: unknown. A promise only when the store must be asked; it rejects with OVERLOADED. */
export type Found<T> = T | undefined | Promise<T | undefined>;

export type LookupCache<T> = {
  find(name: string): Found<T>;
  forget(): void;
};

type LookupCacheDeps<T> = {
  entriesMax: number;
  /** Checks format and checksum without the store. */
  isWellFormed: (name: string) => boolean;
  read: (name: string) => Promise<FoundRow<T>>;
  /** Names that the store does not know. A map of their own, so that invented names never evict real records. */
  unknown: RecentMap<string, true>;
  confirmation: Pick<EpochConfirmation, 'isFresh' | 'makeFresh' | 'state' | 'generation'>;
};

/** Concurrent readings. Each invented well-formed name costs a query, and these must not use up the pool. */
const loadsMax = 256;

export const createLookupCache = <T>(deps: LookupCacheDeps<T>): LookupCache<T> => {
  const { isWellFormed, unknown, confirmation } = deps;
  const known = createRecentMap<string, T>(deps.entriesMax);
  let loading = new Map<string, Promise<T | undefined>>();

  const read = async (name: string, own: Map<string, Promise<T | undefined>>): Promise<T | undefined> => {
    const startedIn = confirmation.generation();
    try {
      const { row: record, state } = await answerInTime(deps.read(name), storeWaitMsMax);
      // A record is remembered only when it was read in the confirmed state. Otherwise it could outlive its own state.
      if (startedIn !== confirmation.generation() || state !== confirmation.state()) return record;
      if (record === undefined) unknown.set(name, true);
      else known.set(name, record);
      return record;
    } finally {
      own.delete(name);
    }
  };

  /** Readings of one name are shared. */
  const load = (name: string): Promise<T | undefined> => {
    const running = loading.get(name);
    if (running !== undefined) return running;
    if (loading.size >= loadsMax) return Promise.reject(cannotCheck('too many look-ups at once'));
    const started = read(name, loading);
    loading.set(name, started);
    return started;
  };

  const recall = (name: string): Found<T> => {
    const record = known.get(name);
    if (record !== undefined) return record;
    return unknown.get(name) === undefined ? load(name) : undefined;
  };

  return {
    find: (name) => {
      const record = known.get(name);
      // A remembered name is well-formed; only other names pay for the check.
      if (record === undefined && !isWellFormed(name)) return undefined;
      if (!confirmation.isFresh()) return orFault(confirmation.makeFresh().then(() => recall(name)));
      if (record !== undefined) return record;
      const found = recall(name);
      return found instanceof Promise ? orFault(found) : found;
    },
    forget: () => {
      known.clear();
      // Running readings are not shared any more, because they may have begun before the change.
      loading = new Map();
    },
  };
};
