/** RFC 9449 section 5: finds the key that the new token is bound to. */
import type { Context } from 'koa';
import type { ClientRecord } from '../credentials/lookup/records.ts';
import type { Dpop } from '../dpop/dpop.ts';
import type { RulesOf } from '../dpop/profile.ts';
import { proofsOf } from '../request/read-proof.ts';
import type { CountFailure } from './limit-failures.ts';
import { invalidRequest, OAuthRefusal } from './oauth-answers.ts';
import { tokenPath } from './token-issuer.ts';

/**
 * Resolves with the thumbprint of that key, or undefined for an unbound token. Rejects with OAuthRefusal. `client`: it is
 * authenticated already, so wrong proofs count as its own failures.
 */
export type BindToken = (ctx: Pick<Context, 'req' | 'set'>, client: ClientRecord) => Promise<string | undefined>;

export type BindTokenDeps = {
  /** Undefined when the operator has it off; then proofs are ignored like any unknown header. */
  dpop: Pick<Dpop, 'verifyProof' | 'freshNonce'> | undefined;
  countFailure: CountFailure;
  rulesOf: RulesOf;
};

export const createBindToken = ({ dpop, countFailure, rulesOf }: BindTokenDeps): BindToken => {
  return async (ctx, client) => {
    const { clientId } = client;
    const rules = rulesOf(client);
    const isRequired = client.dpopRequired || rules.boundTokensOnly;
    if (dpop === undefined) {
      if (isRequired) throw invalidRequest('This client takes tokens bound by DPoP only, which is off here');
      return undefined;
    }
    const [proof, second] = proofsOf(ctx.req.rawHeaders);
    if (proof === undefined && !isRequired) return undefined;
    tellNonce(ctx, dpop.freshNonce());
    if (proof === undefined) throw invalidProof('This client must send a DPoP proof');
    if (second !== undefined) throw invalidProof('Send one DPoP proof');
    const result = await dpop.verifyProof(proof, { rules, method: 'POST', path: tokenPath });
    if (!('error' in result)) return result.jkt;
    tellNonce(ctx, result.nonce);
    // A missing nonce is part of the protocol (RFC 9449 section 8), so it is not counted as a failure.
    if (result.error !== 'use_dpop_nonce') await countFailure(ctx.req, clientId);
    throw invalidProof(result.text, result.error);
  };
};

/** Every answer carries the nonce of the next proof. */
const tellNonce = (ctx: Pick<Context, 'set'>, nonce: string | undefined): void => {
  if (nonce !== undefined) ctx.set('dpop-nonce', nonce);
};

const invalidProof = (text: string, error = 'invalid_dpop_proof'): OAuthRefusal => new OAuthRefusal(error, 400, text);
