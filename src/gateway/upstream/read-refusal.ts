/** Pure: turns an upstream's error answer into a Fault of the gateway. */
import { type DetailCode, Fault, type FaultCode, type FaultDetail, isFaultCode } from '#src/contract/fault.ts';
import { fixedSentences } from '../answer/dialects.ts';
import { insufficientScope } from '../model/faults.ts';
import { mediaTypeOf } from '../request/limit-body.ts';
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

const fixedSentenceFor = (status: number): string =>
  fixedSentences[status] ?? (status < 500 ? 'The request was refused' : 'The service behind this address failed');

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
};

/** `scopes`: every scope there is, in the sequence in which they are listed. */
export const readRefusal = (parts: RefusalParts, scopes: readonly string[]): Refusal => {
  const { status } = parts;
  const text = textOf(parts);
  const json = text === undefined ? undefined : jsonOf(parts.contentType, text);
  const isEnvelope = json !== undefined && json.success === false && typeof json.error === 'string';
  const missing = readMissingScopes({ status, json, challenge: parts.challenge }, scopes);
  const lacksScopes = missing.scopes.length > 0;
  const named = isEnvelope && isFaultCode(json.error) ? json.error : lacksScopes ? 'INSUFFICIENT_SCOPE' : undefined;
  const message =
    (json === undefined ? plainText(parts.contentType, text) : messageOf(json)) ??
    printable(missing.description) ??
    (lacksScopes ? insufficientScope(missing.scopes).publicText : fixedSentenceFor(status));
  const errors = json === undefined ? [] : errorsOf(json.errors);
  const fault = new Fault(named ?? codeFor(status), isEnvelope || status < 500 ? message : fixedSentenceFor(status), {
    status,
    ...(errors.length > 0 ? { errors } : undefined),
    extra: {
      ...(isEnvelope ? membersOf(json) : waitOf(parts)),
      ...(lacksScopes ? { missing_scopes: missing.scopes } : undefined),
    },
  });
  const id = isEnvelope ? json.request_id : undefined;
  return {
    fault,
    codeKnown: named !== undefined,
    foreignCode: named === undefined && json !== undefined ? foreignCodeOf(json) : undefined,
    requestId: typeof id === 'string' && requestIdPattern.test(id) ? id : undefined,
    isEnvelope: isEnvelope && (!lacksScopes || Array.isArray(json.missing_scopes)),
  };
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

const jsonOf = (contentType: string | undefined, text: string): Record<string, unknown> | undefined => {
  const type = mediaTypeOf(contentType);
  if (type !== 'application/json' && !type.endsWith('+json')) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
};

const printable = (value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? value.trim().slice(0, messageCharactersMax) : undefined;

const plainText = (contentType: string | undefined, text: string | undefined): string | undefined =>
  mediaTypeOf(contentType) === 'text/plain' ? printable(text) : undefined;

const messageOf = (json: Record<string, unknown>): string | undefined =>
  printable(json.message) ?? printable(json.error_description) ?? printable(json.detail) ?? printable(json.title);

const codePattern = /^[A-Za-z0-9_.:-]{1,64}$/;
const pointerCharactersMax = 1_024;

const isCode = (value: unknown): value is string => typeof value === 'string' && codePattern.test(value);

/** The errors of RFC 6750 add nothing to the status. */
const oauthTexts: ReadonlySet<unknown> = new Set(['invalid_request', 'invalid_token', 'insufficient_scope']);

const foreignCodeOf = ({ code, error }: Record<string, unknown>): string | undefined =>
  [code, error].find((value): value is string => isCode(value) && !oauthTexts.has(value));

/** Entries of another shape, or longer than those of this interface, are left out; so are other members. */
const errorsOf = (value: unknown): FaultDetail[] => {
  if (!Array.isArray(value)) return [];
  return value.filter(isDetail).map(({ pointer, code, message }) => ({ pointer, code, message }));
};

const isDetail = (entry: unknown): entry is { pointer: string; code: DetailCode; message: string } => {
  if (typeof entry !== 'object' || entry === null) return false;
  const { pointer, code, message } = entry as Record<string, unknown>;
  return (
    typeof pointer === 'string' &&
    pointer.length <= pointerCharactersMax &&
    isCode(code) &&
    typeof message === 'string' &&
    message.length <= messageCharactersMax
  );
};

/** The members that 6.1 adds to an envelope. */
const membersOf = (json: Record<string, unknown>): Record<string, unknown> => {
  const { success: _success, error: _error, message: _message, errors: _errors, request_id: _id, ...others } = json;
  return others;
};

const waitOf = ({ status, retryAfter }: RefusalParts): Record<string, unknown> =>
  status === 429 ? { retry_after: /^\d{1,9}$/.test(retryAfter ?? '') ? Number(retryAfter) : 1 } : {};
