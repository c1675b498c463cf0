/**
 * Guessing is bounded and nobody can lock somebody else out. Attempts from a browser that signed in to the account before
 * (OWASP's device cookie) are counted for that browser alone. All others are strangers: they are counted for the account at
 * their address, for the address over all accounts, and for the account over all addresses. What strangers use up closes the
 * door to strangers only; known browsers, one-time links and an external provider stay open.
 *
 * One-time and recovery codes have counts of their own for the account, whatever the address or the browser, in windows that
 * grow: more guesses need longer waits. Only somebody who has the password, or a session, comes as far as a code, so nobody
 * else can use these counts up; and no right password gives any of them back.
 */
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { countAttempt, takeBack } from './attempt-store.ts';
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
  codeFirst: { attemptsMax: 10, windowMs: 15 * minuteMs },
  codeHour: { attemptsMax: 20, windowMs: 60 * minuteMs },
  codeDay: { attemptsMax: 40, windowMs: 24 * 60 * minuteMs },
} as const;

/** What is guessed. */
export type Guessed = 'password' | 'code';

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
  const codeLanes = ['codeFirst', 'codeHour', 'codeDay'] as const;
  const lanesFor = (guessed: Guessed, attempt: Attempt, known: boolean): [Lane, Buffer][] =>
    guessed === 'password'
      ? lanesOf(attempt, known)
      : [
          ...lanesOf(attempt, known),
          ...codeLanes.map((lane): [Lane, Buffer] => [lane, digestOf(lane, attempt.userId ?? attempt.email)]),
        ];
  return {
    browserDigest,
    /** Counts an attempt before it is judged, so that many at the same moment do not pass a bound. */
    count: async (attempt: Attempt, guessed: Guessed = 'password'): Promise<Verdict> => {
      const now = clock.now();
      const known = await isKnown(attempt);
      // One after the other: what the own address has used up is not counted against the account.
      for (const [lane, digest] of lanesFor(guessed, attempt, known)) {
        const { attemptsMax, windowMs } = bounds[lane];
        const { count, endsAt } = await countAttempt(db, digest, now, windowMs);
        if (count > attemptsMax) {
          const seconds = Math.max(1, Math.ceil((endsAt.getTime() - now.getTime()) / 1000));
          return { kind: 'wait', seconds, isFirst: count === attemptsMax + 1 };
        }
      }
      return { kind: 'judge', isKnown: known };
    },
    /**
     * Takes back what a right answer was counted for, and nothing of the wrong ones before it: that could be had as often as
     * wanted. `known`: as it was counted; a browser that signs in is known afterwards. `attempts`: of a sign-in with password
     * and code two, of which one was a code.
     */
    forgive: async (
      attempt: Attempt,
      known: boolean,
      attempts: number,
      guessed: Guessed = 'password',
    ): Promise<void> => {
      for (const [lane, digest] of lanesFor(guessed, attempt, known))
        await takeBack(db, digest, lane.startsWith('code') ? 1 : attempts);
    },
  };
};
