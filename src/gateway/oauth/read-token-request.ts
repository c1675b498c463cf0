/**
 * Reads the form of the OAuth POST endpoints and makes the checks of interface 4.1 that come before client authentication,
 * in the sequence of its table. The returned form has every known field at most once.
 */
import type { IncomingMessage } from 'node:http';
import { parse } from 'node:querystring';
import { Fault } from '#src/contract/fault.ts';
import { readBody } from '#src/platform/http/read-body.ts';
import { type ExchangeForm, exchangeFields } from './narrow/read-subject.ts';
import { invalidField, invalidRequest, OAuthRefusal } from './oauth-answers.ts';

export const exchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange';
export const grantTypes: readonly string[] = ['client_credentials', exchangeGrant];

const fields = [
  'grant_type',
  'client_id',
  'client_secret',
  'scope',
  'authorization_details',
  'client_assertion',
  'client_assertion_type',
  'token',
] as const;

/** A field without a value is absent. `resource` may be given several times (RFC 8707 section 2). */
export type Form = Partial<Record<(typeof fields)[number], string>> & ExchangeForm & { resource?: readonly string[] };

const formBounds = { bytesMax: 64 * 1024, timeoutMs: 30_000 };

/** Throws OAuthRefusal. `search`: the query without its question mark. */
export const readOAuthForm = async (req: IncomingMessage, search: string): Promise<Form> =>
  parseForm(await readFormText(req, search));

/** The body of a form. Throws OAuthRefusal. */
export const readFormText = async (req: IncomingMessage, search: string): Promise<string> => {
  // A query ends up in logs, so a secret in it is refused rather than used (RFC 6749 section 2.3.1).
  if (search !== '') throw invalidRequest('Send the parameters in the form body, not in the query');
  assertForm(req);
  return (await readForm(req)).toString('utf8');
};

/** The same for the token endpoint. */
export const readTokenRequest = async (req: IncomingMessage, search: string): Promise<Form> => {
  const form = await readOAuthForm(req, search);
  if (form.grant_type === undefined) throw invalidField('grant_type', 'REQUIRED', 'is missing');
  if (!grantTypes.includes(form.grant_type)) {
    const message = `must be ${grantTypes.join(' or ')}`;
    throw new OAuthRefusal('unsupported_grant_type', 400, `The grant type ${message}`, {
      errors: [{ pointer: 'grant_type', code: 'ENUM', message }],
    });
  }
  return form;
};

const assertForm = (req: IncomingMessage): void => {
  const type = req.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
  if (type !== 'application/x-www-form-urlencoded') {
    throw invalidRequest('Send the parameters as application/x-www-form-urlencoded');
  }
  const encoding = req.headers['content-encoding'];
  if (encoding !== undefined && encoding !== '' && encoding.toLowerCase() !== 'identity') {
    throw invalidRequest('Send the form without Content-Encoding');
  }
};

const readForm = async (req: IncomingMessage): Promise<Buffer> => {
  try {
    return await readBody(req, formBounds);
  } catch (error) {
    if (!(error instanceof Fault)) throw invalidRequest('The form could not be read');
    // The rest of the body is not awaited.
    throw invalidRequest(error.publicText, error.status, { connection: 'close' });
  }
};

/** Unknown fields are ignored, however often they are sent. */
const parseForm = (text: string): Form => {
  const parsed = parse(text, undefined, undefined, { maxKeys: 0 });
  const form: Form = {};
  const isExchange = parsed.grant_type === exchangeGrant;
  for (const name of [...fields, ...(isExchange ? exchangeFields : [])]) {
    const value = parsed[name];
    if (typeof value === 'string') {
      if (value !== '') form[name] = value;
    } else if (value !== undefined) throw invalidField(name, 'DUPLICATE', 'must not be sent twice');
  }
  const resources = [parsed.resource ?? []].flat().filter((value) => value !== '');
  // Several services may be named (RFC 8707 section 2), each once.
  if (new Set(resources).size < resources.length) throw invalidField('resource', 'DUPLICATE', 'names a service twice');
  if (resources.length > 0) form.resource = resources;
  return form;
};
