/** A server that refuses the login of a running fleet for a while, as when the password of its role was changed. */
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, inject, onTestFinished, test } from 'vitest';
import { createTestDatabase } from '../../support/database.ts';
import { freePort } from '../../support/free-port.ts';
import { runJson, startProgram } from '../../support/program.ts';
import { roleUrl, run } from '../../support/test-server.ts';
import { until } from '../../support/until.ts';

test('while the server refuses the login, every request gets 503 with Retry-After; afterwards all works, callers find their requests, and the program ends', async () => {
  const database = await createTestDatabase();
  const role = `refused_${randomBytes(6).toString('hex')}`;
  await database.pool.query(`create role ${role} superuser login password '${role}'`);
  onTestFinished(async () => {
    await database.drop();
    await run(inject('testServer').url, `drop role ${role}`);
  });
  const env = {
    DATABASE_URL: roleUrl(database.ownerUrl, role),
    ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
    ORDERPASS_INTERNAL_PORT: String(await freePort()),
  };
  const program = await startProgram(env);
  onTestFinished(() => program.kill());
  const { restuid } = await runJson(['restaurant', 'create', '--name', 'Osteria'], env);
  const made = await runJson(['client', 'create', '--name', 'Till', '--restaurant', String(restuid)], env);
  const credentials = { 'x-client-id': String(made.client_id), 'x-client-secret': String(made.client_secret) };
  const done: unknown[] = [];
  const create = async (key: string) => {
    const answer = await fetch(`${program.url}/api/customer/create`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': key, ...credentials },
      body: JSON.stringify({ email: `${key}@example.com` }),
    });
    if (answer.status === 200) done.push(answer.headers.get('x-request-id'));
    return [answer.status, Number(answer.headers.get('retry-after')) > 0];
  };
  expect(await create('before')).toEqual([200, false]);
  // The list of the caller cannot be written when the outage begins, so this request is in memory alone.
  const locking = await database.pool.connect();
  await locking.query('begin');
  await locking.query('lock table gateway.requests in access exclusive mode');
  expect(await create('before')).toEqual([200, false]);
  const waiting = `select from pg_stat_activity where usename = $1 and wait_event_type = 'Lock'`;
  await until(async () => ((await database.pool.query(waiting, [role])).rowCount ?? 0) > 0);
  await database.pool.query(`alter role ${role} nologin`);
  await database.pool.query(`select pg_terminate_backend(pid, 5000) from pg_stat_activity where usename = $1`, [role]);
  await locking.query('rollback');
  locking.release();
  const refused: unknown[][] = [];
  await until(async () => {
    refused.push(await create('during'));
    return refused.length > 5 && program.errors().includes('the requests of callers cannot be written');
  });
  expect(refused.filter(([status, isTimed]) => status !== 503 || !isTimed)).toEqual([]);
  await database.pool.query(`alter role ${role} login`);
  await until(async () => (await create('during'))[0] === 200);
  expect(await create('during')).toEqual([200, false]);
  const { rows } = await database.pool.query(`select email from ordering.customers order by email`);
  expect(rows).toEqual([{ email: 'before@example.com' }, { email: 'during@example.com' }]);
  await until(async () => {
    const answer = await fetch(`${program.url}/api/whoami/requests?status=2xx`, { headers: credentials });
    await pause(200);
    const { requests } = (await answer.json()) as { requests?: { request_id: string }[] };
    return done.every((id) => requests?.some((request) => request.request_id === id));
  });
  // Services that failed are in a pause now, and what they began has to end all the same.
  expect(await program.stop()).toBe(0);
});
