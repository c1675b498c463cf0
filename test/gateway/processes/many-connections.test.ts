/** One client opens more connections than the process may open files, and keeps them without a request. */
import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { freePort } from '../../support/free-port.ts';
import { type RunningProgram, startProgram } from '../../support/program.ts';
import { until } from '../../support/until.ts';
import { sendRequest } from '../harness/public-door.ts';

const filesMax = 400;

let database: TestDatabase;
let program: RunningProgram;
let internalPort: number;
const clients: Socket[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  internalPort = await freePort();
  program = await startProgram(
    {
      DATABASE_URL: database.url,
      ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
      ORDERPASS_INTERNAL_PORT: String(internalPort),
    },
    undefined,
    [],
    ['prlimit', `--nofile=${filesMax}`, '--'],
  );
});

afterAll(async () => {
  for (const client of clients) client.destroy();
  await program?.stop();
  await database.drop();
});

/** Resolves when the connection is there, or was refused. */
const open = (first: string, onData: (bytes: Buffer) => void = () => undefined): Promise<void> =>
  new Promise((resolve) => {
    const client = connect(Number(new URL(program.url).port), '127.0.0.1', () => {
      client.write(first);
      resolve();
    });
    clients.push(client.on('data', onData).on('error', () => undefined));
    client.once('close', () => resolve());
  });

const metrics = async (): Promise<string> => (await fetch(`http://127.0.0.1:${internalPort}/metrics`)).text();
const figureOf = (text: string, name: string): number => Number(text.split(`\n${name} `)[1]?.split('\n')[0]);

/** Over a new connection, with a look-up in the store. */
const modestRequest = async (): Promise<number | string> => {
  const body = `grant_type=client_credentials&client_id=opc_${randomBytes(8).toString('hex')}&client_secret=wrong`;
  const headers = { 'content-type': 'application/x-www-form-urlencoded', connection: 'close' };
  return sendRequest(program.url, 'POST', '/api/oauth/token', { headers, body }).then(
    ({ status }) => status,
    (error: Error) => error.message,
  );
};

const kinds: [string, string][] = [
  ['nothing', ''],
  ['a part of a head', 'GET /healthz HTTP/1.1\r\nhost: a\r\nx: '],
  ['a request that is answered', 'GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n'],
];

test.each(kinds)(
  'A-800 one client opens more connections than the process may open files, and sends %s; another client is answered',
  async (_what, first) => {
    const before = figureOf(await metrics(), 'orderpass_connections_ended_total{reason="idle"}') || 0;
    for (let i = 0; i < 12; i += 1) await Promise.all(Array.from({ length: 50 }, () => open(first)));
    const answers: (number | string)[] = [];
    for (let i = 0; i < 3; i += 1) answers.push(await modestRequest());
    expect(answers).toEqual([401, 401, 401]);
    const during = await metrics();
    expect(figureOf(during, 'orderpass_connections')).toBeGreaterThan(0);
    expect(figureOf(during, 'orderpass_connections')).toBeLessThanOrEqual(filesMax / 2);
    expect(figureOf(during, 'orderpass_connections_ended_total{reason="idle"}')).toBeGreaterThan(before);
    expect(figureOf(during, 'orderpass_connections_ended_total{reason="busy"}')).toBeNaN();
    for (const client of clients.splice(0)) client.destroy();
    await until(async () => figureOf(await metrics(), 'orderpass_connections') === 0);
  },
);

test('A-802 one client has requests on more connections than a process takes, and sends no bodies; another client is answered before any of them times out', async () => {
  const head = [
    'POST /api/oauth/token HTTP/1.1',
    'host: a',
    'content-type: application/x-www-form-urlencoded',
    'content-length: 100',
  ];
  let timedOut = 0;
  const openSlow = (): Promise<void> =>
    open(`${head.join('\r\n')}\r\n\r\n`, () => {
      timedOut += 1;
    });
  const ended = async (reason: string): Promise<number> =>
    figureOf(await metrics(), `orderpass_connections_ended_total{reason="${reason}"}`) || 0;
  // Until a connection is ended since all others have requests.
  await until(async () => {
    await Promise.all(Array.from({ length: 20 }, openSlow));
    return (await ended('busy')) > 0;
  });
  const answers: (number | string)[] = [];
  await until(async () => answers.push(await modestRequest()) > 0 && answers.at(-1) === 401);
  expect(timedOut).toBe(0);
  expect(await ended('slow')).toBe(1);
  for (const client of clients.splice(0)) client.destroy();
  await until(async () => figureOf(await metrics(), 'orderpass_connections') === 0);
});
