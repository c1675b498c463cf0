/**
 * Sessions live in the store: the cookie holds 256 random bits, the table their keyed digest. They end after half an hour
 * without use, after twelve hours in any case, and at once when somebody ends them.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import { newId, newToken } from '#src/platform/ids.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { cookie, sessionCookie } from '../frame/cookies.ts';
import {
  type Ends,
  findSession,
  insertSession,
  type SessionRow,
  type SignInMethod,
  touchSession,
  trimSessions,
} from './session-store.ts';
import type { UserRow } from './user-store.ts';

type SessionsDeps = { db: Kysely<unknown>; box: Pick<SecretBox, 'digest' | 'derive'>; clock: Clock };

export type LiveSession = { session: SessionRow; user: UserRow; hasFlash: boolean; csrfToken: string };

export const idleMinutes = 30;
export const absoluteHours = 12;
const sessionsMax = 50;
/** Use is noted once in a while, not at every request. */
const touchMs = 60_000;
const agentLengthMax = 300;

export type Sessions = ReturnType<typeof createSessions>;

export const createSessions = ({ db, box, clock }: SessionsDeps) => {
  const csrfKey = box.derive('panel-csrf');
  const csrfTokenOf = (token: string): string => createHmac('sha256', csrfKey).update(token).digest('base64url');
  return {
    /** A new session in the transaction of the sign-in; resolves to its cookie. */
    open: async (
      tx: Kysely<unknown>,
      session: { userId: string; address: string; agent: string; method: SignInMethod },
    ): Promise<{ id: string; cookie: string }> => {
      const now = clock.now();
      const token = newToken();
      const id = newId('ses', now.getTime());
      const agent = session.agent.slice(0, agentLengthMax);
      await insertSession(tx, { ...session, agent, id, digest: box.digest(token), createdAt: now, seenAt: now });
      await trimSessions(tx, session.userId, sessionsMax);
      return { id, cookie: cookie(sessionCookie, token) };
    },
    /** The live session of a cookie. `isUse`: somebody did something, so it goes on. */
    find: async (token: string | undefined, isUse: boolean): Promise<LiveSession | undefined> => {
      if (token === undefined || !/^[\w-]{43}$/.test(token)) return undefined;
      const now = clock.now();
      const found = await findSession(db, box.digest(token), endsAt(now));
      if (found === undefined) return undefined;
      if (isUse && now.getTime() - found.session.seenAt.getTime() >= touchMs)
        await touchSession(db, found.session.id, now);
      return { ...found, csrfToken: csrfTokenOf(token) };
    },
  };
};

/** Whatever began or was used before has ended at `now`. */
export const endsAt = (now: Date): Ends => ({
  seenAfter: new Date(now.getTime() - idleMinutes * 60_000),
  createdAfter: new Date(now.getTime() - absoluteHours * 3_600_000),
});

/** In constant time. */
export const isCsrfToken = (given: string | null | undefined, expected: string): boolean => {
  const left = Buffer.from(given ?? '');
  const right = Buffer.from(expected);
  return left.length === right.length && timingSafeEqual(left, right);
};
