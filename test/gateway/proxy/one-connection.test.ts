import { Agent, request } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { altered } from '../../support/altered.ts';
import { bearer, clientHeaders, type Harness, openHarness, read, tokenOf } from '../harness/gateway-harness.ts';

let harness: Harness;

beforeAll(async () => {
  harness = await openHarness();
});

afterAll(() => harness.close());

type Heard = { status: number; id: string | undefined; kind: string | undefined; connection: number };

/** Everything over one connection, one request after the other, as a proxy in front of many callers sends it. */
const openConnection = (): { ask(headers: Record<string, string>, path?: string): Promise<Heard>; close(): void } => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return {
    ask: (headers, path = '/api/whoami') =>
      new Promise((resolve, reject) => {
        const outgoing = request(`${harness.url}${path}`, { headers, agent }, (res) => {
          const connection = outgoing.socket?.localPort ?? 0;
          let text = '';
          res.setEncoding('utf8');
          res.on('data', (chunk: string) => {
            text += chunk;
          });
          res.on('end', () => {
            const { credential } = JSON.parse(text) as { credential?: { id: string; kind: string } };
            resolve({ status: res.statusCode ?? 0, id: credential?.id, kind: credential?.kind, connection });
          });
        });
        outgoing.on('error', reject).end();
      }),
    close: () => agent.destroy(),
  };
};

test('callers that share a connection are identified on every request, whatever was sent before', async () => {
  const tenant = await harness.createTenant();
  const first = await harness.createClient([tenant]);
  const second = await harness.createClient([tenant]);
  const key = await harness.credentials.createApiKey({ tenant, name: 'till' });
  const callers = [
    { headers: bearer(await tokenOf(harness.url, first)), id: first.client_id, kind: 'bearer' },
    { headers: bearer(await tokenOf(harness.url, second)), id: second.client_id, kind: 'bearer' },
    { headers: clientHeaders(first), id: first.client_id, kind: 'api_client' },
    { headers: clientHeaders(second), id: second.client_id, kind: 'api_client' },
    { headers: { 'x-api-key': key.value }, id: key.keyId, kind: 'api_key' },
  ];
  const strangers: Record<string, string>[] = [
    {},
    { ...clientHeaders(first), 'x-client-secret': second.client_secret },
    { 'x-api-key': altered(key.value) },
    bearer('a.b.c'),
  ];
  const connection = openConnection();
  const ports = new Set<number>();
  try {
    for (const before of callers) {
      for (const caller of callers) {
        await connection.ask(before.headers);
        const heard = await connection.ask(caller.headers);
        expect(heard).toMatchObject({ status: 200, id: caller.id, kind: caller.kind });
        ports.add(heard.connection);
      }
      for (const stranger of strangers) {
        expect((await connection.ask(before.headers)).status).toBe(200);
        const { status } = await connection.ask(stranger);
        expect(status).toBe(401);
      }
    }
    expect(ports.size, 'it was one connection').toBe(1);
  } finally {
    connection.close();
  }
});

test('a credential that ends while its connection stays open is refused on the next request', async () => {
  const tenant = await harness.createTenant();
  const client = await harness.createClient([tenant]);
  const token = bearer(await tokenOf(harness.url, client));
  const connection = openConnection();
  try {
    expect((await connection.ask(token, read)).status).toBe(200);
    await harness.credentials.disableClient(client.client_id);
    await expect.poll(async () => (await connection.ask(token, read)).status).toBe(401);
  } finally {
    connection.close();
  }
});
