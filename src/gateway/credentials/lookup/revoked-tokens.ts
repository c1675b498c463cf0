/**
 * The ids of revoked tokens that have not ended, in memory: the answer to "is it revoked?" needs no store. Read bit by bit
 * as the token epoch moves (credential-cache.ts says when). Bounded: with more than `entriesMax` of them this process no
 * longer knows all, and asks the store about an id that it does not hold.
 */
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import type { EpochPart } from './epoch-store.ts';
import { isTokenRevoked, type ListedRevocation, listRevokedTokens } from './revoked-token-store.ts';

export type RevokedTokens = {
  /** Another number after each change of the memory: what was found alive at this one needs no second look. */
  version(): number;
  has(jti: string): boolean | Promise<boolean>;
  /**
   * Reads what was revoked since the last reading; everything, when the store has another history than the one that was
   * read, or when `anew` is true. `state`: as read before the call.
   */
  load(state: EpochPart, anew?: boolean): Promise<void>;
};

type RevokedTokensDeps = {
  db: Kysely<unknown>;
  clock: Clock;
  /** Is told, for each revocation heard of while running, how long after it was made. */
  observeLag?: ((seconds: number) => void) | undefined;
  entriesMax?: number | undefined;
};

/** About 100 bytes each. */
const entriesMaxDefault = 200_000;

export const createRevokedTokens = (deps: RevokedTokensDeps): RevokedTokens => {
  const { db, clock } = deps;
  const entriesMax = deps.entriesMax ?? entriesMaxDefault;
  /** jti -> when the token ends by itself, ms. */
  let revoked = new Map<string, number>();
  let known: EpochPart | undefined;
  let version = 0;
  let complete = true;
  let begun = 0;
  let applied = 0;

  const sweep = (nowMs: number): void => {
    for (const [jti, expiresMs] of revoked) if (expiresMs <= nowMs) revoked.delete(jti);
  };

  const readAll = async (now: Date): Promise<ListedRevocation[]> =>
    (await listRevokedTokens(db, undefined, now, entriesMax + 1)).rows;

  /** Undefined: what is known is no part of the history of the store. */
  const readOn = async (from: EpochPart, now: Date): Promise<ListedRevocation[] | undefined> => {
    const { rows, continues } = await listRevokedTokens(db, from, now, entriesMax + 1);
    return continues ? rows : undefined;
  };

  const observe = (rows: readonly ListedRevocation[], since: EpochPart, nowMs: number): void => {
    for (const { jti, epoch, revokedAtMs } of rows) {
      if (epoch > since.epoch && !revoked.has(jti)) deps.observeLag?.((nowMs - revokedAtMs) / 1000);
    }
  };

  const remember = (rows: readonly ListedRevocation[], nowMs: number): boolean => {
    if (revoked.size + rows.length > entriesMax) sweep(nowMs);
    for (const { jti, expiresMs } of rows) {
      if (revoked.size >= entriesMax && !revoked.has(jti)) return false;
      revoked.set(jti, expiresMs);
    }
    return true;
  };

  return {
    version: () => version,
    has: (jti) => revoked.has(jti) || (complete ? false : isTokenRevoked(db, jti)),
    load: async (state, anew = false) => {
      const before = known;
      if (!anew && before?.epoch === state.epoch && before.mark === state.mark) return;
      begun += 1;
      const turn = begun;
      const now = clock.now();
      if (!complete) sweep(now.getTime());
      // Room again means another try at knowing all.
      const triesAll = !complete && revoked.size <= entriesMax / 2;
      const more = before === undefined || anew || triesAll ? undefined : await readOn(before, now);
      const rows = more ?? (await readAll(now));
      // Two readings may overtake each other; what the later one found is newer.
      if (turn < applied) return;
      applied = turn;
      if (before !== undefined) observe(rows, before, now.getTime());
      if (more === undefined) revoked = new Map();
      const fits = remember(rows, now.getTime());
      complete = fits && (complete || more === undefined);
      known = state;
      version += 1;
    },
  };
};
