/** A gateway with /mcp in front of a service that the test makes, and clients of the protocol for it. */
import { type CallToolResult, Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createReference } from '#src/app/reference/reference.ts';
import { settingsSchema } from '#src/app/settings/config.ts';
import {
  type Headers,
  openDoor,
  origin,
  type PublicDoor,
  type Reply,
  sendRequest,
  startUpstream,
  type TestUpstream,
} from '../harness/public-door.ts';

export type McpDoor = PublicDoor & { upstream: TestUpstream; closeAll(): Promise<void> };

type Change = NonNullable<Parameters<typeof openDoor>[1]>;

/** `change`: as for `openDoor`; its settings are added to those that turn /mcp on. */
export const openMcpDoor = async (change: Change = {}): Promise<McpDoor> => {
  const upstream = await startUpstream();
  const door = await openDoor(upstream.url, {
    pages: createReference(settingsSchema.parse({}), origin),
    ...change,
    settings: { mcp: 'on', ...change.settings },
  });
  return {
    ...door,
    upstream,
    closeAll: async () => {
      await door.close();
      await upstream.close();
    },
  };
};

/** The newest revision whose connections begin with `initialize`, and the first whose requests stand alone. */
export const revisions = ['2025-11-25', '2026-07-28'] as const;

/** A client of the official SDK. `headers`: its credential. */
export const connect = async (
  url: string,
  headers: Headers,
  revision: (typeof revisions)[number] = '2025-11-25',
): Promise<Client> => {
  const client = new Client(
    { name: 'test', version: '1' },
    { versionNegotiation: { mode: revision === '2026-07-28' ? { pin: revision } : 'legacy' } },
  );
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', url), { requestInit: { headers } }));
  return client;
};

/** The text of a result that has one. */
export const textOf = ({ content }: CallToolResult): string => {
  const [first] = content;
  if (first?.type !== 'text') throw new Error('the result has no text');
  return first.text;
};

export const jsonType = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

/** One message by hand. `body`: an object, or a text that is sent as it is. */
export const post = (url: string, headers: Headers, body: unknown): Promise<Reply> =>
  sendRequest(url, 'POST', '/mcp', {
    headers: { ...jsonType, ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

export const callOf = (name: string, given: Record<string, unknown> = {}): Record<string, unknown> => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: given },
});

export const listMessage = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
