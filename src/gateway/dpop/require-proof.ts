/** RFC 9449 section 7: a request with a bound token must prove that its sender holds the key. */
import { type Fault, validationFault } from '#src/contract/fault.ts';
import type { FailureBudget } from '../limits/failure-budget.ts';
import type { SourceOf } from '../limits/source-address.ts';
import { tooMany, tooManyFailures } from '../model/faults.ts';
import { TracedFault } from '../model/traced-fault.ts';
import type { Exchange } from '../request/exchange.ts';
import { publicHostOf } from '../request/public-host.ts';
import { proofsOf } from '../request/read-proof.ts';
import type { RulesOf } from './profile.ts';
import { ProofFault } from './proof-fault.ts';
import type { VerifyProof } from './verify-proof.ts';

/** A valid token, and the thumbprint of the key that it is bound to. */
type BoundToken = { clientId: string; tokenId: string; jkt: string; fapi2Required?: boolean };

/** `token`: the one that was presented. Rejects with the refusal. */
export type RequireProof = (exchange: Exchange, token: string, bound: BoundToken) => Promise<void>;

type RequireProofDeps = {
  verifyProof: VerifyProof;
  freshNonce: () => string | undefined;
  budgets: Record<'failures' | 'wrongProofs', Pick<FailureBudget, 'blockedSeconds' | 'countFailure'>>;
  rulesOf: RulesOf;
  sourceOf: SourceOf;
};

/**
 * Wrong proofs count against the token, per address (interface 9.2). They do not count against the client: an attacker
 * with a stolen token and no key could then block every other call of that client from a shared address, and wrong secrets
 * would block tokens. `jti` cannot be guessed, so only a holder of the token can use up its failures.
 */
export const createRequireProof = (deps: RequireProofDeps): RequireProof => {
  return async (exchange, token, bound) => {
    const { clientId, tokenId, jkt } = bound;
    const { req, method, path } = exchange;
    const rules = deps.rulesOf(bound);
    const failures = deps.budgets[rules.proofBudget];
    // Every answer from here on carries it.
    exchange.dpopNonce = deps.freshNonce();
    const [proof, second] = proofsOf(req.rawHeaders);
    if (second !== undefined)
      throw validationFault([{ pointer: 'DPoP', code: 'AMBIGUOUS_CREDENTIALS', message: 'sent twice' }]);
    if (proof === undefined) throw new ProofFault({ error: 'invalid_dpop_proof', text: 'The DPoP proof is missing' });
    const source = deps.sourceOf(req);
    const blocked = failures.blockedSeconds(tokenId, source);
    if (blocked !== undefined) throw blockedByFailures(clientId, blocked);
    const host = publicHostOf(exchange);
    const isSecond = exchange.asked === 'refusal';
    const result = await deps.verifyProof(proof, { rules, method, host, path, token, jkt, isSecond });
    if (!('error' in result)) return;
    if (result.nonce !== undefined) exchange.dpopNonce = result.nonce;
    // A missing nonce is part of the protocol (RFC 9449 section 9), so it is not counted as a failure.
    const beyond = result.error === 'use_dpop_nonce' ? undefined : await failures.countFailure(tokenId, source);
    throw beyond === undefined ? new ProofFault(result) : blockedByFailures(clientId, beyond);
  };
};

const blockedByFailures = (callerId: string, seconds: number): Fault => {
  const { code, publicText } = tooManyFailures(seconds);
  const trace = { callerId, reason: 'rate_limited', detail: { retry_after: seconds } } as const;
  return new TracedFault(code, publicText, trace, tooMany(seconds, 'failures'));
};
