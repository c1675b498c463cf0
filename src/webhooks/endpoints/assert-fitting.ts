/** Values of an endpoint that are right each by itself and may not go together. */
import { type FaultDetail, validationFault } from '#src/contract/fault.ts';
import { isSignatureField } from '../signing/message-signature.ts';
import type { Endpoint } from './endpoint.ts';

/** `operatorsHeader`: the name of the plain hex header where the endpoint names none. Throws VALIDATION_ERROR. */
export const assertFitting = (
  { signature, signatureHeader }: Pick<Endpoint, 'signature' | 'signatureHeader'>,
  operatorsHeader: string,
): void => {
  const errors: FaultDetail[] = [];
  const refuse = (pointer: string, message: string): void => {
    errors.push({ pointer, code: 'CONFLICTING_VALUES', message });
  };
  const plainName = signatureHeader ?? operatorsHeader;
  if (signature !== null && isSignatureField(plainName))
    refuse('signature', `sends a header ${plainName} of its own; set another signature_header first`);
  if (errors.length > 0) throw validationFault(errors);
};
