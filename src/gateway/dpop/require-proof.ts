/** RFC 9449 section 7: whoever uses a bound token shows that it holds the key, for this very request. */
import { validationFault } from '#src/contract/fault.ts';
import type { Exchange } from '../exchange.ts';
import { ProofFault } from './proof-fault.ts';
import { proofsOf } from './read-proof.ts';
import type { VerifyProof } from './verify-proof.ts';

/** `token`: the one that was presented, bound to the key with the thumbprint `jkt`. Rejects with the refusal. */
export type RequireProof = (exchange: Exchange, token: string, jkt: string) => Promise<void>;

export const createRequireProof = (verify: VerifyProof): RequireProof => {
  return async ({ req, method, path }, token, jkt) => {
    const [proof, second] = proofsOf(req.rawHeaders);
    if (second !== undefined)
      throw validationFault([{ pointer: 'DPoP', code: 'AMBIGUOUS_CREDENTIALS', message: 'sent twice' }]);
    if (proof === undefined)
      throw new ProofFault({ error: 'invalid_dpop_proof', text: 'The DPoP proof is missing', nonce: undefined });
    const result = await verify(proof, { method, path, token, jkt });
    if ('error' in result) throw new ProofFault(result);
  };
};
