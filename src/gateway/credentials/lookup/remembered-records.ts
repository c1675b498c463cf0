/** The records of one kind of credential that a process remembers, and the state of the store to which each belongs. */
import { createRecentMap, type RecentMap } from '#src/platform/recent-map.ts';
import type { EpochConfirmation, Remembered } from './confirm-epoch.ts';
import { type CredentialState, isSameState } from './epoch-store.ts';

export type RememberedRecords<T> = Remembered & {
  get(name: string): T | undefined;
  isUnknown(name: string): boolean;
  /**
   * `record`: undefined when the store does not know the name. `state`: in which it was read.
   *
   * A record is remembered when it was read in the confirmed state. One that was read ahead of it is remembered until the
   * next confirmation, and longer only when that passes its state: otherwise it may be of a history that was undone. One
   * that was read before it is not, because a change since then may name it.
   */
  remember(name: string, record: T | undefined, state: CredentialState): void;
  size(): number;
};

export type RecordsDeps<T> = {
  entriesMax: number;
  /** The id under which a change names the credential. */
  idOfName: (name: string) => string;
  idOf: (record: T) => string;
  /**
   * id -> the last name with it that the store does not know. A map of its own, so that invented names never evict real
   * records.
   */
  unknown: RecentMap<string, string>;
  confirmation: Pick<EpochConfirmation, 'state'>;
};

/** chosen: records read ahead of the confirmed state, between two readings of the epoch. */
const aheadMax = 2_000;

export const createRememberedRecords = <T>(deps: RecordsDeps<T>): RememberedRecords<T> => {
  const { idOfName, idOf, unknown, confirmation } = deps;
  const names = new Map<string, string>();
  const known = createRecentMap<string, T>(deps.entriesMax, (evicted) => {
    for (const record of evicted) names.delete(idOf(record));
  });
  const ahead = new Map<string, CredentialState>();

  const isUnknown = (name: string): boolean => unknown.get(idOfName(name)) === name;

  const drop = (name: string): void => {
    const record = known.get(name);
    if (record !== undefined) names.delete(idOf(record));
    known.delete(name);
    if (isUnknown(name)) unknown.delete(idOfName(name));
  };

  return {
    get: known.get,
    isUnknown,
    remember: (name, record, state) => {
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
    },
    forget: (ids) => {
      for (const id of ids) {
        const name = names.get(id);
        if (name !== undefined) known.delete(name);
        names.delete(id);
        unknown.delete(id);
      }
    },
    forgetAll: () => {
      known.clear();
      names.clear();
      unknown.clear();
      ahead.clear();
    },
    settle: (wasPassed) => {
      for (const [name, state] of ahead) if (!wasPassed(state)) drop(name);
      ahead.clear();
    },
    size: known.size,
  };
};
