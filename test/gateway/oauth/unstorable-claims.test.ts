/** Client ids that were never issued, with a right checksum, which anyone can compute. */
import { crc32 } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { storableEvent } from '#src/gateway/audit/event/storable-event.ts';
import { clientHeaders, type Harness, openHarness, pick, postToken, read } from '../harness/gateway-harness.ts';
import { sendRaw, sendRequest } from '../harness/public-door.ts';

let harness: Harness;

beforeAll(async () => {
  harness = await openHarness();
});

afterAll(() => harness.close());

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

const withChecksum = (body: string): string => {
  let rest = crc32(body);
  let text = '';
  for (let i = 0; i < 6; i += 1) {
    text = `${digits[rest % 62]}${text}`;
    rest = Math.floor(rest / 62);
  }
  return body + text;
};

test('a claimed client id that the store cannot hold is refused, and the audit of the process goes on', async () => {
  const client = await harness.createClient([await harness.createTenant()]);
  const grant_type = 'client_credentials';
  for (const first of ['\u0000', '\u0001', '\u00e9', '-', ' ']) {
    const client_id = withChecksum(`opc_${first}${'A'.repeat(23)}`);
    for (const more of [{}, { client_secret: client.client_secret }]) {
      const refused = await postToken(harness.url, { grant_type, client_id, ...more });
      expect([refused.status, refused.json.error]).toEqual([401, 'invalid_client']);
    }
    const asked = await sendRequest(harness.url, 'GET', read, {
      headers: clientHeaders({ ...client, client_id: 'opc_x' }),
    });
    expect(asked.status).toBe(401);
  }
  // A token is issued only when the audit has it, and behind every event from before.
  expect((await postToken(harness.url, { grant_type, ...pick(client) })).status).toBe(200);
});

test('a client id that the store cannot hold beside an assertion of an issuer is refused at every OAuth endpoint', async () => {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const client_assertion = `${part({ alg: 'RS256' })}.${part({ iss: 'https://issuer.example', sub: 'build' })}.AAAA`;
  const client_assertion_type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
  const form = { client_id: '\u0000', client_assertion_type, client_assertion };
  for (const [path, more] of [
    ['token', { grant_type: 'client_credentials' }],
    ['revoke', { token: 'x' }],
    ['introspect', { token: 'x' }],
  ] as const) {
    const refused = await sendRequest(harness.url, 'POST', `/api/oauth/${path}`, {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ ...form, ...more }).toString(),
    });
    expect([path, refused.status, refused.json.error]).toEqual([path, 401, 'invalid_client']);
  }
});

test('an event with text that PostgreSQL cannot store is written with a replacement', () => {
  const at = new Date(0);
  expect(storableEvent({ at, name: 'a\u0000b', half: '\ud800', tenants: ['x', '\u0000'], none: null })).toEqual({
    ...{ at, name: 'a\ufffdb', half: '\ufffd', tenants: ['x', '\ufffd'], none: null },
  });
  const whole = { at, name: 'à', tenants: ['x'] };
  expect(storableEvent(whole)).toBe(whole);
});

test('a target that is read as a path of the gateway only without its fragment does not exist', async () => {
  const { port } = new URL(harness.url);
  for (const target of ['/api/oauth/jwks#a', '/.well-known/oauth-authorization-server#a', '/healthz#a', '/docs#a']) {
    const answer = await sendRaw(Number(port), `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    expect([target, String(answer).slice(0, 12)]).toEqual([target, 'HTTP/1.1 404']);
  }
});
