/**
 * Holds the ids of revoked tokens that have not expired in memory, so that a check needs no store. New revocations are
 * read when the token epoch moves (confirm-epoch.ts). With more than `entriesMax` ids the memory is incomplete, and the
 * store is asked about ids that it does not hold. It is incomplete too when the clock is set back, because the ids of tokens
 * that had expired by the wrong time are not in memory.
 */
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import type { EpochPart } from './epoch-store.ts';
import { isTokenRevoked, type ListedRevocation, listRevokedTokens } from './revoked-token-store.ts';

export type RevokedTokens = {
  /**
   * Changes with the memory. A token that was not revoked at this version needs no second check at the same version.
   */
  version(): number;
  has(jti: string): boolean | Promise<boolean>;
  /** When a revoked token was reported as leaked; undefined: it was not, or that is not in memory. */
  leakedMs(jti: string): number | undefined;
  /**
   * Reads the revocations since the last reading. Reads all of them when `anew` is true, or when the store does not
   * continue the history that was read. `state`: read before the call.
   */
  load(state: EpochPart, anew?: boolean): Promise<void>;
};

type RevokedTokensDeps = {
  db: Kysely<unknown>;
  clock: Clock;
  /** Called for each new revocation with the seconds since it was made. */
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
  /** jti -> when it was reported as leaked, ms; a part of `revoked`. */
  let leaked = new Map<string, number>();
  let known: EpochPart | undefined;
  let version = 0;
  let complete = true;
  /** Tokens that end before this time may be missing, ms. */
  let leftOutMs = Number.NEGATIVE_INFINITY;
  let begun = 0;
  let applied = 0;

  const isWhole = (nowMs: number): boolean => complete && nowMs >= leftOutMs;

  const sweep = (nowMs: number): void => {
    leftOutMs = Math.max(leftOutMs, nowMs);
    for (const [jti, expiresMs] of revoked) {
      if (expiresMs > nowMs) continue;
      revoked.delete(jti);
      leaked.delete(jti);
    }
  };

  const readAll = async (now: Date): Promise<ListedRevocation[]> =>
    (await listRevokedTokens(db, undefined, now, entriesMax + 1)).rows;

  /** Undefined: the store does not hold the known state in its history. */
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
    for (const { jti, expiresMs, leakedMs } of rows) {
      if (revoked.size >= entriesMax && !revoked.has(jti)) return false;
      revoked.set(jti, expiresMs);
      if (leakedMs !== null) leaked.set(jti, leakedMs);
    }
    return true;
  };

  return {
    version: () => version,
    leakedMs: (jti) => leaked.get(jti),
    has: (jti) => revoked.has(jti) || (isWhole(clock.now().getTime()) ? false : isTokenRevoked(db, jti)),
    load: async (state, anew = false) => {
      const before = known;
      if (!anew && before?.epoch === state.epoch && before.mark === state.mark) return;
      begun += 1;
      const reading = begun;
      const now = clock.now();
      if (!complete) sweep(now.getTime());
      // With enough room, everything is read to become complete.
      const triesAll = !isWhole(now.getTime()) && revoked.size <= entriesMax / 2;
      const more = before === undefined || anew || triesAll ? undefined : await readOn(before, now);
      const rows = more ?? (await readAll(now));
      // Readings may overtake each other; an older one is discarded.
      if (reading < applied) return;
      applied = reading;
      if (before !== undefined) observe(rows, before, now.getTime());
      if (more === undefined) [revoked, leaked, leftOutMs] = [new Map(), new Map(), now.getTime()];
      leftOutMs = Math.max(leftOutMs, now.getTime());
      const fits = remember(rows, now.getTime());
      complete = fits && (complete || more === undefined);
      known = state;
      version += 1;
    },
  };
};
