/** A start with `--demo-data`: what is in the store afterwards, and what a second start and a used store do. */
import { afterEach, expect, test } from 'vitest';
import { createTestDatabase } from '../../support/database.ts';
import { type RunningProgram, runCommand, runJson } from '../../support/program.ts';
import { type Account, makeAccount } from './accounts.ts';
import { ask, closeAll, closers, contradictions, counts, newFolder, start } from './demo-start.ts';

afterEach(closeAll);

test('A-582 a first start with --demo-data has a week of orders, webhooks and refusals, which pages show, and a second one adds nothing', async () => {
  const env = newFolder();
  const first = await start(env, '--demo-data');
  expect(first.errors()).toBe('');
  expect(first.output()).toMatch(/^The demo restaurant gets a week[\s\S]*^The demo data is complete\.$/m);
  const [made] = (await ask(env, counts)) ?? [];
  expect(made).toMatchObject({ clients: 2, endpoints: 2 });
  expect(made?.orders).toBeGreaterThan(100);
  const rows = await ask(
    env,
    `select array_agg(distinct status) as states, array_agg(distinct dmethod) as methods,
       count(distinct date_trunc('day', date))::int as days,
       count(*) filter (where extract(hour from date at time zone 'Europe/Rome') in (12, 13, 14, 19, 20, 21, 22))::float / count(*) as meals
     from ordering.orders`,
  );
  const [orders] = rows ?? [];
  expect(orders?.states).toEqual(expect.arrayContaining(['cancelled', 'closed', 'confirmed', 'new', 'timed_out']));
  expect(orders?.methods).toEqual(['0', '0t', '1']);
  expect(orders?.days).toBeGreaterThanOrEqual(7);
  expect(orders?.meals).toBeGreaterThan(0.8);
  expect(await ask(env, contradictions)).toEqual([]);
  const reasons = await ask(
    env,
    `select distinct reason from gateway.audit_events where outcome = 'failure' and at < now() order by 1`,
  );
  expect(reasons?.map(({ reason }) => reason)).toEqual(
    expect.arrayContaining(['insufficient_scope', 'rate_limit_exceeded', 'secret_wrong']),
  );
  const deliveries = await ask(
    env,
    `select array_agg(distinct state) as states, max(attempts_count)::int as most,
       count(*) filter (where state = 'succeeded' and attempts_count > 1)::int as repaired from webhooks.deliveries`,
  );
  expect(deliveries?.[0]?.states).toEqual(expect.arrayContaining(['exhausted', 'pending', 'succeeded']));
  expect(deliveries?.[0]?.repaired).toBeGreaterThan(0);
  expect(await first.stop()).toBe(0);
  const verified = await runCommand(['audit', 'verify'], env);
  expect(verified).toMatchObject({ code: 0, stderr: '' });

  const second = await start(env, '--demo-data');
  expect(second.output()).toContain('this start adds nothing');
  expect(second.output()).not.toMatch(/op[cks]_|whsec_/);
  expect((await ask(env, counts))?.[0]).toEqual(made);
  await expectShownToAdmins(second, await makeAccount(second, env, 'admin', first.output()));
}, 900_000);

/** The demo restaurant is a sandbox, and nothing else is there. */
const expectShownToAdmins = async (program: RunningProgram, { cookie }: Account): Promise<void> => {
  const text = await (await fetch(`${program.url}/panel`, { headers: { cookie } })).text();
  const card = /<section class="card" id="failing-card"[\s\S]*?<\/section>/.exec(text)?.[0];
  expect(card).toContain('127.0.0.1:9/orders');
  expect(text).not.toContain('Sandboxes are left out.');
};

test('a store that is in use and a store of a database server get no demo data, and the start says why', async () => {
  const env = newFolder();
  await runJson(['restaurant', 'create', '--name', 'Osteria Uno'], env);
  const used = await runCommand(['start', '--demo-data'], { ...env, PORT: '0' });
  expect(used.code).toBe(1);
  expect(used.stderr).toContain('--demo-data adds nothing: this store is not empty');
  const database = await createTestDatabase();
  closers.push(() => database.drop());
  const served = await runCommand(['start', '--demo-data'], { ...newFolder(), PORT: '0', DATABASE_URL: database.url });
  expect(served.code).toBe(1);
  expect(served.stderr).toContain('--demo-data adds nothing: it belongs to');
  const unknown = await runCommand(['start', '--demo-date'], { ...newFolder(), PORT: '0' });
  expect(unknown).toMatchObject({ code: 2 });
});
