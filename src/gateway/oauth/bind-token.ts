/** RFC 9449 section 5: to which key the token of a request will be bound. */
import type { IncomingMessage } from 'node:http';
import type { ClientRecord } from '../credentials/credential-records.ts';
import { proofsOf } from '../dpop/read-proof.ts';
import type { VerifyProof } from '../dpop/verify-proof.ts';
import { invalidRequest, OAuthRefusal } from './oauth-answers.ts';
import { tokenPath } from './token-issuer.ts';

export type Binding = { jkt: string; nonce: string };

/** undefined: to none. Rejects with OAuthRefusal. `client`: it has proven itself. */
export type BindToken = (req: IncomingMessage, client: ClientRecord) => Promise<Binding | undefined>;

/** `verify`: undefined when the operator has it off; then proofs are like any header that nobody knows. */
export const createBindToken = (verify: VerifyProof | undefined): BindToken => {
  return async (req, { dpopRequired }) => {
    if (verify === undefined) {
      if (dpopRequired) throw invalidRequest('This client takes tokens bound by DPoP only, which is off here');
      return undefined;
    }
    const [proof, second] = proofsOf(req.rawHeaders);
    if (second !== undefined) throw invalidProof('Send one DPoP proof');
    if (proof === undefined) {
      if (dpopRequired) throw invalidProof('This client must send a DPoP proof');
      return undefined;
    }
    const result = await verify(proof, { method: 'POST', path: tokenPath });
    if ('error' in result) throw invalidProof(result.text, result.error, result.nonce);
    return result;
  };
};

const invalidProof = (text: string, error = 'invalid_dpop_proof', nonce?: string): OAuthRefusal =>
  new OAuthRefusal(error, 400, text, nonce === undefined ? {} : { 'dpop-nonce': nonce });
