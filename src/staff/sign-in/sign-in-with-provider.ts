/** Signs in the account that belongs to the identity which an external provider confirmed. */
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { Logger } from '#src/platform/log.ts';
import type { RecordEvents } from '../accounts/account-events.ts';
import { normalizeEmail } from '../accounts/email.ts';
import { endLink } from '../accounts/link-store.ts';
import { findUserByEmail, lockUser, type UserRow } from '../accounts/user-store.ts';
import type { ExternalProvider, Identity } from './external-provider.ts';
import type { CookieValue, PendingSignIns } from './pending-sign-in.ts';
import { bindProvider, findUserByProvider } from './provider-store.ts';
import type { SignIn, SignInResult, Visitor } from './sign-in.ts';

type Deps = {
  db: Kysely<unknown>;
  clock: Clock;
  log: Logger;
  record: RecordEvents;
  pendings: PendingSignIns;
  signIn: SignIn;
  provider: ExternalProvider | undefined;
};

export const createProviderSignIn = (deps: Deps) => {
  const { provider, pendings, log } = deps;
  const accountOf = createAccountOf(deps);
  const noteUnknown = createNoteUnknown(deps);
  return {
    /** Undefined when no provider is configured. */
    label: provider?.label,
    /**
     * The address to redirect the browser to, and the cookie value to set. Undefined when the provider cannot be
     * reached.
     */
    begin: async (next: string): Promise<{ url: string; pending: CookieValue } | undefined> => {
      try {
        const begun = await provider?.begin(next);
        return begun && { url: begun.url, pending: pendings.keep(begun.pending) };
      } catch (error) {
        log.warn(reasonOf(error), 'the OpenID provider of the panel cannot be reached');
        return undefined;
      }
    },
    /** `pending`: the cookie value from `begin`. */
    finish: async (
      pending: string | undefined,
      query: URLSearchParams,
      visitor: Visitor,
    ): Promise<{ result: SignInResult | { kind: 'failed' } | { kind: 'unknown' }; next: string }> => {
      const begun = pendings.provider(pending);
      if (begun === undefined || provider === undefined) return { result: { kind: 'failed' }, next: '' };
      const { next } = begun;
      let identity: Identity;
      try {
        identity = await provider.finish(query, begun);
      } catch (error) {
        log.warn(reasonOf(error), 'a sign-in with the OpenID provider of the panel failed');
        return { result: { kind: 'failed' }, next };
      }
      const user = await accountOf(identity);
      if (user !== undefined && user.disabledAt === undefined)
        return { result: await deps.signIn.withProvider(user, visitor), next };
      await noteUnknown(identity, user, visitor);
      return { result: { kind: 'unknown' }, next };
    },
  };
};

/** Reason and code only: the whole error may contain the authorization code that the browser brought. */
const reasonOf = (error: unknown): { reason: string; code: unknown } => ({
  reason: error instanceof Error ? error.message : String(error),
  code: error instanceof Error && 'code' in error ? error.code : undefined,
});

/**
 * The account of an identity. A bound identity is found by issuer and subject. An unbound one finds its account by its
 * verified email and is bound to it; an account never gets a second identity.
 */
const createAccountOf = ({ db, clock, record }: Deps) => {
  return async ({ issuer, subject, email }: Identity): Promise<UserRow | undefined> => {
    const known = await findUserByProvider(db, issuer, subject);
    if (known !== undefined || email === undefined) return known;
    const named = await findUserByEmail(db, normalizeEmail(email));
    if (named === undefined) return undefined;
    return inTransaction(db, async (tx) => {
      const user = await lockUser(tx, named.id);
      // Another sign-in of this identity, on another device at the same moment, may have bound it.
      if (user?.oidcIssuer === issuer && user.oidcSubject === subject) return user;
      if (user === undefined || user.oidcSubject !== undefined || user.disabledAt !== undefined) return undefined;
      await bindProvider(tx, user.id, issuer, subject);
      // An unused invitation would add a password, a second way in.
      await endLink(tx, user.id);
      await record(tx, clock.now(), {
        action: 'user.changed',
        outcome: 'success',
        actor: `panel:${user.id}`,
        details: { user_id: user.id, provider: issuer },
      });
      return { ...user, oidcIssuer: issuer, oidcSubject: subject };
    });
  };
};

const createNoteUnknown = ({ db, clock, record }: Deps) => {
  return (identity: Identity, user: UserRow | undefined, { address }: Visitor): Promise<void> =>
    inTransaction(db, (tx) =>
      record(tx, clock.now(), {
        action: 'user.sign_in_failed',
        outcome: 'failure',
        ...(user && { actor: `panel:${user.id}` }),
        address,
        reason: user === undefined ? 'no account for this identity' : 'disabled',
        details: { provider: identity.issuer, email: identity.email ?? null },
      }),
    );
};
