/** Agents and the whole program: discovery of the token endpoint, step-up, the core behind the tools. */
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Client, ClientCredentialsProvider, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { makeDataDir, type RunningProgram, runCommand, runJson, startProgram } from '../../support/program.ts';
import { until } from '../../support/until.ts';
import { type Reply, routeFile, sendRequest } from '../harness/public-door.ts';
import { untilListed } from '../whoami/request-harness.ts';
import { callOf, connect, jsonType, listMessage, post, textOf } from './mcp-door.ts';

let database: TestDatabase;
let program: RunningProgram;
let env: Record<string, string>;
let client: { clientId: string; clientSecret: string };
let clientHeaders: Record<string, string>;
let restuid: string;
const data = makeDataDir();

beforeAll(async () => {
  database = await createTestDatabase();
  env = {
    DATABASE_URL: database.url,
    ORDERPASS_DATA_DIR: data.path,
    ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
    ORDERPASS_MCP: 'on',
    ORDERPASS_LEGACY_STATUS: 'on',
  };
  program = await startProgram(env);
  ({ restuid = '' } = await runJson(['restaurant', 'create', '--name', 'Osteria'], env));
  const made = await runJson(['client', 'create', '--name', 'Agent', '--restaurant', restuid], env);
  client = { clientId: made.client_id ?? '', clientSecret: made.client_secret ?? '' };
  clientHeaders = { 'x-client-id': client.clientId, 'x-client-secret': client.clientSecret };
});

afterAll(async () => {
  await program?.stop();
  await database?.drop();
  data.remove();
});

/** A client that knows the address of /mcp, its id and its secret, and nothing else. */
const connectByOAuth = async (scope?: string): Promise<{ agent: Client; provider: ClientCredentialsProvider }> => {
  const provider = new ClientCredentialsProvider({
    ...client,
    expectedIssuer: program.url,
    ...(scope === undefined ? undefined : { scope }),
  });
  const agent = new Client({ name: 'test', version: '1' });
  await agent.connect(new StreamableHTTPClientTransport(new URL('/mcp', program.url), { authProvider: provider }));
  return { agent, provider };
};

test('A-312 a client that knows only the address, its id and its secret finds the token endpoint and calls a tool', async () => {
  const { agent, provider } = await connectByOAuth();
  const who = await agent.callTool({ name: 'whoami', arguments: {} });
  expect(who.structuredContent).toMatchObject({ success: true, credential: { kind: 'bearer', id: client.clientId } });
  expect((await provider.tokens())?.token_type).toBe('Bearer');
  const { tools } = await agent.listTools();
  expect(tools.length).toBeGreaterThan(30);
  await agent.close();
});

test('A-311 a client whose token lacks a scope gets a new token by the challenge and repeats the call', async () => {
  const { agent, provider } = await connectByOAuth('read:menu');
  const names = (await agent.listTools()).tools.map(({ name }) => name);
  expect(names).not.toContain('orders_list');
  const result = await agent.callTool({ name: 'orders_list', arguments: {} });
  expect(result.structuredContent).toMatchObject({ success: true, orders: [] });
  expect((await provider.tokens())?.scope?.split(' ').toSorted()).toEqual(['read:menu', 'read:orders']);
  await agent.close();
});

test('A-315 wrong arguments give the errors of the API, in legacy status mode too; the corrected call succeeds once', async () => {
  const agent = await connect(program.url, clientHeaders);
  const wrong = await agent.callTool({
    name: 'customer_create',
    arguments: { first_name: 'Ada', email: 'no address' },
  });
  expect(wrong.isError).toBe(true);
  const refusal = JSON.parse(textOf(wrong));
  expect(refusal).toMatchObject({ success: false, error: 'VALIDATION_ERROR' });
  expect(refusal.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual(['email']);
  const given = { first_name: 'Ada', last_name: 'Rossi', email: 'ada@example.com', idempotency_key: 'agent-1' };
  const first = await agent.callTool({ name: 'customer_create', arguments: given });
  expect([first.isError, textOf(first)]).toEqual([false, expect.stringContaining('ada@example.com')]);
  const again = await agent.callTool({ name: 'customer_create', arguments: given });
  expect(textOf(again)).toBe(textOf(first));
  const other = await agent.callTool({ name: 'customer_create', arguments: { ...given, email: 'b@example.com' } });
  expect(JSON.parse(textOf(other)).error).toBe('IDEMPOTENCY_KEY_REUSED');
  const listed = await agent.callTool({ name: 'customerstats_customers', arguments: {} });
  expect(listed.structuredContent).toMatchObject({ customers: [{ email: 'ada@example.com' }] });
  await agent.close();
});

test('A-678 the list of a caller has each tool call once, as the request of its operation', async () => {
  const made = await runJson(
    ['client', 'create', '--name', 'Listed', '--restaurant', restuid, '--scope', 'read:orders'],
    env,
  );
  const headers = { 'x-client-id': made.client_id ?? '', 'x-client-secret': made.client_secret ?? '' };
  const call = (name: string, given: Record<string, unknown>): Promise<Reply> =>
    post(program.url, headers, callOf(name, given));
  const found = await call('orders_list', {});
  const missing = await call('orders_get', { uid: 'ord_none' });
  const refused = await call('customer_create', { first_name: 'A', last_name: 'B', email: 'a@example.com' });
  const other = await post(program.url, headers, listMessage);
  const idOf = (reply: Reply): string => String(reply.headers['x-request-id']);
  const listed = await untilListed(program.url, headers, idOf(other));
  expect(listed.map(({ request_id, route }) => [request_id, route])).toEqual([
    [idOf(other), 'mcp'],
    [idOf(refused), 'customer.create'],
    [idOf(missing), 'orders.get'],
  ]);
  expect([found.status, refused.status]).toEqual([200, 403]);
});

test('A-310 every tool that only reads answers by its own output schema, or refuses with an error of the API', async () => {
  // The client compiles each schema and refuses a result that does not have it.
  const agent = await connect(program.url, clientHeaders);
  const { tools } = await agent.listTools();
  let answered = 0;
  for (const { name, annotations } of tools.filter((tool) => tool.annotations?.readOnlyHint === true)) {
    const result = await agent.callTool({ name, arguments: {} });
    if (result.isError === true) expect([name, JSON.parse(textOf(result)).success]).toEqual([name, false]);
    else answered += 1;
    expect(annotations?.destructiveHint).toBe(false);
  }
  expect(answered).toBeGreaterThan(6);
  await agent.close();
});

test('A-313 a token that is revoked in the middle of a connection is refused at its next call', async () => {
  const { provider, agent } = await connectByOAuth();
  const token = (await provider.tokens())?.access_token ?? '';
  const bearer = { authorization: `Bearer ${token}` };
  expect((await post(program.url, bearer, callOf('whoami'))).status).toBe(200);
  await fetch(`${program.url}/api/oauth/revoke`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ client_id: client.clientId, client_secret: client.clientSecret, token }),
  });
  await expect.poll(async () => (await post(program.url, bearer, callOf('whoami'))).status).toBe(401);
  expect((await post(program.url, bearer, listMessage)).headers['www-authenticate']).toContain('error="invalid_token"');
  await agent.close();
});

test('A-319 with the setting, a route at /mcp is refused before a start and without it taken; explain names the path', async () => {
  const file = join(dirname(data.path), 'routes.json');
  const { routes, ...table } = routeFile();
  const own = { id: 'own.mcp', path: '/mcp', scopes: [], upstream: 'ordering' };
  writeFileSync(file, JSON.stringify({ ...table, routes: [...routes, own] }));
  const refused = await runCommand(['config', 'check'], { ...env, ORDERPASS_ROUTES_FILE: file });
  expect([refused.code, refused.stdout + refused.stderr]).toEqual([
    expect.any(Number),
    expect.stringContaining(`routes.${routes.length}.path: the gateway answers /mcp itself`),
  ]);
  expect(refused.code).not.toBe(0);
  const off = { ...env, ORDERPASS_ROUTES_FILE: file, ORDERPASS_MCP: 'off' };
  expect(await runCommand(['config', 'check'], off)).toMatchObject({ code: 0 });
  const explained = await runCommand(['routes', 'explain', 'POST', '/mcp', '--json'], env);
  expect(JSON.parse(explained.stdout)).toMatchObject({ route: null, answered_by: expect.stringContaining('/mcp') });
});

test('A-484 a tool refuses a foreign restaurant, an address outside the networks of the client and a call beyond its quota, as the operation does', async () => {
  const { restuid = '' } = await runJson(['restaurant', 'create', '--name', 'Foreign'], env);
  const { restuid: own = '' } = await runJson(['restaurant', 'create', '--name', 'Own'], env);
  const made = await runJson(['client', 'create', '--name', 'Bounded', '--restaurant', own], env);
  const headers = { 'x-client-id': made.client_id ?? '', 'x-client-secret': made.client_secret ?? '' };
  const agent = await connect(program.url, headers);
  const codeOf = async (given: Record<string, string>): Promise<[unknown, unknown]> => {
    const result = await agent.callTool({ name: 'orders_list', arguments: given });
    return [result.isError, JSON.parse(textOf(result)).error];
  };
  expect(await codeOf({ restuid })).toEqual([true, 'UNAUTHORIZED']);
  // With a key too the argument is wrong, not the credential.
  const { api_key: key = '' } = await runJson(['key', 'create', '--name', 'Bounded', '--restaurant', own], env);
  const ofKey = await post(program.url, { 'x-api-key': key }, callOf('orders_list', { restuid }));
  expect([ofKey.status, JSON.parse(textOf(ofKey.json.result))]).toMatchObject([200, { error: 'INVALID_KEY' }]);
  expect(await codeOf({})).toEqual([false, undefined]);
  await runJson(['client', 'limits', String(made.client_id), '--day', '1'], env);
  await until(async () => (await codeOf({}))[1] === 'RATE_LIMIT_EXCEEDED');
  await agent.close();
  await runJson(['client', 'allow-ip', String(made.client_id), '--allow-ip', '192.0.2.0/24'], env);
  await until(async () =>
    (await post(program.url, headers, callOf('orders_list'))).text.includes('ADDRESS_NOT_ALLOWED'),
  );
  // The operation behind the tool is asked from the address of the caller.
  await runJson(['client', 'limits', String(made.client_id), '--day', 'none'], env);
  await runJson(['client', 'allow-ip', String(made.client_id), '--allow-ip', '127.0.0.2/32'], env);
  const options = { headers: { ...jsonType, ...headers }, body: JSON.stringify(callOf('orders_list')) };
  await until(async () => {
    const { text } = await sendRequest(program.url, 'POST', '/mcp', { ...options, localAddress: '127.0.0.2' });
    return text.includes('total_count');
  });
});
