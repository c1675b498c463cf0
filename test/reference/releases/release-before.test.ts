/** A process of the release before beside one of today, on the schema of today and on that of the next release. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { allMigrations } from '#src/app/installation/migrations.ts';
import { migrate } from '#src/platform/db/schema/migrate.ts';
import type { Migration } from '#src/platform/db/schema/pending.ts';
import { programVersion } from '#src/platform/files/release.ts';
import { createEmptyDatabase, type TestDatabase } from '../../support/database.ts';
import { importsAnswer } from '../../support/orders/imports-answer.ts';
import { type RunningProgram, runCommand, runJson, startProgram } from '../../support/program.ts';
import { until } from '../../support/until.ts';
import { startReceiver, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import { type Checkout, checkOut, migrationsOf, migrationsOfToday, missingHistory, releases } from './history.ts';

type Json = ReturnType<typeof JSON.parse>;

const log = pino({ level: 'silent' });

/** The newest release with another schema than today's; before the next migration is written, the newest one. */
const releaseBefore = () => {
  const count = migrationsOfToday().length;
  return releases.find((release) => migrationsOf(release).length < count) ?? releases[0];
};

const later = (number: number, worksWith: string): Migration => ({
  ...{ feature: 'cellar', number, name: `barrels-${number}`, worksWith },
  sql: `create schema cellar_${number}`,
});

describe.skipIf(missingHistory !== undefined)('the release before', () => {
  let database: TestDatabase;
  let receiver: WebhookReceiver;
  let checkout: Checkout;
  let env: Record<string, string>;
  /** Each gateway has a data folder of its own. */
  let envBefore: Record<string, string>;
  let restuid: string;
  let product: string;
  let client: { client_id: string; client_secret: string };
  let oldest: string;
  /** Of the release before, and of today. */
  let before: RunningProgram;
  let today: RunningProgram;
  const running = new Set<RunningProgram>();

  const started = (program: RunningProgram): RunningProgram => {
    running.add(program);
    return program;
  };
  const startBefore = async (): Promise<RunningProgram> => started(await startProgram(envBefore, checkout.folder));
  const startToday = async (): Promise<RunningProgram> => started(await startProgram(env));

  const stop = async (program: RunningProgram): Promise<void> => {
    running.delete(program);
    expect(await program.stop()).toBe(0);
  };

  beforeAll(async () => {
    const release = releaseBefore();
    if (release === undefined) throw new Error('the changelog names no release');
    oldest = release.version;
    checkout = checkOut(release);
    database = await createEmptyDatabase();
    receiver = await startReceiver();
    env = {
      DATABASE_URL: database.ownerUrl,
      ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
      ORDERPASS_ORIGIN: 'http://localhost:4000',
      ORDERPASS_ALLOW_PRIVATE_TARGETS: 'true',
      // These tests ask without a pause; limits have their own.
      ORDERPASS_RATE_MINUTE_UNITS: '1000000',
      ORDERPASS_RATE_BURST_UNITS: '1000000',
      ORDERPASS_RATE_FAILURES_MAX: '1000000',
    };
    envBefore = { ...env, ORDERPASS_DATA_DIR: join(checkout.folder, 'data') };
    before = await startBefore();
    await prepare();
  });

  afterAll(async () => {
    await Promise.all([...running].map((program) => program.kill()));
    await receiver?.close();
    await database?.drop();
    checkout?.remove();
  });

  const call = async (
    { url }: RunningProgram,
    path: string,
    headers: Record<string, string>,
    body?: unknown,
  ): Promise<{ status: number; json: Json }> => {
    const post = { method: 'POST', headers: { 'content-type': 'application/json', ...headers } };
    const what = body === undefined ? { headers } : { ...post, body: JSON.stringify(body) };
    const answer = await fetch(`${url}/api${path}`, what);
    return { status: answer.status, json: await answer.json() };
  };

  const byHeaders = (): Record<string, string> => ({
    'x-client-id': client.client_id,
    'x-client-secret': client.client_secret,
  });

  /** A restaurant with a product, a client and an endpoint, made by the commands of the release before. */
  const prepare = async (): Promise<void> => {
    const run = (...args: string[]) => runJson(args, envBefore, checkout.folder);
    restuid = (await run('restaurant', 'create', '--name', 'Da Ada')).restuid ?? '';
    const of = ['--restaurant', restuid];
    const [made] = await Promise.all([
      run('client', 'create', '--name', 'Till', ...of),
      run('notifications', 'set', ...of, '--orders', 'on'),
      run('endpoint', 'create', ...of, '--url', receiver.url),
    ]);
    client = { client_id: String(made.client_id), client_secret: String(made.client_secret) };
    await importsAnswer(before.url, byHeaders());
    const menu = { categories: [{ ext_id: 'C', name: 'Pizze' }] };
    const products = [{ ext_id: 'P', category_ext_id: 'C', name: 'Marinara', price: 6 }];
    await call(before, '/menu/import', byHeaders(), { pos_uid: 'till', update_mode: 'merge', ...menu, products });
    product = (await call(before, '/menu/products', byHeaders())).json.products[0].uid;
  };

  const order = async (program: RunningProgram, headers: Record<string, string>): Promise<string> => {
    const made = await call(program, '/order/create', headers, {
      client: { first_name: 'Ada', email: 'ada@example.com' },
      ...{ dmethod: '0t', table: '4', payment_method: 'external' },
      details: [{ product: { uid: product }, quantity: 1 }],
    });
    expect([made.status, made.json]).toEqual([200, expect.objectContaining({ success: true })]);
    return made.json.order.uid;
  };

  const oauth = async ({ url }: RunningProgram, path: string, more: Record<string, string>): Promise<Json> => {
    const answer = await fetch(`${url}/api/oauth/${path}`, {
      method: 'POST',
      body: new URLSearchParams({ ...client, ...more }),
    });
    expect(answer.status).toBe(200);
    const text = await answer.text();
    return text === '' ? undefined : JSON.parse(text);
  };

  const issue = async (program: RunningProgram): Promise<Record<string, string>> => {
    const { access_token: token } = await oauth(program, 'token', { grant_type: 'client_credentials' });
    return { authorization: `Bearer ${token}` };
  };

  /** What one process issues and creates holds at the other: `held` is a token that one of them issued earlier. */
  const work = async (one: RunningProgram, other: RunningProgram, held?: Record<string, string>): Promise<void> => {
    const token = held ?? (await issue(one));
    const uid = await order(one, token);
    const read = await call(other, `/orders/get?uid=${uid}`, token);
    expect([read.status, read.json.order?.uid]).toEqual([200, uid]);
    const isDelivered = (): boolean => receiver.received.some(({ body }) => body.includes(uid));
    await until(isDelivered);
    await oauth(one, 'revoke', { token: token.authorization?.slice('Bearer '.length) ?? '' });
    const revokedAtMs = performance.now();
    let acceptedAtMs = revokedAtMs;
    await until(async () => {
      const sentAtMs = performance.now();
      const { status } = await call(other, '/orders/list', token);
      if (status === 200) acceptedAtMs = sentAtMs;
      return status === 401;
    });
    expect(acceptedAtMs - revokedAtMs).toBeLessThan(1_000);
  };

  test('A-281 a running process answers every request while the schema becomes newer', async () => {
    let [orders, isMigrated] = [0, false];
    const ordering = async (): Promise<void> => {
      while (!isMigrated) {
        await order(before, byHeaders());
        orders += 1;
      }
    };
    const migrating = async (): Promise<void> => {
      await until(() => orders > 2);
      const ownSchema = orders;
      expect(await runCommand(['migrate', '--json'], env)).toMatchObject({ code: 0, stderr: '' });
      expect(await migrate(database.pool, [...allMigrations, later(1, oldest)], { log })).toHaveLength(1);
      const newSchema = orders;
      expect(newSchema).toBeGreaterThan(ownSchema);
      await until(() => orders > newSchema + 2);
    };
    const answered = ordering();
    try {
      // An order that fails ends the test at once.
      await Promise.race([answered, migrating()]);
    } finally {
      isMigrated = true;
    }
    await answered;
  });

  test('A-281 its tokens, orders, webhooks and revocations hold at a process of today and back, also after both restart', async () => {
    today = await startToday();
    await work(before, today);
    await work(today, before);
    const [ofBefore, ofToday] = [await issue(before), await issue(today)];
    await stop(before);
    before = await startBefore();
    await stop(today);
    today = await startToday();
    await work(today, before, ofBefore);
    await work(before, today, ofToday);
  });

  test('A-643 endpoints that it makes on the schema of today have `v1a`', async () => {
    const of = ['--restaurant', restuid];
    await runJson(['endpoint', 'create', ...of, '--url', `${receiver.url}/later`], envBefore, checkout.folder);
    const { endpoints }: Json = await runJson(['webhook', 'list', ...of], env);
    expect(endpoints).toMatchObject([{ url: `${receiver.url}/later`, v1a: true }, { v1a: true }]);
  });

  test('A-282 a migration that works only with later releases refuses every start and names the release to start', async () => {
    const known = [...allMigrations, later(1, oldest)];
    expect(await migrate(database.pool, [...known, later(2, '999.10.0'), later(3, '999.9.0')], { log })).toHaveLength(
      2,
    );
    const refused = await runCommand(['start'], env);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('DATABASE_NEWER: the database has migration cellar/0002-barrels-2, which');
    expect(refused.stderr).toContain(`this is ${programVersion}. Start 999.10.0 or a newer release`);
    const old = await runCommand(['start'], envBefore, checkout.folder);
    expect([old.code, old.stderr]).toEqual([1, expect.stringContaining('DATABASE_NEWER')]);
  });
});
