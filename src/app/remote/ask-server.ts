/** Requests to a server elsewhere, with the credential of a caller like any other. */

/** Members of a query or of an answer. */
export type Payload = Record<string, unknown>;

export type RemoteServer = {
  /** Its public address. */
  url: string;
  /** Headers of the credential. */
  credential: Readonly<Record<string, string>>;
};

export type RemoteAnswer = { payload: Payload; date: Date };

/** A server that refused, or that could not be asked. `retryMs`: undefined where the same would be refused again. */
export class RemoteError extends Error {
  override readonly name = 'RemoteError';
  readonly retryMs: number | undefined;
  constructor(message: string, retryMs?: number) {
    super(message);
    this.retryMs = retryMs;
  }
}

const answerMs = 30_000;
const retryMsMin = 1_000;
const retryMsMax = 60_000;

/** GET of an operation below /api. Members of `params` without a value are left out. Rejects with RemoteError unless it succeeded. */
export const askServer = async (
  { url, credential }: RemoteServer,
  path: string,
  params: Payload,
): Promise<RemoteAnswer> => {
  const { answer, payload } = await send(url, `/api${path}${searchOf(params)}`, { headers: credential });
  if (answer.status === 200 && payload?.success === true)
    return { payload, date: new Date(answer.headers.get('date') ?? Date.now()) };
  throw refusal(url, answer, payload);
};

/** What an operation below /api answered, also a refusal. With `body` a POST. Rejects with RemoteError when there is no answer. */
export const callServer = async (
  { url, credential }: RemoteServer,
  path: string,
  params: Payload,
  body?: Readonly<Payload>,
): Promise<{ status: number; error: string | undefined; json: Payload }> => {
  const [plain = '', query = ''] = path.split('?', 2);
  const search = searchOf({ ...Object.fromEntries(new URLSearchParams(query)), ...params });
  const json = { 'content-type': 'application/json' };
  const { answer, payload = {} } = await send(
    url,
    `/api${plain}${search}`,
    body === undefined
      ? { headers: credential }
      : { method: 'POST', headers: { ...credential, ...json }, body: JSON.stringify(body) },
  );
  const isDone = answer.ok && payload.success === true;
  const code = typeof payload.error === 'string' ? payload.error : `status ${answer.status}`;
  return { status: answer.status, error: isDone ? undefined : code, json: payload };
};

/** What a token is to be limited to; without a member it is not. */
export type TokenWish = {
  /** Separated by blanks. */
  scope?: string | undefined;
  /** JSON of RFC 9396. */
  authorizationDetails?: string | undefined;
  /** Services (RFC 8707). */
  resource?: readonly string[] | undefined;
};

/** An access token (RFC 6749 section 4.4). Rejects with RemoteError. */
export const askToken = async (
  { url, credential }: RemoteServer,
  { scope, authorizationDetails, resource = [] }: TokenWish,
): Promise<Payload> => {
  const { 'x-client-id': id, 'x-client-secret': secret } = credential;
  if (id === undefined || secret === undefined) throw new RemoteError('an API key gets no tokens; log in as a client');
  const form = new URLSearchParams({ grant_type: 'client_credentials', client_id: id, client_secret: secret });
  if (scope !== undefined) form.set('scope', scope);
  if (authorizationDetails !== undefined) form.set('authorization_details', authorizationDetails);
  for (const one of resource) form.append('resource', one);
  const { answer, payload } = await send(url, '/api/oauth/token', { method: 'POST', body: form });
  if (answer.status === 200 && typeof payload?.access_token === 'string') return payload;
  throw refusal(url, answer, payload);
};

const searchOf = (params: Payload): string => {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) if (value !== undefined) query.set(name, String(value));
  return query.size === 0 ? '' : `?${query}`;
};

const send = async (
  url: string,
  target: string,
  init: RequestInit,
): Promise<{ answer: Response; payload: Payload | undefined }> => {
  try {
    const answer = await fetch(url + target, {
      ...init,
      headers: { ...init.headers, accept: 'application/json' },
      // The credential is for this server alone.
      redirect: 'error',
      signal: AbortSignal.timeout(answerMs),
    });
    return { answer, payload: parsed(await answer.text()) };
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    throw new RemoteError(
      `${url} cannot be asked: ${cause instanceof Error ? cause.message : 'no answer'}`,
      retryMsMin,
    );
  }
};

const refusal = (url: string, answer: Response, payload: Payload | undefined): RemoteError => {
  const said = [payload?.message, payload?.error_description].find((text) => typeof text === 'string');
  const id = answer.headers.get('x-request-id');
  const asked = Number(answer.headers.get('retry-after') ?? 0) * 1000;
  // A server with old statuses answers these two with 200 (interface 6).
  const isOldStatus =
    answer.status === 200 && ['RATE_LIMIT_EXCEEDED', 'INTERNAL_ERROR'].includes(String(payload?.error));
  const isPassing = answer.status === 429 || answer.status >= 500 || isOldStatus;
  return new RemoteError(
    `${url} says: ${said ?? `an answer with status ${answer.status}`}${id === null ? '' : ` (request ${id})`}`,
    isPassing ? Math.min(retryMsMax, Math.max(retryMsMin, asked || 0)) : undefined,
  );
};

const parsed = (text: string): Payload | undefined => {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Payload) : undefined;
  } catch {
    return undefined;
  }
};
