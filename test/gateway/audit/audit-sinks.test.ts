import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { type Harness, openHarness, read } from '../harness/gateway-harness.ts';
import { closeServer, listen, sendRequest } from '../harness/public-door.ts';

type Behaviour = {
  /** A status; undefined: the receiver never answers. */
  answer: number | undefined;
  /** More lines are refused with 413, or their connection breaks. */
  linesMax?: number;
  tooMany?: 'refused' | 'broken';
};

const startReceiver = async (options: Behaviour) => {
  const events: Record<string, unknown>[] = [];
  const seen = { requests: 0, open: 0, openMax: 0, linesMax: 0, authorization: new Set<string | undefined>() };
  const server = createServer(async (request, response) => {
    seen.requests += 1;
    seen.open += 1;
    seen.openMax = Math.max(seen.openMax, seen.open);
    response.on('close', () => {
      seen.open -= 1;
    });
    const lines = (await text(request).catch(() => '')).trim().split('\n');
    seen.linesMax = Math.max(seen.linesMax, lines.length);
    seen.authorization.add(request.headers.authorization);
    if (options.answer === undefined) return;
    if (lines.length > (options.linesMax ?? Number.POSITIVE_INFINITY))
      return void (options.tooMany === 'broken' ? request.destroy() : response.writeHead(413).end());
    if (options.answer === 204) events.push(...lines.map((line) => JSON.parse(line) as Record<string, unknown>));
    response.writeHead(options.answer, { location: '/elsewhere' }).end();
  });
  const url = await listen(server);
  return { url, options, events, seen, close: () => closeServer(server) };
};

const idsOf = (events: readonly Record<string, unknown>[]): string[] =>
  events.map((event) => String(event['event.id']));

const stored = async (harness: Harness): Promise<string[]> =>
  (await harness.database.pool.query("select chain || '-' || seq as id from gateway.audit_events")).rows.map(({ id }) =>
    String(id),
  );

const hasAll = async (harness: Harness, ids: readonly string[]): Promise<boolean> => {
  const got = new Set(ids);
  return (await stored(harness)).every((id) => got.has(id));
};

test('a receiver that fails, does not answer or redirects gets every event once it works again, and no request waits meanwhile', async () => {
  const receiver = await startReceiver({ answer: 500 });
  const harness = await openHarness({
    settings: { audit_http_url: receiver.url, audit_http_authorization: 'Bearer collector' },
  });
  await sendRequest(harness.url, 'GET', read);
  for (const answer of [500, 302, undefined]) {
    receiver.options.answer = answer;
    const before = receiver.seen.requests;
    await until(() => receiver.seen.requests > before);
    const startedAt = performance.now();
    expect((await sendRequest(harness.url, 'GET', read)).status).toBe(401);
    // Below the 10 s that the receiver without an answer gets.
    expect(performance.now() - startedAt).toBeLessThan(9_000);
  }
  expect(receiver.events).toEqual([]);
  receiver.options.answer = 204;
  await until(() => hasAll(harness, idsOf(receiver.events)), 40_000);
  expect(receiver.seen.linesMax).toBeLessThanOrEqual(200);
  expect([...receiver.seen.authorization]).toEqual(['Bearer collector']);
  await harness.close();
  await receiver.close();
});

const waysToRefuse = ['refused', 'broken'] as const;

test.each(waysToRefuse)(
  'A-812 a receiver that takes few lines at a time (more are %s) gets every event, in order, also after an outage',
  async (tooMany) => {
    const receiver = await startReceiver({ answer: 500, linesMax: 3, tooMany });
    const harness = await openHarness({ settings: { audit_http_url: receiver.url } });
    for (let i = 0; i < 12; i += 1) await harness.createTenant();
    receiver.options.answer = 204;
    await until(() => hasAll(harness, idsOf(receiver.events)), 60_000);
    expect(receiver.seen.linesMax).toBeGreaterThan(3);
    const changes = idsOf(receiver.events).filter((id) => id.startsWith('0-'));
    const first = [...new Set(changes)];
    expect(first).toEqual(first.toSorted((a, b) => Number(a.slice(2)) - Number(b.slice(2))));
    await harness.close();
    await receiver.close();
  },
);

test('only one of several gateways sends at a time, another continues where a killed one stopped, and the file gets the same events', async () => {
  const receiver = await startReceiver({ answer: 204 });
  const folder = mkdtempSync(join(tmpdir(), 'orderpass-'));
  const file = join(folder, 'audit.jsonl');
  const harness = await openHarness({ settings: { audit_http_url: receiver.url, audit_file: file } });
  const second = await harness.openDoor();
  const third = await harness.openDoor();
  for (let i = 0; i < 300; i += 1) await sendRequest([harness.url, second.url, third.url][i % 3] ?? '', 'GET', read);
  await until(() => hasAll(harness, idsOf(receiver.events)));
  const holder = async (): Promise<string> =>
    String(
      (await harness.database.pool.query("select holder from gateway.audit_sinks where sink = 'http'")).rows[0]?.holder,
    );
  const first = await holder();
  // The stopped gateway releases its lease, and one of the remaining gateways takes it.
  await second.close();
  await third.close();
  await sendRequest(harness.url, 'GET', read);
  await until(() => hasAll(harness, idsOf(receiver.events)));
  expect(receiver.seen.openMax).toBe(1);
  const all = idsOf(receiver.events);
  expect(new Set(all).size).toBe(all.length);
  expect(first).not.toBe('undefined');
  const lines = (): string[] => readFileSync(file, 'utf8').trim().split('\n');
  await until(() => hasAll(harness, idsOf(lines().map((line) => JSON.parse(line) as Record<string, unknown>))));
  // A gateway cannot take a running lease; it takes one that has expired because its holder was killed.
  await harness.database.pool.query(
    "insert into gateway.audit_sinks values ('http', 'killed', now() + interval '80 seconds') on conflict (sink) do update set holder = 'killed', leased_until = excluded.leased_until",
  );
  const inFile = (id: string): boolean =>
    idsOf(lines().map((line) => JSON.parse(line) as Record<string, unknown>)).includes(id);
  // A page that was on its way may still arrive, so the first of these events proves nothing. Each time the file has
  // the next one, a sender with a lease would have looked as well.
  const written: string[] = [];
  for (let round = 0; round < 4; round += 1) {
    await harness.createTenant();
    const { rows } = await harness.database.pool.query(
      'select max(seq) as seq from gateway.audit_events where chain = 0',
    );
    const id = `0-${String(rows[0].seq)}`;
    await until(() => inFile(id));
    written.push(id);
  }
  expect(idsOf(receiver.events)).not.toContain(written[1]);
  expect(await hasAll(harness, idsOf(receiver.events))).toBe(false);
  await harness.database.pool.query("update gateway.audit_sinks set leased_until = now() where sink = 'http'");
  await until(() => hasAll(harness, idsOf(receiver.events)));
  await harness.close();
  await receiver.close();
  rmSync(folder, { recursive: true, force: true });
});

test('F-21 a lease that a writer of the database made endless does not keep events from a sink', async () => {
  const receiver = await startReceiver({ answer: 204 });
  const harness = await openHarness({ settings: { audit_http_url: receiver.url } });
  await until(() => hasAll(harness, idsOf(receiver.events)));
  await harness.database.pool.query(
    `insert into gateway.audit_sinks values ('http', 'forged', 'infinity')
     on conflict (sink) do update set holder = 'forged', leased_until = 'infinity'`,
  );
  await harness.createTenant();
  await until(() => hasAll(harness, idsOf(receiver.events)));
  await harness.close();
  await receiver.close();
});
