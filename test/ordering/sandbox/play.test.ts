/** Scripts and events on request (interface 25.4), by the commands alone: what they cause is read from the outbox. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { triggerableEvents } from '#src/app/sandbox/triggerable-events.ts';
import { describedEvents } from '#src/ordering/index.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { runCommand, runJson, startCommand } from '../../support/program.ts';
import { until } from '../../support/until.ts';

let database: TestDatabase;
let env: Record<string, string>;
let sandbox: string;
let real: string;
const folder = mkdtempSync(join(tmpdir(), 'orderpass-scripts-'));

const option = { ext_id: 'o', name: 'Size', type: 'single', min_selectable: 1, primary: true };
const values = ['small', 'large'].map((name) => ({ ext_id: name, name }));
const menu = {
  categories: [{ ext_id: 'c', name: 'Pizze' }],
  products: [8, 9.5, 11, 12, 14.2].map((price, index) => ({
    ext_id: `p${index}`,
    category_ext_id: 'c',
    name: `Pizza ${index}`,
    price,
    options: index % 2 === 0 ? [{ ...option, option_values: values }] : [],
  })),
};

const file = (name: string, value: unknown): string => {
  const path = join(folder, name);
  writeFileSync(path, typeof value === 'string' ? value : JSON.stringify(value));
  return path;
};

beforeAll(async () => {
  database = await createTestDatabase();
  env = { DATABASE_URL: database.url, ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64') };
  sandbox = String((await runJson(['restaurant', 'create', '--name', 'Trial', '--sandbox'], env)).restuid);
  real = String((await runJson(['restaurant', 'create', '--name', 'Real'], env)).restuid);
  const kinds = ['--customers', 'on', '--orders', 'on', '--loyaltylog', 'on', '--menu', 'off'];
  await runJson(['notifications', 'set', '--restaurant', sandbox, ...kinds], env);
  await runJson(['menu', 'import', file('menu.json', menu), '--restaurant', sandbox, '--mode', 'replace'], env);
});

afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await database?.drop();
});

type Step = { do: string; error: string | null; uid: string | null; expected: boolean; at: string };
type Played = { played: number; unexpected: number; stopped: boolean; steps: Step[] };

const play = async (script: string, ...more: string[]) => {
  const words = ['sandbox', 'play', script, '--restaurant', sandbox, '--speed', '10000', '--json', ...more];
  const { code, stdout, stderr } = await runCommand(words, env);
  return { code, stderr, played: JSON.parse(stdout || '{}') as Played };
};

const events = async (): Promise<Record<string, number>> => {
  const { rows } = await sql<{ event: string; count: number }>`
    select event, count(*)::int as count from outbox.events where tenant = ${sandbox} group by event`.execute(
    database.db,
  );
  return Object.fromEntries(rows.map(({ event, count }) => [event, count]));
};

const totalsOf = async (steps: readonly Step[]): Promise<unknown[]> => {
  const uids = steps.flatMap((step) => (step.do === 'order' && step.uid !== null ? [step.uid] : []));
  const { rows } = await sql<{ total: unknown }>`
    select total from ordering.orders where uid = any(${uids}::text[]) order by number`.execute(database.db);
  return rows.map(({ total }) => total);
};

const clock = (...words: string[]) => runJson(['sandbox', 'clock', ...words, '--restaurant', sandbox], env);

/** 40 minutes before the bound of the clock. */
const clockToBound = async (): Promise<void> => {
  for (const words of [['reset'], ['advance', '365d'], ['advance', '1400m']]) await clock(...words);
};

/** Notes of plays in the audit, oldest first. */
const playNotes = async (): Promise<Record<string, unknown>[]> => {
  const { rows } = await sql<{ details: string }>`
    select details from gateway.audit_events where action = 'tenant.changed' and details like '%sandbox/play%'
    order by at, seq`.execute(database.db);
  return rows.map(({ details }) => JSON.parse(details));
};

test('A-307 each included script is played as it expects, with ordinary events; one seed chooses the same twice', async () => {
  const lunch = await play('quiet-lunch', '--seed', '7');
  expect([lunch.code, lunch.stderr, lunch.played]).toMatchObject([
    0,
    '',
    { played: 17, unexpected: 0, stopped: false },
  ]);
  const { steps } = lunch.played;
  expect(Date.parse(steps.at(-1)?.at ?? '') - Date.parse(steps[0]?.at ?? '')).toBeGreaterThan(83 * 60_000);
  expect(await events()).toMatchObject({ 'order.new': 5, 'order.confirmed': 5, 'order.closed': 5 });
  const again = await play('quiet-lunch', '--seed', '7');
  const totals = await totalsOf(steps);
  expect(totals).toHaveLength(5);
  expect(await totalsOf(again.played.steps)).toEqual(totals);
  const other = await play('quiet-lunch', '--seed', '8');
  expect(await totalsOf(other.played.steps)).not.toEqual(totals);
  for (const script of ['friday-night', 'everything-goes-wrong']) {
    const { code, played } = await play(script);
    expect([script, code, played.steps.filter(({ expected }) => !expected)]).toEqual([script, 0, []]);
  }
  expect((await playNotes()).filter(({ begun }) => begun === true)).toHaveLength(5);
});

test('A-584 a play that throws half-way is in the audit, with its script, its begin and the steps that were played', async () => {
  const before = (await playNotes()).length;
  await clockToBound();
  const { code, stderr } = await play('quiet-lunch', '--seed', '3');
  await clock('reset');
  expect([code, stderr]).toEqual([1, expect.stringContaining('at most 366 days ahead')]);
  const [begun, ended, ...others] = (await playNotes()).slice(before);
  expect(begun).toEqual({ operation: 'sandbox/play', script: 'quiet-lunch', seed: 3, speed: 10_000, begun: true });
  expect(ended).toEqual({ operation: 'sandbox/play', script: 'quiet-lunch', steps: expect.any(Number), of: 17 });
  expect(others).toEqual([]);
  expect(ended?.steps).toBeGreaterThan(0);
  expect(ended?.steps).toBeLessThan(17);
});

test('A-307 a script in YAML is played; a step without its expected answer fails the command', async () => {
  const yaml = 'steps:\n  - {after: 0s, do: order, order: a, customer: ada}\n  - {after: 1m, do: close, order: a}\n';
  const { code, played } = await play(file('close.yaml', yaml));
  expect([code, played.unexpected, played.steps.map(({ error }) => error)]).toEqual([1, 1, [null, 'CONFLICT']]);
});

test('A-307 a real restaurant and scripts with mistakes are refused with the place of the mistake', async () => {
  const refused = await runCommand(['sandbox', 'play', 'quiet-lunch', '--restaurant', real], env);
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('is no sandbox')]);
  const order = { after: '1m', do: 'order', order: 'a', customer: 'ada' };
  for (const [steps, place] of [
    [[{ ...order, after: 'soon' }], 'steps.0.after'],
    [[order, { ...order, do: 'steal' }], 'steps.1.do: must be customer, points, order'],
    [[{ ...order, do: 'confirm', customer: undefined }], 'no step before makes a'],
    [[{ ...order, price: 0 }], 'steps.0: has an unknown member: price'],
    [[], 'steps: must not be empty'],
  ] as const) {
    const { code, stderr } = await play(file('wrong.json', { steps }));
    expect([place, code, stderr]).toEqual([place, 1, expect.stringContaining(place)]);
  }
  expect((await play(join(folder, 'absent.json'))).stderr).toContain('quiet-lunch');
});

test('A-307 Ctrl-C stops after a whole step, with what was played', async () => {
  const words = ['sandbox', 'play', 'quiet-lunch', '--restaurant', sandbox, '--speed', '1', '--json'];
  const running = startCommand(words, env);
  const orders = async (): Promise<number> => (await events())['customer.changed'] ?? 0;
  const before = await orders();
  await until(async () => (await orders()) > before);
  running.interrupt();
  const { code, stdout } = await running.ended;
  expect([code, JSON.parse(stdout)]).toMatchObject([1, { stopped: true, unexpected: 0, played: 1 }]);
});

test('A-738 a step that is further away than one timer reaches is waited for', async () => {
  const customer = { do: 'customer', customer: 'ada' };
  const steps = [
    { after: '0s', ...customer },
    { after: '30d', ...customer, customer: 'bob' },
  ];
  const script = file('long.json', { steps });
  const changed = async (): Promise<number> => (await events())['customer.changed'] ?? 0;
  const before = await changed();
  const running = startCommand(['sandbox', 'play', script, '--restaurant', sandbox, '--speed', '1', '--json'], env);
  await until(async () => (await changed()) > before);
  running.interrupt();
  const { code, stdout, stderr } = await running.ended;
  expect([code, JSON.parse(stdout)]).toMatchObject([1, { stopped: true, played: 1 }]);
  expect(stderr).not.toContain('TimeoutOverflowWarning');
});

test('A-308 trigger records a real example of each event, and refuses a real restaurant, an unknown event and a kind that is off', async () => {
  const names = ['order.new', 'order.countdown_started', 'order.confirmed', 'order.closed', 'order.cancelled'];
  for (const event of [...names, 'customer.changed', 'loyaltylog.created']) {
    const before = (await events())[event] ?? 0;
    const made = await runJson(['sandbox', 'trigger', event, '--restaurant', sandbox], env);
    expect(made).toMatchObject({ event, restuid: sandbox, uid: expect.stringMatching(/^(ord|cus|loy)_/) });
    expect([event, (await events())[event] ?? 0]).toEqual([event, expect.any(Number)]);
    expect((await events())[event] ?? 0).toBeGreaterThan(before);
  }
  expect(triggerableEvents.toSorted()).toEqual(describedEvents.map(({ event }) => event).toSorted());
  const trigger = (event: string, restuid = sandbox) =>
    runCommand(['sandbox', 'trigger', event, '--restaurant', restuid], env);
  expect((await trigger('menu.changed')).stderr).toContain('are off');
  await runJson(['notifications', 'set', '--restaurant', sandbox, '--menu', 'on'], env);
  expect((await trigger('menu.changed')).code).toBe(0);
  expect((await events())['menu.changed']).toBe(1);
  expect((await trigger('order.exploded')).stderr).toContain('order.cancelled');
  expect((await trigger('order.new', real)).stderr).toContain('is no sandbox');
  const countdown = (minutes: string) =>
    runJson(['restaurant', 'set', '--restaurant', sandbox, '--countdown-minutes', minutes], env);
  await countdown('0');
  for (const event of ['order.countdown_started', 'order.timeout'])
    expect((await trigger(event)).stderr).toContain('have no countdown');
  await countdown('10');
});

test('A-585 trigger makes order.confirmed and order.closed where orders are confirmed at once, and refuses before it orders or moves the clock', async () => {
  const trigger = (event: string) => runCommand(['sandbox', 'trigger', event, '--restaurant', sandbox], env);
  const confirmation = (state: 'on' | 'off') =>
    runJson(['restaurant', 'set', '--restaurant', sandbox, '--confirmation', state], env);
  const refusals = async (event: string, reason: string): Promise<void> => {
    const before = [await events(), (await clock('show')).ahead_seconds];
    const { code, stderr } = await trigger(event);
    expect([event, code, stderr]).toEqual([event, 1, expect.stringContaining(reason)]);
    expect([await events(), (await clock('show')).ahead_seconds]).toEqual(before);
  };
  await confirmation('off');
  for (const event of ['order.confirmed', 'order.closed']) {
    const before = (await events())[event] ?? 0;
    expect(await trigger(event)).toMatchObject({ code: 0, stderr: '' });
    expect((await events())[event]).toBe(before + 1);
  }
  for (const event of ['order.countdown_started', 'order.timeout']) await refusals(event, 'have no countdown');
  await confirmation('on');
  await clockToBound();
  await refusals('order.timeout', 'at most 366 days ahead');
  await clock('reset');
});
