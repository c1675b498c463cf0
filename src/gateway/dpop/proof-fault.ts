/** The refusal of a DPoP proof where operations are called (RFC 9449 section 7.1). */
import { Fault } from '#src/contract/fault.ts';
import type { ProofRefusal } from './verify-proof.ts';

export class ProofFault extends Fault {
  /** `error` of the OAuth dialect, instead of the default of the status. */
  readonly oauthError: ProofRefusal['error'];
  constructor({ error, text }: Pick<ProofRefusal, 'error' | 'text'>) {
    super('INVALID_AUTH', text);
    this.oauthError = error;
  }
}
