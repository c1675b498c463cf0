/** Finds records of one kind of credential among the remembered ones, and reads missing ones from the store. */

import type { IncomingMessage } from 'node:http';
import { answerInTime } from '#src/platform/db/answer-in-time.ts';
import type { SourceOf } from '../../limits/source-address.ts';
import { cannotCheck, orFault } from './cannot-check.ts';
import { type EpochConfirmation, type Remembered, storeWaitMsMax } from './confirm-epoch.ts';
import type { Found as FoundRow } from './credential-store.ts';
import type { InLookUpTurn } from './look-up-turns.ts';
import { createRememberedRecords, type RecordsDeps } from './remembered-records.ts';

/** undefined: unknown. A promise only when the store must be asked; it rejects with OVERLOADED. */
export type Found<T> = T | undefined | Promise<T | undefined>;

export type LookupCache<T> = Remembered & {
  /** `req`: the request that names it. Without one a signature proves the name, so it is not an invented one. */
  find(name: string, req?: IncomingMessage): Found<T>;
  figures(): LookupFigures;
};

/** Since the start. `misses`: look-ups that waited for the store. */
export type LookupFigures = { entries: number; hits: number; misses: number };

type LookupCacheDeps<T> = RecordsDeps<T> & {
  /** Checks format and checksum without the store. */
  isWellFormed: (name: string) => boolean;
  read: (name: string) => Promise<FoundRow<T>>;
  /** For names that a request may have invented. */
  inTurn: InLookUpTurn;
  sourceOf: SourceOf;
  confirmation: Pick<EpochConfirmation, 'isFresh' | 'makeFresh' | 'state' | 'generation'>;
};

/** Concurrent readings of proven names. */
const loadsMax = 256;

export const createLookupCache = <T>(deps: LookupCacheDeps<T>): LookupCache<T> => {
  const { isWellFormed, confirmation } = deps;
  const records = createRememberedRecords(deps);
  let loading = new Map<string, Promise<T | undefined>>();
  let loads = 0;
  let hits = 0;
  let misses = 0;

  /** A reading keeps its turn until it ends, also when it is too late to be used: it holds a connection until then. */
  const readProven = (name: string): Promise<FoundRow<T>> => {
    if (loads >= loadsMax) return Promise.reject(cannotCheck('too many look-ups at once'));
    loads += 1;
    return deps.read(name).finally(() => {
      loads -= 1;
    });
  };

  const read = async (name: string, source: string | undefined, own: typeof loading): Promise<T | undefined> => {
    const startedIn = confirmation.generation();
    try {
      const reading = source === undefined ? readProven(name) : deps.inTurn(source, () => deps.read(name));
      const { row: record, state } = await answerInTime(reading, storeWaitMsMax);
      if (startedIn === confirmation.generation()) records.remember(name, record, state);
      return record;
    } finally {
      own.delete(name);
    }
  };

  /** Readings of one name are shared. */
  const load = (name: string, req: IncomingMessage | undefined): Promise<T | undefined> => {
    misses += 1;
    const running = loading.get(name);
    if (running !== undefined) return running;
    const started = read(name, req && deps.sourceOf(req), loading);
    loading.set(name, started);
    return started;
  };

  const recall = (name: string, req: IncomingMessage | undefined): Found<T> => {
    const record = records.get(name);
    if (record === undefined && !records.isUnknown(name)) return load(name, req);
    hits += 1;
    return record;
  };

  return {
    find: (name, req) => {
      const record = records.get(name);
      // A remembered name is well-formed; only other names pay for the check.
      if (record === undefined && !isWellFormed(name)) return undefined;
      if (!confirmation.isFresh()) return orFault(confirmation.makeFresh().then(() => recall(name, req)));
      if (record !== undefined) {
        hits += 1;
        return record;
      }
      const found = recall(name, req);
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
