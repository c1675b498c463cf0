/** A gateway and a core as processes of their own with TLS between them; what a check of the settings refuses (interface 16). */
import { chmodSync, copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { freePort } from '../../support/free-port.ts';
import { runCommand, startProgram } from '../../support/program.ts';
import { makeAuthority } from '../harness/make-certificate.ts';
import { sendTls, startTls, type TlsStand } from './tls-harness.ts';

let stand: TlsStand;

beforeAll(async () => {
  stand = await startTls();
});

afterAll(() => stand.close());

test('A-177 a gateway reaches a core over TLS whose authority it knows, and gets no answer from any other', async () => {
  const port = String(await freePort());
  const core = await startProgram({
    ...stand.env,
    ORDERPASS_ROLE: 'ordering',
    ORDERPASS_INTERNAL_PORT: port,
    ORDERPASS_INTERNAL_TLS_CERT_FILE: stand.files.certFile,
    ORDERPASS_INTERNAL_TLS_KEY_FILE: stand.files.keyFile,
  });
  onTestFinished(() => core.kill());
  expect(core.url).toBe(`https://127.0.0.1:${port}`);
  const answers = async (env: Record<string, string>): Promise<number> => {
    const gateway = await startProgram({
      ...stand.env,
      ...env,
      ORDERPASS_ROLE: 'gateway',
      ORDERPASS_ORIGIN: 'https://api.example',
      ORDERPASS_UPSTREAMS: `${stand.env.ORDERPASS_UPSTREAMS},ordering=${core.url}`,
    });
    onTestFinished(() => gateway.kill());
    const options = { ca: stand.authority.cert, headers: stand.asClient };
    return (await sendTls(gateway.url, 'GET', '/api/orders/list', options)).status;
  };
  expect(await answers({ NODE_EXTRA_CA_CERTS: stand.files.caFile })).toBe(200);
  expect(await answers({})).toBe(502);
});

const check = async (env: Record<string, string>): Promise<string> => {
  const { code, stderr } = await runCommand(['config', 'check'], { ...stand.env, ...env });
  return code === 0 ? 'valid' : stderr;
};

test('A-178 config check names every problem of certificates, keys, authorities and ports together', async () => {
  const { folder, certFile, keyFile, caFile } = stand.files;
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const other = stand.authority.issue();
  expect(await check({})).toBe('valid');
  const wrong = await check({
    ORDERPASS_TLS_KEY_FILE: file('other.key', other.key),
    ORDERPASS_TLS_CLIENT_CA_FILE: certFile,
    ORDERPASS_INTERNAL_TLS_CERT_FILE: file('empty.crt', ''),
    ORDERPASS_INTERNAL_TLS_KEY_FILE: join(folder, 'missing.key'),
    ORDERPASS_TLS_REDIRECT_PORT: '8080',
    PORT: '8080',
    ORDERPASS_ORIGIN: 'http://127.0.0.1:8080',
  });
  for (const problem of [
    /tls\.key_file \(ORDERPASS_TLS_KEY_FILE\): \S+ is not the key of the first certificate/,
    /tls\.client_ca_file \(ORDERPASS_TLS_CLIENT_CA_FILE\): \S+ holds the certificate of CN=test, which is no authority/,
    /internal_tls\.cert_file \(ORDERPASS_INTERNAL_TLS_CERT_FILE\): \S+ holds no certificate/,
    /internal_tls\.key_file \(ORDERPASS_INTERNAL_TLS_KEY_FILE\): \S+ cannot be read: ENOENT/,
    /tls\.redirect_port \(ORDERPASS_TLS_REDIRECT_PORT\): is 8080, the port of the public listener/,
    /origin \(ORDERPASS_ORIGIN\): must begin with https:\/\//,
  ])
    expect(wrong).toMatch(problem);
  const lone = await check({
    ORDERPASS_TLS_KEY_FILE: '',
    ORDERPASS_TLS_CLIENT_CA_FILE: caFile,
    ORDERPASS_INTERNAL_TLS_KEY_FILE: keyFile,
  });
  expect(lone).toMatch(/tls\.cert_file \(ORDERPASS_TLS_CERT_FILE\): needs a key file/);
  expect(lone).toMatch(/internal_tls\.key_file \(ORDERPASS_INTERNAL_TLS_KEY_FILE\): needs a certificate file/);
  const plain = await check({
    ORDERPASS_TLS_CERT_FILE: '',
    ORDERPASS_TLS_KEY_FILE: '',
    ORDERPASS_TLS_REDIRECT_PORT: '80',
    ORDERPASS_TLS_CLIENT_CA_FILE: caFile,
  });
  expect(plain).toMatch(/tls\.redirect_port .*: needs a certificate and a key for TLS/);
  expect(plain).toMatch(/tls\.client_ca_file .*: needs a certificate and a key for TLS/);
});

test('A-178 config check refuses an expired certificate, with which a start only warns; a start refuses a wrong key', async () => {
  const expired = join(stand.files.folder, 'expired');
  mkdirSync(expired);
  const { cert, key } = makeAuthority().issue({ until: new Date(Date.now() - 1_000) });
  const env = {
    ORDERPASS_TLS_CERT_FILE: join(expired, 'tls.crt'),
    ORDERPASS_TLS_KEY_FILE: join(expired, 'tls.key'),
  };
  writeFileSync(env.ORDERPASS_TLS_CERT_FILE, cert);
  writeFileSync(env.ORDERPASS_TLS_KEY_FILE, key, { mode: 0o600 });
  expect(await check(env)).toMatch(/tls\.cert_file \(ORDERPASS_TLS_CERT_FILE\): the certificate expired on/);
  const program = await startProgram({ ...stand.env, ...env });
  onTestFinished(() => program.kill());
  expect(program.errors()).toContain('the certificate expired on');
  const ready = await sendTls(program.url, 'GET', '/readyz', { rejectUnauthorized: false });
  expect(JSON.parse(ready.text)).toMatchObject({ status: 'degraded', certificate: 'expired' });

  copyFileSync(stand.files.keyFile, env.ORDERPASS_TLS_KEY_FILE);
  chmodSync(env.ORDERPASS_TLS_KEY_FILE, 0o600);
  const { code, stderr } = await runCommand(['start'], { ...stand.env, ...env });
  expect([code, stderr]).toEqual([expect.any(Number), expect.stringContaining('is not the key of')]);
  expect(code).not.toBe(0);
});
