/** The time for which browsers remember https (setting ORDERPASS_HSTS_SECONDS, interface 16). */
import { afterAll, expect, test } from 'vitest';
import { createTestDatabase } from '../../support/database.ts';
import { startProgram } from '../../support/program.ts';
import { makeAuthority, writeCertificate } from '../harness/make-certificate.ts';
import { openDoor, sendRaw, sendRequest, startUpstream } from '../harness/public-door.ts';
import { sendTls } from './tls-harness.ts';

const closers: (() => Promise<void>)[] = [];

afterAll(async () => {
  for (const close of closers.toReversed()) await close();
});

const field = 'strict-transport-security';

test.each([300, 0, 63_072_000])(
  'A-460 with %i s every kind of answer of an https address has that time',
  async (seconds) => {
    const upstream = await startUpstream();
    closers.push(upstream.close);
    const door = await openDoor(upstream.url, { settings: { hsts_seconds: seconds } });
    closers.push(door.close);
    // The service does not decide for the whole host.
    upstream.answer = (_req, res) => void res.writeHead(200, { [field]: 'max-age=7; includeSubDomains' }).end('{}');
    const targets: [string, number, Record<string, string>][] = [
      ['/api/orders/list', 200, door.asKey],
      ['/api/orders/list', 401, {}],
      ['/api/nowhere', 404, door.asKey],
      ['/healthz', 200, {}],
      ['/.well-known/oauth-authorization-server', 200, {}],
    ];
    for (const [target, status, headers] of targets) {
      const answer = await sendRequest(door.url, 'GET', target, { headers });
      expect([target, answer.status, answer.headers[field]]).toEqual([target, status, `max-age=${seconds}`]);
    }
    const broken = await sendRaw(door.port, 'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', (answer) =>
      answer.includes('\r\n\r\n'),
    );
    expect(broken.toLowerCase()).toContain(`${field}: max-age=${seconds}\r\n`);
  },
);

test('A-460 pages of the panel have the same; answers of an http address have none', async () => {
  const database = await createTestDatabase();
  closers.push(() => database.drop());
  const authority = makeAuthority();
  const files = writeCertificate(authority);
  closers.push(async () => files.remove());
  const env = {
    DATABASE_URL: database.url,
    ORDERPASS_MASTER_KEY: Buffer.alloc(32, 5).toString('base64'),
    ORDERPASS_HSTS_SECONDS: '300',
  };
  const secure = await startProgram({
    ...env,
    ORDERPASS_TLS_CERT_FILE: files.certFile,
    ORDERPASS_TLS_KEY_FILE: files.keyFile,
  });
  try {
    for (const target of ['/panel/sign-in', '/docs', '/healthz']) {
      const { headers } = await sendTls(secure.url, 'GET', target, { ca: authority.cert });
      expect([target, headers[field]]).toEqual([target, 'max-age=300']);
    }
  } finally {
    await secure.stop();
  }
  const plain = await startProgram(env);
  try {
    for (const target of ['/panel/sign-in', '/docs', '/healthz']) {
      const answer = await fetch(plain.url + target, { redirect: 'manual' });
      expect([target, answer.headers.get(field)]).toEqual([target, null]);
    }
  } finally {
    await plain.stop();
  }
});
