/**
 * Knows which state of the credentials this process has confirmed, and when. When the state changes, it forgets what the
 * changes name, or everything when the changes are not known without a gap. See cache.ts for the guarantee that follows.
 */
import type { Kysely } from 'kysely';
import { answerInTime } from '#src/platform/db/answer-in-time.ts';
import { cannotCheck } from './cannot-check.ts';
import { changesSince, credentialsOf } from './change-feed.ts';
import {
  type CredentialState,
  type EpochPart,
  type EpochReading,
  type FedChange,
  isSameState,
  readChanges,
} from './epoch-store.ts';

export type EpochConfirmation = {
  /**
   * Applies a reading. `askedAtMs`: time before the reading, because later changes are not in it. `anew`: the connection is
   * new, so the store may have been another one in between.
   */
  confirm(reading: EpochReading, askedAtMs: number, anew?: boolean): Promise<void>;
  /** Reads the epoch now and applies it. */
  refresh(): Promise<void>;
  /** True while the last confirmed reading is not older than `trustMs`. A request asks it, which counts as a use. */
  isFresh(): boolean;
  /** True when a request has asked for a credential within `ms`. */
  wasUsed(ms: number): boolean;
  /** Called when a request finds the confirmation too old. */
  onStale(run: () => void): void;
  /** Reads the epoch until the confirmation is fresh. Rejects with OVERLOADED when the store is too slow. */
  makeFresh(): Promise<void>;
  /** The confirmed state; undefined before the first reading. */
  state(): CredentialState | undefined;
  /** Raised whenever everything is forgotten. */
  generation(): number;
};

/** What belongs to the confirmed state. */
export type Remembered = {
  /** Forgets these credentials, and that they were unknown. */
  forget(ids: ReadonlySet<string>): void;
  forgetAll(): void;
  /**
   * Called with each newly confirmed state, after what changed was forgotten. Of what was read ahead of the confirmed state,
   * only what was read in a state that `wasPassed` remains.
   */
  settle(wasPassed: (state: EpochPart) => boolean): void;
};

type EpochConfirmationDeps = {
  db: Kysely<unknown>;
  /** Monotonic milliseconds. */
  elapsedMs: () => number;
  /** Brings the revoked tokens up to this state. `anew`: reads all of them. */
  loadTokens: (tokens: EpochPart, anew: boolean) => Promise<void>;
  remembered: Remembered;
  /** Loads what else depends on the state, when all of it may have changed. A rejection leaves the new state unconfirmed. */
  onAllChanged: (() => Promise<void>) | undefined;
  /** Called with the time of each revocation that was applied. */
  observe: ((revokedAtMs: number) => void) | undefined;
};

/** Below one second, with room for the time that a request itself may take. */
const trustMs = 900;
/** Longest wait for one answer of the store. */
export const storeWaitMsMax = 1_500;
const readingsMax = 2;

export const createEpochConfirmation = (deps: EpochConfirmationDeps): EpochConfirmation => {
  const { db, elapsedMs, remembered } = deps;
  let known: CredentialState | undefined;
  let generation = 0;
  let confirmedAtMs = Number.NEGATIVE_INFINITY;
  let shared: Promise<void> | undefined;
  let usedAtMs = Number.NEGATIVE_INFINITY;
  let reportStale = (): void => undefined;

  const isOlder = (askedAtMs: number): boolean => askedAtMs <= confirmedAtMs;

  /** Until a state is confirmed again, nothing is remembered. */
  const forgetAll = async (): Promise<void> => {
    known = undefined;
    generation += 1;
    remembered.forgetAll();
    await deps.onAllChanged?.();
  };

  const confirm = async (reading: EpochReading, askedAtMs: number, anew = false): Promise<void> => {
    if (!anew && isOlder(askedAtMs)) return;
    const storeMoved = known !== undefined && known.store !== reading.store;
    await deps.loadTokens(reading.tokens, anew || storeMoved);
    // A later reading may have been applied meanwhile.
    if (!anew && isOlder(askedAtMs)) return;
    const changes = anew ? undefined : changesSince(known, reading);
    const changed = changes === undefined ? 'all' : credentialsOf(changes);
    if (changed === 'all') {
      await forgetAll();
      // Another reading was applied meanwhile, and what was remembered since belongs to its state.
      if (known !== undefined) return confirm(reading, askedAtMs);
    } else remembered.forget(changed);
    known = { ...reading.credentials, store: reading.store };
    confirmedAtMs = Math.max(confirmedAtMs, askedAtMs);
    remembered.settle((state) => isSameState(state, reading.credentials) || isAmong(changes, state));
    for (const { revokedAtMs } of changes ?? []) if (revokedAtMs !== undefined) deps.observe?.(revokedAtMs);
  };

  const readAndConfirm = async (): Promise<void> => {
    const askedAtMs = elapsedMs();
    await confirm(await readChanges(db, known?.epoch), askedAtMs);
  };

  const readShared = (): Promise<void> => {
    shared ??= answerInTime(readAndConfirm(), storeWaitMsMax).finally(() => {
      shared = undefined;
    });
    return shared;
  };

  const isFresh = (): boolean => {
    usedAtMs = elapsedMs();
    return usedAtMs - confirmedAtMs <= trustMs;
  };

  return {
    confirm,
    refresh: () => answerInTime(readAndConfirm(), storeWaitMsMax),
    isFresh,
    wasUsed: (ms) => elapsedMs() - usedAtMs < ms,
    onStale: (run) => {
      reportStale = run;
    },
    makeFresh: async () => {
      reportStale();
      // A shared reading may be too old by the time it arrives, so there is a second one.
      for (let attempt = 0; attempt < readingsMax; attempt += 1) {
        await readShared();
        if (isFresh()) return;
      }
      throw cannotCheck('the store answers too slowly');
    },
    state: () => known,
    generation: () => generation,
  };
};

/** The numbers of `changes` follow each other. */
const isAmong = (changes: readonly FedChange[] | undefined, state: EpochPart): boolean => {
  const first = changes?.[0];
  const change = first === undefined ? undefined : changes?.[state.epoch - first.epoch];
  return change !== undefined && isSameState(change, state);
};
