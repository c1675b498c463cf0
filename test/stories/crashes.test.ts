/**
 * Two minutes in which everything breaks: the core, the gateway, two workers and PostgreSQL are killed with SIGKILL while
 * producers change things through the public API and receivers fail in every way. TEST_SEED repeats what was random here;
 * TEST_CRASH_SECONDS makes it last longer.
 */
import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectionUrl } from '#src/platform/db/driver/socket-connection.ts';
import { readPidFile } from '#src/platform/db/embedded/pid-file.ts';
import { type FailingReceiver, startFailingReceiver } from '../support/doubles/failing-receiver.ts';
import { type RestlessProgram, startRestless } from '../support/doubles/restless-program.ts';
import { freePort } from '../support/free-port.ts';
import { runCommand, runJson } from '../support/program.ts';
import { createRandom, randomSeed } from '../support/random.ts';
import { signalOne } from '../support/signal.ts';
import { type Folder, makeFolder, query, type StoreOwner, startOwner } from '../support/store-owner.ts';
import { until } from '../support/until.ts';
import { startReceiver, status, type WebhookReceiver } from '../support/webhook-receiver.ts';

const crashMs = Number(process.env.TEST_CRASH_SECONDS ?? 120) * 1000;
const drainMs = 150_000;
const producersCount = 4;
const customersEach = 6;

const random = createRandom(randomSeed());

type Json = Record<string, unknown>;
type Endpoint = { name: string; uid: string; secret: string; kinds: readonly string[]; receiver: FailingReceiver };

let folder: Folder;
let owner: StoreOwner;
let env: Record<string, string>;
let credentials: Record<string, string>;
let gateway: RestlessProgram;
let dead: WebhookReceiver;
let deadUid: string;
const programs: RestlessProgram[] = [];
const endpoints: Endpoint[] = [];
const deaths: string[] = [];

/** One request; undefined when it got no answer. */
const ask = async (
  method: string,
  path: string,
  body?: object,
  key?: string,
): Promise<{ status: number; json: Json } | undefined> => {
  try {
    const answer = await fetch(`${gateway.url()}/api${path}`, {
      method,
      headers: {
        ...credentials,
        ...(body === undefined ? undefined : { 'content-type': 'application/json' }),
        ...(key === undefined ? undefined : { 'idempotency-key': key }),
      },
      signal: AbortSignal.timeout(20_000),
      ...(body === undefined ? undefined : { body: JSON.stringify(body) }),
    });
    return { status: answer.status, json: (await answer.json()) as Json };
  } catch {
    return undefined;
  }
};

let unanswered = 0;
let repeatedLate = 0;

/** Says it until it is acknowledged, as a client with an idempotency key may. Throws at a refusal that no crash explains. */
const insist = async (path: string, body: object): Promise<Json> => {
  const key = randomBytes(12).toString('hex');
  const deadline = Date.now() + drainMs;
  for (;;) {
    const answer = await ask('POST', path, body, key);
    if (answer?.status === 200) return answer.json;
    if (answer !== undefined && answer.status < 500 && answer.json.error !== 'CONFLICT' && answer.status !== 429)
      throw new Error(`${path} was refused: ${JSON.stringify(answer)}`);
    if (Date.now() > deadline) throw new Error(`${path} was never answered: ${JSON.stringify(answer)}`);
    unanswered += 1;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
};

const must = async (method: string, path: string, body?: object): Promise<Json> => {
  const answer = await ask(method, path, body);
  if (answer?.status !== 200) throw new Error(`${path}: ${JSON.stringify(answer)}`);
  return answer.json;
};

const addEndpoint = async (url: string, kinds: readonly string[]): Promise<{ uid: string; secret: string }> => {
  const { endpoint, secret } = (await must('POST', '/webhook/create', { url, kinds })) as {
    endpoint: { uid: string };
    secret: string;
  };
  return { uid: endpoint.uid, secret };
};

const allKinds = ['customers', 'orders', 'loyaltylog'];

beforeAll(async () => {
  folder = await makeFolder();
  owner = await startOwner({ dataDir: folder.dataDir });
  const core = String(await freePort());
  env = {
    DATABASE_URL: connectionUrl(owner.connection),
    ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
    ORDERPASS_ALLOW_PRIVATE_TARGETS: 'true',
    // Producers ask without a pause.
    ORDERPASS_RATE_MINUTE_UNITS: '1000000',
    ORDERPASS_RATE_BURST_UNITS: '1000000',
  };
  const migrated = await runCommand(['migrate'], env);
  if (migrated.code !== 0) throw new Error(migrated.stderr);
  const restless = async (name: string, more: Record<string, string>): Promise<RestlessProgram> => {
    const program = await startRestless(name, { ...env, ...more }, (words) => deaths.push(words));
    programs.push(program);
    return program;
  };
  await restless('core', { ORDERPASS_ROLE: 'ordering', ORDERPASS_INTERNAL_PORT: core });
  gateway = await restless('gateway', {
    ORDERPASS_ROLE: 'gateway',
    ORDERPASS_ORIGIN: 'http://localhost:4000',
    ORDERPASS_UPSTREAMS: `ordering=http://127.0.0.1:${core}`,
  });
  await Promise.all([
    restless('worker 1', { ORDERPASS_ROLE: 'worker' }),
    restless('worker 2', { ORDERPASS_ROLE: 'worker' }),
  ]);
  const { restuid } = await runJson(['restaurant', 'create', '--name', 'Osteria'], env);
  const switches = allKinds.flatMap((kind) => [`--${kind}`, 'on']);
  await runJson(['notifications', 'set', '--restaurant', String(restuid), ...switches], env);
  const client = await runJson(['client', 'create', '--name', 'Till', '--restaurant', String(restuid)], env);
  credentials = { 'x-client-id': String(client.client_id), 'x-client-secret': String(client.client_secret) };
  for (const [name, ofName] of [
    ['first', allKinds],
    ['second', allKinds],
    ['orders', ['orders']],
  ] as const) {
    const receiver = await startFailingReceiver(random);
    endpoints.push({ name, kinds: ofName, receiver, ...(await addEndpoint(receiver.url, ofName)) });
  }
  dead = await startReceiver(status(500));
  deadUid = (await addEndpoint(dead.url, allKinds)).uid;
});

afterAll(async () => {
  await Promise.all(programs.map((program) => program.stop()));
  await Promise.all([...endpoints.map(({ receiver }) => receiver.close()), dead?.close()]);
  await owner?.stop();
  await folder?.remove();
});

type Acknowledged = { event: string; entity: string; phone?: string };

const acknowledged: Acknowledged[] = [];

/** Changes customers of its own one after the other, and every few changes takes an order through its life. */
const produce = async (producer: number, productUid: string, isOver: () => boolean): Promise<void> => {
  const customers: string[] = [];
  for (let number = 0; number < customersEach; number += 1) {
    const email = `${producer}-${number}@example.com`;
    const { customer } = (await insist('/customer/create', { email })) as { customer: { uid: string } };
    acknowledged.push({ event: 'customer.changed', entity: customer.uid });
    customers.push(customer.uid);
  }
  for (let change = 1; !isOver(); change += 1) {
    const uid = customers[change % customersEach] ?? '';
    const phone = `+39${producer}${String(change).padStart(8, '0')}`;
    await insist('/customer/update', { uid, phone });
    acknowledged.push({ event: 'customer.changed', entity: uid, phone });
    if (change % 4 === 0) await order(`${producer}-${change % customersEach}@example.com`, productUid);
    // A person at a till, not a flood: what fails must have time to be tried again.
    await new Promise((resolve) => setTimeout(resolve, 60));
  }
};

const order = async (email: string, productUid: string): Promise<void> => {
  const { order: made } = (await insist('/order/create', {
    client: { first_name: 'Ada', email },
    dmethod: '0t',
    table: '7',
    payment_method: 'cash',
    payment_method_sub: 'cash',
    creator: 'restaurant',
    details: [{ product: { uid: productUid }, quantity: 1 }],
  })) as { order: { uid: string; token: string } };
  acknowledged.push({ event: 'order.new', entity: made.uid }, { event: 'order.confirmed', entity: made.uid });
  await insist('/order/close', { uid: made.uid, token: made.token });
  acknowledged.push({ event: 'order.closed', entity: made.uid });
};

const killed = { postmaster: 0, backend: 0 };

/** PostgreSQL as a whole, or one of its backends, after which it starts itself anew. Its watcher brings it back. */
const killPostgres = async (): Promise<void> => {
  if (random.next() < 0.5) {
    const pid = (await readPidFile(folder.cluster))?.pid;
    // PostgreSQL makes the file empty first.
    if (pid !== undefined && pid !== 0 && signalOne(pid, 'SIGKILL')) killed.postmaster += 1;
    return;
  }
  const rows = (await query(
    owner.connection,
    `select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid() order by pid`,
  ).catch(() => [])) as { pid: number }[];
  const victim = rows[random.between(0, rows.length - 1)];
  if (victim !== undefined && signalOne(victim.pid, 'SIGKILL')) killed.backend += 1;
};

const chaos = async (isOver: () => boolean): Promise<void> => {
  const restarts: Promise<unknown>[] = [];
  while (!isOver()) {
    await new Promise((resolve) => setTimeout(resolve, random.between(1_500, 5_000)));
    const victim = random.pick([
      [1, 'core'],
      [1, 'gateway'],
      [3, 'worker 1'],
      [3, 'worker 2'],
      [2, 'postgres'],
    ]);
    // Not waited for: another may die while this one is on its way back.
    const program = programs.find(({ name }) => name === victim);
    restarts.push(program === undefined ? killPostgres() : program.kill());
  }
  await Promise.all(restarts);
};

/**
 * The schedule of retries is made for hours; what waits for its next attempt is tried now instead. The endpoint that only
 * fails keeps its schedule.
 */
const hurry = async (): Promise<void> => {
  await query(
    owner.connection,
    `with hurried as (
       update webhooks.deliveries set next_attempt_at = now()
       where state = 'pending' and lease_until is null and next_attempt_at > now() and endpoint_uid <> '${deadUid}'
       returning endpoint_uid
     )
     update webhooks.ready set due_at = least(due_at, now())
     where endpoint_uid in (select endpoint_uid from hurried)`,
  ).catch(() => undefined);
};

const deliveriesPath = (uid: string, state: string, cursor = ''): string =>
  `/webhook/deliveries?endpoint_uid=${uid}&state=${state}${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`;

/** By the pages of the log: it counts no more than some hundreds by itself. */
const countOf = async (uid: string, state: string): Promise<number> => {
  let count = 0;
  for (let cursor = ''; ; ) {
    const page = await must('GET', deliveriesPath(uid, state, cursor));
    count += (page.deliveries as unknown[]).length;
    if (page.more !== true) return count;
    cursor = String(page.next_cursor);
  }
};

/** False also while the last that was killed is on its way back. */
const isDone = async ({ uid }: Endpoint): Promise<boolean> => {
  for (const state of ['pending', 'waiting']) {
    const { status, json } = (await ask('GET', deliveriesPath(uid, state))) ?? {};
    if (status !== 200 || json?.more !== false || (json.deliveries as unknown[]).length > 0) return false;
  }
  return true;
};

type FeedEvent = {
  id: string;
  event: string;
  kind: string;
  entity: string;
  seq: number;
  previous_seq: number | null;
  body: string;
};

const readFeed = async (): Promise<FeedEvent[]> => {
  const events: FeedEvent[] = [];
  let after = '';
  for (;;) {
    const page = await must('GET', `/events/list${after}`);
    events.push(...(page.events as FeedEvent[]));
    if (page.more !== true) return events;
    after = `?after=${encodeURIComponent(String(page.next_cursor))}`;
  }
};

const queueOf = ({ kind, entity }: { kind: string; entity: string }): string => `${kind} ${entity}`;

const say = (text: string): void => void process.stdout.write(`${text}\n`);

test(
  'A-129 A-138 while the core, the gateway, workers and PostgreSQL are killed and receivers fail, no acknowledged change is without its event, no event is lost to a receiver that recovers, none comes out of order',
  async () => {
    say(`crashes: seed ${random.seed}`);
    await insist('/menu/import', {
      pos_uid: 'till-1',
      update_mode: 'merge',
      categories: [{ ext_id: 'C1', name: 'Panini' }],
      products: [{ ext_id: 'P1', category_ext_id: 'C1', name: 'Panino', price: 8.5 }],
    });
    const { products } = (await must('GET', '/menu/products')) as { products: { uid: string }[] };
    const startedAt = Date.now();
    const isOver = (): boolean => Date.now() - startedAt > crashMs;
    const hurrying = setInterval(() => void hurry(), 700);
    try {
      const producers = Array.from({ length: producersCount }, (_, number) =>
        produce(number, products[0]?.uid ?? '', isOver),
      );
      await Promise.all([...producers, chaos(isOver)]);
      for (const { receiver } of endpoints) receiver.recover();
      await until(async () => (await Promise.all(endpoints.map(isDone))).every(Boolean), drainMs);
    } finally {
      clearInterval(hurrying);
    }
    const events = await readFeed();
    report(events);
    expect(deaths).toEqual([]);
    checkRecorded(events);
    for (const endpoint of endpoints) await checkReached(endpoint, events);
    say(`crashes: ${repeatedLate} repeats came after a later event of their entity`);
    expect(await countOf(deadUid, 'succeeded')).toBe(0);
  },
  crashMs + drainMs * 2,
);

/** Every acknowledged change has its event, once, and the events of an entity form one chain without a gap. */
const checkRecorded = (events: readonly FeedEvent[]): void => {
  const recorded = new Map<string, number>();
  for (const { event, entity, body } of events) {
    const { customer } = JSON.parse(body) as { customer?: { phone?: string | null } };
    const key = JSON.stringify([event, entity, customer?.phone ?? null]);
    recorded.set(key, (recorded.get(key) ?? 0) + 1);
  }
  const wrong = acknowledged.filter(
    ({ event, entity, phone = null }) => recorded.get(JSON.stringify([event, entity, phone])) !== 1,
  );
  expect(wrong).toEqual([]);
  const last = new Map<string, number>();
  for (const event of events) {
    expect([queueOf(event), event.previous_seq]).toEqual([queueOf(event), last.get(queueOf(event)) ?? null]);
    expect(event.seq).toBeGreaterThan(event.previous_seq ?? 0);
    last.set(queueOf(event), event.seq);
  }
};

/** Every event of its kinds was taken with a 2xx; bodies, ids and signatures are right; each entity came in its order. */
const checkReached = async (
  { uid, secret, kinds, receiver }: Endpoint,
  events: readonly FeedEvent[],
): Promise<void> => {
  const expected = new Map(events.filter(({ kind }) => kinds.includes(kind)).map((event) => [event.id, event]));
  expect([...expected.keys()].filter((id) => !receiver.taken.has(id))).toEqual([]);
  const counts = [];
  for (const state of ['succeeded', 'exhausted', 'cancelled']) counts.push(await countOf(uid, state));
  expect(counts).toEqual([expected.size, 0, 0]);
  const verifier = new Webhook(secret.slice('whsec_'.length));
  const before = predecessors([...expected.values()]);
  const atLast = new Map<string, number>();
  receiver.received.forEach(({ headers, body }, index) => {
    const event = expected.get(String(headers['webhook-id']));
    // A repeat carries the id and the bytes of the first.
    expect(body).toBe(event?.body);
    if (event === undefined) return;
    const age = Math.abs(Date.now() / 1000 - Number(headers['webhook-timestamp']));
    if (age < 200) verifier.verify(body, headers as Record<string, string>);
    // After a crash PostgreSQL has lost the results of the last moment.
    const earlier = before.get(event.id);
    if (earlier !== undefined && (receiver.taken.get(earlier) ?? Number.POSITIVE_INFINITY) > index)
      throw new Error(`${queueOf(event)}: ${event.seq} came before ${earlier} was taken`);
    if (event.seq < (atLast.get(queueOf(event)) ?? 0)) repeatedLate += 1;
    atLast.set(queueOf(event), event.seq);
  });
};

/** Id of an event -> id of the one before it of the same entity. */
const predecessors = (events: readonly FeedEvent[]): Map<string, string> => {
  const before = new Map<string, string>();
  const last = new Map<string, string>();
  for (const event of events) {
    const earlier = last.get(queueOf(event));
    if (earlier !== undefined) before.set(event.id, earlier);
    last.set(queueOf(event), event.id);
  }
  return before;
};

const report = (events: readonly FeedEvent[]): void => {
  const kills = [
    ...programs.map(({ name, kills: times }) => `${name} ${times()}`),
    `PostgreSQL ${killed.postmaster}`,
    `one backend ${killed.backend}`,
  ];
  say(`crashes: killed: ${kills.join(', ')}`);
  say(
    `crashes: ${acknowledged.length} changes acknowledged, ${unanswered} requests asked again, ${events.length} events`,
  );
  for (const { name, receiver } of endpoints) {
    const ids = new Set(receiver.received.map(({ headers }) => headers['webhook-id']));
    say(
      `crashes: ${name}: ${receiver.received.length} requests, ${ids.size} events, ${receiver.received.length - ids.size} repeats; ${JSON.stringify(receiver.counts)}`,
    );
  }
};
