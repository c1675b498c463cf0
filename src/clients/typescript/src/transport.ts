/** Sends requests: credential, bounded time, and repeats where they have no second effect. */
import { type Credentials, createCredential, type TokenAnswer } from './credential.ts';
import { ApiError, OrderpassError, TransportError } from './errors.ts';
import { createRepeats, type RepeatOptions } from './repeats.ts';

export type ClientOptions = Credentials &
  RepeatOptions & {
    /** Address of the installation, without a path: `https://api.example`. */
    url: string;
    /** The restaurant of calls that name none, except those of `whoami`; needed when the client may use several. */
    restuid?: string;
    /** Time of one attempt, the upload included: by default 35,000 ms, and 155,000 ms for `menu.importMenu`. */
    timeoutMs?: number;
    /** In place of the global fetch. */
    fetch?: typeof fetch;
  };

export type AnswerInfo = {
  status: number;
  requestId: string | undefined;
  /** The answer is that of an earlier request with the same idempotency key. */
  replayed: boolean;
  /** Requests that were sent for this call. */
  attempts: number;
};

export type CallOptions = {
  /** By default every write gets a new one. `null` sends none; such a write is never repeated. */
  idempotencyKey?: string | null;
  /** Time of one attempt of this call, and of its wait for a token. */
  timeoutMs?: number;
  /** Ends the call, also while it waits for a token. */
  signal?: AbortSignal;
  onAnswer?: (info: AnswerInfo) => void;
};

/** An operation as it is sent. `inPath`: members of the request that stand in the path. `timeoutMs`: where no caller gives one. */
type Operation = { id: string; method: 'GET' | 'POST'; path: string; inPath?: readonly string[]; timeoutMs?: number };

export type Transport = {
  call<Answer>(operation: Operation, request: object, options?: CallOptions): Promise<Answer>;
};

/** The service answers within 30 s. */
const usualTimeoutMs = 35_000;
/** Bounds the memory of one answer. */
const answerBytesMax = 64 * 1024 * 1024;

type Sent = { method: string; url: string; headers: Record<string, string>; body?: string };
type Bounds = { timeoutMs: number; signal: AbortSignal | undefined };

export const createTransport = (options: ClientOptions): Transport => {
  const origin = originOf(options.url);
  const send = createSend(options.fetch ?? ((...args) => fetch(...args)));
  const repeats = createRepeats(options);

  const credential = createCredential(options, async (form) => {
    const sent = {
      method: 'POST',
      url: `${origin}/api/oauth/token`,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(form).toString(),
    };
    // A second token is no second effect.
    const answer = await repeats.run({
      isSafe: true,
      isWrite: false,
      prepare: async () => sent,
      attempt: () => send(sent, { timeoutMs: options.timeoutMs ?? usualTimeoutMs, signal: undefined }),
    });
    return answer.body as TokenAnswer;
  });

  return {
    call: async <Answer>(operation: Operation, request: object, call: CallOptions = {}): Promise<Answer> => {
      const key = operation.method === 'GET' ? null : keyOf(call);
      const sent = sentOf(origin, operation, { restuid: restuidOf(operation, options), ...given(request) }, key);
      const bounds = {
        timeoutMs: call.timeoutMs ?? options.timeoutMs ?? operation.timeoutMs ?? usualTimeoutMs,
        signal: call.signal,
      };
      let attempts = 0;
      let isRenewed = false;
      const received = await repeats.run({
        isSafe: operation.method === 'GET' || key !== null,
        isWrite: operation.method !== 'GET',
        signal: call.signal,
        prepareMs: call.timeoutMs,
        prepare: credential.headers,
        attempt: (headers) => {
          attempts += 1;
          return send({ ...sent, headers: { ...sent.headers, ...headers } }, bounds);
        },
        renew: (error, headers) => {
          // A token may be revoked before its end. A refused request had no effect, so every one may be sent again.
          if (isRenewed || !isUnauthorized(error) || !credential.renew(headers)) return false;
          isRenewed = true;
          return true;
        },
      });
      call.onAnswer?.({ ...received.info, attempts });
      return received.body as Answer;
    },
  };
};

/** https, or http for the own machine: credentials are not sent in the clear. */
const originOf = (text: string): string => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isLocal = url !== undefined && /^(localhost|127\.0\.0\.1|\[::1\])$/.test(url.hostname);
  if (url === undefined || !(url.protocol === 'https:' || (url.protocol === 'http:' && isLocal)))
    throw new OrderpassError('url must be https, or http for localhost');
  if (url.pathname !== '/' || url.search !== '' || url.username !== '')
    throw new OrderpassError('url must have no path, query or credential');
  return url.origin;
};

/** Every value that the service takes. A header with another one is lost on the way, or cannot be sent. */
const keyOf = ({ idempotencyKey: key }: CallOptions): string | null => {
  if (key === undefined) return crypto.randomUUID();
  if (key !== null && !/^[\x21-\x7e]{1,255}$/.test(key))
    throw new OrderpassError('idempotencyKey must be 1 to 255 visible ASCII characters, or null for none');
  return key;
};

/** Below whoami a restaurant is a filter, which would hide requests that were refused before theirs was known. */
const restuidOf = ({ path }: Operation, { restuid }: ClientOptions): string | undefined =>
  path.startsWith('/api/whoami') ? undefined : restuid;

/** The members with a value: one that is `undefined` is not given, and replaces no default. */
const given = (request: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(request).filter(([, value]) => value !== undefined));

const sentOf = (origin: string, operation: Operation, request: object, key: string | null): Sent => {
  const members = Object.entries(given(request));
  const inPath = new Map(members.filter(([name]) => operation.inPath?.includes(name)));
  const others = members.filter(([name]) => !inPath.has(name));
  const path = operation.path.replaceAll(/\{([a-z_]+)\}/g, (_, name: string) => segmentOf(name, inPath.get(name)));
  const headers: Record<string, string> = { accept: 'application/json' };
  if (key !== null) headers['idempotency-key'] = key;
  if (operation.method === 'POST') {
    headers['content-type'] = 'application/json';
    return { method: 'POST', url: origin + path, headers, body: JSON.stringify(Object.fromEntries(others)) };
  }
  const query = new URLSearchParams();
  for (const [name, value] of others) if (value !== null) query.set(name, queryValueOf(name, value));
  return { method: 'GET', url: origin + path + (query.size === 0 ? '' : `?${query}`), headers };
};

/** An empty text would be taken as no value, and so as all. */
const queryValueOf = (name: string, value: unknown): string => {
  if (Array.isArray(value) && value.length === 0)
    throw new OrderpassError(`\`${name}\` must have an item, or be left out`);
  return String(value);
};

/** A segment that is empty or only dots would lead to another operation. */
const segmentOf = (name: string, value: unknown): string => {
  if (typeof value !== 'string' || /^\.{0,2}$/.test(value)) throw new OrderpassError(`${name} must be an id`);
  return encodeURIComponent(value);
};

type Received = { body: unknown; info: Omit<AnswerInfo, 'attempts'> };

/** One attempt. Throws a TransportError without an answer, and an ApiError for every refusal. */
const createSend =
  (fetch: typeof globalThis.fetch) =>
  async ({ method, url, headers, body }: Sent, { timeoutMs, signal }: Bounds): Promise<Received> => {
    const timeout = AbortSignal.timeout(timeoutMs);
    try {
      const answer = await fetch(url, {
        method,
        headers,
        // An error of `fetch` would look as if no answer had come, and the request would be repeated.
        redirect: 'manual',
        signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
        ...(body === undefined ? undefined : { body }),
      });
      return readAnswer(answer, await textOf(answer));
    } catch (error) {
      if (error instanceof OrderpassError) throw error;
      const reason = timeout.aborted ? `no answer within ${timeoutMs} ms` : 'no answer';
      throw new TransportError(`${method} ${new URL(url).pathname}: ${reason}`, { cause: error });
    }
  };

/** Throws a TransportError when the answer is larger than its bound. */
const textOf = async (answer: Response): Promise<string> => {
  const reader = answer.body?.getReader();
  const decoder = new TextDecoder();
  let text = '';
  for (let bytes = 0; reader !== undefined; ) {
    const { value } = await reader.read();
    if (value === undefined) break;
    bytes += value.byteLength;
    text += decoder.decode(value, { stream: true });
    if (bytes <= answerBytesMax) continue;
    await reader.cancel();
    throw new TransportError(`the answer has more than ${answerBytesMax} bytes`);
  }
  return text + decoder.decode();
};

const readAnswer = (answer: Response, text: string): Received => {
  const requestId = answer.headers.get('x-request-id') ?? undefined;
  const body = parse(text);
  const isEnvelope = typeof body === 'object' && body !== null;
  // The operator may enable the old statuses, with which refusals are 200.
  const isRefused = isEnvelope && (body as { success?: unknown }).success === false;
  if (!answer.ok || isRefused || !isEnvelope) {
    const retryAfter = secondsOf(answer.headers.get('retry-after'));
    // A browser does not show which redirect it was.
    const status = answer.type === 'opaqueredirect' ? 302 : answer.status;
    throw new ApiError({ status, retryAfter, requestId, body });
  }
  const replayed = answer.headers.get('idempotent-replayed') === 'true';
  return { body, info: { status: answer.status, requestId, replayed } };
};

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
};

/** Seconds, or an HTTP date (RFC 9110 section 10.2.3). */
const secondsOf = (value: string | null): number | undefined => {
  if (value === null) return undefined;
  if (/^\d{1,9}$/.test(value)) return Number(value);
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : Math.max(0, (at - Date.now()) / 1000);
};

const isUnauthorized = (error: unknown): boolean => error instanceof ApiError && error.status === 401;
