/**
 * The Model Context Protocol by its official SDK: revisions from 2024-10-07 to 2025-11-25, which begin with `initialize`, and
 * 2026-07-28, whose requests stand alone. Nothing is kept between two requests, so several gateways behind one address need no
 * affinity. Each answer is one JSON body: a tool call is one request of the API, which has no progress to tell.
 */
import {
  createMcpHandler,
  isLegacyRequest,
  type JsonSchemaValidator,
  type jsonSchemaValidator,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import type { ShownTool } from './describe-tools.ts';
import type { Message } from './read-message.ts';
import type { ToolResult } from './tool-result.ts';

/** What the caller of one message may see and do. */
export type Offer = {
  name: string;
  version: string;
  instructions: string;
  list: () => ShownTool[];
  /** Undefined: there is no such tool. */
  call: (
    name: string,
    given: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
  ) => Promise<ToolResult> | undefined;
};

type ProtocolRequest = {
  /** Those of HTTP that the protocol reads. */
  headers: Readonly<Record<string, string>>;
  message: Message;
  signal: AbortSignal;
};

export type ProtocolAnswer = { status: number; type: string | undefined; body: string };

export type Protocol = (request: ProtocolRequest, offer: Offer) => Promise<ProtocolAnswer>;

/** No result and no form is checked by a schema here: the operation has checked its own answer. */
const noValidator: jsonSchemaValidator = {
  getValidator: <T>(): JsonSchemaValidator<T> => {
    return (input) => ({ valid: true, data: input as T, errorMessage: undefined });
  },
};

const serverFor = ({ name, version, instructions, list, call }: Offer): Server => {
  const server = new Server(
    { name, version },
    { capabilities: { tools: {} }, instructions, jsonSchemaValidator: noValidator },
  );
  server.setRequestHandler('tools/list', () => ({ tools: list() }));
  server.setRequestHandler('tools/call', ({ params }, context) => {
    const result = call(params.name, params.arguments ?? {}, context.mcpReq.signal);
    if (result === undefined)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool ${params.name.slice(0, 128)}`);
    return result;
  });
  return server;
};

/** The address is never read: the message is given, and nothing is fetched. */
const address = 'http://mcp.invalid/mcp';

/** Rejects when the client has gone. */
export const answerMessage: Protocol = async ({ headers, message, signal }, offer) => {
  const request = new Request(address, { method: 'POST', headers, signal });
  const given = { parsedBody: message };
  const response = (await isLegacyRequest(request, message))
    ? await answerWithHandshake(request, given, offer)
    : // No stream of changes is offered: the list of tools changes only with the credential or the route table.
      await createMcpHandler(() => serverFor(offer), { legacy: 'reject', maxSubscriptions: 0 }).fetch(request, given);
  return {
    status: response.status,
    type: response.headers.get('content-type') ?? undefined,
    body: await response.text(),
  };
};

/** Revisions until 2025-11-25. The SDK's own way for them answers by a stream, whose status is sent before the tool has run. */
const answerWithHandshake = async (
  request: Request,
  given: { parsedBody: unknown },
  offer: Offer,
): Promise<Response> => {
  const server = serverFor(offer);
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  const gone = new Promise<never>((_resolve, reject) => {
    request.signal.addEventListener('abort', () => reject(new Error('the client closed the connection')), {
      once: true,
    });
  });
  try {
    await server.connect(transport);
    return await Promise.race([transport.handleRequest(request, given), gone]);
  } finally {
    await server.close();
  }
};
