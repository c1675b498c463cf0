/** Finds records of one kind of credential among the remembered ones, and reads missing ones from the store. */

import { answerInTime } from '#src/platform/db/answer-in-time.ts';
import { cannotCheck, orFault } from './cannot-check.ts';
import { type EpochConfirmation, type Remembered, storeWaitMsMax } from './confirm-epoch.ts';
import type { Found as FoundRow } from './credential-store.ts';
import { createRememberedRecords, type RecordsDeps } from './remembered-records.ts';

/** undefined: unknown. A promise only when the store must be asked; it rejects with OVERLOADED. */
export type Found<T> = T | undefined | Promise<T | undefined>;

export type LookupCache<T> = Remembered & {
  find(name: string): Found<T>;
  figures(): LookupFigures;
};

/** Since the start. `misses`: look-ups that waited for the store. */
export type LookupFigures = { entries: number; hits: number; misses: number };

type LookupCacheDeps<T> = RecordsDeps<T> & {
  /** Checks format and checksum without the store. */
  isWellFormed: (name: string) => boolean;
  read: (name: string) => Promise<FoundRow<T>>;
  confirmation: Pick<EpochConfirmation, 'isFresh' | 'makeFresh' | 'state' | 'generation'>;
};

/** Concurrent readings. Each invented well-formed name costs a query, and these must not use up the pool. */
const loadsMax = 256;

export const createLookupCache = <T>(deps: LookupCacheDeps<T>): LookupCache<T> => {
  const { isWellFormed, confirmation } = deps;
  const records = createRememberedRecords(deps);
  let loading = new Map<string, Promise<T | undefined>>();
  let loads = 0;
  let hits = 0;
  let misses = 0;

  const read = async (name: string, own: Map<string, Promise<T | undefined>>): Promise<T | undefined> => {
    const startedIn = confirmation.generation();
    loads += 1;
    try {
      const { row: record, state } = await answerInTime(deps.read(name), storeWaitMsMax);
      if (startedIn === confirmation.generation()) records.remember(name, record, state);
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
    const record = records.get(name);
    if (record === undefined && !records.isUnknown(name)) return load(name);
    hits += 1;
    return record;
  };

  return {
    find: (name) => {
      const record = records.get(name);
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
      records.forget(ids);
      // Running readings are not shared any more, because they may have begun before the change.
      if (ids.size > 0) loading = new Map();
    },
    forgetAll: () => {
      records.forgetAll();
      loading = new Map();
    },
    settle: records.settle,
    figures: () => ({ entries: records.size(), hits, misses }),
  };
};
