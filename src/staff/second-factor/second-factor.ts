/**
 * One-time codes as second factor: proposed, confirmed with a code, each used once, removed. With ten recovery codes.
 */
import { randomBytes } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import type { RecordEvents } from '../accounts/account-events.ts';
import { findUser, lockUser, type UserRow } from '../accounts/user-store.ts';
import { deleteSessions, lockSession } from '../sessions/session-store.ts';
import { createProposalProof } from './proposal-proof.ts';
import { base32, stepOfCode, totpAddress, totpSecretBytes } from './totp.ts';
import {
  confirmTotp,
  countRecoveryCodes,
  proposeTotp,
  removeTotp,
  replaceRecoveryCodes,
  useRecoveryCode,
  useStep,
} from './totp-store.ts';

type SecondFactorDeps = {
  db: Kysely<unknown>;
  box: Pick<SecretBox, 'digest' | 'seal' | 'open'>;
  clock: Clock;
  record: RecordEvents;
};

/** `proof`: see `confirm`. */
export type ProposedTotp = { key: string; address: string; proof: string };

type Given = { code: string; proof: string };
type Session = { id: string; address: string };

const recoveryCodes = 10;
const recoveryBytes = 10;

export type SecondFactor = ReturnType<typeof createSecondFactor>;

export const createSecondFactor = ({ db, box, clock, record }: SecondFactorDeps) => {
  const labelOf = (userId: string): string => `panel-totp:${userId}`;
  const secretOf = ({ id, totpSecret }: UserRow): Buffer | undefined =>
    totpSecret && Buffer.from(box.open(totpSecret, labelOf(id)), 'base64');
  const recoveryDigest = (userId: string, code: string): Buffer =>
    box.digest(`panel-recovery ${userId} ${code.replaceAll(/[\s-]/g, '').toUpperCase()}`);
  /** Checks and uses up a code. Must run in a transaction that has locked the user. */
  const use = async (tx: Kysely<unknown>, user: UserRow, code: string): Promise<'totp' | 'recovery' | undefined> => {
    const secret = secretOf(user);
    const step = secret && stepOfCode(secret, code, clock.now());
    if (step !== undefined) return (await useStep(tx, user.id, step)) ? 'totp' : undefined;
    return (await useRecoveryCode(tx, user.id, recoveryDigest(user.id, code))) ? 'recovery' : undefined;
  };
  const { newProof, isProof } = createProposalProof({ box, clock });
  return {
    use,
    codesLeft: (userId: string): Promise<number> => countRecoveryCodes(db, userId),
    /** A new secret that the user must confirm; undefined when the second factor is already on. */
    propose: (userId: string, sessionId: string): Promise<ProposedTotp | undefined> =>
      inTransaction(db, async (tx) => {
        const user = await lockUser(tx, userId);
        if (user === undefined || user.totpSince !== undefined) return undefined;
        const secret = randomBytes(totpSecretBytes);
        await proposeTotp(tx, userId, box.seal(secret.toString('base64'), labelOf(userId)));
        const proof = newProof(userId, sessionId);
        return { key: base32(secret), address: totpAddress(secret, user.email), proof };
      }),
    /** The last proposed secret, for showing it again to the session that asked for it. */
    proposed: async (userId: string, sessionId: string, proof: string): Promise<ProposedTotp | undefined> => {
      if (!isProof(userId, sessionId, proof)) return undefined;
      const user = await findUser(db, userId);
      const secret = user?.totpSince === undefined ? user && secretOf(user) : undefined;
      return user && secret && { key: base32(secret), address: totpAddress(secret, user.email), proof };
    },
    /**
     * Turns the second factor on and ends the user's other sessions. Resolves to the recovery codes; undefined for a
     * wrong code. Attempts are not limited: the page shows the secret to the same user, so there is nothing to guess.
     * `proof`: see proposal-proof.ts.
     */
    confirm: async (userId: string, { code, proof }: Given, session: Session): Promise<string[] | undefined> => {
      if (!isProof(userId, session.id, proof)) return undefined;
      return inTransaction(db, async (tx) => {
        const user = await lockUser(tx, userId);
        if (user === undefined || user.totpSince !== undefined || user.totpSecret === undefined) return undefined;
        if (!(await lockSession(tx, userId, session.id))) return undefined;
        if ((await use(tx, user, code)) !== 'totp') return undefined;
        const now = clock.now();
        await confirmTotp(tx, userId, now);
        const codes = Array.from({ length: recoveryCodes }, () => newRecoveryCode());
        await replaceRecoveryCodes(
          tx,
          userId,
          codes.map((text) => recoveryDigest(userId, text)),
        );
        await deleteSessions(tx, userId, session.id);
        await record(tx, now, {
          action: 'user.totp_added',
          outcome: 'success',
          actor: `panel:${userId}`,
          address: session.address,
        });
        return codes;
      });
    },
    /** Requires a code, so an unattended browser is not enough. False: the code is wrong. */
    remove: (userId: string, code: string, address: string): Promise<boolean> =>
      inTransaction(db, async (tx) => {
        const user = await lockUser(tx, userId);
        if (user?.totpSince === undefined || (await use(tx, user, code)) === undefined) return false;
        await removeTotp(tx, userId);
        await record(tx, clock.now(), {
          action: 'user.totp_removed',
          outcome: 'success',
          actor: `panel:${userId}`,
          address,
        });
        return true;
      }),
  };
};

/** 80 bits: `ABCD-EFGH-IJKL-MNOP`. */
const newRecoveryCode = (): string => (base32(randomBytes(recoveryBytes)).match(/.{4}/g) ?? []).join('-');
