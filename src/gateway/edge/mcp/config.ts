/** Settings of the Model Context Protocol at POST /mcp. */
import { z } from 'zod';
import { number, onOff } from '#src/platform/settings.ts';

const isOrigin = (value: string): boolean => URL.canParse(value) && new URL(value).origin === value;

/** `a,b` from the environment, a list from a file. */
const origins = z.preprocess(
  (value) => (typeof value === 'string' ? value.split(',').map((one) => one.trim()) : value),
  z.array(z.string().refine(isOrigin, 'must be origins such as https://tools.example.com, without a path')).max(50),
);

export const mcpSettings = z.strictObject({
  mcp: onOff('off').meta({
    description: '`on` serves the Model Context Protocol at POST /mcp: each described operation is a tool for agents',
    env: 'ORDERPASS_MCP',
  }),
  mcp_origins: origins.default([]).meta({
    description:
      'Further origins that /mcp accepts in `Origin`, and whose hosts it accepts in `Host`, beside the public address and loopback',
    env: 'ORDERPASS_MCP_ORIGINS',
  }),
  mcp_result_bytes_max: number(4_096, 4_194_304, 131_072).meta({
    description:
      'Longest answer of an operation that /mcp passes to an agent; of a longer one it gets an error with the way to ask for less',
    env: 'ORDERPASS_MCP_RESULT_BYTES_MAX',
  }),
});

export type McpSettings = z.infer<typeof mcpSettings>;
