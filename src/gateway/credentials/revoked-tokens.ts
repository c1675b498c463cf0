/**
 * The ids of revoked tokens that have not ended, in memory: the answer to "is it revoked?" needs no store. Read bit by bit
 * as the token epoch moves (credential-cache.ts says when). Bounded: with more than `entriesMax` of them this process no
 * longer knows all, and asks the store about an id that it does not hold.
 */
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import { isTokenRevoked, listRevokedTokens } from './revoked-token-store.ts';

export type RevokedTokens = {
  /** Another number after each change of the memory: what was found alive at this one needs no second look. */
  version(): number;
  has(jti: string): boolean | Promise<boolean>;
  /** Reads what was revoked since the last reading. `epoch`: as read before the call. */
  load(epoch: number): Promise<void>;
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
  const revoked = new Map<string, number>();
  let epoch = -1;
  let version = 0;
  let complete = true;

  const sweep = (nowMs: number): void => {
    for (const [jti, expiresMs] of revoked) if (expiresMs <= nowMs) revoked.delete(jti);
  };

  return {
    version: () => version,
    has: (jti) => revoked.has(jti) || (complete ? false : isTokenRevoked(db, jti)),
    load: async (current) => {
      if (current === epoch) return;
      const now = clock.now();
      const heard = epoch >= 0;
      if (!complete) sweep(now.getTime());
      // A number that went back means another state of the store, and room again means another try at knowing all.
      const readsAll = current < epoch || (!complete && revoked.size <= entriesMax / 2);
      const rows = await listRevokedTokens(db, readsAll ? -1 : epoch, now, entriesMax + 1);
      if (revoked.size + rows.length > entriesMax) sweep(now.getTime());
      let fits = complete || readsAll;
      for (const { jti, expiresMs, revokedAtMs } of rows) {
        if (revoked.size >= entriesMax && !revoked.has(jti)) {
          fits = false;
          break;
        }
        if (heard && !readsAll && !revoked.has(jti)) deps.observeLag?.((now.getTime() - revokedAtMs) / 1000);
        revoked.set(jti, expiresMs);
      }
      complete = fits;
      epoch = current;
      version += 1;
    },
  };
};
