/**
 * The form of a proposed secret carries a proof that this session asked for it some minutes ago, with the password. Without it
 * a proposal that was left would let an unattended browser lock its user out.
 */
import { equalInConstantTime } from '#src/contract/equal-in-constant-time.ts';
import { type Clock, minuteMs } from '#src/platform/clock.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';

/** Time to scan a proposed secret and to enter its first code. */
const proposalMs = 15 * minuteMs;

export const createProposalProof = ({ box, clock }: { box: Pick<SecretBox, 'digest'>; clock: Clock }) => {
  const proofOf = (userId: string, sessionId: string, endsMs: number): string =>
    `${endsMs}.${box.digest(`panel-totp-proposal ${userId} ${sessionId} ${endsMs}`).toString('hex')}`;
  return {
    newProof: (userId: string, sessionId: string): string =>
      proofOf(userId, sessionId, clock.now().getTime() + proposalMs),
    isProof: (userId: string, sessionId: string, proof: string): boolean => {
      const endsMs = Number(proof.split('.', 1)[0]);
      if (!(endsMs > clock.now().getTime())) return false;
      return equalInConstantTime(proof, proofOf(userId, sessionId, endsMs));
    },
  };
};
