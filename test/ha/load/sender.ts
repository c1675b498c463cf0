/** Sends calls to the gateways in turn and enters each of them into the history. */
import type { CallKind, History } from './history.ts';

export type Json = Record<string, unknown>;

type Request = {
  kind: CallKind;
  key: string;
  path: string;
  headers: Record<string, string>;
  /** Sent by POST; without one the call is a GET. */
  body?: object | URLSearchParams;
};

export type Sender = {
  send(request: Request): Promise<{ status: number; json: Json }>;
  /**
   * Repeats the call until it is acknowledged, as a client with an idempotency key may. Rejects when the answer is a refusal
   * that no failover explains, and when no acknowledgement comes for minutes.
   */
  insist(request: Request): Promise<Json>;
};

/** Longer than a gateway takes for any answer. */
const answerMs = 60_000;
const insistMs = 240_000;
const pauseMs = 150;

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export const createSender = (gateways: readonly string[], history: History): Sender => {
  let sent = 0;
  const send: Sender['send'] = async ({ kind, key, path, headers, body }) => {
    const url = `${gateways[sent++ % gateways.length]}/api${path}`;
    const call = { kind, key, beginMs: history.now(), endMs: 0, status: 0, error: '', hasRetryAfter: false };
    let json: Json = {};
    try {
      const answer = await fetch(url, { ...messageOf(headers, body), signal: AbortSignal.timeout(answerMs) });
      json = (await answer.json().catch(() => ({}))) as Json;
      call.status = answer.status;
      call.error = String(json.error ?? '');
      call.hasRetryAfter = Number(answer.headers.get('retry-after')) > 0;
    } catch {
      // The connection broke or no answer came in time: the status stays 0.
    }
    call.endMs = history.now();
    const { uid } = (json.order ?? {}) as { uid?: string };
    history.calls.push(uid === undefined ? call : { ...call, uid });
    return { status: call.status, json };
  };
  const insist: Sender['insist'] = async (request) => {
    for (const deadlineMs = history.now() + insistMs; ; ) {
      const { status, json } = await send(request);
      if (status === 200) return json;
      if (!mayRepeat(status, json)) throw new Error(`${request.path} was refused: ${status} ${JSON.stringify(json)}`);
      if (history.now() > deadlineMs) throw new Error(`${request.path} was never acknowledged: ${status}`);
      await pause(pauseMs);
    }
  };
  return { send, insist };
};

const messageOf = (headers: Record<string, string>, body: Request['body']): RequestInit => {
  if (body === undefined) return { headers };
  if (body instanceof URLSearchParams) return { method: 'POST', headers, body };
  return { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body) };
};

/** No answer, no store, or the first call with this idempotency key is still being answered. */
const mayRepeat = (status: number, json: Json): boolean =>
  status === 0 || status === 503 || (status === 409 && json.error === 'CONFLICT');
