/** Use cases of users on their own account, and of administrators on the sessions of others. */
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { RecordEvents } from '../accounts/account-events.ts';
import { findUser, lockUser, setLanguage, type UserRow } from '../accounts/user-store.ts';
import type { SecondFactor } from '../second-factor/second-factor.ts';
import {
  deleteSession,
  deleteSessions,
  listSessions,
  lockSession,
  markOfUser,
  type SessionRow,
} from '../sessions/session-store.ts';
import { endsAt } from '../sessions/sessions.ts';
import { rememberBrowser } from '../sign-in/known-browser-store.ts';
import type { PasswordHash } from '../sign-in/password-hash.ts';
import { replacePassword, type Visitor } from '../sign-in/sign-in.ts';
import type { Throttle } from '../sign-in/throttle.ts';

type OwnAccountDeps = {
  db: Kysely<unknown>;
  clock: Clock;
  record: RecordEvents;
  passwordHash: PasswordHash;
  throttle: Throttle;
  secondFactor: SecondFactor;
};

/** The actor for the audit, and the address of the request. */
type By = { actor: string; address: string };

type PasswordCheck = { kind: 'right'; user: UserRow } | { kind: 'refused' } | { kind: 'wait'; seconds: number };

export const createOwnAccount = (deps: OwnAccountDeps) => ({
  ...passwordUses(deps),
  removeSecondFactor: createRemoveSecondFactor(deps),
  ...sessionUses(deps),
  setLanguage: (userId: string, language: string): Promise<void> => setLanguage(deps.db, userId, language),
});

const passwordUses = (deps: OwnAccountDeps) => {
  const { db, clock, passwordHash, throttle } = deps;
  const checkCurrent = createCheckCurrent(deps);
  return {
    checkPassword: async (
      userId: string,
      given: string,
      visitor: Visitor,
    ): Promise<{ kind: 'right' | 'refused' } | { kind: 'wait'; seconds: number }> => {
      const checked = await checkCurrent(userId, given, visitor);
      return checked.kind === 'right' ? { kind: 'right' } : checked;
    },
    /** Ends every other session. */
    changePassword: async (
      change: { userId: string; sessionId: string; current: string; next: string },
      visitor: Visitor,
    ): Promise<{ kind: 'changed' | 'refused' } | { kind: 'wait'; seconds: number }> => {
      const checked = await checkCurrent(change.userId, change.current, visitor);
      if (checked.kind !== 'right') return checked;
      const { user } = checked;
      const hashed = await passwordHash.hash(change.next);
      return inTransaction(db, async (tx) => {
        const locked = await lockUser(tx, user.id);
        // A parallel request changed the password, so the given one is no longer the current one.
        if (locked === undefined || locked.password !== user.password) return { kind: 'refused' };
        if (!(await lockSession(tx, user.id, change.sessionId))) return { kind: 'refused' };
        const { address, browser } = visitor;
        await replacePassword(deps, tx, locked, { hashed, by: 'user', address, exceptSession: change.sessionId });
        if (browser !== undefined) {
          const digest = throttle.browserDigest(user.id, browser);
          await rememberBrowser(tx, { userId: user.id, digest, now: clock.now(), browsersMax: 1 });
        }
        return { kind: 'changed' };
      });
    },
  };
};

/** Checks the current password. Attempts are limited as at sign-in, so an unattended browser does not help to guess it. */
const createCheckCurrent = (deps: OwnAccountDeps) => {
  const { db, passwordHash, throttle } = deps;
  const noteFailure = createNoteFailure(deps);
  return async (userId: string, given: string, visitor: Visitor): Promise<PasswordCheck> => {
    const user = await findUser(db, userId);
    if (user === undefined) return { kind: 'refused' };
    const attempt = { ...visitor, email: user.email, userId };
    const verdict = await throttle.count(attempt);
    if (verdict.kind === 'wait') return noteFailure.throttled(verdict, userId, visitor);
    const isRight = await throttle.uncountedOnFailure(attempt, verdict.isKnown, () =>
      passwordHash.verify(given.slice(0, 1_000), user.password, true),
    );
    if (!isRight) return noteFailure.refused(userId, visitor, 'wrong password');
    await throttle.forgive(attempt, verdict.isKnown);
    return { kind: 'right', user };
  };
};

/** Requires a code, so an unattended browser is not enough. Attempts are limited as at sign-in. */
const createRemoveSecondFactor = (deps: OwnAccountDeps) => {
  const { throttle, secondFactor } = deps;
  const noteFailure = createNoteFailure(deps);
  return async (
    user: { id: string; email: string },
    code: string,
    visitor: Visitor,
  ): Promise<{ kind: 'removed' | 'refused' } | { kind: 'wait'; seconds: number }> => {
    const attempt = { ...visitor, email: user.email, userId: user.id };
    const verdict = await throttle.count(attempt, 'code');
    if (verdict.kind === 'wait') return noteFailure.throttled(verdict, user.id, visitor);
    if (!(await secondFactor.remove(user.id, code.slice(0, 100), visitor.address)))
      return noteFailure.refused(user.id, visitor, 'wrong code');
    await throttle.forgive(attempt, verdict.isKnown, 'code');
    return { kind: 'removed' };
  };
};

/** A wrong password or code here is how a user sees that another person has the session. */
const createNoteFailure = ({ db, clock, record }: OwnAccountDeps) => {
  const note = (userId: string, { address }: Visitor, reason: string): Promise<void> =>
    inTransaction(db, (tx) =>
      record(tx, clock.now(), {
        action: 'user.check_failed',
        outcome: 'failure',
        actor: `panel:${userId}`,
        address,
        reason,
      }),
    );
  return {
    refused: async (userId: string, visitor: Visitor, reason: string): Promise<{ kind: 'refused' }> => {
      await note(userId, visitor, reason);
      return { kind: 'refused' };
    },
    /** Records one refusal per window, so that repeated attempts cannot fill the audit. */
    throttled: async (
      { seconds, isFirst }: { seconds: number; isFirst: boolean },
      userId: string,
      visitor: Visitor,
    ): Promise<{ kind: 'wait'; seconds: number }> => {
      if (isFirst) await note(userId, visitor, 'too many attempts');
      return { kind: 'wait', seconds };
    },
  };
};

const sessionUses = ({ db, clock, record }: OwnAccountDeps) => {
  const noteEnd = (tx: Kysely<unknown>, by: By, details: Record<string, unknown>): Promise<void> =>
    record(tx, clock.now(), { action: 'user.session_ended', outcome: 'success', ...by, details });
  return {
    /** See markOfUser. */
    mark: (userId: string): Promise<string> => markOfUser(db, userId, endsAt(clock.now())),
    /** Newest first. */
    sessions: (userId: string): Promise<SessionRow[]> => listSessions(db, userId, endsAt(clock.now())),
    signOut: (userId: string, sessionId: string, by: By): Promise<void> =>
      inTransaction(db, async (tx) => {
        if (!(await deleteSession(tx, userId, sessionId))) return;
        await record(tx, clock.now(), {
          action: 'user.signed_out',
          outcome: 'success',
          ...by,
          details: { session_id: sessionId },
        });
      }),
    /** False: the user has no such session. */
    endSession: (userId: string, sessionId: string, by: By): Promise<boolean> =>
      inTransaction(db, async (tx) => {
        if (!(await deleteSession(tx, userId, sessionId))) return false;
        await noteEnd(tx, by, { user_id: userId, session_id: sessionId });
        return true;
      }),
    /** Ends all sessions except `exceptId`; returns how many ended. */
    endSessions: (userId: string, by: By, exceptId?: string): Promise<number> =>
      inTransaction(db, async (tx) => {
        const ended = await deleteSessions(tx, userId, exceptId);
        if (ended > 0) await noteEnd(tx, by, { user_id: userId, sessions_ended: ended });
        return ended;
      }),
  };
};
