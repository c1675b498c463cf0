import { afterAll, beforeAll, expect, test } from 'vitest';
import { webhooksSettings } from '#src/webhooks/config.ts';
import { runCommand } from '../../support/program.ts';
import { startWebhookApi, type WebhookApi } from '../harness/webhook-api.ts';

let api: WebhookApi;

beforeAll(async () => {
  api = await startWebhookApi();
});

afterAll(() => api?.close());

/** Names that servers or proxies give a meaning, or that a delivery has already. */
const taken = [
  ...['Content-Length', 'content-type', 'Content-Digest', 'Host', 'Connection', 'Keep-Alive', 'TE', 'Trailer'],
  ...['Transfer-Encoding', 'Upgrade', 'Expect', 'Via', 'Date', 'Authorization', 'Proxy-Authorization'],
  ...[
    'Proxy-Connection',
    'Cookie',
    'Set-Cookie',
    'traceparent',
    'TraceState',
    'baggage',
    'Sec-Fetch-Site',
    'Forwarded',
  ],
  ...['X-Forwarded-For', 'X-Real-IP', 'X-HTTP-Method-Override', 'webhook-id', 'Webhook-Anything', 'User-Agent'],
  ...['X-Orderpass-Delivery', 'x-orderpass-attempt', 'Accept', 'Accept-Encoding', 'If-Match', 'Range'],
  // Its `-Next` twin during a rotation would be that header.
  ...['Set-Cookie-Next', 'traceparent-next'],
];
const badSyntax = ['a b', 'a:b', 'ü', 'x\r\nHost', 'x'.repeat(65), '"'];
const good = ['X-Pos-Signature', 'X-Hub-Signature-256', 'Signature', 'X-Orderpass-Signature'];

test('F-34 one list of refused names of the signature header serves the operator and each endpoint', async () => {
  const isSetting = (name: string): boolean => webhooksSettings.safeParse({ signature_header: name }).success;
  const url = 'http://127.0.0.1:2/hook';
  const { uid } = await api.endpoint(url);
  for (const name of [...taken, ...badSyntax]) {
    const made = await api.post('/webhook/create', { url, signature_header: name });
    const changed = await api.post('/webhook/update', { uid, signature_header: name });
    expect([name, made.status, changed.status, isSetting(name)]).toEqual([name, 400, 400, false]);
    expect(made.json.errors[0].pointer).toBe('signature_header');
  }
  for (const name of good) {
    const changed = await api.post('/webhook/update', { uid, signature_header: name });
    expect([name, changed.json.endpoint?.signature_header, isSetting(name)]).toEqual([name, name, true]);
  }
});

test('F-34 a refused name in the configuration stops the start with the name of the setting', async () => {
  const refused = await runCommand(['config', 'check'], { ORDERPASS_SIGNATURE_HEADER: 'Content-Length' });
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain('ORDERPASS_SIGNATURE_HEADER');
  expect(refused.stderr).toContain('is the name of another header');
  const accepted = await runCommand(['config', 'check'], { ORDERPASS_SIGNATURE_HEADER: 'X-Hub-Signature' });
  expect(accepted.stderr).not.toContain('ORDERPASS_SIGNATURE_HEADER');
});
