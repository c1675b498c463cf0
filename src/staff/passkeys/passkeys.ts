/**
 * Passkeys: added, renamed and removed by their user, removed by an administrator, and used to sign in. A challenge is sealed with
 * the moment of its end and held by the browser, so strangers store nothing; the first right answer uses it up.
 */
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { newId, newToken } from '#src/platform/ids.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import type { RecordEvents } from '../accounts/account-events.ts';
import { findUser, lockUser, type UserRow } from '../accounts/user-store.ts';
import { deleteSessions, lockSession, setSessionMethod } from '../sessions/session-store.ts';
import type { CookieValue, PendingSignIns } from '../sign-in/pending-sign-in.ts';
import type { SignIn, SignInResult, Visitor } from '../sign-in/sign-in.ts';
import type { Throttle } from '../sign-in/throttle.ts';
import {
  deletePasskey,
  findPasskey,
  insertPasskey,
  listPasskeys,
  notePasskeyUse,
  renamePasskey,
  useChallenge,
} from './passkey-store.ts';
import { createWebAuthn } from './web-authn.ts';

type PasskeysDeps = {
  db: Kysely<unknown>;
  box: Pick<SecretBox, 'digest'>;
  clock: Clock;
  record: RecordEvents;
  pendings: PendingSignIns;
  throttle: Throttle;
  signIn: SignIn;
  /** Public origin of the server. */
  origin: string;
};

type By = { id: string; address: string };

export type ShownPasskey = { id: string; name: string; createdAt: Date; usedAt: Date | undefined };

/** `options`: for the browser, as JSON. `state`: the answer comes back with it. */
type Begun = { options: string; state: CookieValue };

const passkeysMax = 20;
const nameLengthMax = 60;

export const createPasskeys = (deps: PasskeysDeps) => {
  const { db } = deps;
  const webAuthn = createWebAuthn(deps.origin);
  return {
    isOn: webAuthn.isOn,
    nameLengthMax,
    list: async (userId: string): Promise<ShownPasskey[]> =>
      (await listPasskeys(db, userId)).map(({ id, name, createdAt, usedAt }) => ({ id, name, createdAt, usedAt })),
    ...additions({ ...deps, webAuthn }),
    ...renaming(deps),
    ...removals(deps),
    ...signIns({ ...deps, webAuthn }),
  };
};

type WithWebAuthn = PasskeysDeps & { webAuthn: ReturnType<typeof createWebAuthn> };

/** False: this challenge was answered before. */
const useOnce = (
  { box }: Pick<PasskeysDeps, 'box'>,
  tx: Kysely<unknown>,
  { challenge, until }: { challenge: string; until: number },
): Promise<boolean> => useChallenge(tx, box.digest(`panel-challenge ${challenge}`), new Date(until));

const additions = (deps: WithWebAuthn) => {
  const { db, clock, record, pendings, webAuthn } = deps;
  return {
    /** Undefined: the account has as many passkeys as it may have. `name`: 1 to `nameLengthMax` characters. */
    begin: async (userId: string, sessionId: string, name: string): Promise<Begun | undefined> => {
      const user = await findUser(db, userId);
      const known = await listPasskeys(db, userId);
      if (!webAuthn.isOn || user === undefined || known.length >= passkeysMax) return undefined;
      const challenge = newToken();
      const state = pendings.keep({ kind: 'newPasskey', userId, sessionId, challenge, name });
      return { options: JSON.stringify(webAuthn.creationOptions(user, challenge, known)), state };
    },
    /** Adds the passkey of the browser's answer and ends the user's other sessions. The name, or undefined when refused. */
    add: async (userId: string, given: { state: string; answer: string }, session: By): Promise<string | undefined> => {
      const begun = pendings.newPasskey(given.state);
      if (begun?.userId !== userId || begun.sessionId !== session.id) return undefined;
      const credential = await webAuthn.verifyCreated(given.answer, begun.challenge);
      if (credential === undefined) return undefined;
      return inTransaction(db, async (tx) => {
        const user = await lockUser(tx, userId);
        if (user === undefined || user.disabledAt !== undefined || user.passkeys >= passkeysMax) return undefined;
        if (!(await lockSession(tx, userId, session.id))) return undefined;
        if (!(await useOnce(deps, tx, begun))) return undefined;
        const now = clock.now();
        const id = newId('psk', now.getTime());
        if (!(await insertPasskey(tx, { id, userId, ...credential, name: begun.name, createdAt: now })))
          return undefined;
        await deleteSessions(tx, userId, session.id);
        // This browser has just proved the passkey.
        await setSessionMethod(tx, session.id, 'passkey');
        await record(tx, now, {
          action: 'user.passkey_added',
          outcome: 'success',
          actor: `panel:${userId}`,
          address: session.address,
          details: { passkey_id: id, name: begun.name },
        });
        return begun.name;
      });
    },
  };
};

const renaming = ({ db, clock, record }: PasskeysDeps) => ({
  /** `name`: 1 to `nameLengthMax` characters. False: the user has no such passkey. */
  rename: (userId: string, id: string, name: string, address: string): Promise<boolean> =>
    inTransaction(db, async (tx) => {
      const former = await renamePasskey(tx, { userId, id, name });
      if (former === undefined) return false;
      await record(tx, clock.now(), {
        action: 'user.passkey_renamed',
        outcome: 'success',
        actor: `panel:${userId}`,
        address,
        details: { passkey_id: id, former_name: former, name },
      });
      return true;
    }),
});

const removals = ({ db, clock, record }: PasskeysDeps) => ({
  /**
   * Ends the user's other sessions that a passkey opened: which passkey that was is not stored. A sign-in locks the user too, so
   * none with this passkey comes between. False: the user has no such passkey.
   */
  remove: (userId: string, id: string, session: By): Promise<boolean> =>
    inTransaction(db, async (tx) => {
      await lockUser(tx, userId);
      const name = await deletePasskey(tx, userId, id);
      if (name === undefined) return false;
      const ended = await deleteSessions(tx, userId, session.id, 'passkey');
      await record(tx, clock.now(), {
        action: 'user.passkey_removed',
        outcome: 'success',
        actor: `panel:${userId}`,
        address: session.address,
        details: { passkey_id: id, name, sessions_ended: ended },
      });
      return true;
    }),
});

const signIns = (deps: WithWebAuthn) => {
  const { db, clock, pendings, throttle, signIn, webAuthn } = deps;
  /** The user of the answer; `reason`: why it is refused. */
  const verify = async (
    begun: { challenge: string; until: number } | undefined,
    text: string,
  ): Promise<{ user: UserRow | undefined; reason?: string }> => {
    const assertion = webAuthn.readAssertion(text);
    const passkey = assertion && (await findPasskey(db, assertion.credentialId));
    if (passkey === undefined || assertion?.userId !== passkey.userId)
      return { user: undefined, reason: 'no such passkey' };
    const refused = async (reason: string) => ({ user: await findUser(db, passkey.userId), reason });
    if (begun === undefined) return refused('too late');
    const counter = await webAuthn.verifyAssertion(assertion, begun.challenge, passkey);
    if (counter === undefined) return refused('wrong signature');
    const user = await inTransaction(db, async (tx) => {
      if (!(await useOnce(deps, tx, begun))) return undefined;
      if (!(await notePasskeyUse(tx, passkey, { counter, usedAt: clock.now() }))) return undefined;
      // While the row of the passkey is locked, so that the sign-in notices by their count that one was removed since.
      return findUser(tx, passkey.userId);
    });
    return user === undefined ? refused('used before') : { user, ...(user.disabledAt && { reason: 'disabled' }) };
  };
  return {
    beginSignIn: (): Begun => {
      const challenge = newToken();
      const state = pendings.keep({ kind: 'passkey', challenge });
      return { options: JSON.stringify(webAuthn.requestOptions(challenge)), state };
    },
    /** `state`: cookie value of `beginSignIn`. A passkey counts as both factors, so no code follows. */
    signIn: async (state: string | undefined, answer: string, visitor: Visitor): Promise<SignInResult> => {
      const begun = pendings.passkey(state);
      const verdict = await throttle.countPasskey(visitor.network);
      if (verdict !== undefined) return signIn.refusePasskeys(verdict, visitor);
      const { user, reason } = await verify(begun, answer);
      if (user === undefined || reason !== undefined)
        return signIn.refusePasskey(user, visitor, reason ?? 'no such user');
      const result = await signIn.withPasskey(user, visitor);
      if (result.kind === 'signedIn') await throttle.forgivePasskey(visitor.network);
      return result;
    },
  };
};
