/** Reads the one JSON-RPC message of a POST, with the strictness of every JSON body of this server. */
import { Fault } from '#src/contract/fault.ts';
import { mayBeLarge, readJsonObject } from '#src/platform/http/read-body.ts';
import { createTurns } from '#src/platform/sharing/semaphore.ts';
import { overloaded } from '../../model/faults.ts';
import type { Exchange } from '../../request/exchange.ts';
import { inviteBody } from '../../request/read-body-prefix.ts';
import { mcpRoute } from './mcp-route.ts';

export type Message = Readonly<Record<string, unknown>>;

/** Code and message of JSON-RPC 2.0 (section 5.1), and what is wrong by the codes of this interface. */
type RpcError = { code: number; message: string; data?: unknown };

export const rpcError = (error: RpcError): string => JSON.stringify({ jsonrpc: '2.0', id: null, error });

const parseError = -32_700;
const invalidRequest = -32_600;

type Read = { message: Message; error?: never } | { message?: never; error: RpcError };

/**
 * Rejects with a Fault that is no 400 (body too long or too slow, too many large ones, another media type). `error`: the body is no
 * message; a batch is none either, which revision 2025-06-18 of the protocol has removed.
 */
export type ReadMessage = (exchange: Exchange) => Promise<Read>;

/**
 * Of large messages. The gateway keeps a message until its end, so callers that send slowly would take memory for each of their
 * connections. chosen: 16 MiB at most, and three further callers have room beside one that takes all of its own.
 */
const largeBounds = {
  ofEach: { atOnceMax: 4, waitingMax: 32 },
  ofAll: { atOnceMax: 16, waitingMax: 64 },
  waitMsMax: 20_000,
};

export const createReadMessage = (): ReadMessage => {
  const turns = createTurns(largeBounds);
  return async (exchange) => {
    const { req, res, principal } = exchange;
    const gone = new AbortController();
    res.once('close', () => gone.abort());
    const isTooLong = Number(req.headers['content-length'] ?? 0) > mcpRoute.bodyBytesMax;
    if (!mayBeLarge(req) || isTooLong) return read(exchange, gone.signal);
    const caller = principal?.id ?? '';
    const release = await turns.acquire({ each: caller, sharer: caller }, gone.signal);
    if (release === undefined) throw overloaded('too many large messages of callers wait');
    return read(exchange, gone.signal).finally(release);
  };
};

const read = async (exchange: Exchange, signal: AbortSignal): Promise<Read> => {
  const { bodyBytesMax: bytesMax, timeouts } = mcpRoute;
  inviteBody(exchange);
  try {
    const message = await readJsonObject(exchange.req, { bytesMax, timeoutMs: timeouts.bodyMs, signal });
    return message === undefined
      ? { error: { code: invalidRequest, message: 'The body must be one JSON-RPC message' } }
      : { message };
  } catch (thrown) {
    if (!(thrown instanceof Fault) || thrown.status !== 400) throw thrown;
    const [first] = thrown.errors ?? [];
    const code = first?.code === 'INVALID_JSON' && first.message !== notAnObject ? parseError : invalidRequest;
    return {
      error: {
        code,
        message: `The body must be one JSON-RPC message: ${first?.message ?? thrown.publicText}`,
        data: { code: thrown.code, errors: thrown.errors },
      },
    };
  }
};

/** A batch, or another JSON value. */
const notAnObject = 'the body must be a JSON object';
