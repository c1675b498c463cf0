/** What the pages of incidents call a live token is what gateways accept. */
import { X509Certificate } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openRecorder } from '#src/gateway/audit/record/recorder.ts';
import { listLiveTokens } from '#src/gateway/index.ts';
import { until } from '../../support/until.ts';
import { bearer, type Harness, openHarness, postToken, read } from '../harness/gateway-harness.ts';
import { makeAuthority } from '../harness/make-certificate.ts';
import { sendRequest } from '../harness/public-door.ts';

let harness: Harness;

beforeAll(async () => {
  harness = await openHarness({ settings: { client_certificates: 'on', client_certificate_proxies: '127.0.0.1' } });
});

afterAll(() => harness.close());

test('A-614 a token that is bound to a removed certificate is not listed as live, nor is one from before it was registered again', async () => {
  const { box, clock, credentials, database } = harness;
  const { clientId } = await credentials.createClient({ name: 'x', tenants: [await harness.createTenant()] });
  const [removed, kept] = [1, 2].map(() => makeAuthority().issue({ use: 'client' }).cert) as [string, string];
  const fieldOf = (cert: string): string => `:${new X509Certificate(cert).raw.toString('base64')}:`;
  const grant = { grant_type: 'client_credentials', client_id: clientId };
  const tokenBy = async (cert: string): Promise<string> => {
    await credentials.addClientCertificate(clientId, { pem: cert });
    let token: unknown;
    await until(async () => {
      token = (await postToken(harness.url, grant, { 'client-cert': fieldOf(cert) })).json.access_token;
      return token !== undefined;
    });
    return String(token);
  };
  const [first, second] = [await tokenBy(removed), await tokenBy(kept)];
  const idOf = (token: string): string =>
    JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()).jti;
  const live = async (): Promise<string[]> =>
    (await listLiveTokens({ db: database.db, box, clock, actor: 'cli:ada' }, { limit: 100 })).tokens.map(
      ({ id }) => id,
    );
  expect(await live()).toEqual([idOf(second), idOf(first)]);
  const thumbprint = new X509Certificate(removed).fingerprint256;
  await credentials.removeClientCertificate(clientId, thumbprint);
  const headers = { ...bearer(first), 'client-cert': fieldOf(removed) };
  await until(async () => (await sendRequest(harness.url, 'GET', read, { headers })).status === 401);
  expect(await live()).toEqual([idOf(second)]);
  await credentials.addClientCertificate(clientId, { pem: removed });
  expect(await live()).toEqual([idOf(second)]);
});

test('A-614 an exchanged token is not listed as live when the first one of its chain is older than the end of all tokens', async () => {
  const { box, clock, credentials, database } = harness;
  const { db } = database;
  const { client_id } = await harness.createClient([await harness.createTenant()]);
  await credentials.revokeClientTokens(client_id);
  const endedSeconds = Math.floor(clock.now().getTime() / 1000);
  clock.move(10_000);
  const recorder = await openRecorder({ db, box, clock, log: pino({ level: 'silent' }), process: 'another' });
  const ended = new AbortController();
  const service = recorder.service.run(ended.signal);
  const issue = (token_id: string, ancestors_iat: number): Promise<void> => {
    const expires = new Date(clock.now().getTime() + 600_000).toISOString();
    const details = JSON.stringify({ expires, parent: 'parent', ancestors: ['parent'], ancestors_iat });
    return recorder.record({ action: 'token.issued', client_id, token_id, details });
  };
  await issue('of-an-ended-one', endedSeconds - 60);
  await issue('of-a-later-one', endedSeconds + 5);
  const { tokens } = await listLiveTokens({ db, box, clock, actor: 'cli:ada' }, { limit: 100 });
  ended.abort();
  await service;
  expect(tokens.filter(({ clientId }) => clientId === client_id).map(({ id }) => id)).toEqual(['of-a-later-one']);
});
