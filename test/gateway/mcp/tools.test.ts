import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createCredentials } from '#src/gateway/index.ts';
import { systemClock } from '#src/platform/clock.ts';
import { createSecretBox } from '#src/platform/secret-box.ts';
import { until } from '../../support/until.ts';
import { masterKey, routeFile } from '../harness/public-door.ts';
import { callOf, connect, listMessage, type McpDoor, openMcpDoor, post, revisions, textOf } from './mcp-door.ts';

let door: McpDoor;

const orders = { success: true, orders: [], page: 1, pagesize: 20, total_count: 0, next_cursor: null, more: false };

beforeAll(async () => {
  door = await openMcpDoor();
});

afterAll(() => door?.closeAll());

beforeEach(() => {
  door.upstream.seen.length = 0;
  door.upstream.answer = (req, res) => {
    req.resume();
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(orders));
  };
});

/** Allowed requests of a client in the audit, oldest first. */
const allowedOf = async (clientId = ''): Promise<{ route_id: string; request_ids: string[] }[]> => {
  const { rows } = await door.database.pool.query(
    `select route_id, request_ids from gateway.audit_events
      where client_id = $1 and action = 'request.allowed' order by at, route_id`,
    [clientId],
  );
  return rows as { route_id: string; request_ids: string[] }[];
};

test.each(revisions)(
  'A-310 a client of revision %s lists tools with schemas and hints, and calls one',
  async (revision) => {
    const client = await connect(door.url, door.asBearer, revision);
    expect(client.getServerVersion()).toMatchObject({ name: 'Orderpass', version: '1.0.0' });
    expect(client.getNegotiatedProtocolVersion()).toBe(revision);
    const { tools } = await client.listTools();
    const ids = routeFile().routes.map(({ id }) => String(id).replaceAll(/[^A-Za-z0-9]/g, '_'));
    expect(tools.map(({ name }) => name).toSorted()).toEqual(ids.toSorted());
    const list = tools.find(({ name }) => name === 'orders_list');
    expect(list?.annotations).toEqual({ readOnlyHint: true, destructiveHint: false, idempotentHint: true });
    expect(list?.inputSchema.properties).toMatchObject({ restuid: { type: 'string' } });
    expect(list?.outputSchema?.type).toBe('object');
    expect(tools.find(({ name }) => name === 'customer_remove')?.outputSchema).toBeUndefined();
    const hintsOf = (name: string) => tools.find((tool) => tool.name === name)?.annotations;
    expect(hintsOf('customer_remove')).toMatchObject({ readOnlyHint: false, destructiveHint: true });
    expect(hintsOf('customer_create')).toMatchObject({ readOnlyHint: false, destructiveHint: false });
    const called = await client.callTool({ name: 'orders_list', arguments: { restuid: 'rst_1', pagesize: 20 } });
    expect(called.isError).not.toBe(true);
    expect(called.structuredContent).toEqual(orders);
    expect(JSON.parse(textOf(called))).toEqual(orders);
    const [seen] = door.upstream.seen;
    expect(seen?.method).toBe('GET');
    expect(new URL(seen?.target ?? '', door.url).searchParams).toEqual(
      new URLSearchParams({ restuid: 'rst_1', pagesize: '20' }),
    );
    await client.close();
  },
);

test('A-310 the input of each tool is an object of its own, without references to anything outside it', async () => {
  const { json } = await post(door.url, door.asBearer, listMessage);
  for (const { name, inputSchema, outputSchema } of json.result.tools)
    for (const schema of [inputSchema, ...(outputSchema === undefined ? [] : [outputSchema])]) {
      expect(schema.type, name).toBe('object');
      for (const [, pointer] of JSON.stringify(schema).matchAll(/"\$ref":"([^"]*)"/g)) {
        expect(pointer, name).toMatch(/^#\/\$defs\//);
        expect(schema.$defs, name).toHaveProperty(pointer?.slice('#/$defs/'.length) ?? '');
      }
    }
});

test('A-311 tools whose scope the credential lacks are not listed', async () => {
  const client = await connect(door.url, await door.bearerWith(['read:menu']));
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name).toSorted()).toEqual([
    ...[
      'menu_categories',
      'menu_category',
      'menu_imports',
      'menu_product',
      'menu_products',
      'whoami',
      'whoami_denial',
      'whoami_requests',
      'whoami_usage',
    ],
  ]);
  const ofKey = await connect(door.url, door.asKey);
  const names = (await ofKey.listTools()).tools.map(({ name }) => name);
  expect(names).toContain('orders_list');
  expect(names).not.toContain('order_create');
});

test('a write is sent once with its body, its key of idempotency and the identity of the caller', async () => {
  let body = '';
  door.upstream.answer = (req, res) => {
    req.on('data', (chunk: Buffer) => {
      body += chunk.toString();
    });
    req.on('end', () => res.writeHead(200, { 'content-type': 'application/json' }).end('{"success":true}'));
  };
  const { json } = await post(
    door.url,
    door.asClient,
    callOf('order_create', { restuid: 'rst_1', idempotency_key: 'k-1', note: 'Ciao – "ö"', amount: 12.5 }),
  );
  expect(json.result.isError).toBe(true);
  expect(textOf(json.result)).toContain('"code":"ENUM"');
  expect(door.upstream.seen).toEqual([]);
  const { json: done } = await post(
    door.url,
    door.asClient,
    callOf('customer_create', { restuid: 'rst_1', idempotency_key: 'k-1', first_name: 'Zoë "A"' }),
  );
  expect(done.result.isError).toBe(false);
  expect(JSON.parse(body)).toEqual({ first_name: 'Zoë "A"' });
  const [seen, second] = door.upstream.seen;
  expect(second).toBeUndefined();
  expect(seen).toMatchObject({ method: 'POST', target: '/api/customer/create?restuid=rst_1' });
  expect(seen?.headers['idempotency-key']).toBe('k-1');
  expect(seen?.headers['x-client-secret']).toBeUndefined();
  expect(Object.keys(seen?.headers ?? {}).some((name) => name.startsWith('x-orderpass-'))).toBe(true);
  expect(seen?.headers['x-forwarded-for']).toBe('127.0.0.1');
});

test('A-315 a number that no double holds is refused, so that no other number reaches the operation', async () => {
  const message = JSON.stringify(callOf('loyaltylog_create', { diff_points: 0 }));
  for (const digits of ['9007199254740993', '0.10000000000000000001']) {
    const sent = message.replace('"diff_points":0', `"diff_points":${digits}`);
    const { json } = await post(door.url, door.asClient, sent);
    expect(json.result.isError).toBe(true);
    expect(JSON.parse(textOf(json.result))).toMatchObject({ errors: [{ pointer: 'diff_points', code: 'FORMAT' }] });
  }
  expect(door.upstream.seen).toEqual([]);
});

test('A-315 a refusal of the operation is the result of the tool, with the body of the API', async () => {
  door.upstream.answer = (req, res) => {
    req.resume();
    res
      .writeHead(404, { 'content-type': 'application/json' })
      .end('{"success":false,"error":"CUSTOMER_NOT_FOUND","message":"No such customer","request_id":"x"}');
  };
  const client = await connect(door.url, door.asBearer);
  const result = await client.callTool({ name: 'customerstats_customer', arguments: { uid: 'cus_1' } });
  expect(result.isError).toBe(true);
  expect(JSON.parse(textOf(result))).toMatchObject({ error: 'CUSTOMER_NOT_FOUND', message: 'No such customer' });
});

test('A-315 a 401 of the operation is the result of the tool, since the credential goes on', async () => {
  door.upstream.answer = (req, res) => {
    req.resume();
    res
      .writeHead(401, { 'content-type': 'application/json', 'www-authenticate': 'Bearer realm="till"' })
      .end('{"error":"TILL_LOGIN","message":"The till asks for a login of its own"}');
  };
  for (const headers of [door.asKey, door.asBearer, door.asClient]) {
    const reply = await post(door.url, headers, callOf('orders_list'));
    expect([reply.status, reply.headers['www-authenticate']]).toEqual([200, undefined]);
    expect(reply.json.result.isError).toBe(true);
    expect(textOf(reply.json.result)).toContain('The till asks for a login of its own');
  }
});

test('a tool that does not exist, and arguments that are no object, are errors of the protocol', async () => {
  const unknown = await post(door.url, door.asBearer, callOf('no_such_tool'));
  expect(unknown.json.error.code).toBe(-32_602);
  const wrong = await post(door.url, door.asBearer, {
    ...callOf('orders_list'),
    params: { name: 'orders_list', arguments: [] },
  });
  expect(wrong.json.error.code).toBe(-32_602);
  const ping = await post(door.url, door.asBearer, { jsonrpc: '2.0', id: 'p', method: 'ping' });
  expect(ping.json).toEqual({ jsonrpc: '2.0', id: 'p', result: {} });
  expect(door.upstream.seen).toEqual([]);
});

test('A-667 a tool call is one use of its credential', async () => {
  const caller = await door.clientWith(['read:account']);
  const { json } = await post(door.url, caller, callOf('account_subrestaurants'));
  expect(json.result.content).toHaveLength(1);
  const calls = async (): Promise<number> => {
    const { rows } = await door.database.pool.query(
      `select sum(calls)::int as calls from gateway.credential_calls
       where credential in (select secret_id from gateway.client_secrets where client_id = $1)`,
      [caller['x-client-id']],
    );
    return rows[0].calls ?? 0;
  };
  // A gateway writes what it counted every 15 s.
  await until(async () => (await calls()) > 0);
  expect(await calls()).toBe(1);
});

test('A-314 a tool call is one event of the audit, on the route of its operation, under the id of its message', async () => {
  const caller = await door.clientWith(['read:account']);
  const id = caller['x-client-id'];
  const reply = await post(door.url, { ...caller, 'x-request-id': 'mcp-call-1' }, callOf('account_subrestaurants'));
  expect(reply.json.result.content).toHaveLength(1);
  expect(reply.headers['x-request-id']).toBe('mcp-call-1');
  await until(async () => (await allowedOf(id)).length > 0);
  await post(door.url, { ...caller, 'x-request-id': 'mcp-list-1' }, listMessage);
  await until(async () => (await allowedOf(id)).some(({ route_id }) => route_id === 'mcp'));
  expect(await allowedOf(id)).toEqual([
    { route_id: 'account.subrestaurants', request_ids: ['mcp-call-1'] },
    { route_id: 'mcp', request_ids: ['mcp-list-1'] },
  ]);
});

test('A-317 a longer answer is left out: the agent gets the way to ask for less, and a write is not repeated', async () => {
  door.upstream.answer = (req, res) => {
    req.resume();
    res
      .writeHead(200, { 'content-type': 'application/json' })
      .end(`{"success":true,"orders":"${'x'.repeat(200_000)}"}`);
  };
  const read = await post(door.url, door.asClient, callOf('orders_list'));
  expect(read.json.result.isError).toBe(true);
  expect(textOf(read.json.result)).toMatch(/more than 131072 bytes.*page by page/);
  expect(read.body.length).toBeLessThan(2_000);
  const write = await post(door.url, door.asClient, callOf('customer_create'));
  expect(textOf(write.json.result)).toMatch(/was carried out; do not send it again/);
  expect(door.upstream.seen).toHaveLength(2);
});

test.each([200, 400])(
  'A-317 the request of a tool call ends when its answer of %i KiB is cut: its slot is free, and it is in the access log',
  async (kib) => {
    const lines: { via?: string; route?: string; caller?: string }[] = [];
    const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
    const logged = await openMcpDoor({ log });
    try {
      const { db } = logged.database;
      const credentials = createCredentials({ db, box: createSecretBox(masterKey), clock: systemClock });
      const caller = await logged.clientWith(['read:orders']);
      await credentials.setLimits('client', caller['x-client-id'] ?? '', { concurrency: 1 });
      logged.upstream.answer = (req, res) => {
        req.resume();
        res.writeHead(200, { 'content-type': 'application/json', 'content-length': kib * 1024 });
        for (let piece = 0; piece < kib / 16; piece += 1) res.write('x'.repeat(16 * 1024));
        res.end();
      };
      for (let call = 0; call < 2; call += 1) {
        const cut = await post(logged.url, caller, callOf('orders_list'));
        expect(textOf(cut.json.result)).toMatch(/more than 131072 bytes/);
      }
      // The requests of the calls and the messages that brought them.
      const ofCaller = () => lines.filter((line) => line.caller === caller['x-client-id']).map(({ route }) => route);
      await until(() => ofCaller().length === 4);
      expect(ofCaller().toSorted()).toEqual(['mcp', 'mcp', 'orders.list', 'orders.list']);
    } finally {
      await logged.closeAll();
    }
  },
);

test('A-317 a client that goes away ends the request of its tool call at the service', async () => {
  let ended = false;
  door.upstream.answer = (_req, res) => {
    res.on('close', () => {
      ended = true;
    });
  };
  const gone = new AbortController();
  const sent = fetch(new URL('/mcp', door.url), {
    method: 'POST',
    signal: gone.signal,
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...door.asClient },
    body: JSON.stringify(callOf('orders_list')),
  });
  await until(() => door.upstream.seen.length === 1);
  gone.abort();
  await expect(sent).rejects.toThrow();
  // The gateway itself would end it after the 30 s of the route.
  await until(() => ended);
});

test('an upstream that breaks off its answer gives an error, and the next call works', async () => {
  door.upstream.answer = (_req, res) => {
    res.writeHead(200, { 'content-type': 'application/json', 'content-length': '500' });
    res.write('{"success":');
    setImmediate(() => res.destroy());
  };
  const broken = await post(door.url, door.asClient, callOf('customer_create'));
  expect(JSON.stringify(broken.json)).toMatch(/UPSTREAM_UNREACHABLE|broke off/);
  door.upstream.answer = (req, res) => {
    req.resume();
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(orders));
  };
  const next = await post(door.url, door.asClient, callOf('orders_list'));
  expect(next.json.result.structuredContent).toEqual(orders);
});
