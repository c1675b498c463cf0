/**
 * One attempt with what the endpoint logs in with (interface 32): its certificate, its header, or an access token. A failure to
 * get a token is the failure of the attempt, with its reason in place of a response.
 */
import { performance } from 'node:perf_hooks';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { redactResponse } from '../send/redact-response.ts';
import type { Send } from '../send/send.ts';
import type { SendResult } from '../send/send-result.ts';
import { type AccessTokens, createAccessTokens, type TokenAnswer } from './access-tokens.ts';
import { createOpenedAuth, type OAuthAuth } from './endpoint-auth.ts';

/** `auth`: sealed; null for none. */
type SentTo = { endpointUid: string; url: string; auth: Buffer | null };

/** Never throws for a receiver. */
export type AuthorizedSend = (
  to: SentTo,
  headers: Record<string, string>,
  body: string,
  signal: AbortSignal,
) => Promise<SendResult>;

type AuthorizedSendDeps = { box: Pick<SecretBox, 'open'>; send: Send; timeoutMs: number };

export const createAuthorizedSend = (
  deps: AuthorizedSendDeps,
): { send: AuthorizedSend /** Ends requests for tokens. */; close(): void } => {
  const { send } = deps;
  const opened = createOpenedAuth(deps.box);
  const tokens = createAccessTokens(send);
  const authorized: AuthorizedSend = async (to, headers, body, signal) => {
    if (to.auth === null) return send(to.url, headers, body, signal);
    const auth = opened(to.endpointUid, to.auth);
    switch (auth.type) {
      case 'certificate':
        return send(to.url, headers, body, signal, auth);
      case 'header':
        return hide(await send(to.url, { ...headers, [auth.name]: auth.value }, body, signal), auth.value);
      case 'oauth': {
        const limit = beginLimit(deps.timeoutMs, signal);
        try {
          return await sendWithToken({ send, tokens }, auth, { url: to.url, headers, body }, limit.signal);
        } finally {
          limit.close();
        }
      }
    }
  };
  return { send: authorized, close: tokens.close };
};

/** One limit for tokens and requests together, because the lease of a delivery is bounded. */
const beginLimit = (timeoutMs: number, signal: AbortSignal): { signal: AbortSignal; close(): void } => {
  const over = new AbortController();
  const end = (): void => over.abort();
  const timer = setTimeout(end, timeoutMs);
  if (signal.aborted) end();
  else signal.addEventListener('abort', end, { once: true });
  return {
    signal: over.signal,
    close: () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
    },
  };
};

type Request = { url: string; headers: Record<string, string>; body: string };

const sendWithToken = async (
  { send, tokens }: { send: Send; tokens: AccessTokens },
  auth: OAuthAuth,
  { url, headers, body }: Request,
  signal: AbortSignal,
): Promise<SendResult> => {
  const startedMs = performance.now();
  const sendOnce = async (answer: TokenAnswer): Promise<SendResult> => {
    if (answer.token === undefined) return unauthorized(answer.failure);
    const { token } = answer;
    return hide(await send(url, { ...headers, authorization: `Bearer ${token}` }, body, signal), token);
  };
  const first = await tokens.get(auth, signal);
  let result = await sendOnce(first);
  // A token that was kept may have been revoked. One that was requested for this attempt would not get better.
  if (result.status === 401 && first.token !== undefined && !first.isNew)
    result = await sendOnce(await tokens.get(auth, signal, first.token));
  return { ...result, timings: { ...result.timings, total: Math.round(performance.now() - startedMs) } };
};

const unauthorized = ({ failure, reason }: { failure: SendResult['failure']; reason: string }): SendResult => ({
  address: null,
  status: null,
  failure,
  retryAfter: undefined,
  response: `no access token: ${reason}`,
  timings: { dns: null, connect: null, tls: null, firstByte: null, total: 0 },
});

/** A receiver may echo the request, and the response is stored. */
const hide = (result: SendResult, secret: string): SendResult =>
  result.response === null || result.response === ''
    ? result
    : { ...result, response: redactResponse(result.response, [secret]) };
