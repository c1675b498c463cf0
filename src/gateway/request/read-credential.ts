/**
 * Pure: reads the presented credential (interface 3.2). It uses the raw header list, because the parsed one hides that a
 * header was sent twice, and two parsers that pick different copies would see two different callers.
 */
import { Fault, type FaultDetail, validationFault } from '#src/contract/fault.ts';
import { isDpopScheme } from './read-proof.ts';

export type Presented =
  | { kind: 'none'; bearer: false }
  | { kind: 'api_key'; key: string; bearer: false }
  | { kind: 'client'; id: string; secret: string; bearer: false }
  /** `dpop`: under the scheme of RFC 9449, so it needs a proof. `header`: the value as it was sent. */
  | { kind: 'bearer'; token: string; header: string; bearer: true; dpop: boolean }
  /**
   * `bearer`: one of the credentials is a Bearer credential, so the refusal is in the OAuth dialect. `first`: the first of
   * several kinds, which names the caller if it is valid.
   */
  | { kind: 'refused'; fault: Fault; bearer: boolean; first?: Presented };

const keyHeader = 'X-Api-Key';
const idHeader = 'X-Client-Id';
const secretHeader = 'X-Client-Secret';
const authorizationHeader = 'Authorization';

/** Names in lower case, by their length, so that most headers are skipped without being read. */
const namesByLength: (string | undefined)[] = [];
for (const name of [keyHeader, idHeader, secretHeader, authorizationHeader])
  namesByLength[name.length] = name.toLowerCase();

/** The field that is checked: node keeps the first one, which may be empty. */
export const firstAuthorization = (rawHeaders: readonly string[]): string | undefined =>
  rawHeaders.find((value, i) => i % 2 === 1 && value !== '' && rawHeaders[i - 1]?.toLowerCase() === 'authorization');

const none: Presented = { kind: 'none', bearer: false };

/**
 * `rawHeaders`: names and values in turn, as node gives them. `search`: the query without its question mark. Never
 * throws; a header with an empty value counts as absent. `dpop`: the scheme of RFC 9449 counts as Bearer. `before`: the last
 * credential on this connection. It is returned again for the same text, since a lookup of a string object that was looked
 * up before costs less than a lookup of an equal one.
 */
export const readCredential = (
  rawHeaders: readonly string[],
  search: string,
  dpop: boolean,
  before: Presented = none,
): Presented => {
  let key = '';
  let id = '';
  let secret = '';
  let authorization = '';
  let twice: string | undefined;
  let bearer = false;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    const known = namesByLength[name.length];
    if (known === undefined || (name !== known && name.toLowerCase() !== known)) continue;
    const value = rawHeaders[i + 1] as string;
    if (value === '') continue;
    switch (name.length) {
      case keyHeader.length:
        if (key !== '') twice = keyHeader;
        key = value;
        break;
      case idHeader.length:
        if (id !== '') twice = idHeader;
        id = value;
        break;
      case secretHeader.length:
        if (secret !== '') twice = secretHeader;
        secret = value;
        break;
      default:
        if (authorization !== '') twice = authorizationHeader;
        authorization = value;
        bearer ||= isBearer(value) || (dpop && isDpopScheme(value));
    }
  }
  if (search !== '' && queryHoldsToken(search)) return { kind: 'refused', fault: tokenInQuery(), bearer: true };
  if (twice !== undefined) return { kind: 'refused', fault: ambiguous([twice], 'sent twice'), bearer };
  const asClient = id !== '' || secret !== '';
  const kinds = (key === '' ? 0 : 1) + (asClient ? 1 : 0) + (authorization === '' ? 0 : 1);
  if (kinds === 0) return none;
  if (kinds > 1) {
    const first: Presented = key !== '' ? { kind: 'api_key', key, bearer: false } : readClient(id, secret);
    return { kind: 'refused', fault: severalKinds(key, id, secret, authorization), bearer, first };
  }
  if (key !== '')
    return before.kind === 'api_key' && before.key === key ? before : { kind: 'api_key', key, bearer: false };
  if (asClient) {
    return before.kind === 'client' && before.id === id && before.secret === secret ? before : readClient(id, secret);
  }
  if (!bearer) return otherScheme;
  return before.kind === 'bearer' && before.header === authorization ? before : readBearer(authorization);
};

const otherScheme: Presented = {
  kind: 'refused',
  fault: new Fault('INVALID_AUTH', 'Authorization must be: Bearer followed by an access token'),
  bearer: false,
};

const readClient = (id: string, secret: string): Presented => {
  if (id !== '' && secret !== '') return { kind: 'client', id, secret, bearer: false };
  const missing = id === '' ? idHeader : secretHeader;
  return { kind: 'refused', fault: new Fault('INVALID_AUTH', `The header ${missing} is missing`), bearer: false };
};

const bearerLength = 'bearer'.length;
const dpopLength = 'dpop'.length;

/** Scheme names ignore case (RFC 9110 section 11.1). */
const isBearer = (value: string): boolean => {
  const scheme = value.slice(0, bearerLength);
  if (scheme !== 'Bearer' && scheme.toLowerCase() !== 'bearer') return false;
  return value.length === bearerLength || isBlank(value.charCodeAt(bearerLength));
};

const isBlank = (code: number): boolean => code === 32 || code === 9;

/** `value`: under one of the two schemes. */
const readBearer = (value: string): Presented => {
  const dpop = !isBearer(value);
  let start = dpop ? dpopLength : bearerLength;
  while (start < value.length && isBlank(value.charCodeAt(start))) start += 1;
  // Searched in the whole text, since V8 searches a slice more slowly.
  if (start === value.length || value.indexOf(' ', start) !== -1 || value.indexOf('\t', start) !== -1)
    return malformedBearer;
  const token = value.slice(start);
  return { kind: 'bearer', token, header: value, bearer: true, dpop };
};

const malformedBearer: Presented = {
  kind: 'refused',
  fault: validationFault([
    { pointer: authorizationHeader, code: 'FORMAT', message: 'must be Bearer, a space and exactly one token' },
  ]),
  bearer: true,
};

const ambiguous = (names: readonly string[], message: string): Fault =>
  validationFault(names.map((name): FaultDetail => ({ pointer: name, code: 'AMBIGUOUS_CREDENTIALS', message })));

const severalKinds = (key: string, id: string, secret: string, authorization: string): Fault => {
  const names: string[] = [];
  if (key !== '') names.push(keyHeader);
  if (id !== '') names.push(idHeader);
  else if (secret !== '') names.push(secretHeader);
  if (authorization !== '') names.push(authorizationHeader);
  return ambiguous(names, 'more than one kind of credential; send one');
};

/** RFC 6750 section 2.3: a token in a URL ends up in logs and histories, so it is always refused. */
const tokenInQuery = (): Fault =>
  validationFault([
    { pointer: 'access_token', code: 'AMBIGUOUS_CREDENTIALS', message: 'must be sent in the Authorization header' },
  ]);

/** The name may be percent-encoded, so a query that could hold it is parsed. An empty value counts as absent. */
const queryHoldsToken = (search: string): boolean =>
  (search.includes('access_token') || search.includes('%')) &&
  new URLSearchParams(search).getAll('access_token').some((value) => value !== '');
