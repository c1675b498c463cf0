/**
 * The commands of the guide, run as a reader pastes them, page after page, on a fresh start with the credentials that it
 * printed. Each must print what the page shows. Needs jq, as the reader does.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { valuesMax } from '#src/ordering/menus/import/read/import-terms.ts';
import { freePort } from '../../support/free-port.ts';
import { importsAnswer } from '../../support/orders/imports-answer.ts';
import { makeDataDir, plainEnv, type RunningProgram, root, startProgram } from '../../support/program.ts';
import { until } from '../../support/until.ts';
import { createAnswerCheck } from './answer-schemas.ts';
import { fencesOf, pageNames, type Step, stepsOf, tableOf } from './guide-pages.ts';
import { openShell, type Shell } from './guide-shell.ts';
import { differences, messageDifferences, readMessage } from './shown.ts';

// biome-ignore lint/suspicious/noExplicitAny: the document is read member by member, and a wrong shape fails the assertion.
type Json = any;

const hasJq = ((): boolean => {
  try {
    execFileSync('jq', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    process.stderr.write('guide-claims: jq is not installed, the commands of the guide were not run\n');
    return false;
  }
})();

const data = makeDataDir();
let program: RunningProgram;
let shell: Shell;
let document: Json;
let checkAnswer: ReturnType<typeof createAnswerCheck>;
let answersChecked = 0;
let receiverPort: number;

const printed = (name: string): string => new RegExp(`${name} +(\\S+)`).exec(program.output())?.[1] ?? '';

/** What a reader replaces: the placeholders of the first page by the credentials that the start printed. */
const asReader = (command: string): string =>
  command
    .replace('BASE=http://127.0.0.1:8080', `BASE=${program.url}`)
    .replace('RESTAURANT=rst_…', `RESTAURANT=${/\((rst_[^)]+)\)/.exec(program.output())?.[1]}`)
    .replace('API_KEY=opk_…', `API_KEY=${printed('API key')}`)
    .replace('CLIENT_ID=opc_…', `CLIENT_ID=${printed('Client id')}`)
    .replace('CLIENT_SECRET=ops_…', `CLIENT_SECRET=${printed('Client secret')}`)
    .replaceAll('127.0.0.1:3000', `127.0.0.1:${receiverPort}`);

const asShown = (text: string): string => text.replaceAll('127.0.0.1:3000', `127.0.0.1:${receiverPort}`);

/** The files that the pages ask the reader to save. */
const saveFiles = (folder: string): void => {
  for (const { title, text } of pageNames.flatMap(fencesOf))
    if (title !== undefined) writeFileSync(join(folder, title), asShown(text).replace('3000', String(receiverPort)));
};

beforeAll(async () => {
  if (!hasJq) return;
  receiverPort = await freePort();
  program = await startProgram({
    ...{ ORDERPASS_DATA_DIR: data.path, ORDERPASS_ALLOW_PRIVATE_TARGETS: 'true', ORDERPASS_MCP: 'on' },
  });
  await until(() => program.output().includes('/demo/receiver\n'));
  document = (await (await fetch(`${program.url}/api/openapi.json`)).json()) as Json;
  checkAnswer = createAnswerCheck(document);
  await importsAnswer(program.url, { 'x-api-key': printed('API key') });
  const folder = join(data.path, '../reader');
  mkdirSync(folder);
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  saveFiles(folder);
  const env = { ...plainEnv(), ORDERPASS_DATA_DIR: data.path };
  shell = openShell({ cwd: folder, env });
  // A reader stands in the folder of the program. Here files of the reader are in a folder of their own.
  await shell.run(
    `npm() { local all=("\${@/#menu.csv/$PWD/menu.csv}"); all=("\${all[@]/#lunch.yaml/$PWD/lunch.yaml}"); (cd ${root} && command npm "\${all[@]}"); }`,
  );
});

afterAll(async () => {
  await shell?.close();
  await program?.stop();
  data.remove();
});

/** Where the answer differs from what the page shows. */
const differencesOf = ({ answer }: Step, output: string): string[] => {
  if (answer === undefined) return [];
  const shown = asShown(answer.text);
  if (answer.language === 'http') return messageDifferences(shown, output);
  if (answer.language === 'text') return output.trim() === shown.trim() ? [] : [`${shown} is ${output}`];
  try {
    return differences(JSON.parse(shown), JSON.parse(output));
  } catch (error) {
    return [`${String(error)} in ${output}`];
  }
};

/** The answer arrives in its own time where it shows what happens after a change: deliveries and events. */
const isRead = (command: string): boolean => !/ -d |-X POST|npm run|order \d/.test(command);

/** Seconds to wait when a limit refused the request. */
const waitOf = (output: string): number | undefined => {
  const [, seconds] = /"error":"RATE_LIMIT_EXCEEDED".*"retry_after":(\d+)/.exec(output) ?? [];
  return seconds === undefined ? undefined : Number(seconds);
};

const runStep = async (step: Step): Promise<void> => {
  const where = `${step.page}: ${step.command}`;
  let { output, code } = await shell.run(asReader(step.command));
  // A reader is slower than the limit of a second. What it refused had no effect.
  for (let wait = waitOf(output); wait !== undefined; wait = waitOf(output)) {
    await setTimeout(wait * 1000);
    ({ output, code } = await shell.run(asReader(step.command)));
  }
  let wrong = differencesOf(step, output);
  // Not too often, since each request costs a unit of the limits that the pages show.
  for (let tries = 0; wrong.length > 0 && isRead(step.command) && tries < 30; tries += 1) {
    await setTimeout(250);
    ({ output, code } = await shell.run(asReader(step.command)));
    wrong = differencesOf(step, output);
  }
  expect({ where, code, wrong, output: wrong.length > 0 ? output : '' }).toEqual({
    where,
    code: 0,
    wrong: [],
    output: '',
  });
  if (step.answer === undefined) expect(output, where).not.toMatch(/"success":false|"error":/);
  // The page of versions says that nothing is deprecated.
  expect(output, where).not.toMatch(/^(?:deprecation|sunset):/im);
  expectSchema(step, output);
};

/** An answer of an operation fits a schema of it in the OpenAPI document. */
const expectSchema = ({ command, answer }: Step, output: string): void => {
  const path = /\$BASE(\/api\/[a-z/-]+)[^|]*$/.exec(command)?.[1];
  if (path === undefined || !['json', 'http'].includes(answer?.language ?? '')) return;
  const body = answer?.language === 'http' ? readMessage(output).body : output;
  if (body === '') return;
  const errors = checkAnswer(path, JSON.parse(body));
  if (errors === undefined) return;
  expect({ command, errors }).toEqual({ command, errors: [] });
  answersChecked += 1;
};

test.skipIf(!hasJq).each(pageNames)('A-351 every command of the page %s prints what the page shows', async (page) => {
  const steps = stepsOf(page);
  for (const step of steps) await runStep(step);
  if (page !== 'faq') expect(steps.length).toBeGreaterThan(0);
});

test.skipIf(!hasJq)('A-351 the receiver of the first page printed a line for each event of its order', async () => {
  expect(answersChecked).toBeGreaterThan(30);
  const [shown = ''] = fencesOf('start')
    .filter(({ language }) => language === 'text')
    .map(({ text }) => text);
  for (const line of shown.trim().split('\n')) await until(() => shell.printed().includes(line));
});

const call = async (path: string, init: RequestInit = {}): Promise<Json> => {
  const headers = { 'x-client-id': printed('Client id'), 'x-client-secret': printed('Client secret'), ...init.headers };
  return (await fetch(`${program.url}/api${path}`, { ...init, headers })).json();
};

test.skipIf(!hasJq)(
  'A-352 each figure of the worked order is that of the order, its coupon and its points',
  async () => {
    const { orders } = await call('/orders/list?dmethod=1');
    expect(orders).toHaveLength(1);
    const [order] = orders;
    const [pizza, wine] = order.details;
    const { loyaltylogs } = await call(`/loyaltylog/list?order_uid=${order.uid}&type=order`);
    const figures = [
      ...[pizza, wine].flatMap(({ price, price_options, total }) => [price, price_options, total]),
      ...[order.coupon.discount, order.loyalty.discount, order.fee, order.total, loyaltylogs[0].diff_points],
    ];
    const shown = tableOf('orders', '## What it costs').map(([name, , amount]) => [name, Number(amount)]);
    expect(shown.map(([, amount]) => amount)).toEqual(figures);
    expect(shown.map(([name]) => String(name).replaceAll('`', '').split(': ').at(-1))).toEqual([
      ...['price', 'price_options', 'total', 'price', 'price_options', 'total'],
      ...['coupon.discount', 'loyalty.discount', 'fee', 'total', 'points when closed'],
    ]);
  },
);

test.skipIf(!hasJq)('A-353 the values of enums and the bounds of an import are those of the OpenAPI document', () => {
  const { NewOrder, LoyaltyEntry, MenuImportRequest } = document.components.schemas;
  const firstCells = (page: string, heading: string): string[] =>
    tableOf(page, heading).map(([cell = '']) => cell.replaceAll('`', ''));
  expect(firstCells('orders', '## Payment')).toEqual(NewOrder.properties.payment_method.enum);
  expect(firstCells('customers', '## Loyalty').sort()).toEqual([...LoyaltyEntry.properties.type.enum].sort());
  const { categories, products } = MenuImportRequest.properties;
  const bounds = Object.fromEntries(tableOf('menu-import', '## Big files').map(([what = '', bound]) => [what, bound]));
  expect(bounds).toMatchObject({
    categories: categories.maxItems.toLocaleString('en'),
    products: products.maxItems.toLocaleString('en'),
    'option values': valuesMax.toLocaleString('en'),
  });
});

test.skipIf(!hasJq)('A-354 the token example of the guide shares one request among parallel calls', async () => {
  const code = `
    const { getToken } = await import(process.cwd() + '/token.mjs');
    let requests = 0;
    const { fetch } = globalThis;
    globalThis.fetch = (...all) => { requests += 1; return fetch(...all); };
    const tokens = await Promise.all(Array.from({ length: 5 }, getToken));
    console.log(new Set([...tokens, await getToken()]).size, requests);`;
  writeFileSync(join(data.path, '../reader/share.mjs'), code);
  const { output } = await shell.run('export BASE CLIENT_ID CLIENT_SECRET\nnode share.mjs');
  expect(output.trim()).toBe('1 1');
});

test.skipIf(!hasJq)('A-354 a request above the limits gets the 429 of the page', async () => {
  const shown = fencesOf('limits').find(({ text }) => text.includes('429'))?.text ?? '';
  const send = () =>
    Array.from({ length: 150 }, async () => {
      const response = await fetch(`${program.url}/api/account/subrestaurants`, {
        headers: { 'x-api-key': printed('API key') },
      });
      const body = await response.text();
      const headers = [...response.headers].map(([name, value]) => `${name}: ${value}`).join('\n');
      return `HTTP/1.1 ${response.status} ${response.statusText}\n${headers}\n\n${body}`;
    });
  // On a busy machine the limit refills while the first requests wait for their turn.
  let refused: string | undefined;
  await until(async () => {
    refused = (await Promise.all(send())).find((message) => message.startsWith('HTTP/1.1 429'));
    return refused !== undefined;
  });
  expect(messageDifferences(shown, refused ?? '')).toEqual([]);
});
