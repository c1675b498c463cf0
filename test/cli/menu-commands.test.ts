import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { type RunningProgram, runCommand, runJson, startProgram } from '../support/program.ts';

let database: TestDatabase;
let env: Record<string, string>;
let program: RunningProgram;
let restuid: string;
let key: string;

beforeAll(async () => {
  database = await createTestDatabase();
  env = {
    DATABASE_URL: database.url,
    ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
    NODE_ENV: 'production',
  };
  restuid = String((await runJson(['restaurant', 'create', '--name', 'Da Ada'], env)).restuid);
  key = String((await runJson(['key', 'create', '--restaurant', restuid], env)).api_key);
  program = await startProgram(env);
}, 60_000);

afterAll(async () => {
  await program?.stop();
  await database?.drop();
});

const call = async (method: string, path: string): Promise<Record<string, unknown>> => {
  const response = await fetch(`${program.url}/api${path}`, { method, headers: { 'x-api-key': key } });
  return (await response.json()) as Record<string, unknown>;
};

test('generator create makes a generator whose coupons a caller of the gateway generates and applies', async () => {
  const terms = ['--discount-perc', '12.5', '--quantity', '2', '--order-min', '8', '--valid-weekdays', '0,1,2,3,4,5,6'];
  const args = ['generator', 'create', '--restaurant', restuid, '--gencode', 'SPRING', ...terms];
  expect(await runJson(args, env)).toEqual({
    restuid,
    gencode: 'SPRING',
    discount_perc: 12.5,
    quantity: 2,
    order_min: 8,
    valid_from: null,
    valid_to: null,
    valid_days: null,
    valid_weekdays: [0, 1, 2, 3, 4, 5, 6],
    points: 0,
  });
  const { coupon } = (await call('POST', '/coupon/generate?gencode=SPRING')) as { coupon: { code: string } };
  const applied = await call('POST', `/coupon/apply?code=${coupon.code}&total=40`);
  expect(applied).toMatchObject({ success: true, coupon: { quantity: 1 }, order: { discount: 5, total: 35 } });
  const again = await runCommand(args, env);
  expect([again.code, again.stderr]).toEqual([1, expect.stringMatching(/already/)]);
  const wrong = await runCommand([...args.slice(0, 6), '--discount-perc', 'ten'], env);
  expect(wrong.code).toBe(2);
});
