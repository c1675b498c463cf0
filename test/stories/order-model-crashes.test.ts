/**
 * The model of orders again, now with the real program, a worker beside it and a PostgreSQL that syncs its disk, all of
 * which are killed at random moments. Clients do what clients do: the same request with the same Idempotency-Key again.
 */
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectionUrl } from '#src/platform/db/driver/socket-connection.ts';
import { readPidFile } from '#src/platform/db/embedded/pid-file.ts';
import { type Answer, type CallOptions, type Json, request } from '../support/ordering.ts';
import { createOrderModel } from '../support/orders/order-model.ts';
import { command, compare, type OrderHarness, type Placed, play } from '../support/orders/order-play.ts';
import { type RunningProgram, runJson, startProgram } from '../support/program.ts';
import { signalOne } from '../support/signal.ts';
import { type Folder, makeFolder, query, type StoreOwner, startOwner } from '../support/store-owner.ts';
import { until } from '../support/until.ts';

let folder: Folder;
let store: StoreOwner;
let env: Record<string, string>;
let credentials: Record<string, string>;
/** Resolves to the program that runs, or to the one that is being started. */
let program: Promise<RunningProgram>;
let worker: Promise<RunningProgram>;

/** As whatever restarts processes does: one that finds its PostgreSQL still recovering ends and is started again. */
const supervised = async (more: Record<string, string> = {}): Promise<RunningProgram> => {
  for (let tries = 0; ; tries += 1) {
    try {
      return await startProgram({ ...env, ...more });
    } catch (error) {
      if (tries === 10 || !/the database system|ECONNREFUSED|ENOENT|terminated/.test(String(error))) throw error;
    }
  }
};

const startWorker = (): Promise<RunningProgram> => supervised({ ORDERPASS_ROLE: 'worker' });

beforeAll(async () => {
  folder = await makeFolder();
  store = await startOwner(folder);
  env = {
    DATABASE_URL: connectionUrl(store.connection),
    ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
    ORDERPASS_ORIGIN: 'http://localhost:4000',
    ORDERPASS_RATE_MINUTE_UNITS: '1000000',
    ORDERPASS_RATE_BURST_UNITS: '1000000',
    ORDERPASS_RATE_FAILURES_MAX: '1000000',
  };
  program = supervised();
  await program;
  worker = startWorker();
  await worker;
});

afterAll(async () => {
  await Promise.all([program, worker].map(async (each) => (await each)?.kill()));
  await store?.stop();
  await folder?.remove();
});

/** Requests that were sent so far; what waits for their number to be killed. */
let sent = 0;
type Crash = { after: number; delayMs: number; what: 'program' | 'worker' | 'database' };
let crashes: Crash[] = [];
const killed: string[] = [];

const kill = async (what: string): Promise<void> => {
  killed.push(what);
  if (what === 'database') {
    // After the last kill there may be no server yet, or one that has written an empty file.
    const pid = (await readPidFile(folder.cluster))?.pid;
    if (pid !== undefined && pid !== 0) signalOne(pid, 'SIGKILL');
    return;
  }
  const [running, start] = what === 'program' ? [program, supervised] : [worker, startWorker];
  const next = running.then(async (old): Promise<RunningProgram> => {
    await old.kill();
    return await start();
  });
  // No test step may wait for it for a while; a program that does not start fails the next step that uses it.
  next.catch(() => undefined);
  if (what === 'program') program = next;
  else worker = next;
};

const isFinal = ({ status, headers }: Answer): boolean =>
  status < 500 && !(status === 409 && headers.has('retry-after'));

const retryMsMax = 90_000;
let keys = 0;

/** One answer in four is lost on its way, also where nothing was killed. */
const call = async (method: string, path: string, options: CallOptions = {}): Promise<Answer> => {
  keys += 1;
  const idempotency: Record<string, string> = method === 'POST' ? { 'idempotency-key': `key-${keys}` } : {};
  const isLost = keys % 4 === 0;
  const answer = await insist(method, path, options, idempotency);
  if (method === 'GET' || !isLost) return answer;
  const again = await insist(method, path, options, idempotency);
  expect([again.status, again.text]).toEqual([answer.status, answer.text]);
  expect(again.headers.get('idempotent-replayed')).toBe('true');
  return again;
};

/** Until there is an answer, as a client that knows only that it has none. */
const insist = async (
  method: string,
  path: string,
  options: CallOptions,
  idempotency: Record<string, string>,
): Promise<Answer> => {
  const search = options.query === undefined ? '' : `?${new URLSearchParams(options.query as Record<string, string>)}`;
  const end = Date.now() + retryMsMax;
  for (;;) {
    const { url } = await program;
    sent += 1;
    const due = crashes.filter(({ after }) => after <= sent);
    crashes = crashes.filter((crash) => !due.includes(crash));
    const headers = { ...credentials, ...idempotency };
    const answering = request(url, method, `/api${path}${search}`, options.body, headers).catch(() => undefined);
    for (const { what, delayMs } of due) {
      // Anywhere in the work that was just asked for.
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      await kill(what);
    }
    const answer = await answering;
    if (answer !== undefined && isFinal(answer)) return answer;
    if (Date.now() > end) throw new Error(`no answer to ${method} ${path}: ${answer?.text}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
};

const rows = (statement: string): Promise<Json[]> => query(store.connection, statement) as Promise<Json[]>;

const openOrderHarness = async (): Promise<OrderHarness> => {
  const { restuid } = await runJson(['restaurant', 'create', '--name', 'Da Ada'], env);
  const of = ['--restaurant', String(restuid)];
  await runJson(['restaurant', 'set', ...of, '--point-value', '0.1'], env);
  await runJson(['notifications', 'set', ...of, '--orders', 'on', '--customers', 'on', '--loyaltylog', 'on'], env);
  const { client_id, client_secret } = await runJson(['client', 'create', '--name', 'Till', ...of], env);
  credentials = { 'x-client-id': String(client_id), 'x-client-secret': String(client_secret) };
  const menu = {
    pos_uid: 'till',
    update_mode: 'merge',
    categories: [{ ext_id: 'C', name: 'Pizza' }],
    products: [{ ext_id: 'P', category_ext_id: 'C', name: 'Margherita', price: 8.5 }],
  };
  expect((await call('POST', '/menu/import', { body: menu })).status).toBe(200);
  const productUid: string = (await call('GET', '/menu/products')).json.products[0].uid;
  const events = async () =>
    (await rows(`select body from outbox.events where tenant = '${restuid}' order by position`)).map(({ body }) =>
      JSON.parse(body),
    );
  return { call, productUid, events };
};

const newOrders = `select uid from ordering.orders where status = 'new' and countdown_end is not null`;

const crash = fc.record({
  after: fc.integer({ min: 10, max: 60 }),
  delayMs: fc.nat({ max: 25 }),
  what: fc.constantFrom('program', 'program', 'worker', 'database') as fc.Arbitrary<Crash['what']>,
});

test('A-090 A-091 A-120 whatever is killed while parallel clients work and countdowns end, what was answered holds, and all is as in the model', async () => {
  const harness = await openOrderHarness();
  const model = createOrderModel(850);
  const orders: Placed[] = [];
  let round = 0;
  const clients = fc.array(fc.array(command, { minLength: 12, maxLength: 16 }), { minLength: 4, maxLength: 6 });
  const plans = fc.tuple(clients, fc.array(crash, { maxLength: 2 }));
  await fc.assert(
    fc.asyncProperty(plans, async ([commands, moments]) => {
      round += 1;
      const always: Crash[] = [
        { after: 6, delayMs: round * 3, what: 'program' },
        ...(round === 1 ? [{ after: 14, delayMs: 2, what: 'database' as const }] : []),
      ];
      crashes = [...always, ...moments].map((each) => ({ ...each, after: sent + each.after }));
      const placed = await Promise.all(commands.map((plan, index) => play(harness, model, `r${round}c${index}`, plan)));
      orders.push(...placed.flat());
      crashes = [];
      // Both that run time out orders; their time is brought here, and they are killed while they do it.
      const late = orders.filter(({ model: order }) => model.timeOut(order)).length;
      await until(async () => (await rows('select 1').catch(() => [])).length === 1);
      await Promise.all([program, worker]);
      await query(store.connection, `update ordering.orders set countdown_end = now() where uid in (${newOrders})`);
      await until(async () => late === 0 || (await rows(newOrders)).length < late);
      await kill(round % 2 === 0 ? 'worker' : 'program');
      await until(async () => (await rows(newOrders).catch(() => [1])).length === 0);
      await compare(harness, model, orders);
    }),
    { numRuns: 3, endOnFailure: true },
  );
  expect(new Set(killed)).toContain('database');
  expect(killed.filter((what) => what === 'program').length).toBeGreaterThan(1);
  expect(orders.length).toBeGreaterThan(20);
}, 300_000);
