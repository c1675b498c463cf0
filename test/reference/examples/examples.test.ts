/** The examples of the document against the demo restaurant of a first start. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { examplesAt } from '#src/app/reference/document/examples/recorded-answers.ts';
import { importsAnswer } from '../../support/orders/imports-answer.ts';
import { makeDataDir, type RunningProgram, startProgram } from '../../support/program.ts';
import { until } from '../../support/until.ts';
import { collect, timeout } from './collect.ts';
import { comparable } from './normalise.ts';
import { isLater, type Json, printedOf, type Run, readDocument, runExamples } from './run-examples.ts';
import { settleDeliveries } from './settle.ts';

const data = makeDataDir();
const at = new Date();
const recorded = examplesAt(at);
let program: RunningProgram;
let document: Json;
let runs: Run[];
let collected: Awaited<ReturnType<typeof collect>>;

beforeAll(async () => {
  // Some hundred requests in a second would wait for the limits of a caller.
  const limits = { ORDERPASS_RATE_MINUTE_UNITS: '100000', ORDERPASS_RATE_BURST_UNITS: '100000' };
  program = await startProgram({ ORDERPASS_DATA_DIR: data.path, ...limits });
  await until(() => program.output().includes('/demo/receiver\n'));
  await importsAnswer(program.url, { 'x-api-key': printedOf(program.output()).apiKey });
  const { url } = program;
  const printed = printedOf(program.output());
  document = await readDocument(url);
  runs = await runExamples({ url, document, printed, settle: () => settleDeliveries(url, printed) });
  collected = await collect({ url, document, printed, at, runs });
});

afterAll(async () => {
  await program?.stop();
  data.remove();
});

test('A-287 every example request succeeds as pasted with the printed credentials, or has the refusal that its text names', () => {
  const failed = runs.filter(({ path, status, body }) =>
    isLater(path) ? status !== 404 || body.error !== 'NOT_FOUND' : status < 200 || status > 299,
  );
  expect(failed).toEqual([]);
  const operations = Object.values<Json>(document.paths).flatMap((item) => Object.values<Json>(item));
  expect(new Set(runs.map(({ operation }) => operation))).toEqual(
    new Set(operations.map(({ operationId }) => operationId)),
  );
  expect(runs.length).toBeGreaterThan(100);
});

test('A-304 the restaurant of a first start is a sandbox, and its credentials say so', () => {
  const { apiKey, clientId, clientSecret } = printedOf(program.output());
  const restuid = /\((rst_[^)]+)\)/.exec(program.output())?.[1] ?? '';
  for (const id of [restuid, apiKey, clientId, clientSecret]) expect(id).toMatch(/^[a-z]+_test_/);
});

test('A-288 every example answer and event is the one of a run, apart from times; `npm run examples` records them again', () => {
  expect(comparable(collected.answers)).toEqual(comparable(recorded.answers));
  // A countdown takes a minute at least, so its end is not part of this run.
  const { [timeout]: _timeout, ...events } = recorded.events;
  expect(comparable(collected.events)).toEqual(comparable(events));
});

/** Every order with lines below a value. */
const ordersIn = (value: Json): Json[] =>
  typeof value !== 'object' || value === null
    ? []
    : [...(Array.isArray(value.details) ? [value] : []), ...Object.values<Json>(value).flatMap(ordersIn)];

test('A-288 the arithmetic of every example order adds up', () => {
  const orders = ordersIn([recorded.answers, recorded.events]);
  expect(orders.length).toBeGreaterThan(4);
  const cents = (amount: number): number => Math.round(amount * 100);
  for (const { details, coupon, loyalty, fee, total } of orders) {
    for (const line of details)
      expect(cents(line.total)).toBe(
        (cents(line.price) + cents(line.price_options)) * (line.quantity - line.free_quantity),
      );
    const lines = details.reduce((sum: number, line: Json) => sum + cents(line.total), 0);
    expect(cents(total)).toBe(lines - cents(coupon?.discount ?? 0) - cents(loyalty?.discount ?? 0) + cents(fee));
  }
});

test('A-289 with the ids of the demo restaurant the document has at most 300 kB too', async () => {
  const text = await (await fetch(`${program.url}/api/openapi.json`)).text();
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(300_000);
  const { details } =
    document.paths['/api/order/create'].post.requestBody.content['application/json'].examples.table.value;
  expect(details[0].product.uid).toMatch(/^prd_[0-9a-z]{25}$/);
});
