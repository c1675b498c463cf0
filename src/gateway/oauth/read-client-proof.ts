/** Pure: reads the client authentication of a request, one of four methods (RFC 6749 section 2.3, RFC 7523, RFC 8705). */
import type { ClientCertificate } from '#src/platform/http/tls/client-certificate.ts';
import type { ProfileRules } from '../dpop/profile.ts';
import { invalidField, invalidRequest, NoClientAuthentication } from './oauth-answers.ts';
import type { Form } from './read-token-request.ts';

export type ClientProof =
  | { method: 'secret'; clientId: string; secret: string }
  /** `clientId`: as named beside the assertion, which names it too. */
  | { method: 'assertion'; clientId: string | undefined; assertion: string }
  | { method: 'certificate'; clientId: string; certificate: ClientCertificate };

const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/**
 * Throws invalid_request, or invalid_client when there is no proof of a kind that is offered. `rawHeaders`: names and values in
 * turn, as node gives them. `presented`: reads the certificate of the request; undefined: the operator has certificates off. A
 * certificate beside another method is none, since it may be there to bind the token. `sharedSecrets` false: no secret is taken
 * (FAPI 2.0).
 */
export const readClientProof = (
  form: Form,
  rawHeaders: readonly string[],
  { sharedSecrets }: Pick<ProfileRules, 'sharedSecrets'>,
  presented?: () => ClientCertificate | undefined,
): ClientProof => {
  const authorization = readAuthorization(rawHeaders);
  const methods = [authorization, form.client_secret, form.client_assertion].filter((value) => value !== undefined);
  if (methods.length > 1) throw invalidRequest('Use one way of client authentication, not several');
  if (form.client_assertion !== undefined) {
    if (form.client_assertion_type !== assertionType) {
      throw invalidField('client_assertion_type', 'ENUM', `must be ${assertionType}`);
    }
    return { method: 'assertion', clientId: form.client_id, assertion: form.client_assertion };
  }
  const bySecret = authorization !== undefined || form.client_secret !== undefined;
  const certificate = bySecret || form.client_id === undefined ? undefined : presented?.();
  if (certificate !== undefined && form.client_id !== undefined)
    return { method: 'certificate', clientId: form.client_id, certificate };
  // No secret is looked at, so this is no failed attempt.
  const orCertificate = presented === undefined ? '' : ' or a client certificate';
  if (!sharedSecrets)
    throw new NoClientAuthentication(`Client authentication needs a client_assertion${orCertificate} (FAPI 2.0)`);
  if (authorization !== undefined) return readBasic(authorization, form.client_id);
  if (form.client_id === undefined) throw new NoClientAuthentication('Client authentication is missing: no client_id');
  if (form.client_secret === undefined)
    throw new NoClientAuthentication(
      `Client authentication is missing: neither client_secret nor client_assertion${presented === undefined ? '' : ', and the connection has no client certificate'}`,
    );
  return { method: 'secret', clientId: form.client_id, secret: form.client_secret };
};

/** Of two headers node keeps the first; another parser may use the second. */
const readAuthorization = (rawHeaders: readonly string[]): string | undefined => {
  let found: string | undefined;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const value = rawHeaders[i + 1];
    if (rawHeaders[i]?.toLowerCase() !== 'authorization' || value === undefined || value === '') continue;
    if (found !== undefined) throw invalidField('Authorization', 'DUPLICATE', 'must not be sent twice');
    found = value;
  }
  return found;
};

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/;
const visible = /^[\x20-\x7e]*$/;

/** Both parts are form-encoded before they are joined (RFC 6749 section 2.3.1). */
const readBasic = (authorization: string, named: string | undefined): ClientProof => {
  const malformed = 'must be Basic with the form-encoded client id and secret';
  const [scheme, value, ...more] = authorization.split(' ');
  if (scheme?.toLowerCase() !== 'basic') throw new NoClientAuthentication(`Authorization ${malformed}`);
  if (value === undefined || more.length > 0 || !base64.test(value)) {
    throw invalidField('Authorization', 'FORMAT', malformed);
  }
  const text = Buffer.from(value, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  if (colon === -1) throw invalidField('Authorization', 'FORMAT', malformed);
  const clientId = decode(text.slice(0, colon));
  const secret = decode(text.slice(colon + 1));
  if (clientId === undefined || secret === undefined) throw invalidField('Authorization', 'FORMAT', malformed);
  if (clientId === '' || secret === '') {
    throw new NoClientAuthentication('Client authentication is incomplete: the client id or secret is empty');
  }
  if (named !== undefined && named !== clientId) {
    throw invalidField(
      'client_id',
      'CONFLICTING_VALUES',
      'in the form differs from the one in the Authorization header',
    );
  }
  return { method: 'secret', clientId, secret };
};

const decode = (text: string): string | undefined => {
  try {
    const decoded = decodeURIComponent(text.replaceAll('+', '%20'));
    return visible.test(decoded) ? decoded : undefined;
  } catch {
    return undefined;
  }
};
