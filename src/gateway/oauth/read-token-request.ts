/**
 * The front of the token endpoint: everything of interface 4.1 that is checked before the client is looked at, in the
 * sequence of its table. The body that comes out has every known field at most once.
 */
import type { IncomingMessage } from 'node:http';
import { parse } from 'node:querystring';
import { Fault } from '#src/contract/fault.ts';
import { readBody } from '#src/platform/http/read-body.ts';
import { invalidClient, invalidRequest, OAuthRefusal } from './oauth-answers.ts';

const fields = [
  'grant_type',
  'client_id',
  'client_secret',
  'scope',
  'resource',
  'client_assertion',
  'client_assertion_type',
] as const;

const formBounds = { bytesMax: 64 * 1024, timeoutMs: 30_000 };

/** The form's bytes. Throws OAuthRefusal. `search`: the query without its question mark. */
export const readTokenRequest = async (req: IncomingMessage, search: string): Promise<Buffer> => {
  // A query ends up in logs, so a secret in it is refused rather than used (RFC 6749 section 2.3.1).
  if (search !== '') throw invalidRequest('Send the parameters in the form body, not in the query');
  assertForm(req);
  const body = await readForm(req);
  const form = parseForm(body.toString('utf8'));
  if (form.grant_type === undefined) throw invalidRequest('grant_type is missing');
  if (form.grant_type !== 'client_credentials') {
    throw new OAuthRefusal('unsupported_grant_type', 400, 'The only grant type is client_credentials');
  }
  assertOneMethod(form, readAuthorization(req));
  return body.length > providerBytesMax ? shrink(req, form) : body;
};

/** oidc-provider takes no longer form, so one that is long by fields that nobody knows goes on without them. */
const providerBytesMax = 56 * 1024;

const shrink = (req: IncomingMessage, form: Form): Buffer => {
  const body = Buffer.from(new URLSearchParams(form as Record<string, string>).toString());
  // The body is read; the provider compares this with what it is given.
  if (req.headers['content-length'] !== undefined) req.headers['content-length'] = String(body.length);
  return body;
};

type Form = Partial<Record<(typeof fields)[number], string>>;

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
    // What is left of the body is not waited for.
    throw invalidRequest(error.publicText, error.status, { connection: 'close' });
  }
};

/** A field without a value counts as absent; fields that nobody knows are ignored, however often they come. */
const parseForm = (text: string): Form => {
  const parsed = parse(text, undefined, undefined, { maxKeys: 0 });
  const form: Form = {};
  for (const name of fields) {
    const value = parsed[name];
    if (typeof value === 'string') {
      if (value !== '') form[name] = value;
    } else if (value !== undefined) throw invalidRequest(`${name} must not be sent twice`);
  }
  return form;
};

/** Of two headers node keeps the first; another reader may take the second. */
const readAuthorization = ({ rawHeaders }: IncomingMessage): string | undefined => {
  let found: string | undefined;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const value = rawHeaders[i + 1];
    if (rawHeaders[i]?.toLowerCase() !== 'authorization' || value === undefined || value === '') continue;
    if (found !== undefined) throw invalidRequest('Authorization must not be sent twice');
    found = value;
  }
  return found;
};

const assertOneMethod = (form: Form, authorization: string | undefined): void => {
  const methods = [authorization, form.client_secret, form.client_assertion].filter((value) => value !== undefined);
  if (methods.length > 1) throw invalidRequest('Use one way of client authentication, not several');
  if (form.client_assertion !== undefined) throw invalidClient();
  if (authorization !== undefined) return;
  if (form.client_id === undefined) throw invalidRequest('client_id is missing');
  if (form.client_secret === undefined) throw invalidRequest('client_secret is missing');
};
