/** Why a good signature was not enough: the reasons of interface 11.5 that a token or a state can have, read by its client. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bearer, nowSeconds, openRfcHarness, type RfcHarness } from '../../rfc/rfc-harness.ts';
import { until } from '../../support/until.ts';

let harness: RfcHarness;

beforeAll(async () => {
  harness = await openRfcHarness();
});

afterAll(() => harness.close());

const headersOf = ({ client_id, client_secret }: RfcHarness['client']) => ({
  'x-client-id': client_id,
  'x-client-secret': client_secret,
});

const reasonOf = async (requestId: string, client: RfcHarness['client']): Promise<unknown> => {
  const reply = await harness.read(headersOf(client), `/api/whoami/denials/${requestId}`);
  expect((await harness.read(headersOf(harness.other), `/api/whoami/denials/${requestId}`)).status).toBe(404);
  return reply.json.denial?.reason;
};

test('A-126 reasons: a token of another audience, from the future, revoked; a quarantined client, readable after the quarantine', async () => {
  const { client } = harness;
  const revoked = await harness.tokenOf(client);
  await harness.post('revoke', { token: revoked, ...client });
  const cases: [string, string][] = [
    ['token_audience', await harness.forge({ claims: { aud: 'https://other.example' } })],
    ['token_not_yet_valid', await harness.forge({ claims: { nbf: nowSeconds() + 50 } })],
    ['token_revoked', revoked],
  ];
  for (const [reason, token] of cases) {
    const refused = await harness.read(bearer(token));
    expect([reason, refused.status]).toEqual([reason, 401]);
    expect(await reasonOf(refused.json.request_id, client)).toBe(reason);
  }
  const held = await harness.createClient();
  const token = await harness.tokenOf(held);
  expect((await harness.read(bearer(token))).status).toBe(200);
  await harness.credentials.quarantine('client', held.client_id, 'under review');
  let id = '';
  await until(async () => {
    const { status, json } = await harness.read(bearer(token));
    id = json.request_id ?? '';
    return status === 403;
  });
  await harness.credentials.reactivate('client', held.client_id, 'cleared');
  await until(async () => (await harness.read(headersOf(held))).status === 200);
  expect(await reasonOf(id, held)).toBe('quarantined');
});
