/**
 * Sessions are stored in the database: the browser has a token of 256 random bits, the table its keyed digest. They end
 * after half an hour without use, after twelve hours in any case, and at once when a user ends them.
 */
import { createHmac } from 'node:crypto';
import type { Kysely } from 'kysely';
import { type Clock, hourMs, minuteMs } from '#src/platform/clock.ts';
import { newId, newToken } from '#src/platform/ids.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { type SignedInUser, signedInUser } from '../accounts/signed-in-user.ts';
import type { UserRow } from '../accounts/user-store.ts';
import {
  type Ends,
  findSession,
  insertSession,
  type SessionRow,
  type SignInMethod,
  setFlash,
  takeFlash,
  touchSession,
  trimSessions,
} from './session-store.ts';

type SessionsDeps = { db: Kysely<unknown>; box: Pick<SecretBox, 'digest' | 'derive'>; clock: Clock };

export type LiveSession = {
  session: SessionRow;
  user: SignedInUser;
  hasMessage: boolean;
  csrfToken: string;
  needsFactor: boolean;
};

const idleMinutes = 30;
const absoluteHours = 12;
const sessionsMax = 50;
/** `seenAt` is written at most this often, not at every request. */
const touchMs = 60_000;
const agentLengthMax = 300;

export type Sessions = ReturnType<typeof createSessions>;

export const createSessions = ({ db, box, clock }: SessionsDeps) => {
  const csrfKey = box.derive('panel-csrf');
  const csrfTokenOf = (token: string): string => createHmac('sha256', csrfKey).update(token).digest('base64url');
  return {
    /** Opens a session in the transaction of the sign-in; resolves to its token. */
    open: async (
      tx: Kysely<unknown>,
      session: { userId: string; address: string; agent: string; method: SignInMethod },
    ): Promise<{ id: string; token: string }> => {
      const now = clock.now();
      const token = newToken();
      const id = newId('ses', now.getTime());
      const agent = session.agent.slice(0, agentLengthMax);
      await insertSession(tx, { ...session, agent, id, digest: box.digest(token), createdAt: now, seenAt: now });
      await trimSessions(tx, session.userId, sessionsMax);
      return { id, token };
    },
    /** The live session of a token. `isUse`: the request comes from the user, so it extends the session. */
    find: async (token: string | undefined, isUse: boolean): Promise<LiveSession | undefined> => {
      if (token === undefined || !/^[\w-]{43}$/.test(token)) return undefined;
      const now = clock.now();
      const found = await findSession(db, box.digest(token), endsAt(now));
      if (found === undefined) return undefined;
      if (isUse && now.getTime() - found.session.seenAt.getTime() >= touchMs)
        await touchSession(db, found.session.id, now);
      const { session, user, hasFlash } = found;
      return {
        session,
        user: signedInUser(user),
        hasMessage: hasFlash,
        csrfToken: csrfTokenOf(token),
        needsFactor: needsFactor(user, session.method),
      };
    },
    /** Stores a message in the session for the next page. */
    keepMessage: (sessionId: string, message: string): Promise<void> => setFlash(db, sessionId, message),
    /** Returns and deletes the message. */
    takeMessage: (sessionId: string): Promise<string | undefined> => takeFlash(db, sessionId),
  };
};

/**
 * The role needs a second factor, and this session has proved none. A session of a user with one-time codes has, since the code
 * that turns them on ends every other session. A passkey counts while the account has one: after its removal the session in
 * which it was removed goes on without it.
 */
const needsFactor = ({ factorRequired, totpSince, passkeys }: UserRow, method: SignInMethod): boolean =>
  factorRequired && totpSince === undefined && !(method === 'passkey' && passkeys > 0);

/** Sessions that began or were last used before these moments have ended at `now`. */
export const endsAt = (now: Date): Ends => ({
  seenAfter: new Date(now.getTime() - idleMinutes * minuteMs),
  createdAfter: new Date(now.getTime() - absoluteHours * hourMs),
});
