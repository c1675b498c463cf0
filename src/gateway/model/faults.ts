/** Every refusal of the gateway itself. Codes and statuses are those of interface 6.1. */
import { Fault, type FaultOptions, faultTitle, type ReachedLimit, validationFault } from '#src/contract/fault.ts';
import { TracedFault } from './traced-fault.ts';

export const noSuchOperation = (): Fault => new Fault('INVALID_ACTION', 'No such operation');

export const methodNotAllowed = (allow: string): Fault =>
  new Fault('METHOD_NOT_ALLOWED', `Allowed here: ${allow}`, { headers: { allow } });

/** One text for both cases: the operator of the other proxy finds the difference in config/README.md. */
export const ambiguousCheck = (): Fault =>
  new Fault('UNAUTHORIZED', 'The proxy named no request to check, or named two different ones');

/** The other proxy refused the request, and a moment later it would have passed: a limit or a credential has changed. */
export const decisionChanged = (): Fault =>
  new Fault('OVERLOADED', 'The decision about this request has just changed; send it again', {
    headers: { 'retry-after': '1' },
  });

/** A profile takes no secrets (profile.ts). */
export const boundTokenNeeded = (): Fault =>
  new Fault(
    'INVALID_AUTH',
    'Only access tokens bound to a key of the client are accepted here (FAPI 2.0), no API key and no secret: get one from the token endpoint',
  );

export const unsupportedVersion = (): Fault =>
  validationFault([
    {
      pointer: 'X-Api-Version',
      code: 'UNSUPPORTED_VERSION',
      message: 'this server speaks 1.0.0; send 1, 1.x or 1.x.y',
    },
  ]);

export const malformedRequest = (pointer: string, message: string): Fault =>
  validationFault([{ pointer, code: 'FORMAT', message }]);

/** For the plain port. `origin`: the public address. */
export const useHttps = (origin: string): Fault =>
  new Fault('VALIDATION_ERROR', `Use https: this port forwards nothing. Send the request to ${origin}`, {
    errors: [
      {
        pointer: '',
        code: 'FORMAT',
        message: `must be sent to ${origin}; replace a credential that was sent here, since it was readable on its way`,
      },
    ],
  });

/** RFC 9110 section 10.1.1. */
export const expectationFailed = (): Fault =>
  new Fault('VALIDATION_ERROR', 'Expect may be 100-continue only', {
    status: 417,
    errors: [{ pointer: 'Expect', code: 'ENUM', message: 'only 100-continue is understood' }],
  });

export const stillStarting = (): Fault =>
  new Fault('OVERLOADED', 'The service is starting; try again shortly', { headers: { 'retry-after': '1' } });

export const uriTooLong = (bytesMax: number): Fault =>
  new Fault('URI_TOO_LONG', `The request target may have at most ${bytesMax} bytes`);

export const headersTooLarge = (bytesMax: number): Fault =>
  new Fault('HEADERS_TOO_LARGE', `The header fields may have at most ${bytesMax} bytes together`);

export const bodyTooLarge = (bytesMax: number): Fault =>
  new Fault('PAYLOAD_TOO_LARGE', `The body may have at most ${bytesMax} bytes`);

export const bodyTooSlow = (timeoutMs: number): Fault =>
  new Fault('REQUEST_TIMEOUT', `The body did not arrive within ${timeoutMs / 1000} s`);

export const requestTooSlow = (): Fault => new Fault('REQUEST_TIMEOUT', 'The request did not arrive in time');

export const bodyCut = (): Fault => new Fault('REQUEST_TIMEOUT', 'The connection closed before the body was complete');

export const unsupportedMediaType = (): Fault =>
  new Fault('UNSUPPORTED_MEDIA_TYPE', 'Send the body as application/json, without Content-Encoding');

/** `types`: media types that the route takes. */
export const unlistedMediaType = (types: readonly string[]): Fault =>
  new Fault('UNSUPPORTED_MEDIA_TYPE', `Send the body as ${types.join(' or ')}, and name its type in Content-Type`);

/** RFC 9110 section 9.3.1: such content has no meaning, and services disagree about what to do with it. */
export const contentWithSafeMethod = (method: string): Fault =>
  malformedRequest('', `a ${method} request may have no body here; send the body with another method`);

/** `reason`: as the operator gave it. */
export const quarantineText = (what: string, reason: string): string =>
  `This ${what} is quarantined: ${reason}. Contact support to have it checked and made active again`;

export const noCredential = (): Fault => new Fault('INVALID_AUTH', 'No credential');

/** RFC 6750 section 2 has three ways to send a token; this server accepts the header only. */
export const tokenInBody = (): Fault =>
  validationFault([
    { pointer: 'access_token', code: 'AMBIGUOUS_CREDENTIALS', message: 'must be sent in the Authorization header' },
  ]);

export const insufficientScope = (missing: readonly string[]): Fault =>
  new Fault(
    'INSUFFICIENT_SCOPE',
    `This operation needs the scope${missing.length === 1 ? '' : 's'} ${missing.join(' ')}`,
    { extra: { missing_scopes: missing } },
  );

export const rateLimited = (retryAfterSeconds: number, limit: 'units' | 'calls'): Fault =>
  new Fault(
    'RATE_LIMIT_EXCEEDED',
    `Too many requests; try again in ${retryAfterSeconds} s`,
    tooMany(retryAfterSeconds, limit),
  );

/** A quota lasts for hours or days, so the text says which one it is and when it begins again. */
export const quotaUsedUp = (period: 'day' | 'month', quota: number, endsMs: number, retryAfterSeconds: number): Fault =>
  new Fault(
    'RATE_LIMIT_EXCEEDED',
    `The quota of ${quota} units for this ${period} (UTC) is used up; the next ${period} begins at ${new Date(endsMs).toISOString().replace('.000Z', 'Z')}`,
    tooMany(retryAfterSeconds, 'units'),
  );

/** A caller whose credential is right. */
type RefusedCaller = { id: string; tenants: readonly string[] };

/** `address`: as the gateway saw it, which helps the holder when a proxy is in between. */
export const addressText = (address: string): string =>
  `This credential may not be used from ${address}; its holder can have the address added`;

/**
 * 403 and not 401: the credential is right, and a client that gets 401 would fetch a new token again and again without effect
 * (RFC 9110 sections 15.5.2 and 15.5.4, RFC 6750 section 3.1).
 */
export const addressNotAllowed = ({ id, tenants }: RefusedCaller, address: string): Fault =>
  new TracedFault('ADDRESS_NOT_ALLOWED', addressText(address), {
    callerId: id,
    tenants,
    reason: 'address_not_allowed',
    detail: { address },
  });

export const apiDisabled = ({ id, tenants }: RefusedCaller): Fault =>
  new TracedFault('API_DISABLED', faultTitle('API_DISABLED'), { callerId: id, tenants, reason: 'api_disabled' });

/** For a request beyond the details of a narrowed token (interface 30.1). `text`: what they allow. */
export const limitedTo = (callerId: string, text: string): Fault =>
  new TracedFault('UNAUTHORIZED', limitedText(text), { callerId, reason: 'token_limited' });

export const limitedText = (text: string): string => `This token is limited to ${text}`;

/** A token for some services at another one (RFC 9068 section 4). */
export const otherAudience = (callerId: string, audiences: readonly string[]): Fault =>
  new TracedFault('INVALID_AUTH', `The access token is for ${audiences.join(' and ')} only`, {
    callerId,
    reason: 'token_audience',
  });

export const tooManyRunning = (max: number, retryAfterSeconds: number): Fault =>
  new Fault(
    'RATE_LIMIT_EXCEEDED',
    `${max} requests of this credential are running, which is its limit; try again when one has ended`,
    tooMany(retryAfterSeconds, 'concurrency'),
  );

export const tooManyFailures = (retryAfterSeconds: number): Fault =>
  new Fault(
    'RATE_LIMIT_EXCEEDED',
    `Too many failed authentications; try again in ${retryAfterSeconds} s`,
    tooMany(retryAfterSeconds, 'failures'),
  );

export const tooMany = (retryAfterSeconds: number, limit: ReachedLimit): FaultOptions => ({
  limit,
  extra: { retry_after: retryAfterSeconds },
  headers: { 'retry-after': String(retryAfterSeconds) },
});

export const upstreamUnreachable = (cause: unknown): Fault =>
  new Fault('UPSTREAM_UNREACHABLE', 'The service behind this address gave no usable answer; try again shortly', {
    cause,
  });

export const upstreamTimeout = (cause: unknown): Fault =>
  new Fault('UPSTREAM_TIMEOUT', 'The service behind this address did not answer in time', { cause });

export const overloaded = (internalText: string): Fault =>
  new Fault('OVERLOADED', 'Too many requests are waiting here; try again shortly', {
    headers: { 'retry-after': '1' },
    internalText,
  });

/** Every address of an upstream failed lately, and this request reached none of them: it was not sent. */
export const upstreamOut = (name: string): Fault =>
  new Fault('OVERLOADED', 'The service behind this address is not available right now; try again shortly', {
    headers: { 'retry-after': '1' },
    internalText: `every address of ${name} is out`,
  });

export const upgradeRefused = (): Fault =>
  malformedRequest('Upgrade', 'only a GET of HTTP/1.1 without a body can become a WebSocket');

export const storeUnavailable = (cause: unknown): Fault =>
  new Fault('OVERLOADED', 'The service is not available right now; try again shortly', {
    headers: { 'retry-after': '2' },
    cause,
  });
