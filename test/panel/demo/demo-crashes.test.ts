/** A start with `--demo-data` that is killed half-way. Each test makes a week of data, so `npm run test:pages` runs them. */
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { plainEnv, root, runCommand } from '../../support/program.ts';
import { until } from '../../support/until.ts';
import { ask, closeAll, closers, contradictions, counts, newFolder, start } from './demo-start.ts';

afterEach(closeAll);

type RouteFile = { scopes: { name: string }[]; routes: unknown[]; apiKeyScopes: string[] };

/** Kills the first start with `--demo-data` while at most so many days of its week are missing. */
const killWeek = async (env: Record<string, string>, daysLeft: number): Promise<void> => {
  const child = spawn(process.execPath, ['src/cli/launch.mjs', 'start', '--demo-data'], {
    cwd: root,
    env: { ...plainEnv(), PORT: '0', ...env },
    stdio: 'ignore',
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  closers.push(() => child.kill('SIGKILL'));
  await until(async () => {
    const rows = await ask(
      env,
      `select value::jsonb ->> 'done' as done from platform.facts where name = 'demo.week'`,
    ).catch(() => undefined);
    return Number(rows?.[0]?.done ?? 0) > Date.now() - daysLeft * 86_400_000;
  }, 120_000);
  child.kill('SIGKILL');
  await ended;
};

test('a week that a crash interrupted is finished by the next start, without a second order for any of its steps', async () => {
  const env = newFolder();
  await killWeek(env, 4);
  const next = await start(env);
  expect(next.output()).toContain('The demo data is complete.');
  // The credentials are shown by the start that finishes.
  await until(() => /Client secret +ops_/.test(next.output()));
  const [made] = (await ask(env, counts)) ?? [];
  const samples = 3;
  expect(made).toMatchObject({ clients: 2, endpoints: 2 });
  expect(made?.orders).toBe(Number(made?.planned) + samples);
  expect(made?.orders).toBeGreaterThan(100);
  expect(await ask(env, contradictions)).toEqual([]);
  expect(await next.stop()).toBe(0);
  expect((await runCommand(['audit', 'verify'], env)).code).toBe(0);
}, 240_000);

test('A-501 a week whose credentials were shown before it was complete stays as it is, and later starts work', async () => {
  const env = newFolder();
  await killWeek(env, 7);
  const table = JSON.parse(readFileSync('config/routes.json', 'utf8')) as RouteFile;
  const scopes = table.scopes.filter(({ name }) => name !== 'write:orders');
  const routes = table.routes.filter((route) => !JSON.stringify(route).includes('write:orders'));
  const file = join(env.ORDERPASS_DATA_DIR ?? '', 'routes-without-orders.json');
  writeFileSync(file, JSON.stringify({ scopes, routes, apiKeyScopes: table.apiKeyScopes }));
  const without = await start({ ...env, ORDERPASS_ROUTES_FILE: file });
  await until(() => /Client secret +ops_/.test(without.output()));
  expect(await without.stop()).toBe(0);
  for (const flags of [[], ['--demo-data']]) {
    const later = await start(env, ...flags);
    expect(later.output()).not.toContain('The demo data is complete.');
    expect(later.output().includes('The demo data stays incomplete')).toBe(flags.length > 0);
    expect(await later.stop()).toBe(0);
  }
}, 240_000);
