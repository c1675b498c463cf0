/** Reads the one JSON-RPC message of a POST, with the strictness of every JSON body of this server. */
import { Fault } from '#src/contract/fault.ts';
import { readJsonObject } from '#src/platform/http/read-body.ts';
import type { Exchange } from '../../request/exchange.ts';
import { inviteBody } from '../../request/read-body-prefix.ts';
import { mcpRoute } from './mcp-route.ts';

export type Message = Readonly<Record<string, unknown>>;

/** Code and message of JSON-RPC 2.0 (section 5.1), and what is wrong by the codes of this interface. */
type RpcError = { code: number; message: string; data?: unknown };

export const rpcError = (error: RpcError): string => JSON.stringify({ jsonrpc: '2.0', id: null, error });

const parseError = -32_700;
const invalidRequest = -32_600;

/**
 * Rejects with a Fault that is no 400 (body too long or too slow, another media type). `error`: the body is no message; a batch
 * is none either, which revision 2025-06-18 of the protocol has removed.
 */
export const readMessage = async (
  exchange: Exchange,
): Promise<{ message: Message; error?: never } | { message?: never; error: RpcError }> => {
  const { bodyBytesMax: bytesMax, timeouts } = mcpRoute;
  inviteBody(exchange);
  try {
    const message = await readJsonObject(exchange.req, { bytesMax, timeoutMs: timeouts.bodyMs });
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
