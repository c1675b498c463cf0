/** A quota over two gateways of which one is killed in the middle. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { freePort } from '../support/free-port.ts';
import { type RunningProgram, runJson, startProgram } from '../support/program.ts';
import { until } from '../support/until.ts';

let database: TestDatabase;
let env: Record<string, string>;
let core: RunningProgram;
let gatewayEnv: Record<string, string>;

beforeAll(async () => {
  database = await createTestDatabase();
  env = {
    DATABASE_URL: database.url,
    ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
    ORDERPASS_ORIGIN: 'http://localhost:4000',
    ORDERPASS_RATE_MINUTE_UNITS: '1000000',
    ORDERPASS_RATE_BURST_UNITS: '1000000',
  };
  const port = String(await freePort());
  core = await startProgram({ ...env, ORDERPASS_ROLE: 'ordering', ORDERPASS_INTERNAL_PORT: port });
  gatewayEnv = { ...env, ORDERPASS_ROLE: 'gateway', ORDERPASS_UPSTREAMS: `ordering=http://127.0.0.1:${port}` };
});

afterAll(async () => {
  await core?.stop();
  await database?.drop();
});

const startGateway = async (): Promise<RunningProgram> =>
  startProgram({ ...gatewayEnv, ORDERPASS_INTERNAL_PORT: String(await freePort()) });

const quota = 1_000;

test('A-222 two gateways, one killed in the middle and started again: never more than the quota, at least 98 % of it, and the rest of the day stays refused', async () => {
  const { restuid = '' } = await runJson(['restaurant', 'create', '--name', 'Osteria'], env);
  const { api_key: key = '', key_id: id = '' } = await runJson(['key', 'create', '--restaurant', restuid], env);
  expect(await runJson(['key', 'limits', id, '--day', String(quota)], env)).toMatchObject({ day: quota, month: null });
  const [first, second] = [await startGateway(), await startGateway()];
  let accepted = 0;
  const call = async (gateway: RunningProgram): Promise<number> => {
    const answer = await fetch(`${gateway.url}/api/whoami`, { headers: { 'x-api-key': key } });
    await answer.arrayBuffer();
    if (answer.status === 200) accepted += 1;
    return answer.status;
  };
  const callMany = async (gateway: RunningProgram, count: number): Promise<void> => {
    let left = count;
    const worker = async (): Promise<void> => {
      while (left > 0) {
        left -= 1;
        await call(gateway).catch(() => undefined);
      }
    };
    await Promise.all(Array.from({ length: 8 }, worker));
  };
  await Promise.all([callMany(first, 200), callMany(second, 200)]);
  expect(accepted).toBe(400);
  const running = Promise.all([callMany(first, 150), callMany(second, 150)]);
  await until(() => accepted >= 500);
  await first.kill();
  await running;
  const third = await startGateway();
  let refusedInTurn = 0;
  await until(async () => {
    const statuses = [await call(second), await call(third)];
    refusedInTurn = statuses.every((status) => status === 429) ? refusedInTurn + 1 : 0;
    // Each gateway spends what it holds, so both are asked until nothing is left.
    if (refusedInTurn > 0) await new Promise((resolve) => setTimeout(resolve, 100));
    return refusedInTurn > 20;
  }, 120_000);
  // Answers that the killed gateway did not send any more were spent too: at most its running requests.
  expect(accepted).toBeLessThanOrEqual(quota);
  expect(accepted).toBeGreaterThanOrEqual(quota * 0.98 - 8);
  await second.stop();
  await third.stop();
  const fourth = await startGateway();
  expect(await call(fourth)).toBe(429);
  await fourth.stop();
});
