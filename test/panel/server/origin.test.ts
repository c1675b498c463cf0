/** Where a form must have been sent from: the public address of the server, or another name of loopback. */
import { request } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type PanelHarness, startPanelHarness } from '../harness/panel-harness.ts';

const origin = 'https://panel.example.com';
let harness: PanelHarness;

beforeAll(async () => {
  harness = await startPanelHarness({ ORDERPASS_ORIGIN: origin });
});

afterAll(() => harness?.close());

type Answer = { status: number; text: string };

/** A sign-in with a wrong password: 422 where the form is looked at. `fetch` would choose Host itself. */
const post = (headers: Record<string, string>): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const type = { 'content-type': 'application/x-www-form-urlencoded' };
    const asked = request(
      `${harness.url}/panel/sign-in`,
      { method: 'POST', headers: { ...type, ...headers } },
      (answer) => {
        let text = '';
        answer.on('data', (chunk: Buffer) => {
          text += chunk.toString();
        });
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }));
      },
    );
    asked.on('error', reject);
    asked.end('email=none%40example.com&password=wrong');
  });

test('F-33 a form is taken from the public origin with its scheme, and from other hosts only where they are loopback', async () => {
  const { port } = new URL(harness.url);
  const host = 'panel.example.com';
  for (const headers of [
    { origin: 'http://panel.example.com', host },
    { origin: 'https://panel.example.com:8443', host: 'panel.example.com:8443' },
    { origin: 'https://evil.example', host: 'evil.example' },
    { origin: 'http://192.0.2.7', host: '192.0.2.7' },
    { origin: 'http://localhost.evil.example', host: 'localhost.evil.example' },
    { origin: 'http://localhost:1', host: `localhost:${port}` },
    { origin: `https://localhost:${port}`, host: `localhost:${port}` },
    { origin: 'null', host },
    { origin: 'http://localhost', host },
    { origin, host, 'sec-fetch-site': 'cross-site' },
    { host },
  ]) {
    const { status, text } = await post(headers);
    expect(status, JSON.stringify(headers)).toBe(403);
    if (!('sec-fetch-site' in headers)) expect(text).toContain(`not sent from a page at ${origin}`);
  }
  for (const headers of [
    { origin, host },
    { origin, host: `127.0.0.1:${port}`, 'sec-fetch-site': 'same-origin' },
    { origin: `http://localhost:${port}`, host: `localhost:${port}` },
    { origin: `http://127.0.0.1:${port}`, host: `127.0.0.1:${port}` },
    { origin: `http://[::1]:${port}`, host: `[::1]:${port}` },
    { host, 'sec-fetch-site': 'same-origin' },
  ])
    expect((await post(headers)).status, JSON.stringify(headers)).toBe(422);
});
