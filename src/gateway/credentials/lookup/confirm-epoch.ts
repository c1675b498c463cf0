/**
 * Knows which state of the credentials this process has confirmed, and when. When the state changes, everything that
 * was read in an earlier state is forgotten. See cache.ts for the guarantee that follows.
 */
import type { Kysely } from 'kysely';
import { answerInTime } from '#src/platform/db/answer-in-time.ts';
import { cannotCheck } from './cannot-check.ts';
import { type Epoch, type EpochPart, readEpoch, stateOf } from './epoch-store.ts';

export type EpochConfirmation = {
  /**
   * Applies an epoch that was read. `askedAtMs`: time before the reading, because later changes are not in it. `anew`:
   * the connection is new, so the store may have been another one in between.
   */
  confirm(current: Epoch, askedAtMs: number, anew?: boolean): Promise<void>;
  /** Reads the epoch now and applies it. */
  refresh(): Promise<void>;
  /** True while the last confirmed reading is not older than `trustMs`. */
  isFresh(): boolean;
  /** Reads the epoch until the confirmation is fresh. Rejects with OVERLOADED when the store is too slow. */
  makeFresh(): Promise<void>;
  /** The confirmed state; undefined before the first reading. */
  state(): string | undefined;
  /** Raised whenever the confirmed state changes. */
  generation(): number;
};

type EpochConfirmationDeps = {
  db: Kysely<unknown>;
  /** Monotonic milliseconds. */
  elapsedMs: () => number;
  /** Brings the revoked tokens up to this state. `anew`: reads all of them. */
  loadTokens: (tokens: EpochPart, anew: boolean) => Promise<void>;
  /** Forgets everything that was read in the state before. */
  forget: () => void;
  /** Loads what else depends on the state. A rejection leaves the new state unconfirmed. */
  onChange: (() => Promise<void>) | undefined;
  /** Called with the number of a newly confirmed epoch. */
  observe: ((epoch: number) => void) | undefined;
};

/** Below one second, with room for the time that a request itself may take. */
const trustMs = 900;
/** Longest wait for one answer of the store. */
export const storeWaitMsMax = 1_500;
const readingsMax = 2;

export const createEpochConfirmation = (deps: EpochConfirmationDeps): EpochConfirmation => {
  const { db, elapsedMs } = deps;
  let known: string | undefined;
  let store: string | undefined;
  let generation = 0;
  let confirmedAtMs = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;

  const confirm = async (current: Epoch, askedAtMs: number, anew = false): Promise<void> => {
    if (!anew && askedAtMs <= confirmedAtMs) return;
    const state = stateOf(current);
    const storeMoved = store !== undefined && store !== current.store;
    await deps.loadTokens(current.tokens, anew || storeMoved);
    if (anew || state !== known) {
      generation += 1;
      deps.forget();
      await deps.onChange?.();
      known = state;
      store = current.store;
      deps.observe?.(current.credentials.epoch);
    }
    confirmedAtMs = Math.max(confirmedAtMs, askedAtMs);
  };

  const readAndConfirm = async (): Promise<void> => {
    const askedAtMs = elapsedMs();
    await confirm(await readEpoch(db), askedAtMs);
  };

  const readShared = (): Promise<void> => {
    reading ??= answerInTime(readAndConfirm(), storeWaitMsMax).finally(() => {
      reading = undefined;
    });
    return reading;
  };

  const isFresh = (): boolean => elapsedMs() - confirmedAtMs <= trustMs;

  return {
    confirm,
    refresh: () => answerInTime(readAndConfirm(), storeWaitMsMax),
    isFresh,
    makeFresh: async () => {
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
