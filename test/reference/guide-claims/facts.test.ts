/** The tables of facts of the guide, against the data of the program that they are about. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { faultCodes, faultStatus } from '#src/contract/fault.ts';
import { gatewaySettings, readRouteTable, routesFileOf } from '#src/gateway/config.ts';
import { unitsOfRoute } from '#src/gateway/model/route-limits.ts';
import { describedEvents } from '#src/ordering/index.ts';
import type { Order, Status } from '#src/ordering/orders/order/order.ts';
import { type Move, moveOrder } from '#src/ordering/orders/order/transitions.ts';
import { breaking } from '#src/webhooks/pacing/bounds.ts';
import { attemptsMax, retryDelaysSeconds } from '#src/webhooks/pacing/retry-schedule.ts';
import { root } from '../../support/program.ts';
import { everyPage, folder, tableOf, textOf } from './guide-pages.ts';

const settings = gatewaySettings.parse({});
const { routes, scopes, apiKeyScopes } = readRouteTable(routesFileOf({}));
const plain = (cell: string | undefined): string => (cell ?? '').replaceAll('`', '');
const number = (text: string): number => Number(text.replaceAll(',', ''));

/** `5 s`, `2 min`, `12 h` in seconds. */
const secondsOf = (text: string): number => {
  const [, amount = '', unit = ''] = /^([\d.,]+) (s|min|h)$/.exec(text) ?? [];
  return number(amount) * { s: 1, min: 60, h: 3600 }[unit as 's' | 'min' | 'h'];
};

test('A-353 the table of retries is the schedule of the webhook engine', () => {
  const rows = tableOf('webhooks', '## Retries');
  expect(rows.map(([attempt]) => Number(attempt))).toEqual(
    Array.from({ length: attemptsMax }, (_, index) => index + 1),
  );
  expect(rows.slice(0, -1).map(([, delay]) => secondsOf(delay ?? ''))).toEqual(retryDelaysSeconds);
  const hours = retryDelaysSeconds.reduce((sum, seconds) => sum + seconds, 0) / 3600;
  expect(textOf('webhooks')).toContain(`${attemptsMax} attempts in about ${hours.toFixed(1)} hours`);
  const { failuresToHold, holdMsMax } = breaking;
  expect(textOf('webhooks')).toContain(
    `After ${failuresToHold} failures in a row attempts may wait up to ${holdMsMax / 60_000} minutes longer`,
  );
});

test('A-353 the table of states is what each operation does in each state', () => {
  const states: Status[] = ['new', 'confirmed', 'timed_out', 'closed', 'cancelled'];
  const cellOf = (move: Move, status: Status): string => {
    const order = { status, seq: 1, countdownEnd: null, settled: null, paid: false } as unknown as Order;
    const moved = moveOrder(order, move, { now: new Date(), actor: 'system' });
    return moved.kind === 'moved' ? moved.order.status : `409 ${moved.code}`;
  };
  expect(tableOf('orders', '## States').map((row) => row.map(plain))).toEqual(
    (['confirm', 'close', 'cancel'] as const).map((move) => [
      `order/${move}`,
      ...states.map((status) => cellOf(move, status)),
    ]),
  );
});

test('A-353 the step that is left out with the server of an operator sets no variable, and the next one sets all that pages use', () => {
  const steps = textOf('start').split(/^## /m);
  const setIn = (step = ''): string[] => [...step.matchAll(/^([A-Z_]+)=/gm)].map(([, name = '']) => name);
  const [local, named] = [steps.find((step) => step.startsWith('1. ')), steps.find((step) => step.startsWith('2. '))];
  expect(setIn(local?.replace(/^ORDERPASS_ALLOW_PRIVATE_TARGETS=\S+ npm start$/m, ''))).toEqual([]);
  expect(setIn(named)).toEqual(['BASE', 'RESTAURANT', 'API_KEY', 'CLIENT_ID', 'CLIENT_SECRET', 'JSON']);
});

test('A-353 the tables of scopes, units and windows are those of the route table and the settings', () => {
  expect(tableOf('authentication', '## Scopes').map((row) => row.map(plain))).toEqual(
    scopes.map(({ name, description }) => [name, description, apiKeyScopes.includes(name) ? 'yes' : 'no']),
  );
  const units = new Map(routes.map((route) => [route.class, unitsOfRoute(route)]));
  expect(tableOf('limits', '## Units').map(([name, , cost]) => [name, Number(cost)])).toEqual(
    ['R', 'W', 'H'].map((name) => [name, units.get(name as 'R')]),
  );
  expect(tableOf('limits', '## Units', 1).map((row) => row.map(plain))).toEqual([
    ['minute', String(settings.rate_minute_units), '60 s'],
    ['burst', String(settings.rate_burst_units), '1 s'],
  ]);
  expect(textOf('limits')).toContain(`\n${settings.rate_failures_max} failed authentications in 60 s`);
});

test('A-353 the sizes and times are those of the routes and the settings', () => {
  const [importing] = routes.filter(({ id }) => id === 'menu.import');
  const [creating] = routes.filter(({ id }) => id === 'order.create');
  const size = (bytes = 0): string => (bytes % 1024 ** 2 === 0 ? `${bytes / 1024 ** 2} MiB` : `${bytes / 1024} KiB`);
  const seconds = (ms = 0): string => `${ms / 1000} s`;
  const rows = Object.fromEntries(tableOf('limits', '## Sizes and times').map(([what = '', bound]) => [what, bound]));
  expect(rows).toMatchObject({
    body: size(creating?.bodyBytesMax),
    'body of menu/import': size(importing?.bodyBytesMax),
    URL: size(settings.url_bytes_max),
    'all header fields together': size(settings.header_bytes_max),
    'time to send a body': `${seconds(creating?.timeouts.bodyMs)}; menu/import ${seconds(importing?.timeouts.bodyMs)}`,
    'time from the body to the answer': seconds(creating?.timeouts.answerMs),
  });
});

test('A-353 the table of what to try again has each status of an error code once', () => {
  const named = tableOf('errors', '## What to try again').flatMap(([statuses = '']) =>
    statuses.split(', ').map(Number),
  );
  const known = [...new Set(faultCodes.map(faultStatus))];
  expect([...named].sort()).toEqual(known.sort());
});

test('A-353 each event that the guide names exists', () => {
  const events = describedEvents.map(({ event }) => event as string);
  const named = everyPage.flatMap(
    (page) => textOf(page).match(/\b(?:order|customer|loyaltylog|menu)\.(?!csv)[a-z_]+(?=[`"\s])/g) ?? [],
  );
  expect(new Set(named).size).toBeGreaterThan(3);
  expect([...new Set(named)].filter((name) => !events.includes(name))).toEqual([]);
});

/** As the headings of the pages become anchors. */
const slugOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .trim()
    .replaceAll(' ', '-');

test('A-354 each link of a page to another page of the guide names a heading that exists', () => {
  const anchors = new Map(
    everyPage.map((page) => [
      page as string,
      (textOf(page).match(/^#{1,3} .+$/gm) ?? []).map((line) => slugOf(line.replace(/^#+ /, ''))),
    ]),
  );
  const links = everyPage.flatMap((page) =>
    [...textOf(page).matchAll(/\]\(\/docs\/([a-z-]+)(?:#([\w-]+))?\)/g)].map(([, to = '', anchor]) => ({
      page,
      to,
      anchor,
    })),
  );
  expect(links.length).toBeGreaterThan(20);
  const elsewhere = ['reference', 'events', 'callers', 'changelog', 'workload-login'];
  const broken = links.filter(({ to, anchor }) =>
    anchors.has(to) ? anchor !== undefined && !anchors.get(to)?.includes(anchor) : !elsewhere.includes(to),
  );
  expect(broken).toEqual([]);
});

test('A-354 each page begins with its title and a summary, and has at most 12 kB', () => {
  for (const page of everyPage) {
    expect(textOf(page)).toMatch(/^# [^\n]+\n\n[^\n#`|-][^\n]+\n/);
    expect(Buffer.byteLength(readFileSync(join(folder, `${page}.md`)))).toBeLessThan(12_288);
  }
});

const codeOf = (text: string, fence: string): string | undefined =>
  new RegExp(`^\`\`\`${fence}(?: title="[^"]*")?\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(text)?.[1];

/** The first sample of each README is run by `test/conformance/clients`. */
test('A-343 the page of the clients installs and calls each of them as its README does', () => {
  for (const [client, fence] of [
    ['typescript', 'ts'],
    ['python', 'python'],
    ['php', 'php'],
    ['go', 'go'],
  ] as const) {
    const readme = readFileSync(join(root, 'src/clients', client, 'README.md'), 'utf8');
    const sample = codeOf(readme, fence);
    expect(sample?.length).toBeGreaterThan(100);
    expect(codeOf(textOf('clients'), fence)).toBe(sample);
    expect(textOf('clients')).toContain(codeOf(readme, 'sh'));
  }
});
