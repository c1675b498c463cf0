/** What the webhook bench delivers from: a database of its own with endpoints and events, and the real worker beside it. */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { sql } from 'kysely';
import pg from 'pg';
import { pino } from 'pino';
import { allMigrations } from '#src/app/installation/migrations.ts';
import { buildEventBody } from '#src/contract/event.ts';
import { systemClock } from '#src/platform/clock.ts';
import { named } from '#src/platform/db/driver/named.ts';
import { hintsOf } from '#src/platform/db/hints/hints.ts';
import { outboxChannel, recordEvent, setKinds } from '#src/platform/db/outbox/outbox.ts';
import { createDatabase, createPool } from '#src/platform/db/pool.ts';
import { migrate } from '#src/platform/db/schema/migrate.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { newId } from '#src/platform/ids.ts';
import { createEndpoint, type SignatureScheme } from '#src/webhooks/index.ts';
import { boxOfEarlierStore } from '../../cli/store/earlier-store.ts';
import { startProgram } from '../../support/program.ts';
import { databaseUrl } from '../../support/test-server.ts';

export type Harness = Awaited<ReturnType<typeof openHarness>>;

/** How deliveries are signed beside `v1`. Default: as the program does. */
export type Signing = { signature?: SignatureScheme | null; v1a?: boolean };

const log = pino({ level: 'error' }, pino.destination(2));

/** A customer as receivers get it: about 700 bytes. */
const customer = (uid: string): Record<string, unknown> => ({
  uid,
  email: `${uid}@example.com`,
  first_name: 'Ada',
  last_name: 'Lovelace',
  phone: '+39055123456',
  address: { street: 'Via Roma', number: '12', city: 'Firenze', zip: '50122', province: 'FI', country: 'IT' },
  code: null,
  orders_count: 7,
  pickup_orders_count: 2,
  delivery_orders_count: 5,
  orders_total: 184.2,
  loyalty_points: 96.5,
  loyalty_seq: 9,
});

export const eventBody = (tenant: string, id: string, entity: string): string =>
  buildEventBody({
    event: 'customer.changed',
    object: 'customer',
    value: customer(entity),
    id,
    created: new Date(),
    tenant,
    seq: 1,
    previousSeq: null,
    trailing: { change: 'updated', changed_fields: ['phone'] },
  });

/**
 * Writes as much as the server keeps of its write-ahead log. From then on it uses those files again, as one that has carried such a
 * load for two minutes. A fresh one makes a file for each 2 MB, and every commit waits meanwhile.
 */
export const fillLog = async (serverUrl: string): Promise<void> => {
  const server = new pg.Client({ connectionString: serverUrl });
  await server.connect();
  await server.query(`
    select count(pg_logical_emit_message(false, 'bench', repeat('x', 1000000))) from generate_series(1, 1100)`);
  await server.query('checkpoint');
  await server.end();
};

/** `serverUrl`: a database of the server, from which this one is made. */
export const openHarness = async (serverUrl: string, name: string) => {
  const server = new pg.Client({ connectionString: serverUrl });
  await server.connect();
  // On a server of the reader an earlier run may have left it.
  const database = `orderpass_${name}`;
  await server.query(`drop database if exists ${database} with (force)`);
  await server.query(`create database ${database}`);
  await server.end();
  const url = databaseUrl(serverUrl, database);
  const pool = createPool({ connection: url, applicationName: 'bench' }, log);
  const db = createDatabase(pool);
  await migrate(pool, allMigrations, { log });
  const masterKey = randomBytes(32);
  const box = await boxOfEarlierStore(db, masterKey);
  const addEndpoint = async (
    tenant: string,
    target: string,
    signing: Signing = {},
  ): Promise<{ uid: string; secret: string }> => {
    await setKinds(db, tenant, { customers: true });
    const rules = { allowPrivate: true, allowedOrigins: [] };
    const { endpointUid: uid, secret } = await createEndpoint(
      { db, box, clock: systemClock, kinds: ['customers'], rules },
      { tenant, url: target, owner: { kind: 'panel', id: 'bench' }, ...signing },
    );
    return { uid, secret };
  };
  let workerPid: number | undefined;
  let recorded = 0;
  return {
    db,
    box,
    pool,
    url,
    addEndpoint,
    /**
     * Records `count` events, each of an entity of its own, the tenants in turn, also from call to call. The worker sees all of
     * them at the commit.
     */
    record: async (tenants: readonly string[], count: number): Promise<void> => {
      const from = recorded;
      recorded += count;
      await insertEvents(
        db,
        Array.from({ length: count }, (_, number) => tenants[(from + number) % tenants.length] ?? ''),
      );
      hintsOf(pool).send(outboxChannel);
    },
    /** Its id, and the moment at which its commit began, in milliseconds of the wall clock. */
    recordOne: (tenant: string): Promise<{ id: string; at: number }> =>
      inTransaction(db, async (tx) => {
        const entity = newId('cus');
        const event = await recordEvent(tx, {
          tenant,
          kind: 'customers',
          event: 'customer.changed',
          entity,
          seq: 1,
          created: new Date(),
          object: 'customer',
          value: () => customer(entity),
        });
        return { id: event?.id ?? '', at: performance.timeOrigin + performance.now() };
      }),
    /** The program in its role as a worker, with its default settings and `env`. `isPinned`: on core 0, where cores can be chosen. */
    startWorker: async (env: Record<string, string> = {}, isPinned = true) => {
      const worker = await startProgram({
        DATABASE_URL: url,
        ORDERPASS_MASTER_KEY: masterKey.toString('base64'),
        ORDERPASS_ROLE: 'worker',
        ORDERPASS_ALLOW_PRIVATE_TARGETS: 'true',
        ...env,
      });
      workerPid = worker.child.pid;
      if (isPinned) pin(workerPid);
      return worker;
    },
    /** Processor time of the worker's main thread so far, in microseconds; NaN where the system does not tell. */
    mainMicros: (): number => microsOf(workerPid),
    /** The thread that signs, once it runs, may use what receivers and store leave of core 1. */
    freeSigningThread: (): void => freeSigningThread(workerPid),
    close: () => pool.end(),
  };
};

const pin = (pid: number | undefined): void => {
  try {
    execFileSync('taskset', ['-acp', '0', String(pid)], { stdio: 'ignore' });
  } catch {
    // Where it cannot be pinned it floats, as parts.ts says.
  }
};

const threadsOf = (pid: number): string => `/proc/${pid}/task`;

const freeSigningThread = (pid: number | undefined): void => {
  try {
    if (pid === undefined) return;
    for (const thread of readdirSync(threadsOf(pid)))
      if (readFileSync(`${threadsOf(pid)}/${thread}/comm`, 'utf8').trim() === 'signing')
        execFileSync('taskset', ['-cp', '0,1', thread], { stdio: 'ignore' });
  } catch {
    // As above.
  }
};

const microsOf = (pid: number | undefined): number => {
  try {
    const [nanos] = readFileSync(`${threadsOf(pid ?? 0)}/${pid}/schedstat`, 'utf8').split(' ');
    return Number(nanos) / 1_000;
  } catch {
    return Number.NaN;
  }
};

const template = eventBody('{tenant}', '{event}', '{entity}');

/**
 * One event of each tenant, in a transaction. A prepared statement records and queues them, as in the program. PostgreSQL
 * completes the bodies, because this process shares the cores with what is measured.
 */
const insertEvents = async (db: Harness['db'], tenants: readonly string[]): Promise<void> => {
  const [eventStem, entityStem] = [newId('evt').slice(0, 18), newId('cus').slice(0, 18)];
  await sql`${named}
    with made as (
      select ${eventStem}::text || lpad(number::text, 11, '0') as id, tenant,
        ${entityStem}::text || lpad(number::text, 11, '0') as entity
      from unnest(${tenants}::text[]) with ordinality as wanted (tenant, number)
    ), recorded as (
      insert into outbox.events (id, tenant, kind, event, entity, seq, previous_seq, created, body, queued)
      select id, tenant, 'customers', 'customer.changed', entity, 1, null, now(),
        replace(replace(replace(${template}::text, '{tenant}', tenant), '{event}', id), '{entity}', entity), true
      from made returning position, id, tenant, kind, event, entity, created
    )
    insert into outbox.waiting (position, event_id, tenant, kind, event, entity, created)
    select * from recorded`.execute(db);
};
