/** Heads of requests that are long, on every path of the public listener, and header fields made to be slow to read. */
import { execFile } from 'node:child_process';
import { connect } from 'node:net';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { root } from '../../support/program.ts';
import { type PanelHarness, startPanelHarness } from '../harness/panel-harness.ts';

let harness: PanelHarness;

beforeAll(async () => {
  harness = await startPanelHarness();
});

afterAll(() => harness?.close());

type Answer = { status: number; text: string };

/** One request on a connection of its own, as it is written. */
const send = (path: string, fields: string): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(harness.url);
    let text = '';
    const socket = connect(Number(port), hostname, () => {
      socket.write(`GET ${path} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nConnection: close\r\n${fields}\r\n`);
    });
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
    });
    socket.on('error', reject);
    socket.on('close', () => resolve({ status: Number(text.slice(9, 12)), text }));
  });

const assetPath = async (): Promise<string> =>
  /\/panel\/assets\/[^"]+\.css/.exec(await (await fetch(`${harness.url}/panel/sign-in`)).text())?.[0] ?? '';

const field = (bytes: number): string => `Accept-Encoding: gzip${' '.repeat(bytes)}x\r\n`;

test('F-20 every path of the listener has the same bound on heads, and refuses beyond it in the same form', async () => {
  const paths = [
    ...['/panel', '/panel/sign-in', await assetPath(), '/panel/events', '/docs', '/docs/assets/guide.css'],
    ...['/', '/demo/receiver', '/api/orders/list', '/api/openapi.json', '/api/oauth/token', '/auth/check', '/healthz'],
  ];
  for (const path of paths) {
    const fits = await send(path, field(15_000));
    expect(fits.status, `${path}: ${fits.text.slice(0, 200)}`).not.toBe(431);
    // Below and above the bound of the parser itself.
    for (const bytes of [17_000, 31_000, 64_000]) {
      const { status, text } = await send(path, field(bytes));
      expect(status, `${path} with ${bytes} bytes`).toBe(431);
      expect(text, path).toMatch(/^x-request-id: req_/im);
      expect(text, path).toContain('"HEADERS_TOO_LARGE"');
      expect(text, path).toContain('16384 bytes');
    }
  }
});

/** A child that is given up when it takes longer than any linear work over such a text could. */
const inChild = async (script: string): Promise<string> =>
  (await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { cwd: root, timeout: 200_000 }))
    .stdout;

test('F-20 fields of the head that the panel reads are read in linear time', async () => {
  // Two million characters: what grows with their square would take days.
  const done = await inChild(`
    const { acceptsEncoding, chooseLanguage } = await import('#src/panel/server/negotiate.ts');
    const { default: Koa } = await import('koa');
    const app = new Koa();
    const { indentJson } = await import('#src/panel/webhooks/indent-json.ts');
    const many = 2_000_000;
    const hostile = [' ', '\\t', ';', ',', '; ', 'q', '=', ' ;q=', 'gzip ', 'gzip;', 'gzip ; q = '].flatMap((part) => {
      const run = part.repeat(many / part.length);
      return ['gzip' + run, 'gzip' + run + 'x', run + 'gzip', 'gzip;' + run + '=0', run];
    });
    for (const text of hostile) {
      acceptsEncoding(text, 'gzip');
      chooseLanguage(text);
      app.createContext({ headers: { cookie: text }, socket: {} }, {}).cookies.get('gzip');
    }
    indentJson('[' + '{},'.repeat(300_000) + '[]]');
    indentJson('['.repeat(300_000) + ']'.repeat(300_000));
    console.log([
      ...['gzip', 'br, GZIP', 'gzip;q=0.5', 'gzip ; q=1', 'gzip;level=1;q=0.1', 'gzip; q = 1', '*'].map((t) => acceptsEncoding(t, 'gzip')),
      ...['', 'br', 'gzip;q=0', 'gzip;q=0.000', 'gzip ; q = 0', 'gzip;q=x', 'xgzip'].map((t) => acceptsEncoding(t, 'gzip')),
    ].map(Number).join(''));
  `);
  expect(done.trim()).toBe('1111111' + '0000000');
});

test('a path that ends in thousands of slashes is led to its page, and one that holds them is looked through once', async () => {
  const { status, text } = await send(`/panel/account${'/'.repeat(8_000)}`, '');
  expect(status).toBe(303);
  expect(text).toMatch(/^location: \/panel\/account\r$/im);
  expect((await send(`/panel${'/'.repeat(8_000)}x/`, '')).status).toBe(303);
});
