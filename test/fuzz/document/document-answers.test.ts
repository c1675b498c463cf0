/** Random requests to every operation, whose answers are compared with the document that the same program serves. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { withFlatSchemas } from '../../reference/examples/flat-schemas.ts';
import { operationsOf, printedOf, readDocument, readToken } from '../../reference/examples/run-examples.ts';
import { importsAnswer } from '../../support/orders/imports-answer.ts';
import { makeDataDir, type RunningProgram, startProgram } from '../../support/program.ts';
import { createRandom } from '../../support/random.ts';
import { until } from '../../support/until.ts';
import { createCheckAnswer } from './check-answer.ts';
import { randomRequest } from './random-request.ts';
import type { Json } from './random-value.ts';

const requests = 400 * Number(process.env.FUZZ_TIMES ?? 1);
const seed = Number(process.env.FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 32));

const data = makeDataDir();
let program: RunningProgram;

beforeAll(async () => {
  program = await startProgram({
    ORDERPASS_DATA_DIR: data.path,
    ORDERPASS_RATE_MINUTE_UNITS: '1000000000',
    ORDERPASS_RATE_BURST_UNITS: '1000000000',
    ORDERPASS_RATE_FAILURES_MAX: '1000000',
  });
  await until(() => program.output().includes('/demo/receiver\n'));
  await importsAnswer(program.url, { 'x-api-key': printedOf(program.output()).apiKey });
});

afterAll(async () => {
  await program?.stop();
  data.remove();
});

test('A-349 every answer to random requests is as the document says: status, media type, headers, body and code', async () => {
  const { url } = program;
  const printed = printedOf(program.output());
  const document = withFlatSchemas(await readDocument(url));
  const operations = operationsOf(document);
  const token = await readToken(url, printed);
  const check = createCheckAnswer(document);
  const random = createRandom(seed);
  const known = createKnown(random);
  const deref = (node: Json): Json => {
    const [, kind, name] = /^#\/components\/(\w+)\/(.+)$/.exec(node?.$ref ?? '') ?? [];
    return kind === undefined ? node : deref(document.components[kind][name ?? '']);
  };
  const bearer = { authorization: `Bearer ${token}` };
  const client = { 'x-client-id': printed.clientId, 'x-client-secret': printed.clientSecret };
  const refused = [{}, { 'x-api-key': 'opk_wrong' }, { authorization: 'Bearer wrong' }, { ...bearer, ...client }];
  const credentials = [
    bearer,
    bearer,
    bearer,
    client,
    client,
    { 'x-api-key': printed.apiKey },
    ...refused.slice(random.between(0, 3)),
  ];
  const deps = {
    random,
    deref,
    knownFor: known.choose,
    parametersOf: (operation: Json): Json[] => (operation.parameters ?? []).map(deref),
    credentials,
  };
  const violations: string[] = [];
  const statuses = new Map<number, number>();
  for (let count = 0; count < requests; count += 1) {
    const operation = operations[count % operations.length];
    if (operation === undefined || operation.id === 'openapi') continue;
    const request = randomRequest(deps, operation);
    const sent = { method: request.method, headers: { ...typeOf(operation), ...request.headers } };
    const response = await fetch(`${url}${request.target}`, {
      ...sent,
      ...(request.body !== undefined && { body: request.body }),
    });
    const text = await response.text();
    statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
    const faults = check(operation.operation, sent, { status: response.status, headers: response.headers, text });
    if (faults.length > 0)
      violations.push(
        `${request.method} ${request.target.slice(0, 200)} ${request.body ?? ''} -> ${response.status} ${text.slice(0, 600)}: ${faults.join('; ')}`,
      );
    if (response.ok) known.learn(text);
  }
  expect(violations.slice(0, 10), `FUZZ_SEED=${seed}: ${violations.length} violations`).toEqual([]);
  expect([...statuses.keys()]).toEqual(expect.arrayContaining([200, 400, 401]));
});

const typeOf = ({ operation }: { operation: Json }): Record<string, string> => {
  const [type] = Object.keys(operation.requestBody?.content ?? {});
  return type === undefined ? {} : { 'content-type': type };
};

/** Ids, orders and cursors of earlier answers, by the names of the members that take them. */
const createKnown = (random: ReturnType<typeof createRandom>) => {
  const found = new Map<string, Json[]>();
  const add = (name: string, value: Json): void => {
    const values = found.get(name) ?? [];
    if (values.length < 200) found.set(name, [...values, value]);
  };
  const walk = (node: Json): void => {
    if (typeof node !== 'object' || node === null) return;
    if (typeof node.uid === 'string' && typeof node.token === 'string')
      add('order', { uid: node.uid, token: node.token });
    for (const [name, value] of Object.entries<Json>(node)) {
      if (typeof value === 'string' && /^[a-z]{3}_\w{25}$/.test(value)) {
        add(prefixNames[value.slice(0, 3)] ?? 'uid', value);
        add('uid', value);
      } else if (name === 'next_cursor' && value !== null) add('cursor', value);
      else walk(value);
    }
  };
  return {
    learn: (text: string): void => walk(text === '' ? undefined : JSON.parse(text)),
    choose: (name: string): Json => {
      const values = found.get(name);
      return values?.[random.between(0, values.length - 1)];
    },
  };
};

const prefixNames: Readonly<Record<string, string>> = {
  cus: 'client_uid',
  cat: 'catuid',
  loc: 'subrestaurant_uid',
  whe: 'endpoint_uid',
  evt: 'event_id',
  pln: 'plan_id',
};
