/** Alert rules and dashboard: what they name is shown by the program, and promtool finds each alert reported for its fault. */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { makeAuthority, writeCertificate } from '../../gateway/harness/make-certificate.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { freePort } from '../../support/free-port.ts';
import { type RunningProgram, root, startProgram } from '../../support/program.ts';
import { hasProgram, runProgram } from './programs.ts';

type Alert = { alert: string; expr: string; labels: { severity: string }; annotations: Record<string, string> };
type Panel = { title: string; targets?: { expr: string }[] };

const folder = join(root, 'config/monitoring');
const textOf = (name: string): string => readFileSync(join(folder, name), 'utf8');
const rules = parse(textOf('alerts.yaml')) as { groups: { name: string; rules: Alert[] }[] };
const alerts = rules.groups.flatMap((group) => group.rules);
type Variable = { name: string; allValue?: string; query: { query?: string } | string };
const dashboard = JSON.parse(textOf('dashboard.json')) as { panels: Panel[]; templating: { list: Variable[] } };

/** Of Prometheus itself and of the node exporter beside PostgreSQL. */
const foreign = new Set(['up', 'node_filesystem_avail_bytes', 'node_filesystem_size_bytes']);

const hasPromtool = hasProgram('promtool', ['--version']);

let database: TestDatabase;
let program: RunningProgram;
/** Type by name. */
let shown: Map<string, string>;

beforeAll(async () => {
  database = await createTestDatabase();
  const certificate = writeCertificate(makeAuthority());
  try {
    const port = await freePort();
    program = await startProgram({
      DATABASE_URL: database.url,
      ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
      ORDERPASS_INTERNAL_PORT: String(port),
      ORDERPASS_TLS_CERT_FILE: certificate.certFile,
      ORDERPASS_TLS_KEY_FILE: certificate.keyFile,
      ORDERPASS_ORIGIN: 'https://localhost',
    });
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    shown = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]));
  } finally {
    certificate.remove();
  }
});

afterAll(async () => {
  await program?.stop();
  await database?.drop();
});

/** Names of metrics in an expression of PromQL: they have an underscore, and no label or function of the files here has one. */
const metricsIn = (expression: string): string[] => {
  const plain = expression
    .replaceAll(/"[^"]*"/g, '')
    .replaceAll(/\{[^}]*\}/g, '')
    .replaceAll(/\[[^\]]*\]/g, '')
    .replaceAll(/\bhistogram_quantile\b/g, '');
  return plain.match(/\b(?:up\b|[a-z][a-z\d]*_\w+)/g) ?? [];
};

const isShown = (name: string): boolean => {
  if (foreign.has(name)) return true;
  const [, base = '', part] = /^(.*?)(_bucket|_sum|_count)?$/.exec(name) ?? [];
  return part === undefined ? shown.has(name) && shown.get(name) !== 'histogram' : shown.get(base) === 'histogram';
};

test('A-273 every metric of the alert rules and of the dashboard is shown by the program', () => {
  expect(metricsIn('sum by (le) (rate(a_b_bucket{c="d_e"}[5m])) > 0 and up == 0')).toEqual(['a_b_bucket', 'up']);
  const expressions = [
    ...alerts.map(({ alert, expr }) => ({ of: alert, expr })),
    ...dashboard.panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ of: title, expr }))),
  ];
  expect(expressions.length).toBeGreaterThan(30);
  for (const { of, expr } of expressions) {
    const names = metricsIn(expr);
    expect([of, names.length > 0, names.filter((name) => !isShown(name))]).toEqual([of, true, []]);
  }
});

test('A-273 with all jobs chosen the dashboard shows those that it offers, and no other program', () => {
  const job = dashboard.templating.list.find(({ name }) => name === 'job');
  const offered = /job=~"([^"]*)"/.exec(JSON.stringify(job?.query).replaceAll('\\"', '"'))?.[1];
  expect(offered).toBe('orderpass.*');
  expect(job?.allValue).toBe(offered);
});

test('A-273 the alert for a missing worker is in a group that the first installation of config/README.md leaves out', () => {
  const workers = rules.groups.find(({ name }) => name === 'orderpass-workers');
  expect(workers?.rules.map(({ alert }) => alert)).toEqual(['OrderpassNoWorker']);
  const [, first = ''] = readFileSync(join(root, 'config/README.md'), 'utf8').split(/^## /m);
  expect(first).toContain('leave the group `orderpass-workers` out');
});

test('A-273 every alert has a severity, a summary, and what to do', () => {
  expect(alerts.length).toBeGreaterThan(8);
  for (const { alert, labels, annotations } of alerts) {
    expect([alert, ['critical', 'warning'].includes(labels.severity)]).toEqual([alert, true]);
    expect(Object.keys(annotations).toSorted()).toEqual(['action', 'summary']);
    expect([alert, (annotations.action ?? '').length > 40]).toEqual([alert, true]);
  }
});

test.runIf(hasPromtool)(
  'A-273 promtool accepts the rules, and finds each alert for its fault and none without one',
  async () => {
    const checked = await runProgram('promtool', ['check', 'rules', join(folder, 'alerts.yaml')]);
    expect([checked.code, checked.stdout]).toEqual([0, expect.stringContaining(`${alerts.length} rules found`)]);
    const tested = await runProgram('promtool', ['test', 'rules', join(folder, 'alerts.test.yaml')]);
    expect([tested.code, tested.stderr]).toEqual([0, '']);
    const named = textOf('alerts.test.yaml');
    expect(alerts.filter(({ alert }) => !named.includes(`alertname="${alert}"`))).toEqual([]);
  },
);
