/** Pure: turns an upstream's error answer into a Fault of the gateway. */
import { Fault, type FaultCode, isFaultCode } from '#src/contract/fault.ts';
import { fixedSentences, oauthErrors } from '../../answer/dialects.ts';
import { insufficientScope } from '../../model/faults.ts';
import { mediaTypeOf } from '../../request/limit-body.ts';
import { type Challenge, parseChallenges } from './parse-challenges.ts';
import { revealsInternals } from './public-sentence.ts';
import { isCode, isObject, readEnvelopeDetails, readForeignDetails } from './read-details.ts';
import { isReasonPhrase, readMessage } from './read-message.ts';
import { readMissingScopes } from './read-missing-scopes.ts';

export type Refusal = {
  fault: Fault;
  /** The upstream named a code of this interface, or missing scopes, so a page describes it. */
  codeKnown: boolean;
  /** The upstream's own code for the refusal, which is no code of this interface. */
  foreignCode: string | undefined;
  /** Id that the body carries: a replayed answer keeps its first one. */
  requestId: string | undefined;
  /** The body is a complete envelope already. */
  isEnvelope: boolean;
};

/** Interface 6.3, last paragraph: a status without an envelope. */
const codesByStatus: Readonly<Record<number, FaultCode>> = {
  400: 'VALIDATION_ERROR',
  401: 'INVALID_AUTH',
  403: 'UNAUTHORIZED',
  404: 'NOT_FOUND',
  405: 'METHOD_NOT_ALLOWED',
  408: 'REQUEST_TIMEOUT',
  409: 'CONFLICT',
  413: 'PAYLOAD_TOO_LARGE',
  414: 'URI_TOO_LONG',
  415: 'UNSUPPORTED_MEDIA_TYPE',
  429: 'RATE_LIMIT_EXCEEDED',
  431: 'HEADERS_TOO_LARGE',
  500: 'INTERNAL_ERROR',
  502: 'UPSTREAM_UNREACHABLE',
  503: 'OVERLOADED',
  504: 'UPSTREAM_TIMEOUT',
};

/** Code of a refusal that names none. */
export const codeFor = (status: number): FaultCode =>
  codesByStatus[status] ?? (status < 500 ? 'VALIDATION_ERROR' : 'INTERNAL_ERROR');

const fixedSentenceFor = ({ status, anonymous }: Pick<RefusalParts, 'status' | 'anonymous'>): string =>
  (anonymous && status === 401
    ? 'The service behind this address asks for a sign-in of its own'
    : fixedSentences[status]) ?? (status < 500 ? 'The request was refused' : 'The service behind this address failed');

const oauthTexts: ReadonlySet<unknown> = new Set(Object.values(oauthErrors));
const messageCharactersMax = 2_048;
const requestIdPattern = /^[A-Za-z0-9._-]{1,64}$/;

type RefusalParts = {
  status: number;
  contentType: string | undefined;
  /** Decoded; undefined when it could not be, or is too long. */
  body: Buffer | undefined;
  retryAfter: string | undefined;
  /** WWW-Authenticate. */
  challenge: string | readonly string[] | undefined;
  /** Scopes of the caller. */
  granted: ReadonlySet<string>;
  /** See isAnonymous. */
  anonymous: boolean;
};

/** `scopes`: every scope there is, in the sequence in which they are listed. */
export const readRefusal = (parts: RefusalParts, scopes: readonly string[]): Refusal => {
  const { status, contentType, granted } = parts;
  const text = textOf(parts);
  const parsed = text === undefined ? undefined : jsonOf(contentType, text);
  const json = isObject(parsed) ? parsed : undefined;
  const isEnvelope = json !== undefined && json.success === false && typeof json.error === 'string';
  const challenge = challengeOf(parts.challenge, status);
  const missing = readMissingScopes({ status, json, challenge, granted }, scopes);
  const lacksScopes = missing.length > 0;
  const named = isEnvelope && isFaultCode(json.error) ? json.error : lacksScopes ? 'INSUFFICIENT_SCOPE' : undefined;
  const plain = mediaTypeOf(contentType) === 'text/plain' ? text : undefined;
  const description = challenge?.parameters.get('error_description');
  const message =
    (isEnvelope ? printable(json.message) : undefined) ??
    readMessage({ status, json, plain, challenge: description }) ??
    (lacksScopes ? insufficientScope(missing).publicText : fixedSentenceFor(parts));
  // What a failing service says is for its operator, so none of it is passed on.
  const foreign = status < 500 ? readForeignDetails(parsed, status) : [];
  const errors = isEnvelope ? readEnvelopeDetails(json.errors) : foreign;
  const fault = new Fault(named ?? codeFor(status), isEnvelope || status < 500 ? message : fixedSentenceFor(parts), {
    status,
    ...(errors.length > 0 ? { errors } : undefined),
    extra: {
      ...(isEnvelope ? membersOf(json) : waitOf(parts)),
      ...(lacksScopes ? { missing_scopes: missing } : undefined),
    },
  });
  const id = isEnvelope ? json.request_id : undefined;
  return {
    fault,
    codeKnown: named !== undefined,
    foreignCode: named === undefined && json !== undefined ? foreignCodeOf(json, status) : undefined,
    requestId: typeof id === 'string' && requestIdPattern.test(id) ? id : undefined,
    isEnvelope: isEnvelope && (!lacksScopes || Array.isArray(json.missing_scopes)),
  };
};

/** The challenge that refuses this request: of a scheme for tokens, with the error of the status, or else without an error. */
const challengeOf = (value: string | readonly string[] | undefined, status: number): Challenge | undefined => {
  if (value === undefined || value === '') return undefined;
  const challenges = parseChallenges(typeof value === 'string' ? value : value.join(', ')) ?? [];
  const forTokens = challenges.filter(({ scheme }) => scheme === 'bearer' || scheme === 'dpop');
  const withError = (error: string | undefined) =>
    forTokens.find(({ parameters }) => parameters.get('error') === error);
  return withError(oauthErrors[status]) ?? withError(undefined);
};

const textOf = ({ body, contentType }: RefusalParts): string | undefined => {
  if (body === undefined || body.length === 0) return undefined;
  const charset = /;\s*charset="?([^";\s]+)/i.exec(contentType ?? '')?.[1] ?? 'utf-8';
  try {
    return new TextDecoder(charset, { fatal: true }).decode(body);
  } catch {
    // The claimed charset is wrong or unknown.
    return undefined;
  }
};

const jsonOf = (contentType: string | undefined, text: string): unknown => {
  const type = mediaTypeOf(contentType);
  if (type !== 'application/json' && !type.endsWith('+json')) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

const printable = (value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? value.trim().slice(0, messageCharactersMax) : undefined;

/** Codes that add nothing to the status: the errors of RFC 6750 and reason phrases. */
const foreignCodeOf = ({ code, error }: Readonly<Record<string, unknown>>, status: number): string | undefined =>
  [code, error].find(
    (value): value is string =>
      isCode(value) && !oauthTexts.has(value) && !isReasonPhrase(value, status) && !revealsInternals(value),
  );

/** Members of an envelope that are read on their own. `missing_scopes` may name what is no scope. */
const readMembers: ReadonlySet<string> = new Set('success error message errors request_id missing_scopes'.split(' '));

/** The other members that 6.1 adds to an envelope. */
const membersOf = (json: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(json).filter(([name]) => !readMembers.has(name)));

const waitOf = ({ status, retryAfter }: RefusalParts): Record<string, unknown> =>
  status === 429 ? { retry_after: /^\d{1,9}$/.test(retryAfter ?? '') ? Number(retryAfter) : 1 } : {};
