/** Opens the Model Context Protocol. Where it is off, nothing of its SDK is loaded. */
import type { IncomingMessage, Server, ServerOptions, ServerResponse } from 'node:http';
import type { Answers } from '../../answer/open-answers.ts';
import type { RouteTable } from '../../model/route.ts';
import { mcpPath } from '../../model/route-path.ts';
import { createCheckOrigin } from './check-origin.ts';
import type { McpSettings } from './config.ts';
import { describeTools, type ToolSet } from './describe-tools.ts';
import { createSendInner, type InnerHandler } from './inner-requests.ts';
import { createServeMcp, type ServeMcp } from './serve-mcp.ts';

type McpDoor = {
  answers: Answers;
  /** Options of the public server. */
  serverOptions: ServerOptions;
  handleInner: InnerHandler;
  attach: (server: Server, onRequest: (req: IncomingMessage, res: ServerResponse) => void) => void;
};

export type Mcp = {
  /** `document`: the OpenAPI document of the table as text; undefined: it has none, and so no tools. */
  describe(document: string | Buffer | undefined, table: Pick<RouteTable, 'routes'>): ToolSet;
  open(door: McpDoor): ServeMcp;
};

/** Undefined: the operator has it off. `origin`: the public address. */
export const openMcp = async (settings: McpSettings, origin: string): Promise<Mcp | undefined> => {
  if (settings.mcp === 'off') return undefined;
  const { answerMessage } = await import('./protocol.ts');
  return {
    describe: (document, { routes }) =>
      describeTools(document === undefined ? undefined : JSON.parse(document.toString()), routes),
    open: ({ answers, serverOptions, handleInner, attach }) =>
      createServeMcp({
        checkOrigin: createCheckOrigin(origin, settings.mcp_origins),
        sendInner: createSendInner(serverOptions, handleInner, attach),
        answerMessage,
        resultBytesMax: settings.mcp_result_bytes_max,
        write: answers.write,
        ...answers.forResource(mcpPath),
      }),
  };
};
