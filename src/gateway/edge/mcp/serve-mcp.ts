/**
 * Serves POST /mcp. A message needs a credential like any request. A tool call is one request of the API, which the gateway
 * sends to itself with that credential (inner-requests.ts): that request is checked, limited, recorded and forwarded. Every
 * other message is charged and recorded as one request of /mcp.
 */
import type { WriteAnswer, WriteFault } from '../../answer/write-answer.ts';
import { methodNotAllowed } from '../../model/faults.ts';
import { neededScopes } from '../../model/route.ts';
import type { Exchange, Step } from '../../request/exchange.ts';
import { createCall } from './call-tool.ts';
import type { CheckOrigin } from './check-origin.ts';
import type { Tool, ToolSet } from './describe-tools.ts';
import type { SendInner } from './inner-requests.ts';
import { mcpRoute } from './mcp-route.ts';
import type { Offer, Protocol, ProtocolAnswer } from './protocol.ts';
import { createReadMessage, type Message, rpcError } from './read-message.ts';

/** What /mcp needs of one route table. */
export type McpTable = {
  toolSet: ToolSet;
  steps: Readonly<Record<'identifyCaller' | 'limitRate' | 'recordAllowed', Step>>;
};

export type ServeMcp = (exchange: Exchange, table: McpTable) => void;

export type ServeMcpDeps = {
  checkOrigin: CheckOrigin;
  sendInner: SendInner;
  answerMessage: Protocol;
  resultBytesMax: number;
  write: WriteAnswer;
  /** Challenges name the metadata of /mcp. */
  writeFault: WriteFault;
  /** The same for a refusal that an inner request has recorded. */
  relayFault: WriteFault;
};

export const createServeMcp = (deps: ServeMcpDeps): ServeMcp => {
  const readMessage = createReadMessage();
  const serve = async (exchange: Exchange, table: McpTable): Promise<void> => {
    exchange.route = mcpRoute;
    const notAllowed = deps.checkOrigin(exchange.req);
    if (notAllowed !== undefined)
      return writeRpc(deps, exchange, { status: 403, body: rpcError({ code: -32_000, message: notAllowed }) });
    if (exchange.method === 'OPTIONS')
      return deps.write(exchange, { status: 204, headers: ['allow', 'POST'], body: undefined });
    // A GET would open a stream of messages of the server, which has none to send; a DELETE would end a session.
    if (exchange.method !== 'POST') throw methodNotAllowed('POST');
    await table.steps.identifyCaller(exchange);
    // The calls that a message carries are requests of their own, which meet the other limits of the token.
    exchange.principal?.narrow?.requireWhole();
    const { message, error } = await readMessage(exchange).catch(async (thrown: unknown) => {
      await charge(table, exchange);
      throw thrown;
    });
    if (message?.method === 'tools/call') return answer(deps, exchange, { table, message });
    await charge(table, exchange);
    if (message === undefined) return writeRpc(deps, exchange, { status: 400, body: rpcError(error) });
    await answer(deps, exchange, { table, message });
  };
  return (exchange, table) => {
    serve(exchange, table).catch((thrown: unknown) => deps.writeFault(exchange, thrown));
  };
};

/** For every message that is no request of an operation. */
const charge = async ({ steps }: McpTable, exchange: Exchange): Promise<void> => {
  await steps.limitRate(exchange);
  await steps.recordAllowed(exchange);
};

type Asked = { table: McpTable; message: Message };

const answer = async (deps: ServeMcpDeps, exchange: Exchange, { table, message }: Asked): Promise<void> => {
  const { toolSet } = table;
  const gone = new AbortController();
  exchange.res.once('close', () => gone.abort());
  const call = createCall(deps, exchange);
  const offer: Offer = {
    name: toolSet.title,
    version: toolSet.version,
    instructions: instructionsFor(toolSet),
    list: () => [...toolSet.tools.values()].filter((tool) => isOpen(tool, exchange)).map(({ shown }) => shown),
    call: (name, given, signal) => {
      const tool = toolSet.tools.get(name);
      return tool === undefined ? undefined : call.run(tool, given, signal);
    },
  };
  const headers = protocolHeaders(exchange);
  const answered = await deps
    .answerMessage({ headers, message, signal: gone.signal }, offer)
    .catch((thrown: unknown) => {
      if (gone.signal.aborted) return { status: 499, type: undefined, body: '' };
      throw thrown;
    });
  const refused = call.refusal();
  if (refused !== undefined) return deps.relayFault(exchange, refused);
  // A call of a tool or with an argument that does not exist has become no request.
  if (message.method === 'tools/call' && !call.wasSent()) await charge(table, exchange);
  writeRpc(deps, exchange, answered);
};

/** A tool is listed for callers that hold every scope of its operation, and whose token reaches it. */
const isOpen = ({ route }: Tool, { principal }: Exchange): boolean =>
  principal !== undefined &&
  (principal.narrow?.isOpen(route) ?? true) &&
  neededScopes(route, principal.scopes).every((scope) => principal.scopes.has(scope));

/** Fields that the protocol defines for its requests, and those that say what the body and the answer are. */
const protocolHeaders = ({ req }: Exchange): Record<string, string> => {
  const fields: Record<string, string> = {};
  for (const [name, value] of Object.entries(req.headers))
    if (typeof value === 'string' && (name.startsWith('mcp-') || name === 'accept' || name === 'content-type'))
      fields[name] = value;
  return fields;
};

const writeRpc = (
  { write }: ServeMcpDeps,
  exchange: Exchange,
  { status, type, body }: Omit<ProtocolAnswer, 'type'> & { type?: string | undefined },
): void => {
  const hasBody = body !== '';
  write(exchange, {
    status,
    headers: ['cache-control', 'no-store', ...(hasBody ? ['content-type', type ?? 'application/json'] : [])],
    body: hasBody || status !== 204 ? body : undefined,
  });
};

const instructionsFor = ({ title }: ToolSet): string =>
  `Each tool is one operation of ${title}. A call has the scopes, limits and effects of a request of the API, and its result is the \
answer of the API. A failed call has the error of the API as its text: \`error\` or \`code\` names the kind, \`errors\` the arguments \
to change, \`retry_after\` the seconds to wait. Give every call that changes something an \`idempotency_key\` of its own, and send the \
same key again when its outcome is unknown. Lists come in pages.`;
