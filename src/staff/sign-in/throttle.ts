/**
 * Guessing is bounded and nobody can lock somebody else out. Attempts from a browser that signed in to the account before
 * (OWASP's device cookie) are counted for that browser alone. All others are strangers: they are counted for the account at
 * their address, for the address over all accounts, and for the account over all addresses. What strangers use up closes the
 * door to strangers only; known browsers, one-time links and an external provider stay open.
 */
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { countAttempt, forgetAttempts, takeBack } from './attempt-store.ts';
import { isKnownBrowser } from './known-browser-store.ts';

export type Attempt = { email: string; userId: string | undefined; address: string; browser: string | undefined };

/** The attempt may be judged, or not before `seconds` have passed. `isFirst`: the first that this window refuses. */
export type Verdict = { kind: 'judge'; isKnown: boolean } | { kind: 'wait'; seconds: number; isFirst: boolean };

const minuteMs = 60_000;
/** Lane: attempts in a window. */
const bounds = {
  browser: { attemptsMax: 10, windowMs: 15 * minuteMs },
  pair: { attemptsMax: 5, windowMs: 15 * minuteMs },
  address: { attemptsMax: 30, windowMs: 15 * minuteMs },
  account: { attemptsMax: 50, windowMs: 60 * minuteMs },
} as const;

type Lane = keyof typeof bounds;

export const browserDays = 90;

export type Throttle = ReturnType<typeof createThrottle>;

type ThrottleDeps = { db: Kysely<unknown>; box: Pick<SecretBox, 'digest'>; clock: Clock };

export const createThrottle = ({ db, box, clock }: ThrottleDeps) => {
  const browserDigest = (userId: string, browser: string): Buffer => box.digest(`panel-browser ${userId} ${browser}`);
  const digestOf = (lane: Lane, ...parts: readonly string[]): Buffer =>
    box.digest(JSON.stringify(['panel-attempt', lane, ...parts]));
  const isKnown = async ({ userId, browser }: Attempt): Promise<boolean> =>
    userId !== undefined &&
    browser !== undefined &&
    isKnownBrowser(
      db,
      browserDigest(userId, browser),
      new Date(clock.now().getTime() - browserDays * 24 * 60 * minuteMs),
    );
  const lanesOf = (attempt: Attempt, known: boolean): [Lane, Buffer][] =>
    known
      ? [['browser', digestOf('browser', attempt.userId ?? '', attempt.browser ?? '')]]
      : [
          ['pair', digestOf('pair', attempt.email, attempt.address)],
          ['address', digestOf('address', attempt.address)],
          ['account', digestOf('account', attempt.email)],
        ];
  return {
    browserDigest,
    /** Counts an attempt to sign in, before it is judged. */
    count: async (attempt: Attempt): Promise<Verdict> => {
      const now = clock.now();
      const known = await isKnown(attempt);
      // One after the other: what the own address has used up is not counted against the account.
      for (const [lane, digest] of lanesOf(attempt, known)) {
        const { attemptsMax, windowMs } = bounds[lane];
        const { count, endsAt } = await countAttempt(db, digest, now, windowMs);
        if (count > attemptsMax) {
          const seconds = Math.max(1, Math.ceil((endsAt.getTime() - now.getTime()) / 1000));
          return { kind: 'wait', seconds, isFirst: count === attemptsMax + 1 };
        }
      }
      return { kind: 'judge', isKnown: known };
    },
    /** Somebody was right after so many attempts. `known`: as it was counted; whoever signs in is known afterwards. */
    forgive: async (attempt: Attempt, known: boolean, attempts: number): Promise<void> => {
      for (const [lane, digest] of lanesOf(attempt, known)) {
        if (lane === 'browser' || lane === 'pair') await forgetAttempts(db, digest);
        else await takeBack(db, digest, attempts);
      }
    },
  };
};
