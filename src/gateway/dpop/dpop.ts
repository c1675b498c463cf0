/** Joins the parts of DPoP (RFC 9449). Undefined when the operator has it off. */
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import type { FailureBudget } from '../limits/failure-budget.ts';
import type { SourceOf } from '../limits/source-address.ts';
import { type DpopSettings, dpopMode } from './config.ts';
import { createRulesOf } from './profile.ts';
import { createProofNonces } from './proof-nonces.ts';
import { createRequireProof, type RequireProof } from './require-proof.ts';
import { markProofUsed } from './used-proof-store.ts';
import { createNonceProblem, createVerifyProof, type NonceProblem, type VerifyProof } from './verify-proof.ts';

export type Dpop = {
  verifyProof: VerifyProof;
  requireProof: RequireProof;
  nonceProblem: NonceProblem;
  /** Nonce for the caller's next proof; undefined when nonces are not required. */
  freshNonce: () => string | undefined;
};

type DpopDeps = {
  settings: DpopSettings & { mtls_origin?: string | undefined };
  origin: string;
  db: Kysely<unknown>;
  box: Pick<SecretBox, 'derive'>;
  clock: Clock;
  budgets: Record<'failures' | 'wrongProofs', Pick<FailureBudget, 'blockedSeconds' | 'countFailure'>>;
  sourceOf: SourceOf;
};

export const createDpop = (deps: DpopDeps): Dpop | undefined => {
  const { settings, origin, db, box, clock } = deps;
  const mode = dpopMode(settings);
  if (mode === 'off') return undefined;
  const nonceRequired = mode === 'nonce';
  const nonces = createProofNonces({ key: box.derive('dpop-nonce'), clock });
  const verifyProof = createVerifyProof({
    // Clients with a certificate come by the aliases of the metadata, which name another host (RFC 8705 section 5).
    origins: [origin, ...(settings.mtls_origin === undefined ? [] : [settings.mtls_origin])],
    clock,
    nonces,
    nonceRequired,
    markUsed: (proof, now) => markProofUsed(db, proof, now),
  });
  const freshNonce = (): string | undefined => (nonceRequired ? nonces.current() : undefined);
  const { budgets, sourceOf } = deps;
  const rulesOf = createRulesOf(settings.profile);
  const requireProof = createRequireProof({ verifyProof, freshNonce, budgets, sourceOf, rulesOf });
  return { verifyProof, requireProof, freshNonce, nonceProblem: createNonceProblem({ nonces, nonceRequired }) };
};
