import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { embeddedConnection } from '#src/platform/db/embedded/embedded.ts';
import { makeDataDir, type RunningProgram, runJson, startProgram } from '../support/program.ts';
import { query } from '../support/store-owner.ts';
import { until } from '../support/until.ts';

type Closers = (() => unknown)[];
const closers: Closers = [];
const closersOfFile: Closers = [];
const closeAll = async (all: Closers): Promise<void> => {
  for (const close of all.splice(0).reverse()) await close();
};
afterEach(() => closeAll(closers));
afterAll(() => closeAll(closersOfFile));

const dataDir = (owner = closers): string => {
  const data = makeDataDir();
  owner.push(data.remove);
  return data.path;
};

const start = async (env: Record<string, string>, owner = closers): Promise<RunningProgram> => {
  const program = await startProgram(env);
  owner.push(() => program.kill());
  return program;
};

type Installation = { env: Record<string, string>; first: RunningProgram };

/** Two installations, which were started at the same time; a store with its demo costs more than most of what follows. */
let left: Installation;
let right: Installation;

const install = async (more: Record<string, string> = {}): Promise<Installation> => {
  const env = { ORDERPASS_DATA_DIR: dataDir(closersOfFile), ...more };
  const first = await start(env, closersOfFile);
  await until(() => first.output().includes('/demo/receiver\n'));
  return { env, first };
};

beforeAll(async () => {
  [left, right] = await Promise.all([install(), install({ ORDERPASS_ALLOW_PRIVATE_TARGETS: 'true' })]);
});

const shown = (program: RunningProgram, name: string): string =>
  new RegExp(`${name} +(\\S+)`).exec(program.output())?.[1] ?? '';

test('two installations run side by side on other ports and folders and know nothing of each other', async () => {
  const [own, other] = [left.first, right.first];
  const read = (url: string, key: string): Promise<Response> =>
    fetch(`${url}/api/menu/categories`, { headers: { 'x-api-key': key } });
  expect((await read(own.url, shown(own, 'API key'))).status).toBe(200);
  expect((await read(other.url, shown(own, 'API key'))).status).toBe(401);
  expect((await read(other.url, shown(other, 'API key'))).status).toBe(200);
});

const endpointsOf = async (url: string, headers: Record<string, string>): Promise<{ uid: string }[]> => {
  let response = await fetch(`${url}/api/webhook/endpoints`, { headers });
  // A gateway that just started answers 503 on a busy machine, until it knows which credentials have changed.
  await until(async () => {
    if (response.status !== 503) return true;
    response = await fetch(`${url}/api/webhook/endpoints`, { headers });
    return false;
  });
  expect(response.status).toBe(200);
  return ((await response.json()) as { endpoints: { uid: string }[] }).endpoints;
};

test('F-55 A-500 a start names reference, panel and how the first account is made and refuses a second one beside it, Ctrl-C stops cleanly, and later ones name no credentials and make a removed endpoint of the demo not again', async () => {
  const { env, first } = left;
  for (const place of ['/docs', '/panel']) expect(first.output()).toContain(first.url + place);
  expect(first.output()).toContain('user create --email');
  await expect(startProgram(env)).rejects.toThrow(/in use/);
  const headers = {
    'x-client-id': shown(first, 'Client id'),
    'x-client-secret': shown(first, 'Client secret'),
    'content-type': 'application/json',
  };
  const [made] = await endpointsOf(first.url, headers);
  const removed = await fetch(`${first.url}/api/webhook/remove`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ uid: made?.uid }),
  });
  expect(removed.status).toBe(200);
  expect(await first.stop()).toBe(0);
  expect(first.errors()).toBe('');

  for (const round of [1, 2]) {
    const later = await start(env);
    expect((await fetch(`${later.url}/healthz`)).status).toBe(200);
    expect(await endpointsOf(later.url, headers), `start ${round}`).toEqual([]);
    expect(await later.stop()).toBe(0);
    expect(later.output()).toMatch(/^Orderpass listens on /);
    expect(later.output()).not.toMatch(/op[cks]_|whsec_/);
    expect(later.errors()).toBe('');
  }
});

/** A receiver that refuses every request until the test lets it accept. */
const startReceiver = async () => {
  const received: { id: string; event: string }[] = [];
  let accept = false;
  let refused = 0;
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (accept) {
        const { event } = JSON.parse(Buffer.concat(chunks).toString()) as { event: string };
        received.push({ id: String(request.headers['webhook-id']), event });
      } else refused += 1;
      response.writeHead(accept ? 204 : 500).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => server.close().closeAllConnections());
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    refused: () => refused,
    acceptNow: () => {
      accept = true;
    },
  };
};

test('A-120 A-129 kill -9 and a new start lose no order and no webhook, and a retry of the order makes no second one', async () => {
  const { env, first } = right;
  const receiver = await startReceiver();
  const restuid = /\((rst_\w+)\)/.exec(first.output())?.[1] ?? '';
  await runJson(['endpoint', 'create', '--restaurant', restuid, '--url', receiver.url, '--kinds', 'orders'], env);
  const headers = {
    'x-client-id': shown(first, 'Client id'),
    'x-client-secret': shown(first, 'Client secret'),
    'content-type': 'application/json',
    'idempotency-key': 'story-1',
  };
  const body = /-d '(\{.*\})'/.exec(first.output())?.[1] ?? '';
  const create = async (url: string): Promise<{ status: number; text: string; replayed: string | null }> => {
    const response = await fetch(`${url}/api/order/create`, { method: 'POST', headers, body });
    return {
      status: response.status,
      text: await response.text(),
      replayed: response.headers.get('idempotent-replayed'),
    };
  };
  const created = await create(first.url);
  expect(created.status).toBe(200);
  await until(() => receiver.refused() > 0);
  await first.kill();

  receiver.acceptNow();
  const second = await start(env);
  expect(await create(second.url)).toEqual({ ...created, replayed: 'true' });
  const list = await fetch(`${second.url}/api/orders/list`, { headers: { 'x-api-key': shown(first, 'API key') } });
  // Three are the demo's own.
  expect(await list.json()).toMatchObject({ total_count: 4 });
  // The crash may leave a lease behind, which ends by itself within half a minute; then comes the retry.
  await until(() => receiver.received.length >= 2);
  expect(receiver.received.map(({ event }) => event)).toEqual(['order.new', 'order.confirmed']);
  expect(await second.stop()).toBe(0);
});

test('a start that cannot note what it has shown ends with the reason, because otherwise it would ignore the first signal', async () => {
  const path = dataDir();
  const env = { ORDERPASS_DATA_DIR: path, ORDERPASS_MASTER_KEY: Buffer.alloc(32, 7).toString('base64') };
  // A production has no demo, so the store is made without one.
  const first = await start({ ...env, NODE_ENV: 'production' });
  const store = await embeddedConnection(path);
  if (store === undefined) throw new Error('no store');
  await query(
    store.connection,
    `create function public.refuse() returns trigger language plpgsql as $$ begin raise 'not noted'; end $$`,
    `create trigger refuse before update on platform.facts for each row when (old.name = 'demo') execute function public.refuse()`,
  );
  expect(await first.stop()).toBe(0);
  const second = await start(env);
  await until(() => second.child.exitCode !== null);
  expect(second.child.exitCode).toBe(1);
  await until(() => second.errors().includes('not noted'));
  expect(second.output()).toContain('/demo/receiver\n');
});
