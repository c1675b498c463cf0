/** The collections at a first start: Newman runs the one for Postman, and the schema of Bruno takes the other. */
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { collectionSchema } from '@usebruno/schema';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { importsAnswer } from '../../support/orders/imports-answer.ts';
import { makeDataDir, type RunningProgram, startProgram } from '../../support/program.ts';
import { until } from '../../support/until.ts';
import { type Json, operationsOf, printedOf, readDocument } from './run-examples.ts';

const data = makeDataDir();
const folder = mkdtempSync(join(tmpdir(), 'orderpass-collections-'));
let program: RunningProgram;
let postman: Json;
let bruno: Json;

beforeAll(async () => {
  program = await startProgram({ ORDERPASS_DATA_DIR: data.path });
  await until(() => program.output().includes('/demo/receiver\n'));
  await importsAnswer(program.url, { 'x-api-key': printedOf(program.output()).apiKey });
  const read = async (path: string): Promise<Json> => (await fetch(`${program.url}${path}`)).json();
  [postman, bruno] = [await read('/docs/postman.json'), await read('/docs/bruno.json')];
});

afterAll(async () => {
  await program?.stop();
  data.remove();
  rmSync(folder, { recursive: true, force: true });
});

const postmanRequests = (): Json[] => postman.item.flatMap(({ item }: Json) => item);

test('A-345 the Postman collection has every operation, first the token, last what removes, and names only its variables', async () => {
  const document = await readDocument(program.url);
  const sent = new Set(
    postmanRequests().map(({ request }) =>
      `${request.method} /${request.url.path.join('/')}`.replace('req_12', '{id}'),
    ),
  );
  for (const { method, path } of operationsOf(document))
    expect(sent).toContain(`${method.toUpperCase()} ${path.replace(/\{\w+\}/, '{id}')}`);
  expect(postmanRequests()[0]?.request.url.raw).toBe('{{baseUrl}}/api/oauth/token');
  expect(postmanRequests().at(-1)?.request.url.raw).toBe('{{baseUrl}}/api/oauth/revoke');
  const defined = new Set(postman.variable.map(({ key }: Json) => key));
  const named = [...JSON.stringify(postman.item).matchAll(/\{\{(\w+)\}\}/g)].map(([, name]) => name);
  expect([...new Set(named)].filter((name) => !defined.has(name))).toEqual([]);
  expect(postman.variable.find(({ key }: Json) => key === 'clientSecret').value).toBe('');
});

test('A-346 the schema of Bruno takes its collection, which has the requests of the Postman collection', () => {
  const imported = asImported(structuredClone(bruno));
  expect(() => collectionSchema.validateSync(imported)).not.toThrow();
  const requests = bruno.items.flatMap(({ items }: Json) => items);
  expect(requests.map(({ request }: Json) => [request.method, request.url])).toEqual(
    postmanRequests().map(({ request }) => [request.method, request.url.raw]),
  );
  for (const { items } of bruno.items)
    expect(new Set(items.map(({ name }: Json) => name.toLowerCase())).size).toBe(items.length);
});

/** Before it compares, Bruno gives every element of a list an id and makes `http-request` of `http`. */
const asImported = (collection: Json): Json => {
  const walk = (node: Json): void => {
    if (typeof node !== 'object' || node === null) return;
    for (const below of Object.values<Json>(node)) {
      if (Array.isArray(below)) for (const one of below) one.uid = 'a'.repeat(21);
      walk(below);
    }
    if (node.type === 'http') node.type = 'http-request';
  };
  walk(collection);
  return { ...collection, uid: 'a'.repeat(21) };
};

const newman = spawnSync('newman', ['--version'], { encoding: 'utf8' }).status === 0;
if (!newman) process.stderr.write('Newman is not installed (npm install --global newman@6.2.2): its test is skipped\n');

test.skipIf(!newman)(
  'A-345 Newman runs the whole Postman collection, and each answer is 2xx or the documented refusal',
  async () => {
    const [collection, report] = [join(folder, 'postman.json'), join(folder, 'report.json')];
    writeFileSync(collection, JSON.stringify(postman));
    const { clientSecret } = printedOf(program.output());
    const options = [
      '--env-var',
      `clientSecret=${clientSecret}`,
      '--reporters',
      'json',
      '--reporter-json-export',
      report,
    ];
    // The class of an import costs 20 units of the 100 that a second has.
    await new Promise((resolve) =>
      execFile('newman', ['run', collection, ...options, '--delay-request', '100'], resolve),
    );
    const { run } = (await import(report, { with: { type: 'json' } })).default as Json;
    expect(run.failures.map(({ source, error }: Json) => `${source?.name}: ${error.message}`)).toEqual([]);
    expect(run.executions.length).toBe(postmanRequests().length);
    expect(run.stats.assertions.total).toBe(run.executions.length);
    const found = run.executions.filter(({ response }: Json) => response.code === 200);
    // A refused request has no id in a collection, so its denial is the documented 404.
    expect(run.executions.length - found.length).toBeLessThanOrEqual(3);
  },
);
