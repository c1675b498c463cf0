/** RFC 9449 as the operator wants it: undefined when it is off. */
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import type { DpopSettings } from './config.ts';
import { createProofNonces } from './proof-nonces.ts';
import { createRequireProof, type RequireProof } from './require-proof.ts';
import { markProofUsed } from './used-proof-store.ts';
import { createVerifyProof, type VerifyProof } from './verify-proof.ts';

export type Dpop = { verifyProof: VerifyProof; requireProof: RequireProof };

type DpopDeps = {
  settings: DpopSettings;
  origin: string;
  db: Kysely<unknown>;
  box: Pick<SecretBox, 'derive'>;
  clock: Clock;
};

export const createDpop = ({ settings, origin, db, box, clock }: DpopDeps): Dpop | undefined => {
  if (settings.dpop === 'off') return undefined;
  const verifyProof = createVerifyProof({
    origin,
    clock,
    nonces: createProofNonces({ key: box.derive('dpop-nonce'), clock }),
    nonceRequired: settings.dpop === 'nonce',
    markUsed: (proof, now) => markProofUsed(db, proof, now),
  });
  return { verifyProof, requireProof: createRequireProof(verifyProof) };
};
