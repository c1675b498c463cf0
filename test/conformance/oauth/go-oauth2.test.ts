/** golang.org/x/oauth2 at a gateway with TLS, by a secret and by a certificate. */
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type OAuthStand, startOAuthStand } from './oauth-stand.ts';

const folder = mkdtempSync(join(tmpdir(), 'orderpass-oauth2-'));
const program = join(folder, 'client');

/** With Go 1.24 or newer, and the module from its proxy or its cache. */
const isBuilt = (() => {
  const env = { ...process.env, GOTOOLCHAIN: 'local', GOFLAGS: '-mod=readonly' };
  const options = { cwd: join(import.meta.dirname, 'go'), env, timeout: 180_000, stdio: 'ignore' } as const;
  try {
    execFileSync('go', ['build', '-o', program, '.'], options);
    return true;
  } catch {
    return false;
  }
})();
if (!isBuilt) {
  process.stderr.write('go-oauth2.test.ts: Go cannot build golang.org/x/oauth2 here, it was not run\n');
  rmSync(folder, { recursive: true, force: true });
}

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.skipIf(!isBuilt)('golang.org/x/oauth2', () => {
  let stand: OAuthStand;

  beforeAll(async () => {
    stand = await startOAuthStand();
  });

  afterAll(() => stand?.close());

  test('A-523 golang.org/x/oauth2 gets and uses tokens by a secret, and bound ones by a certificate at the address of the aliases', async () => {
    const file = join(folder, 'given.json');
    const { id, secret } = await stand.newClient('secret');
    const { url, files, bound, other } = stand;
    const read = '/api/orders/list?start_date=2026-01-01';
    writeFileSync(file, JSON.stringify({ url, read, ca: files.caFile, id, secret, bound, other }));
    const { stdout } = await promisify(execFile)(program, [file]);
    expect(JSON.parse(stdout)).toEqual({
      detect: 200,
      header: 200,
      params: 200,
      'detect wrong': 'invalid_client',
      'header wrong': 'invalid_client',
      'params wrong': 'invalid_client',
      certificate: 200,
      'certificate wrong': 'invalid_client',
      bound: [200, 401, 401],
    });
    expect(stand.mtlsConnections()).toBeGreaterThan(0);
  });
});
