/** From email and password to a session. */
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import type { RecordEvents } from '../ports.ts';
import { findLink, useLink } from './link-store.ts';
import type { PasswordHash } from './password-hash.ts';
import { deleteSessions, type SignInMethod } from './session-store.ts';
import type { Sessions } from './sessions.ts';
import { findUser, findUserByEmail, lockUser, setPassword, type UserRow } from './user-store.ts';
import { normalizeEmail } from './users.ts';

export type SignInDeps = {
  db: Kysely<unknown>;
  box: Pick<SecretBox, 'digest'>;
  clock: Clock;
  record: RecordEvents;
  sessions: Sessions;
  passwordHash: PasswordHash;
};

/** Who asks, as far as it is known. */
export type Visitor = { address: string; agent: string };

export type SignedIn = { kind: 'signedIn'; cookies: readonly string[] };

export type SignIn = ReturnType<typeof createSignIn>;

export const createSignIn = (deps: SignInDeps) => {
  const { db, box, clock, record, sessions, passwordHash } = deps;
  const finish = (user: UserRow, visitor: Visitor, method: SignInMethod): Promise<SignedIn> =>
    inTransaction(db, async (tx) => {
      const { id, cookie } = await sessions.open(tx, { userId: user.id, ...visitor, method });
      await record(tx, clock.now(), {
        action: 'user.signed_in',
        outcome: 'success',
        actor: `panel:${user.id}`,
        address: visitor.address,
        details: { session_id: id, method },
      });
      return { kind: 'signedIn', cookies: [cookie] };
    });
  return {
    withPassword: async (
      given: { email: string; password: string },
      visitor: Visitor,
    ): Promise<SignedIn | { kind: 'refused' }> => {
      const user = await findUserByEmail(db, normalizeEmail(given.email.slice(0, 300)));
      const isRight = await passwordHash.verify(given.password.slice(0, 1_000), user?.password);
      if (user !== undefined && isRight && user.disabledAt === undefined) return finish(user, visitor, 'password');
      await inTransaction(db, (tx) =>
        record(tx, clock.now(), {
          action: 'user.sign_in_failed',
          outcome: 'failure',
          ...(user && { actor: `panel:${user.id}` }),
          address: visitor.address,
          reason: user === undefined ? 'no such user' : isRight ? 'disabled' : 'wrong password',
        }),
      );
      return { kind: 'refused' };
    },
    /** The user that a one-time link is for; undefined when it can not be used. */
    userOfLink: async (token: string): Promise<UserRow | undefined> => {
      const userId = await findLink(db, box.digest(token), clock.now());
      const user = userId === undefined ? undefined : await findUser(db, userId);
      return user?.disabledAt === undefined ? user : undefined;
    },
    /** Uses the link up, sets the password, ends every other session and signs in. */
    withLink: async (token: string, password: string, visitor: Visitor): Promise<SignedIn | { kind: 'refused' }> => {
      const hashed = await passwordHash.hash(password);
      const user = await inTransaction(db, async (tx) => {
        const now = clock.now();
        const userId = await useLink(tx, box.digest(token), now);
        const found = userId === undefined ? undefined : await lockUser(tx, userId);
        if (found === undefined || found.disabledAt !== undefined) return undefined;
        await setPassword(tx, found.id, hashed);
        await deleteSessions(tx, found.id);
        await record(tx, now, {
          action: 'user.password_set',
          outcome: 'success',
          actor: `panel:${found.id}`,
          address: visitor.address,
          details: { by: 'link' },
        });
        return found;
      });
      return user === undefined ? { kind: 'refused' } : finish(user, visitor, 'link');
    },
  };
};
