/**
 * Signs a user in by password, one-time link or external provider, followed by a code if the user has a second factor.
 */
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { newToken } from '#src/platform/ids.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import type { RecordEvents, StaffEvent } from '../accounts/account-events.ts';
import { normalizeEmail } from '../accounts/email.ts';
import { endLink, findLink, useLink } from '../accounts/link-store.ts';
import { findUser, findUserByEmail, lockUser, setPassword, type UserRow } from '../accounts/user-store.ts';
import type { SecondFactor } from '../second-factor/second-factor.ts';
import { deleteSessions, type SignInMethod } from '../sessions/session-store.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { forgetBrowsers, rememberBrowser } from './known-browser-store.ts';
import type { PasswordHash } from './password-hash.ts';
import type { CookieValue, PendingSignIns } from './pending-sign-in.ts';
import { type Attempt, browserDays, type Throttle } from './throttle.ts';

export type SignInDeps = {
  db: Kysely<unknown>;
  box: Pick<SecretBox, 'digest'>;
  clock: Clock;
  record: RecordEvents;
  sessions: Sessions;
  passwordHash: PasswordHash;
  throttle: Throttle;
  secondFactor: SecondFactor;
  pendings: PendingSignIns;
};

/**
 * The browser of a request. `address`: for the audit. `network`: in which attempts are counted, since a holder of one IPv6 address has
 * the whole /64 network. `browser`: the device cookie that an earlier sign-in set.
 */
export type Visitor = { address: string; network: string; agent: string; browser: string | undefined };

/** `session`: token of the session. `code`: the first factor was right, and the code is still missing. */
export type SignInResult =
  | { kind: 'signedIn'; session: string; browser: CookieValue }
  | { kind: 'code'; pending: CookieValue }
  | { kind: 'refused' }
  | { kind: 'wait'; seconds: number };

const browsersMax = 20;
const changedMeanwhile = 'disabled or changed meanwhile';

export type SignIn = ReturnType<typeof createSignIn>;

export const createSignIn = (deps: SignInDeps) => {
  const { db, box, passwordHash, throttle, secondFactor, pendings } = deps;
  const finish = createFinish(deps);
  const noteFailure = createNoteFailure(deps);
  const proceed: Proceed = async (user, visitor, method) => {
    if (user.totpSince === undefined) return finish(user, visitor, method);
    const passwordTag = passwordTagOf(box, user);
    return { kind: 'code', pending: pendings.keep({ kind: 'code', userId: user.id, method, passwordTag }) };
  };
  return {
    withPassword: async (given: { email: string; password: string }, visitor: Visitor): Promise<SignInResult> => {
      const email = normalizeEmail(given.email.slice(0, 300));
      const user = await findUserByEmail(db, email);
      const attempt = { ...visitor, email, userId: user?.id };
      const verdict = await throttle.count(attempt);
      if (verdict.kind === 'wait') return noteFailure.throttled(verdict, attempt);
      const isRight = await throttle.uncountedOnFailure(attempt, verdict.isKnown, () =>
        passwordHash.verify(given.password.slice(0, 1_000), user?.password, verdict.isKnown),
      );
      if (user === undefined || !isRight || user.disabledAt !== undefined)
        return noteFailure.refused(
          attempt,
          user === undefined ? 'no such user' : isRight ? 'disabled' : 'wrong password',
        );
      const result = await proceed(user, visitor, 'password');
      if (result.kind === 'refused') return noteFailure.refused(attempt, changedMeanwhile);
      if (result.kind === 'signedIn') await throttle.forgive(attempt, verdict.isKnown);
      return result;
    },
    /** `pending`: the cookie value from the first factor. `gone`: it is missing, invalid or expired. */
    withCode: async (
      pending: string | undefined,
      code: string,
      visitor: Visitor,
    ): Promise<SignInResult | { kind: 'gone' }> => {
      const begun = pendings.code(pending);
      const user = begun && (await findUser(db, begun.userId));
      if (begun === undefined || user?.totpSince === undefined || passwordTagOf(box, user) !== begun.passwordTag)
        return { kind: 'gone' };
      const attempt = { ...visitor, email: user.email, userId: user.id };
      const verdict = await throttle.count(attempt, 'code');
      if (verdict.kind === 'wait') return noteFailure.throttled(verdict, attempt);
      const used = await inTransaction(db, async (tx) => {
        const locked = await lockUser(tx, user.id);
        return locked && secondFactor.use(tx, locked, code.slice(0, 100));
      });
      if (used === undefined) return noteFailure.refused(attempt, 'wrong code');
      const result = await finish(user, visitor, used);
      if (result.kind === 'refused') return noteFailure.refused(attempt, changedMeanwhile);
      if (result.kind !== 'signedIn') return result;
      await throttle.forgive(attempt, verdict.isKnown, 'code');
      if (begun.method === 'password') await throttle.forgive(attempt, verdict.isKnown);
      return result;
    },
    /** Signs in a user whom an external provider has identified. */
    withProvider: (user: UserRow, visitor: Visitor): Promise<SignInResult> => proceed(user, visitor, 'oidc'),
    /** Signs in a user whose passkey was verified: it counts as both factors, so no code follows. */
    withPasskey: async (user: UserRow, visitor: Visitor): Promise<SignInResult> => {
      const result = await finish(user, visitor, 'passkey');
      return result.kind === 'refused'
        ? noteFailure.refused({ ...visitor, email: user.email, userId: user.id }, changedMeanwhile)
        : result;
    },
    /** Records a passkey that was not accepted. `user`: where the passkey is one of a user. */
    refusePasskey: (user: UserRow | undefined, visitor: Visitor, reason: string): Promise<SignInResult> =>
      noteFailure.refused({ ...visitor, email: user?.email ?? '', userId: user?.id }, reason),
    refusePasskeys: (verdict: { seconds: number; isFirst: boolean }, visitor: Visitor): Promise<SignInResult> =>
      noteFailure.throttled(verdict, { ...visitor, email: '', userId: undefined }),
    ...linkUses(deps, proceed),
  };
};

type PendingMethod = 'password' | 'oidc' | 'link';

/** Continues after a right first factor: asks for the code, or opens the session of a user without a second factor. */
type Proceed = (user: UserRow, visitor: Visitor, method: PendingMethod) => Promise<SignInResult>;

/** Changes with the password, so a sign-in that waits for its code ends when the password is replaced. */
const passwordTagOf = (box: SignInDeps['box'], { password }: UserRow): string =>
  box
    .digest(`panel-password-tag ${password ?? ''}`)
    .toString('base64url')
    .slice(0, 22);

const linkUses = (deps: SignInDeps, proceed: Proceed) => {
  const { db, box, clock, passwordHash } = deps;
  return {
    /** The user of a one-time link; undefined when the link cannot be used. */
    userOfLink: async (token: string): Promise<{ email: string } | undefined> => {
      const userId = await findLink(db, box.digest(token), clock.now());
      const user = userId === undefined ? undefined : await findUser(db, userId);
      return user === undefined || user.disabledAt !== undefined ? undefined : { email: user.email };
    },
    /** Uses the link up, sets the password, ends every session and continues as after a password. */
    withLink: async (token: string, password: string, visitor: Visitor): Promise<SignInResult> => {
      const hashed = await passwordHash.hash(password);
      const user = await inTransaction(db, async (tx) => {
        const userId = await useLink(tx, box.digest(token), clock.now());
        const found = userId === undefined ? undefined : await lockUser(tx, userId);
        if (found === undefined || found.disabledAt !== undefined) return undefined;
        await replacePassword(deps, tx, found, { hashed, by: 'link', address: visitor.address });
        return { ...found, password: hashed };
      });
      return user === undefined ? { kind: 'refused' } : proceed(user, visitor, 'link');
    },
  };
};

/** Sets the password, ends every other session and the unused link, and makes the user's known browsers unknown. */
export const replacePassword = async (
  { clock, record }: Pick<SignInDeps, 'clock' | 'record'>,
  tx: Kysely<unknown>,
  user: UserRow,
  change: { hashed: string; by: 'link' | 'user'; address: string; exceptSession?: string },
): Promise<void> => {
  await setPassword(tx, user.id, change.hashed);
  // Another reader of an older link could replace the new password.
  await endLink(tx, user.id);
  const ended = await deleteSessions(tx, user.id, change.exceptSession);
  await forgetBrowsers(tx, user.id);
  await record(tx, clock.now(), {
    action: 'user.password_set',
    outcome: 'success',
    actor: `panel:${user.id}`,
    address: change.address,
    details: { by: change.by, sessions_ended: ended },
  });
};

/** Opens the session, unless the user was disabled, or the password, the second factor or the passkeys changed since the check. */
const createFinish = ({ db, clock, record, sessions, throttle }: SignInDeps) => {
  return (user: UserRow, visitor: Visitor, method: SignInMethod): Promise<SignInResult> =>
    inTransaction(db, async (tx) => {
      const now = clock.now();
      const current = await lockUser(tx, user.id);
      if (current === undefined || current.disabledAt !== undefined || current.password !== user.password)
        return { kind: 'refused' };
      if (current.totpSince?.getTime() !== user.totpSince?.getTime()) return { kind: 'refused' };
      if (method === 'passkey' && current.passkeys !== user.passkeys) return { kind: 'refused' };
      const { address, agent } = visitor;
      const session = await sessions.open(tx, { userId: user.id, address, agent, method });
      const browser = /^[\w-]{43}$/.test(visitor.browser ?? '') ? (visitor.browser ?? '') : newToken();
      const digest = throttle.browserDigest(user.id, browser);
      await rememberBrowser(tx, { userId: user.id, digest, now, browsersMax });
      await record(tx, now, {
        action: 'user.signed_in',
        outcome: 'success',
        actor: `panel:${user.id}`,
        address,
        details: { session_id: session.id, method },
      });
      return { kind: 'signedIn', session: session.token, browser: { value: browser, seconds: browserDays * 86_400 } };
    });
};

const createNoteFailure = ({ db, clock, record }: SignInDeps) => {
  const note = ({ userId, address }: Attempt, reason: string): Promise<void> => {
    const actor: Pick<StaffEvent, 'actor'> = userId === undefined ? {} : { actor: `panel:${userId}` };
    const event: StaffEvent = { action: 'user.sign_in_failed', outcome: 'failure', ...actor, address, reason };
    return inTransaction(db, (tx) => record(tx, clock.now(), event));
  };
  return {
    refused: async (attempt: Attempt, reason: string): Promise<SignInResult> => {
      await note(attempt, reason);
      return { kind: 'refused' };
    },
    /** Records one refusal per window, so that repeated attempts cannot fill the audit. */
    throttled: async (
      { seconds, isFirst }: { seconds: number; isFirst: boolean },
      attempt: Attempt,
    ): Promise<SignInResult> => {
      if (isFirst) await note(attempt, 'too many attempts');
      return { kind: 'wait', seconds };
    },
  };
};
