/**
 * The whole program on a primary and its synchronous standby. Callers order, each order with a key that they repeat until it
 * is answered, while the primary fails and the standby is promoted.
 */
import { randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import { importsAnswer } from '../../support/orders/imports-answer.ts';
import { type RunningProgram, runJson, startProgram } from '../../support/program.ts';
import { until } from '../../support/until.ts';
import { startReceiver, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import { type DatabasePair, startPair } from './database-pair.ts';

const callers = 4;
const ordersBetween = 20;

type Shop = {
  pair: DatabasePair;
  program: RunningProgram;
  receiver: WebhookReceiver;
  env: Record<string, string>;
  restuid: string;
};

const openShop = async (pair: DatabasePair, receiver: WebhookReceiver): Promise<Shop> => {
  const env = {
    DATABASE_URL: pair.url,
    ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
    ORDERPASS_ALLOW_PRIVATE_TARGETS: 'true',
    ORDERPASS_RATE_MINUTE_UNITS: '10000000',
    ORDERPASS_RATE_BURST_UNITS: '10000000',
  };
  const program = await startProgram(env);
  const { restuid = '' } = await runJson(['restaurant', 'create', '--name', 'Osteria'], env);
  const of = ['--restaurant', restuid];
  await runJson(['notifications', 'set', ...of, '--orders', 'on'], env);
  await runJson(['endpoint', 'create', ...of, '--url', receiver.url, '--kinds', 'orders'], env);
  return { pair, program, receiver, env, restuid };
};

type Headers = Record<string, string>;
type Key = { id: string; headers: Headers };

const makeKey = async ({ env, restuid }: Shop): Promise<Key> => {
  const made = await runJson(['key', 'create', '--restaurant', restuid, '--name', 'Till'], env);
  return { id: String(made.key_id), headers: { 'x-api-key': String(made.api_key) } };
};

/** A client, which may do everything. */
const makeTill = async ({ env, restuid }: Shop): Promise<Headers> => {
  const made = await runJson(['client', 'create', '--name', 'Till', '--restaurant', restuid], env);
  return {
    'x-client-id': String(made.client_id),
    'x-client-secret': String(made.client_secret),
    'content-type': 'application/json',
  };
};

const revoke = ({ env }: Shop, { id }: Key): Promise<unknown> => runJson(['key', 'revoke', '--key-id', id], env);

/** The body of an order of the only product. */
const importMenu = async ({ program }: Shop, headers: Headers): Promise<string> => {
  await importsAnswer(program.url, headers);
  const menu = {
    pos_uid: 'till',
    update_mode: 'merge',
    categories: [{ ext_id: 'C', name: 'Pizze' }],
    products: [{ ext_id: 'P', category_ext_id: 'C', name: 'Marinara', price: 6 }],
  };
  const imported = await fetch(`${program.url}/api/menu/import`, {
    method: 'POST',
    headers,
    body: JSON.stringify(menu),
  });
  expect(imported.status).toBe(200);
  const found = await (await fetch(`${program.url}/api/menu/products`, { headers })).json();
  const [product] = (found as { products: { uid: string }[] }).products;
  return JSON.stringify({
    client: { first_name: 'Ada', email: 'ada@example.com' },
    dmethod: '0t',
    table: '4',
    payment_method: 'external',
    details: [{ product: { uid: product?.uid }, quantity: 1 }],
  });
};

/** Orders one after the other until `isDone`. Each is repeated under its key until it is answered by something else than 503. */
const keepOrdering = async (shop: Shop, till: Headers, body: string, seen: Seen): Promise<void> => {
  while (!seen.isDone) {
    seen.begun += 1;
    const headers = { ...till, 'idempotency-key': `order-${seen.begun}` };
    await until(async () => {
      const answer = await fetch(`${shop.program.url}/api/order/create`, { method: 'POST', headers, body });
      const text = await answer.text();
      if (answer.status === 503) expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
      if (answer.status === 503) seen.unavailable += 1;
      // The request before may hold the key for a moment.
      if (answer.status === 503 || text.includes('still running')) return false;
      expect([answer.status, text]).toEqual([200, expect.stringContaining('"uid"')]);
      seen.acknowledged.push(String(JSON.parse(text).order.uid));
      seen.longestMs = Math.max(seen.longestMs, performance.now() - seen.lastAtMs);
      seen.lastAtMs = performance.now();
      return true;
    });
  }
};

type Seen = {
  isDone: boolean;
  begun: number;
  acknowledged: string[];
  unavailable: number;
  /** Without an acknowledged order. */
  longestMs: number;
  lastAtMs: number;
};

const statusOf = async ({ program }: Shop, { headers }: Key): Promise<number> =>
  (await fetch(`${program.url}/api/orders/list`, { headers })).status;

/**
 * `fail`: what happens to the primary; the standby is promoted afterwards. Holds that the program goes on by itself, that no
 * acknowledged order is lost and none written twice, and that revoked keys are refused.
 */
export const runFailover = async (fail: (pair: DatabasePair) => Promise<void>): Promise<void> => {
  const pair = await startPair();
  const receiver = await startReceiver();
  let program: RunningProgram | undefined;
  try {
    const shop = await openShop(pair, receiver);
    program = shop.program;
    const [till, before, after] = [await makeTill(shop), await makeKey(shop), await makeKey(shop)];
    const body = await importMenu(shop, till);
    await revoke(shop, before);
    expect(await statusOf(shop, after)).toBe(200);

    const lastAtMs = performance.now();
    const seen: Seen = { isDone: false, begun: 0, acknowledged: [], unavailable: 0, longestMs: 0, lastAtMs };
    const ordering = Promise.all(Array.from({ length: callers }, () => keepOrdering(shop, till, body, seen)));
    const untilMore = async (): Promise<void> => {
      const count = seen.acknowledged.length + ordersBetween;
      await Promise.race([until(() => seen.acknowledged.length > count), ordering]);
    };
    await untilMore();
    await fail(pair);
    await pair.standby.promote();
    await untilMore();
    expect(await statusOf(shop, before)).toBe(401);
    await until(async () => (await statusOf(shop, after)) === 200);
    await revoke(shop, after);
    await expect.poll(() => statusOf(shop, after)).toBe(401);
    seen.isDone = true;
    await ordering;

    process.stdout.write(
      `${seen.begun} orders, ${Math.round(seen.longestMs)} ms without one, ${seen.unavailable} answers of 503\n`,
    );
    const stored = await pair.standby.query('select uid from ordering.orders');
    expect(stored.map(({ uid }) => String(uid)).toSorted()).toEqual(seen.acknowledged.toSorted());
    expect(seen.acknowledged.length).toBe(seen.begun);
    const events = new Map<string, string>();
    const gather = (): number => {
      for (const { headers, body: text } of receiver.received)
        if (text.includes('"order.new"')) events.set(String(headers['webhook-id']), String(JSON.parse(text).order.uid));
      return events.size;
    };
    await until(() => gather() >= seen.begun);
    expect([...events.values()].toSorted()).toEqual(seen.acknowledged.toSorted());
  } finally {
    await program?.stop();
    await receiver.close();
    await pair.close();
  }
};
