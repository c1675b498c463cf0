import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  metadata,
  openDoor,
  type PublicDoor,
  routeFile,
  sendRequest,
  startUpstream,
  type TestUpstream,
} from '../harness/public-door.ts';

let upstream: TestUpstream;
let door: PublicDoor;

const table = routeFile();
const allScopes = table.scopes.map(({ name }) => name);
/** What needs no scope is open to every credential and answered by the gateway itself (whoami.test.ts). */
const operations = (table.routes as { method: string; path: string; scopes: string[] }[]).filter(
  ({ scopes }) => scopes.length > 0,
);

beforeAll(async () => {
  upstream = await startUpstream();
  door = await openDoor(upstream.url);
});

afterAll(async () => {
  await door.close();
  await upstream.close();
});

test('the table lists the 13 scopes in the order of the interface', () => {
  expect(allScopes.join(' ')).toBe(
    'read:orders manage:orders write:orders read:customers write:customers read:menu write:menu read:loyalty write:loyalty read:account write:coupons read:webhooks write:webhooks',
  );
});

test.each(operations)(
  'A-048 $method $path is refused to every scope but its own, naming exactly what is missing',
  async ({ method, path, scopes }) => {
    const [scope = ''] = scopes;
    const others = allScopes.filter((name) => name !== scope);
    const message = `This operation needs the scope ${scope}`;
    const before = upstream.seen.length;

    const byClient = await sendRequest(door.url, method, path, { headers: await door.clientWith(others) });
    expect(byClient.status).toBe(403);
    expect(byClient.json).toEqual({
      success: false,
      error: 'INSUFFICIENT_SCOPE',
      message,
      missing_scopes: [scope],
      request_id: byClient.headers['x-request-id'],
    });

    const byBearer = await sendRequest(door.url, method, path, { headers: await door.bearerWith(others) });
    expect(byBearer.status).toBe(403);
    expect(byBearer.headers['www-authenticate']).toBe(
      `Bearer realm="orderpass", error="insufficient_scope", error_description="${message}", scope="${scope}", resource_metadata="${metadata}"`,
    );
    expect(byBearer.json).toEqual({
      error: 'insufficient_scope',
      error_description: message,
      error_uri: 'https://api.example/docs/errors#INSUFFICIENT_SCOPE',
      code: 'INSUFFICIENT_SCOPE',
      missing_scopes: [scope],
      request_id: byBearer.headers['x-request-id'],
    });
    expect(upstream.seen.length).toBe(before);

    expect((await sendRequest(door.url, method, path, { headers: await door.bearerWith([scope]) })).status).toBe(200);
    expect(upstream.seen.length).toBe(before + 1);
  },
);

test('A-049 an API key lacks the scopes of inserting, importing and managing webhooks, and holds the others', async () => {
  const webhooks = ['create', 'update', 'remove', 'rotate-secret', 'test', 'redeliver'];
  const closed = ['/api/order/create', '/api/menu/import', '/api/menu/revert'].concat(
    webhooks.map((name) => `/api/webhook/${name}`),
  );
  for (const { method, path, scopes } of operations) {
    const answer = await sendRequest(door.url, method, path, { headers: door.asKey });
    expect([path, answer.status]).toEqual([path, closed.includes(path) ? 403 : 200]);
    if (answer.status === 403) {
      expect(answer.json).toMatchObject({ error: 'INSUFFICIENT_SCOPE', missing_scopes: scopes });
    }
  }
});

test('A-064 a missing scope is refused before any problem of the body', async () => {
  const headers = { ...door.asKey, 'content-type': 'text/plain' };
  const answer = await sendRequest(door.url, 'POST', '/api/order/create', { headers, body: 'x'.repeat(100) });
  expect(answer.json.error).toBe('INSUFFICIENT_SCOPE');
});
