/** RFC 9449 section 5: to which key the token of a request will be bound. */
import type { Context } from 'koa';
import type { ClientRecord } from '../credentials/lookup/records.ts';
import type { Dpop } from '../dpop/dpop.ts';
import { proofsOf } from '../request/read-proof.ts';
import type { CountFailure } from './limit-failures.ts';
import { invalidRequest, OAuthRefusal } from './oauth-answers.ts';
import { tokenPath } from './token-issuer.ts';

/**
 * Resolves with the thumbprint of that key; undefined: to none. Rejects with OAuthRefusal. `client`: it has proven itself,
 * so the wrong proofs that are counted are its own.
 */
export type BindToken = (ctx: Pick<Context, 'req' | 'set'>, client: ClientRecord) => Promise<string | undefined>;

export type BindTokenDeps = {
  /** Undefined when the operator has it off; then proofs are like any header that nobody knows. */
  dpop: Pick<Dpop, 'verifyProof' | 'freshNonce'> | undefined;
  countFailure: CountFailure;
};

export const createBindToken = ({ dpop, countFailure }: BindTokenDeps): BindToken => {
  return async (ctx, { clientId, dpopRequired }) => {
    if (dpop === undefined) {
      if (dpopRequired) throw invalidRequest('This client takes tokens bound by DPoP only, which is off here');
      return undefined;
    }
    const [proof, second] = proofsOf(ctx.req.rawHeaders);
    if (proof === undefined && !dpopRequired) return undefined;
    tellNonce(ctx, dpop.freshNonce());
    if (proof === undefined) throw invalidProof('This client must send a DPoP proof');
    if (second !== undefined) throw invalidProof('Send one DPoP proof');
    const result = await dpop.verifyProof(proof, { method: 'POST', path: tokenPath });
    if (!('error' in result)) return result.jkt;
    tellNonce(ctx, result.nonce);
    // To be asked for a nonce is the way it goes (RFC 9449 section 8), no failure.
    if (result.error !== 'use_dpop_nonce') await countFailure(ctx.req, clientId);
    throw invalidProof(result.text, result.error);
  };
};

/** For the next proof, whatever else is answered. */
const tellNonce = (ctx: Pick<Context, 'set'>, nonce: string | undefined): void => {
  if (nonce !== undefined) ctx.set('dpop-nonce', nonce);
};

const invalidProof = (text: string, error = 'invalid_dpop_proof'): OAuthRefusal => new OAuthRefusal(error, 400, text);
