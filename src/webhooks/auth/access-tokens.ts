/**
 * Access tokens of the receivers' authorization servers (RFC 6749 section 4.4), one for each OAuth client of an endpoint. A
 * token is requested once for all attempts that need it, and renewed before it ends, while the old one still serves.
 */
import { createPrivateKey, randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { SignJWT } from 'jose';
import { authorizing } from '../pacing/bounds.ts';
import type { Send } from '../send/send.ts';
import type { SendResult } from '../send/send-result.ts';
import { assertionAlgorithm } from './auth-problems.ts';
import type { OAuthAuth } from './endpoint-auth.ts';

/** `isNew`: it was requested for this call. Without a token: the failure of the delivery. */
export type TokenAnswer = { token: string; isNew: boolean } | { token?: never; failure: TokenFailure };

type TokenFailure = Pick<SendResult, 'failure'> & { reason: string };

export type AccessTokens = {
  /** `refused`: a token that the receiver did not accept. Waits as long as `authorizing.tokenMs`, or until the signal. */
  get(auth: OAuthAuth, signal: AbortSignal, refused?: string): Promise<TokenAnswer>;
  /** Ends open requests. */
  close(): void;
};

type Granted = { token: string; renewAtMs: number; endsAtMs: number };

/** Of one OAuth client. */
type Holder = { granted: Granted | undefined; request: Promise<Granted | TokenFailure> | undefined };

export const createAccessTokens = (send: Send): AccessTokens => {
  const holders = new WeakMap<OAuthAuth, Holder>();
  const closing = new AbortController();
  const holderOf = (auth: OAuthAuth): Holder => {
    const known = holders.get(auth);
    if (known !== undefined) return known;
    const made: Holder = { granted: undefined, request: undefined };
    holders.set(auth, made);
    return made;
  };
  const request = (auth: OAuthAuth, holder: Holder): Promise<Granted | TokenFailure> => {
    holder.request ??= requestToken(send, auth, closing.signal)
      .then((answer) => {
        if ('token' in answer) holder.granted = answer;
        // A server that fails is asked again a moment later, and the old token serves until its end.
        else if (holder.granted !== undefined) holder.granted.renewAtMs = performance.now() + authorizing.retryMs;
        return answer;
      })
      .finally(() => {
        holder.request = undefined;
      });
    return holder.request;
  };
  return {
    get: async (auth, signal, refused) => {
      const holder = holderOf(auth);
      if (holder.granted?.token === refused) holder.granted = undefined;
      const { granted } = holder;
      const nowMs = performance.now();
      if (granted !== undefined && granted.endsAtMs > nowMs) {
        // No attempt waits for it. When it fails, the next call that needs a token says why.
        if (granted.renewAtMs <= nowMs) request(auth, holder).catch(() => undefined);
        return { token: granted.token, isNew: false };
      }
      const answer = await withSignal(request(auth, holder), signal);
      return 'token' in answer ? { token: answer.token, isNew: true } : { failure: answer };
    },
    close: () => closing.abort(),
  };
};

const late: TokenFailure = { failure: 'timeout', reason: 'the token endpoint did not answer in time' };

/** The request goes on without an attempt that is over, because others wait for it too. */
const withSignal = async <T>(work: Promise<T>, signal: AbortSignal): Promise<T | TokenFailure> => {
  if (signal.aborted) return late;
  const over = Promise.withResolvers<TokenFailure>();
  const end = (): void => over.resolve(late);
  signal.addEventListener('abort', end, { once: true });
  try {
    return await Promise.race([work, over.promise]);
  } finally {
    signal.removeEventListener('abort', end);
  }
};

/** Never rejects for a server. */
const requestToken = async (send: Send, auth: OAuthAuth, closing: AbortSignal): Promise<Granted | TokenFailure> => {
  const over = new AbortController();
  const end = (): void => over.abort();
  const timer = setTimeout(end, authorizing.tokenMs);
  closing.addEventListener('abort', end, { once: true });
  const startedMs = performance.now();
  try {
    const { headers, form } = await proofOf(auth);
    const result = await send(auth.tokenUrl, { ...tokenHeaders, ...headers }, form.toString(), over.signal);
    return readAnswer(result, startedMs);
  } finally {
    clearTimeout(timer);
    closing.removeEventListener('abort', end);
  }
};

const tokenHeaders = {
  'content-type': 'application/x-www-form-urlencoded',
  accept: 'application/json',
  'user-agent': 'Orderpass/1.0.0',
};

type Proof = { headers: Record<string, string>; form: URLSearchParams };

const proofOf = async ({ tokenUrl, clientId, scope, proof }: OAuthAuth): Promise<Proof> => {
  const form = new URLSearchParams({ grant_type: 'client_credentials', ...(scope === null ? undefined : { scope }) });
  if ('secret' in proof) {
    const basic = Buffer.from(`${formEncoded(clientId)}:${formEncoded(proof.secret)}`).toString('base64');
    return { headers: { authorization: `Basic ${basic}` }, form };
  }
  const key = createPrivateKey(proof.privateKey);
  const algorithm = assertionAlgorithm(key);
  if (algorithm === undefined) throw new Error('the key of an OAuth client signs no assertion');
  const assertion = await new SignJWT()
    .setProtectedHeader({ alg: algorithm, ...(proof.keyId === null ? undefined : { kid: proof.keyId }) })
    .setIssuer(clientId)
    .setSubject(clientId)
    .setAudience(proof.audience ?? tokenUrl)
    .setJti(randomUUID())
    .setIssuedAt()
    .setExpirationTime('1m')
    .sign(key);
  form.set('client_id', clientId);
  form.set('client_assertion_type', 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer');
  form.set('client_assertion', assertion);
  return { headers: {}, form };
};

/** As a value of a form (RFC 6749 section 2.3.1, appendix B). */
const formEncoded = (text: string): string => new URLSearchParams([['', text]]).toString().slice(1);

const readAnswer = (result: SendResult, startedMs: number): Granted | TokenFailure => {
  const { failure, status, response } = result;
  const members = membersOf(response);
  if (failure === 'status' || failure === 'redirect') {
    const { error } = members;
    const code = typeof error === 'string' && /^[a-z_]{1,64}$/.test(error) ? ` ${error}` : '';
    return { failure, reason: `the token endpoint answered ${status}${code}` };
  }
  if (failure === 'timeout') return late;
  if (failure !== null) return { failure, reason: `the token endpoint: ${response ?? failure}` };
  const { access_token: token, token_type: type, expires_in: seconds } = members;
  if (!isText(token) || !/^[\x21-\x7e]{1,8192}$/.test(token) || !isText(type) || !/^bearer$/i.test(type))
    return { failure: 'status', reason: 'the answer of the token endpoint has no access_token of the type Bearer' };
  // Some servers send the seconds as text.
  const lifeMs = lifetimeMs(isText(seconds) || typeof seconds === 'number' ? Number(seconds) : 0);
  return {
    token,
    endsAtMs: startedMs + lifeMs,
    renewAtMs: startedMs + lifeMs - Math.min(lifeMs / 4, authorizing.renewMs),
  };
};

const isText = (value: unknown): value is string => typeof value === 'string';

const lifetimeMs = (seconds: number): number =>
  seconds > 0 ? Math.min(seconds * 1000, authorizing.lifeMsMax) : authorizing.lifeMsDefault;

/** The members of a JSON object; none of any other text. */
const membersOf = (text: string | null): Record<string, unknown> => {
  try {
    const value: unknown = JSON.parse(text ?? '');
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
};
