/**
 * Adds a credential to each request, for tools that cannot send one, such as `@modelcontextprotocol/conformance`. Everything
 * else passes unchanged, `Host` and `Origin` too. `node test/gateway/mcp/credential-proxy.ts http://127.0.0.1:8080 'X-Api-Key: opk_…'`
 */
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

const [to = '', credential = ''] = process.argv.slice(2);
const { hostname, port } = new URL(to);
const [, name = '', value = ''] = /^([^:]+): *(.+)$/.exec(credential) ?? [];

const server = createServer((incoming, answer) => {
  const { method, url: path, headers } = incoming;
  const outgoing = request({ hostname, port, method, path, headers: { ...headers, [name]: value } }, (reply) => {
    answer.writeHead(reply.statusCode ?? 502, reply.rawHeaders);
    reply.pipe(answer);
  });
  outgoing.on('error', () => answer.writeHead(502).end());
  incoming.pipe(outgoing);
});

server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp\n`);
});
