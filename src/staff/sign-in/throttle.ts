/**
 * Limits guessing without letting strangers lock an account. Attempts from a known browser (OWASP's device cookie) are
 * counted for that browser alone. Other attempts are counted for the account at their address, for the address over all
 * accounts, and for the account over all addresses. When strangers have used these up, known browsers, one-time links
 * and an external provider still work.
 *
 * One-time and recovery codes have counts of their own for the account, over all addresses and browsers, in growing windows.
 * A code is asked only after a right first factor or within a session, so strangers cannot use these counts up, and what
 * strangers used up does not refuse a code. A right password does not reset them; a link that an administrator makes does.
 */
import type { Kysely } from 'kysely';
import { type Clock, minuteMs } from '#src/platform/clock.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { countAttempt, forgetAttempts, readAttempts, takeBack } from './attempt-store.ts';
import { isKnownBrowser } from './known-browser-store.ts';

/** `network`: in which it is counted; `address`: for the audit. */
export type Attempt = {
  email: string;
  userId: string | undefined;
  address: string;
  network: string;
  browser: string | undefined;
};

/**
 * `allowed`: the attempt may be checked. `wait`: refused for `seconds`. `isFirst`: the first refusal of this window.
 */
export type Verdict = { kind: 'allowed'; isKnown: boolean } | { kind: 'wait'; seconds: number; isFirst: boolean };

/** `isFirst`: the first refusal of this window. */
type Refused = { seconds: number; isFirst: boolean };

/** Windows of attempts. */
const bounds = {
  browser: { attemptsMax: 10, windowMs: 15 * minuteMs },
  pair: { attemptsMax: 5, windowMs: 15 * minuteMs },
  address: { attemptsMax: 30, windowMs: 15 * minuteMs },
  account: { attemptsMax: 50, windowMs: 60 * minuteMs },
  codeFirst: { attemptsMax: 10, windowMs: 15 * minuteMs },
  codeHour: { attemptsMax: 20, windowMs: 60 * minuteMs },
  codeDay: { attemptsMax: 40, windowMs: 24 * 60 * minuteMs },
  passkey: { attemptsMax: 30, windowMs: 15 * minuteMs },
  linkAddress: { attemptsMax: 10, windowMs: 60 * minuteMs },
  linkAccount: { attemptsMax: 3, windowMs: 60 * minuteMs },
} as const;

/** The kind of secret that an attempt guesses. */
export type Guessed = 'password' | 'code';

type Window = keyof typeof bounds;

export const browserDays = 90;

export type Throttle = ReturnType<typeof createThrottle>;

type ThrottleDeps = { db: Kysely<unknown>; box: Pick<SecretBox, 'digest'>; clock: Clock };

export const createThrottle = ({ db, box, clock }: ThrottleDeps) => {
  const browserDigest = (userId: string, browser: string): Buffer => box.digest(`panel-browser ${userId} ${browser}`);
  const digestOf = (window: Window, ...parts: readonly string[]): Buffer =>
    box.digest(JSON.stringify(['panel-attempt', window, ...parts]));
  const isKnown = async ({ userId, browser }: Attempt): Promise<boolean> =>
    userId !== undefined &&
    browser !== undefined &&
    isKnownBrowser(
      db,
      browserDigest(userId, browser),
      new Date(clock.now().getTime() - browserDays * 24 * 60 * minuteMs),
    );
  const windowsOf = (attempt: Attempt, known: boolean): [Window, Buffer][] =>
    known
      ? [['browser', digestOf('browser', attempt.userId ?? '', attempt.browser ?? '')]]
      : [
          ['pair', digestOf('pair', attempt.email, attempt.network)],
          ['address', digestOf('address', attempt.network)],
          ['account', digestOf('account', attempt.email)],
        ];
  const codeWindows = ['codeFirst', 'codeHour', 'codeDay'] as const;
  const codeDigests = (user: string): [Window, Buffer][] =>
    codeWindows.map((window) => [window, digestOf(window, user)]);
  const windowsFor = (guessed: Guessed, attempt: Attempt, known: boolean): [Window, Buffer][] =>
    guessed === 'password' ? windowsOf(attempt, known) : codeDigests(attempt.userId ?? attempt.email);
  return {
    browserDigest,
    ...otherCounts({ db, clock }, digestOf),
    /** Counts an attempt before it is checked, so that parallel attempts cannot exceed a limit. */
    count: async (attempt: Attempt, guessed: Guessed = 'password'): Promise<Verdict> => {
      const now = clock.now();
      const known = await isKnown(attempt);
      const secondsUntil = (end: Date): number => Math.max(1, Math.ceil((end.getTime() - now.getTime()) / 1000));
      if (!known && guessed === 'password') {
        // An address that used up its attempts must not store a row for each further account that it names.
        const ofAddress = await readAttempts(db, digestOf('address', attempt.network), now);
        if (ofAddress !== undefined && ofAddress.count > bounds.address.attemptsMax)
          return { kind: 'wait', seconds: secondsUntil(ofAddress.endsAt), isFirst: false };
      }
      // One after the other: an attempt that its address refuses must not count against the account.
      for (const [window, digest] of windowsFor(guessed, attempt, known)) {
        const { attemptsMax, windowMs } = bounds[window];
        const { count, endsAt } = await countAttempt(db, digest, now, windowMs);
        if (count > attemptsMax)
          return { kind: 'wait', seconds: secondsUntil(endsAt), isFirst: count === attemptsMax + 1 };
      }
      return { kind: 'allowed', isKnown: known };
    },
    /**
     * Runs the check of a password, and takes back the count of the attempt where the check could not be made. The count of the address
     * stays, so that an address that goes on with such attempts is still stopped. `known`: as returned by `count`.
     */
    uncountedOnFailure: async <T>(attempt: Attempt, known: boolean, check: () => Promise<T>): Promise<T> => {
      try {
        return await check();
      } catch (error) {
        for (const [window, digest] of windowsOf(attempt, known)) if (window !== 'address') await takeBack(db, digest);
        throw error;
      }
    },
    forgetCodes: async (tx: Kysely<unknown>, userId: string): Promise<void> => {
      for (const [, digest] of codeDigests(userId)) await forgetAttempts(tx, digest);
    },
    /**
     * Takes back the count of a right attempt. Counts of earlier wrong attempts stay, or a right one would reset them
     * as often as wanted. `known`: as returned by `count`, because a sign-in makes the browser known.
     */
    forgive: async (attempt: Attempt, known: boolean, guessed: Guessed = 'password'): Promise<void> => {
      for (const [, digest] of windowsFor(guessed, attempt, known)) await takeBack(db, digest);
    },
  };
};

/** Counts of what is no guess: links that are asked for, and passkeys, whose signatures cannot be guessed. */
const otherCounts = (
  { db, clock }: Pick<ThrottleDeps, 'db' | 'clock'>,
  digestOf: (window: Window, ...parts: readonly string[]) => Buffer,
) => {
  /** Undefined: the attempt may be checked. */
  const countIn = async (window: Window, ...parts: readonly string[]): Promise<Refused | undefined> => {
    const now = clock.now();
    const { attemptsMax, windowMs } = bounds[window];
    const { count, endsAt } = await countAttempt(db, digestOf(window, ...parts), now, windowMs);
    if (count <= attemptsMax) return undefined;
    const seconds = Math.max(1, Math.ceil((endsAt.getTime() - now.getTime()) / 1000));
    return { seconds, isFirst: count === attemptsMax + 1 };
  };
  return {
    /** A signature cannot be guessed; the count bounds the work of verifying, and what is written about failures. */
    countPasskey: (network: string): Promise<Refused | undefined> => countIn('passkey', network),
    forgivePasskey: (network: string): Promise<void> => takeBack(db, digestOf('passkey', network)),
    /**
     * Counts a link that a visitor asked for, for the address and for the email. An email is counted whether or not it has an
     * account, and an address that used up its own attempts stores nothing for further emails.
     */
    countLink: async (
      email: string,
      network: string,
    ): Promise<{ kind: 'allowed' } | { kind: 'wait'; seconds: number; isOfAddress: boolean }> => {
      const ofAddress = await countIn('linkAddress', network);
      if (ofAddress !== undefined) return { kind: 'wait', seconds: ofAddress.seconds, isOfAddress: true };
      const ofEmail = await countIn('linkAccount', email);
      return ofEmail === undefined
        ? { kind: 'allowed' }
        : { kind: 'wait', seconds: ofEmail.seconds, isOfAddress: false };
    },
  };
};
