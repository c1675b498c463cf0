/** How requests of callers get into their list: pages under load, a stop, a store that is away, bounds, retention. */
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { gatewaySettings } from '#src/gateway/index.ts';
import { rateLimited } from '#src/gateway/model/faults.ts';
import { createDryRunLog } from '#src/gateway/policy/dry-run-log.ts';
import { createExchange } from '#src/gateway/request/exchange.ts';
import { createDenialLog } from '#src/gateway/whoami/denial-log.ts';
import { createRequestDays } from '#src/gateway/whoami/requests/request-days.ts';
import { createRequestLog, type Dropped } from '#src/gateway/whoami/requests/request-log.ts';
import { dayMs, hourMs } from '#src/platform/clock.ts';
import { createDatabase } from '#src/platform/db/pool.ts';
import { until } from '../../support/until.ts';
import { type Door, type Harness, openHarness, read } from '../harness/gateway-harness.ts';
import { type Headers, type Reply, sendRequest } from '../harness/public-door.ts';
import { openStoreLine, type StoreLine } from '../harness/store-line.ts';
import { requestsOf, untilListed, usageOf, walk } from './request-harness.ts';

const write = '/api/customer/create';

let harness: Harness;
let tenant: string;
let second: Door;

beforeAll(async () => {
  harness = await openHarness();
  tenant = await harness.createTenant();
  second = await harness.openDoor();
});

afterAll(() => harness.close());

const makeKey = async (): Promise<{ id: string; headers: Headers }> => {
  const { keyId, value } = await harness.credentials.createApiKey({ tenant, name: 'till' });
  return { id: keyId, headers: { 'x-api-key': value } };
};

const post = (url: string, headers: Headers): Promise<Reply> =>
  sendRequest(url, 'POST', write, { headers: { ...headers, 'content-type': 'application/json' }, body: '{}' });

const idOf = ({ headers }: Reply): string => String(headers['x-request-id']);

test('A-293 a list that is walked by cursor while two gateways write has each request once, newest first', async () => {
  const { headers } = await makeKey();
  const sent = new Set<string>();
  for (let i = 0; i < 30; i += 1) for (const url of [harness.url, second.url]) sent.add(idOf(await post(url, headers)));
  await until(async () => (await requestsOf(harness.url, headers)).length === 60);
  let stopped = false;
  const late = new Set<string>();
  const writing = [harness.url, second.url].map(async (url) => {
    while (!stopped) late.add(idOf(await post(url, headers)));
  });
  await until(() => late.size > 5);
  const pages = await walk(harness.url, headers, '?pagesize=7');
  stopped = true;
  await Promise.all(writing);
  const listed = pages.flat();
  const ids = listed.map(({ request_id }) => request_id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.filter((id) => sent.has(id))).toHaveLength(60);
  const times = listed.map(({ at_iso }) => Date.parse(at_iso));
  expect(times).toEqual(times.toSorted((a, b) => b - a));
  expect(pages.slice(0, -1).every((page) => page.length === 7)).toBe(true);
  await until(async () => (await walk(second.url, headers, '?pagesize=100')).flat().length === 60 + late.size);
});

test('A-294 a gateway that stops writes what it holds: entries and counts', async () => {
  const { headers } = await makeKey();
  const door = await harness.openDoor();
  for (let i = 0; i < 20; i += 1) await post(door.url, headers);
  for (let i = 0; i < 5; i += 1) await sendRequest(door.url, 'GET', read, { headers });
  await door.close();
  expect(await requestsOf(harness.url, headers)).toHaveLength(20);
  const hours: { route: string; reads: number; writes: number }[] = (await usageOf(harness.url, headers)).hours;
  // An hour may end between two of the requests.
  const counted = (of: string, what: 'reads' | 'writes'): number =>
    hours.reduce((sum, hour) => sum + (hour.route === of ? hour[what] : 0), 0);
  expect([counted('orders.list', 'reads'), counted('orders.list', 'writes')]).toEqual([5, 0]);
  expect([counted('customer.create', 'reads'), counted('customer.create', 'writes')]).toEqual([0, 20]);
});

test('A-294 while the store is away no request waits for the log, and all are listed when it is back', async () => {
  const { headers } = await makeKey();
  const line = await openStoreLine(harness.database.ownerUrl);
  const door = await harness.openDoor({ pool: line.pool });
  try {
    const before = await post(door.url, headers);
    await untilListed(harness.url, headers, idOf(before));
    // Credentials stay known for a moment after the store is gone.
    const pending = Array.from({ length: 20 }, () => post(door.url, headers));
    await line.cut();
    const replies = await Promise.all(pending);
    const accepted = replies.filter(({ status }) => status === 200);
    await line.restore();
    const listed = async () => (await walk(harness.url, headers, '?pagesize=100')).flat().map((one) => one.request_id);
    await until(async () => {
      const ids = await listed();
      return accepted.every((reply) => ids.includes(idOf(reply)));
    });
  } finally {
    await door.close();
    await line.close();
  }
});

const log = pino({ level: 'silent' });

/** One answered write of this caller. */
const answeredWrite = (caller: string, requestId: string) => {
  const req = { url: write, method: 'POST', headers: {}, rawHeaders: [] };
  const res = { destroyed: false, headersSent: true };
  const exchange = createExchange(req as never, res as never, requestId, 0, false, false);
  exchange.principal = { id: caller, tenants: [tenant] } as never;
  exchange.route = { id: 'customer.create', method: 'POST', path: write } as never;
  return exchange;
};

const openLog = () => {
  const drops: [string, number][] = [];
  const dropped: Dropped = (reason, count) => drops.push([reason, count]);
  const { db } = harness.database;
  const opened = createRequestLog({ db, clock: harness.clock, log, nowMs: () => 5, dropped });
  return { ...opened, drops };
};

const stored = async (caller: string): Promise<number> =>
  Number(
    (await harness.database.pool.query('select count(*) from gateway.requests where caller = $1', [caller])).rows[0]
      ?.count,
  );

test('A-294 beyond the bound of the queue entries are dropped and counted; every request is still counted by hour', async () => {
  const { answered, writer, drops } = openLog();
  for (let i = 0; i < 20_500; i += 1) answered(answeredWrite('opc_queue', `req_${i}`), 200);
  expect(drops.length).toBe(500);
  expect(new Set(drops.map(([reason]) => reason))).toEqual(new Set(['queue']));
  await writer.run(AbortSignal.abort());
  expect(await stored('opc_queue')).toBe(20_000);
  const { rows } = await harness.database.pool.query(
    `select sum(writes)::int as writes from gateway.request_hours where caller = 'opc_queue'`,
  );
  expect(rows).toEqual([{ writes: 20_500 }]);
});

test('A-294 of a caller that only fails a bounded number is listed, and others keep their room', async () => {
  const { answered, writer, drops } = openLog();
  for (let i = 0; i < 3_100; i += 1) answered(answeredWrite('opc_fails', `req_f${i}`), 409);
  answered(answeredWrite('opc_other', 'req_other'), 409);
  await writer.run(AbortSignal.abort());
  expect(await stored('opc_fails')).toBe(3_000);
  expect(await stored('opc_other')).toBe(1);
  expect(drops).toHaveLength(100);
  expect(new Set(drops.map(([reason]) => reason))).toEqual(new Set(['caller']));
});

test('A-668 after a clock that was a day ahead is right, requests and denials of a caller that had filled its hour are kept', async () => {
  const { answered, drops } = openLog();
  const { note, find } = createDenialLog({ db: harness.database.db, clock: harness.clock, log });
  const fail = (requestId: string): void => {
    const exchange = answeredWrite('opc_ahead', requestId);
    note(exchange, rateLimited(1, 'units'), 'gateway');
    answered(exchange, 429);
  };
  harness.clock.move(dayMs);
  for (let i = 0; i < 3_000; i += 1) fail(`req_a${i}`);
  fail('req_beyond');
  expect(drops).toEqual([['caller', 1]]);
  expect(await find('opc_ahead', 'req_beyond')).toBeUndefined();
  harness.clock.move(-dayMs);
  fail('req_later');
  expect(await find('opc_ahead', 'req_later')).toMatchObject({ request_id: 'req_later' });
  expect(drops).toEqual([['caller', 1]]);
});

test('A-294 a batch that the store refuses is dropped and counted, and later requests are listed', async () => {
  const { answered, writer, drops } = openLog();
  const refused = answeredWrite('opc_refused', 'req_r\0');
  answered(refused, 200);
  await writer.run(AbortSignal.abort());
  expect(drops).toEqual([['store', 1]]);
  answered(answeredWrite('opc_refused', 'req_r2'), 200);
  await writer.run(AbortSignal.abort());
  expect(await stored('opc_refused')).toBe(1);
});

/**
 * Ends the connection after the store has committed what `begin` writes and before its answer. `held`: makes that write wait.
 * `written`: finds it.
 */
const cutAtCommit = async (
  line: StoreLine,
  { held, written, begin }: { held: string; written: string; begin: () => unknown },
): Promise<void> => {
  const { pool } = harness.database;
  const holder = await pool.connect();
  try {
    await holder.query('begin');
    await holder.query(held);
    await begin();
    const waits = `select from pg_stat_activity
      where datname = current_database() and application_name = 'test-line' and wait_event_type = 'Lock'`;
    await until(async () => (await pool.query(waits)).rows.length > 0);
    line.slow(600_000);
    await holder.query('commit');
  } finally {
    holder.release();
  }
  await until(async () => (await pool.query(written)).rows.length > 0);
  await line.cut();
  line.slow(0);
  await line.restore();
};

test('a connection to the store that ends at the commit makes no count of requests too high', async () => {
  const { id, headers } = await makeKey();
  const line = await openStoreLine(harness.database.url);
  const door = await harness.openDoor({ pool: line.pool });
  const counted = async (): Promise<number> =>
    Number(
      (await harness.database.pool.query('select sum(requests) from gateway.caller_usage where caller = $1', [id]))
        .rows[0]?.sum,
    );
  let accepted = 0;
  const use = async (): Promise<void> => {
    if ((await post(door.url, headers)).status === 200) accepted += 1;
  };
  try {
    await until(async () => {
      await use();
      return accepted === 1;
    });
    await until(async () => (await counted()) === 1);
    await cutAtCommit(line, {
      held: 'lock table gateway.caller_usage in exclusive mode',
      written: `select from gateway.caller_usage where caller = '${id}' having sum(requests) > 1`,
      begin: async () => {
        for (let i = 0; i < 3; i += 1) await use();
      },
    });
    const before = accepted;
    await until(async () => {
      await use();
      return accepted > before;
    });
    await until(async () => (await counted()) >= accepted);
    expect(await counted()).toBe(accepted);
  } finally {
    await door.close();
    await line.close();
  }
});

test('a connection to the store that ends at the commit makes no count of an hour too high, and is counted', async () => {
  const line = await openStoreLine(harness.database.url);
  const drops: [string, number][] = [];
  const dropped: Dropped = (reason, count) => drops.push([reason, count]);
  const db = createDatabase(line.pool);
  const now = harness.clock.now();
  const { answered, writer } = createRequestLog({ db, clock: { now: () => now }, log, nowMs: () => 5, dropped });
  const row = `from gateway.request_hours where caller = 'opc_cut'`;
  const answer = (count: number): void => {
    for (let i = 0; i < count; i += 1) answered(answeredWrite('opc_cut', `req_cut${count}${i}`), 200);
  };
  const writes = async (): Promise<unknown> =>
    (await harness.database.pool.query(`select sum(writes)::int as sum ${row}`)).rows[0]?.sum;
  try {
    answer(1);
    await writer.run(AbortSignal.abort());
    answer(3);
    let running: unknown;
    await cutAtCommit(line, {
      held: `select ${row} for update`,
      written: `select ${row} and writes = 4`,
      begin: () => {
        running = writer.run(AbortSignal.abort());
      },
    });
    await running;
    answer(2);
    await writer.run(AbortSignal.abort());
    expect([await writes(), drops]).toEqual([6, [['store', 3]]]);
  } finally {
    await line.close();
  }
});

test('a connection to the store that ends at the commit makes no count of a dry run of scopes too high', async () => {
  const line = await openStoreLine(harness.database.url);
  const { note, service } = createDryRunLog({ db: createDatabase(line.pool), clock: harness.clock, log });
  const call = (count: number): void => {
    for (let i = 0; i < count; i += 1) note('orders.list', 'opc_dry', 'read:orders');
  };
  const row = `from gateway.policy_dry_run where caller = 'opc_dry'`;
  const calls = async (): Promise<number> =>
    Number((await harness.database.pool.query(`select calls ${row}`)).rows[0]?.calls);
  const stop = new AbortController();
  const running = service.run(stop.signal);
  try {
    call(1);
    await until(async () => (await calls()) === 1);
    await cutAtCommit(line, {
      held: `select ${row} for update`,
      written: `select ${row} and calls = 4`,
      begin: () => call(3),
    });
    call(2);
    await until(async () => (await calls()) !== 4);
    expect(await calls()).toBe(6);
  } finally {
    stop.abort();
    await running;
    await line.close();
  }
});

test('A-511 denials that come while a store hangs count to the bound of the queue together with those that it writes', async () => {
  const line = await openStoreLine(harness.database.url);
  try {
    const { note, services } = createDenialLog({ db: createDatabase(line.pool), clock: harness.clock, log });
    const [writer] = services;
    const noteMany = (prefix: string): void => {
      for (let i = 0; i < 10_000; i += 1) {
        const exchange = answeredWrite(`opc_${prefix}_${i % 10}`, `req_${prefix}_${i}`);
        note(exchange, rateLimited(1, 'units'), 'gateway');
      }
    };
    noteMany('first');
    line.freeze();
    const failed = expect(writer?.run(new AbortController().signal)).rejects.toThrow();
    await until(() => line.pool.totalCount > line.pool.idleCount);
    noteMany('second');
    await line.cut();
    await failed;
    await line.restore();
    const count = async (): Promise<number> =>
      Number(
        (
          await harness.database.pool.query(
            `select count(*) from gateway.denials where caller ~ '^opc_(first|second)_'`,
          )
        ).rows[0]?.count,
      );
    const ended = new AbortController();
    const writing = writer?.run(ended.signal);
    await until(async () => (await count()) >= 10_000);
    ended.abort();
    await writing;
    expect(await count()).toBe(10_000);
  } finally {
    await line.close();
  }
});

const daysOf = async (): Promise<string[]> =>
  (
    await harness.database.pool.query(
      `select relname from pg_inherits join pg_class on pg_class.oid = inhrelid
       where inhparent in ('gateway.requests'::regclass, 'gateway.request_hours'::regclass) order by 1`,
    )
  ).rows.map(({ relname }) => String(relname));

/** Runs the service once. */
const keepDays = async (days: number): Promise<void> => {
  const ended = new AbortController();
  const { db } = harness.database;
  const service = createRequestDays({ db, clock: harness.clock, log, days });
  const running = service.run(ended.signal);
  const before = await daysOf();
  await until(async () => {
    const now = await daysOf();
    return JSON.stringify(now) !== JSON.stringify(before) || now.length >= 6;
  });
  ended.abort();
  await running;
};

test('A-295 requests leave the list after the retention, and their days are dropped as a whole', async () => {
  const { id, headers } = await makeKey();
  const first = await post(harness.url, headers);
  await untilListed(harness.url, headers, idOf(first));
  const before = await daysOf();
  harness.clock.move(7 * dayMs - hourMs);
  expect(await requestsOf(harness.url, headers)).toHaveLength(1);
  harness.clock.move(2 * hourMs);
  expect(await requestsOf(harness.url, headers)).toHaveLength(0);
  expect(await requestsOf(harness.url, headers, `?request_id=${idOf(first)}`)).toEqual([]);
  expect(await stored(id)).toBe(1);
  const later = await post(harness.url, headers);
  await untilListed(harness.url, headers, idOf(later));
  harness.clock.move(dayMs);
  await keepDays(7);
  await until(async () => !(await daysOf()).includes(before[0] ?? ''));
  expect(await stored(id)).toBe(1);
  expect(await requestsOf(harness.url, headers)).toHaveLength(1);
});

test('A-295 with 0 days nothing is kept, the lists are empty, and what was kept is dropped', async () => {
  expect(gatewaySettings.parse({}).request_log_days).toBe(7);
  for (const days of [-1, 32, 1.5, 'x']) expect(() => gatewaySettings.parse({ request_log_days: days })).toThrow();
  const { id, headers } = await makeKey();
  const door = await harness.openDoor({ settings: { request_log_days: 0 } });
  expect((await post(door.url, headers)).status).toBe(200);
  const reply = await sendRequest(door.url, 'GET', '/api/whoami/requests', { headers });
  expect(reply.json).toEqual({
    ...{ success: true, requests: [], kept_days: 0, pagesize: 100, more: false, next_cursor: null },
  });
  expect((await usageOf(door.url, headers)).hours).toEqual([]);
  await door.close();
  expect(await stored(id)).toBe(0);
});
