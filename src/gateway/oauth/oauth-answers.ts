/** Answers of the OAuth POST endpoints: one shape for every error, whatever `Accept` says (interface 4.1). */

export type OAuthAnswer = {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: Record<string, unknown> | undefined;
};

/** A refusal of RFC 6749 section 5.2. `description` never holds what the caller sent. */
export class OAuthRefusal extends Error {
  readonly error: string;
  readonly status: number;
  readonly description: string;
  readonly headers: Readonly<Record<string, string>>;
  constructor(error: string, status: number, description: string, headers: Readonly<Record<string, string>> = {}) {
    super(`${error}: ${description}`);
    this.name = 'OAuthRefusal';
    this.error = error;
    this.status = status;
    this.description = description;
    this.headers = headers;
  }
}

export const invalidRequest = (
  description: string,
  status = 400,
  headers?: Readonly<Record<string, string>>,
): OAuthRefusal => new OAuthRefusal('invalid_request', status, description, headers);

/** One text for an unknown client, a disabled one and a wrong secret. */
export const invalidClient = (): OAuthRefusal =>
  new OAuthRefusal('invalid_client', 401, 'Client authentication failed');

export const slowDown = (description: string, retryAfterSeconds: number): OAuthRefusal =>
  new OAuthRefusal('slow_down', 429, description, { 'retry-after': String(retryAfterSeconds) });

export const serverError = (): OAuthRefusal =>
  new OAuthRefusal('server_error', 500, 'Something went wrong here; quote the request id when you ask for help');

export const temporarilyUnavailable = (): OAuthRefusal =>
  new OAuthRefusal('temporarily_unavailable', 503, 'The service is not available right now; try again shortly', {
    'retry-after': '2',
  });

export const errorAnswer = (refusal: OAuthRefusal, origin: string, requestId: string): OAuthAnswer => ({
  status: refusal.status,
  headers: refusal.headers,
  body: {
    error: refusal.error,
    error_description: speakable(refusal.description),
    error_uri: `${origin}/docs/errors#${refusal.error}`,
    ...(refusal.error === 'slow_down' ? { retry_after: Number(refusal.headers['retry-after']) } : undefined),
    request_id: requestId,
  },
});

/** RFC 6749 allows %x20-21 / %x23-5B / %x5D-7E here. */
const speakable = (text: string): string =>
  text
    .replaceAll('"', "'")
    .replaceAll('\\', '/')
    .replace(/[^\x20-\x7e]/g, '?');
