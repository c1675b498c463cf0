import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { type Answer, type Json, request } from '../support/ordering.ts';
import { importsAnswer } from '../support/orders/imports-answer.ts';
import { type RunningProgram, runJson, startProgram } from '../support/program.ts';
import { until } from '../support/until.ts';

let database: TestDatabase;
let env: Record<string, string>;
let programs: RunningProgram[] = [];
let credentials: Record<string, string>;

beforeAll(async () => {
  database = await createTestDatabase();
  env = {
    DATABASE_URL: database.url,
    ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
    ORDERPASS_RATE_MINUTE_UNITS: '1000000',
    ORDERPASS_RATE_BURST_UNITS: '1000000',
  };
  const { restuid } = await runJson(['restaurant', 'create', '--name', 'Da Ada'], env);
  const of = ['--restaurant', String(restuid)];
  await runJson(['notifications', 'set', ...of, '--orders', 'on'], env);
  const { client_id, client_secret } = await runJson(['client', 'create', '--name', 'Till', ...of], env);
  credentials = { 'x-client-id': String(client_id), 'x-client-secret': String(client_secret) };
  const worker = { ...env, ORDERPASS_ROLE: 'worker' };
  programs = await Promise.all([startProgram(env), startProgram(worker), startProgram(worker)]);
});

afterAll(async () => {
  await Promise.all(programs.map((program) => program.kill()));
  await database?.drop();
});

const call = (method: string, path: string, body?: Json): Promise<Answer> =>
  request(programs[0]?.url ?? '', method, `/api${path}`, body, credentials);

/** What a free machine takes at most to place a hundred orders at once. */
const usualPlacingMs = 2_000;

/** Orders, and how many times as long as on a free machine the program took to place them. */
const placeOrders = async (count: number): Promise<{ orders: Json[]; slowness: number }> => {
  const menu = {
    pos_uid: 'till',
    update_mode: 'merge',
    categories: [{ ext_id: 'C', name: 'Pizza' }],
    products: [{ ext_id: 'P', category_ext_id: 'C', name: 'Margherita', price: 8.5 }],
  };
  await importsAnswer(programs[0]?.url ?? '', credentials);
  await call('POST', '/menu/import', menu);
  const { uid } = (await call('GET', '/menu/products')).json.products[0];
  const order = {
    client: { first_name: 'Ada', email: 'ada@example.com' },
    ...{ dmethod: '0t', table: '7', payment_method: 'cash', payment_method_sub: 'pos' },
    details: [{ product: { uid }, quantity: 1 }],
  };
  const beganAt = performance.now();
  const answers = await Promise.all(Array.from({ length: count }, () => call('POST', '/order/create', order)));
  const slowness = Math.max(1, (performance.now() - beganAt) / usualPlacingMs);
  return { orders: answers.map(({ json }) => json.order), slowness };
};

/**
 * Commits of the test itself, each after a pause of 20 ms. A free machine makes one in less than `usualMs`; the bound of the
 * program is stretched by what they take here, since other work takes the processor and the disk from the program too.
 * Returns the end of the watch, with that factor, and with how long commits stood still in all.
 */
const watchCommits = (): (() => Promise<{ factor: number; stalledMs: number }>) => {
  const [usualMs, pauseMs] = [10, 20];
  let [stalledMs, commits, ended] = [0, 0, false];
  const beganAt = performance.now();
  const running = (async () => {
    await sql`create table public.commits (at timestamptz)`.execute(database.db);
    while (!ended) {
      const startedAt = performance.now();
      await sql`insert into public.commits values (now())`.execute(database.db);
      stalledMs += Math.max(0, performance.now() - startedAt - 5 * usualMs);
      commits += 1;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  })();
  return async () => {
    ended = true;
    await running;
    const eachMs = (performance.now() - beganAt) / commits;
    return { factor: Math.max(1, (eachMs - pauseMs) / usualMs), stalledMs };
  };
};

const aheadMs = 2000;
const intervalMs = 20;

test('A-090 A-091 confirms around the end of 100 countdowns, with three processes that time orders out and one killed: each leaves new once, with one event, at most 5 s late', async () => {
  const { orders, slowness } = await placeOrders(100);
  const watched = watchCommits();
  const begin = Date.now() + aheadMs;
  // In one statement: a hundred may take a busy machine longer than the first countdown.
  await sql`update ordering.orders
    set countdown_end = ${new Date(begin)}::timestamptz + (place - 1) * ${intervalMs}::int * interval '1 ms'
    from unnest(${orders.map(({ uid }) => uid)}::text[]) with ordinality as changed (changed_uid, place)
    where uid = changed_uid`.execute(database.db);
  const answers = await Promise.all(
    orders.map(async ({ uid, token }, index) => {
      // From 30 ms before the end of the order to 30 ms after it; some well before it, because a busy machine makes the others late.
      const earlyMs = index % 10 === 0 ? aheadMs / 2 : 0;
      const at = begin + index * intervalMs + ((index * 7) % 61) - 30 - earlyMs;
      await new Promise((resolve) => setTimeout(resolve, at - Date.now()));
      if (index === 50) await programs[1]?.kill();
      return call('POST', '/order/confirm', { uid, token });
    }),
  );
  const left = async (): Promise<number> => {
    const { rows } = await sql`select 1 from ordering.orders where status = 'new'`.execute(database.db);
    return rows.length;
  };
  await until(async () => (await left()) === 0);
  const { factor, stalledMs } = await watched();
  // The processor is taken from the program too, which a commit of the test does not show.
  const lateMsMax = 5_000 * Math.max(factor, slowness) + stalledMs;
  const { rows } = await sql<{ entity: string; body: string }>`
    select entity, body from outbox.events where kind = 'orders' order by position`.execute(database.db);
  const outcomes = new Set<string>();
  for (const [index, { uid }] of orders.entries()) {
    const events: Json[] = rows.filter(({ entity }) => entity === uid).map(({ body }) => JSON.parse(body));
    const { order } = (await call('GET', `/orders/get?uid=${uid}`)).json;
    const { status, json } = answers[index] as Answer;
    const isConfirmed = status === 200;
    outcomes.add(order.status);
    expect([uid, order.status, events.map(({ event, seq }) => [event, seq])]).toEqual([
      uid,
      isConfirmed ? 'confirmed' : 'timed_out',
      [
        ['order.new', 1],
        ['order.countdown_started', 2],
        [isConfirmed ? 'order.confirmed' : 'order.timeout', 3],
      ],
    ]);
    const lateMs = new Date(events[2].created).getTime() - (begin + index * intervalMs);
    if (isConfirmed) expect(lateMs).toBeLessThan(0);
    else expect([json.error, lateMs >= 0, lateMs < lateMsMax]).toEqual(['TIMEOUT', true, true]);
  }
  expect([...outcomes].sort()).toEqual(['confirmed', 'timed_out']);
});
