/** Authlib, the OAuth library of Python, at a gateway with TLS: by secrets, by a key of its own, and by a certificate. */
import { execFile, execFileSync } from 'node:child_process';
import { generateKeyPairSync, type KeyPairKeyObjectResult } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fencesOf } from '../../reference/guide-claims/guide-pages.ts';
import { runJson } from '../../support/program.ts';
import { type OAuthStand, startOAuthStand } from './oauth-stand.ts';

const folder = mkdtempSync(join(tmpdir(), 'orderpass-authlib-'));
const python = join(folder, 'venv/bin/python');

/** In a virtual environment: Debian's Authlib is too old for the code of the page. */
const isInstalled = ['/usr/bin/python3', 'python3'].some((command) => {
  try {
    execFileSync(command, ['-m', 'venv', '--clear', join(folder, 'venv')], { stdio: 'ignore' });
    const packages = ['--retries', '1', 'Authlib==1.9.10', 'requests==2.34.2', 'httpx==0.28.1'];
    execFileSync(python, ['-m', 'pip', 'install', '--quiet', ...packages], { stdio: 'ignore', timeout: 120_000 });
    return true;
  } catch {
    return false;
  }
});
if (!isInstalled) {
  process.stderr.write('authlib.test.ts: pip cannot install Authlib here, it was not run\n');
  rmSync(folder, { recursive: true, force: true });
}

const kinds: Readonly<Record<string, () => KeyPairKeyObjectResult>> = {
  ES256: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  PS256: () => generateKeyPairSync('rsa', { modulusLength: 2_048 }),
  EdDSA: () => generateKeyPairSync('ed25519'),
};

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.skipIf(!isInstalled)('Authlib', () => {
  let stand: OAuthStand;
  let file: string;

  beforeAll(async () => {
    stand = await startOAuthStand();
    file = join(folder, 'given.json');
    const { title = '', text = '' } = fencesOf('../secure/fapi2').find(({ language }) => language === 'python') ?? {};
    writeFileSync(join(folder, title), text);
    const { id, secret } = await stand.newClient('secret');
    const keys = await Promise.all(Object.entries(kinds).map(([alg, make]) => withKey(alg, make())));
    const { url, bound, other } = stand;
    const read = '/api/orders/list?start_date=2026-01-01';
    writeFileSync(file, JSON.stringify({ url, read, ca: stand.files.caFile, id, secret, keys, bound, other }));
  });

  afterAll(() => stand?.close());

  /** A client with the key: its id, the key, its kind and the algorithm. */
  const withKey = async (alg: string, { publicKey, privateKey }: KeyPairKeyObjectResult): Promise<string[]> => {
    const { id } = await stand.newClient(alg);
    const jwk = join(folder, `${alg}.jwk`);
    writeFileSync(jwk, JSON.stringify({ ...publicKey.export({ format: 'jwk' }), alg }));
    await runJson(['client', 'add-key', '--client-id', id, '--jwk', jwk], stand.env);
    return [
      id,
      String(privateKey.export({ format: 'pem', type: 'pkcs8' })),
      String(publicKey.export({ format: 'jwk' }).kty),
      alg,
    ];
  };

  const run = async (mode: string): Promise<unknown> => {
    const program = join(import.meta.dirname, 'authlib-client.py');
    const env = { ...process.env, PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: '1' };
    return JSON.parse((await promisify(execFile)(python, [program, mode, file], { env })).stdout);
  };

  test('A-521 Authlib gets, uses and revokes tokens by a secret in the header and in the form', async () => {
    const methods = ['client_secret_basic', 'client_secret_post'];
    const expected = ['requests', 'httpx'].flatMap((library) =>
      methods.map((method) => [library, method, 'Bearer', 'read:orders', 200, 200, 401, 'invalid_client']),
    );
    expect(await run('secrets')).toEqual(expected);
  });

  test('A-521 Authlib gets tokens by private_key_jwt with the code of the page about FAPI 2.0, and only one or none without it', async () => {
    expect(await run('assertions')).toEqual(
      Object.keys(kinds).map((alg) => [alg, 2, 200, ['invalid_client', null, 'invalid_client']]),
    );
  });

  test('A-522 Authlib gets a bound token by a certificate at the address of the aliases, and uses it with that alone', async () => {
    const expected = ['requests', 'httpx'].map((library) => [library, 200, 401, 401, 'invalid_client']);
    expect(await run('certificates')).toEqual(expected);
    expect(stand.mtlsConnections()).toBeGreaterThan(0);
  });
});
