/** Values of an endpoint that are right each by itself and may not go together. */
import { type FaultDetail, validationFault } from '#src/contract/fault.ts';
import { isSignatureField } from '../signing/message-signature.ts';
import type { Endpoint } from './endpoint.ts';

/** `operatorsHeader`: the name of the plain hex header where the endpoint names none. Throws VALIDATION_ERROR. */
export const assertFitting = (
  { url, signature, signatureHeader, authShown }: Pick<Endpoint, 'url' | 'signature' | 'signatureHeader' | 'authShown'>,
  operatorsHeader: string,
): void => {
  const errors: FaultDetail[] = [];
  const refuse = (pointer: string, message: string): void => {
    errors.push({ pointer, code: 'CONFLICTING_VALUES', message });
  };
  const plainName = signatureHeader ?? operatorsHeader;
  if (signature !== null && isSignatureField(plainName))
    refuse('signature', `sends a header ${plainName} of its own; set another signature_header first`);
  if (authShown?.type === 'certificate' && !url.startsWith('https:'))
    refuse('auth', 'a client certificate needs an address with https');
  const taken = [plainName, `${plainName}-Next`].map((name) => name.toLowerCase());
  if (authShown?.type === 'header' && taken.includes(authShown.id))
    refuse('auth', `the header ${authShown.id} has the plain signature; set another signature_header first`);
  if (errors.length > 0) throw validationFault(errors);
};

/**
 * A secret stays with the origin that it was given for: otherwise a change of the address would send it to any other.
 * Throws VALIDATION_ERROR.
 */
export const assertAuthStays = (
  before: Pick<Endpoint, 'url' | 'auth'>,
  after: Pick<Endpoint, 'url' | 'auth'>,
): void => {
  if (before.auth === null || after.auth !== before.auth) return;
  if (new URL(before.url).origin === new URL(after.url).origin) return;
  const message = 'is needed with a url of another origin: give it again, or null';
  throw validationFault([{ pointer: 'auth', code: 'REQUIRED', message }]);
};
