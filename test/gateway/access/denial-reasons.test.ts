/** Why a good signature was not enough: the reasons of interface 11.5 that a token or a state can have, read by its client. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bearer, nowSeconds, openRfcStand, type RfcStand } from '../../rfc/rfc-harness.ts';
import { until } from '../../support/until.ts';

let stand: RfcStand;

beforeAll(async () => {
  stand = await openRfcStand();
});

afterAll(() => stand.close());

const headersOf = ({ client_id, client_secret }: RfcStand['client']) => ({
  'x-client-id': client_id,
  'x-client-secret': client_secret,
});

const reasonOf = async (requestId: string, client: RfcStand['client']): Promise<unknown> => {
  const reply = await stand.read(headersOf(client), `/api/whoami/denials/${requestId}`);
  expect((await stand.read(headersOf(stand.other), `/api/whoami/denials/${requestId}`)).status).toBe(404);
  return reply.json.denial?.reason;
};

test('A-126 reasons: a token of another audience, of a later time, revoked; a client in quarantine, read once it is over', async () => {
  const { client } = stand;
  const revoked = await stand.tokenOf(client);
  await stand.post('revoke', { token: revoked, ...client });
  const cases: [string, string][] = [
    ['token_audience', await stand.forge({ claims: { aud: 'https://other.example' } })],
    ['token_not_yet_valid', await stand.forge({ claims: { nbf: nowSeconds() + 50 } })],
    ['token_revoked', revoked],
  ];
  for (const [reason, token] of cases) {
    const refused = await stand.read(bearer(token));
    expect([reason, refused.status]).toEqual([reason, 401]);
    expect(await reasonOf(refused.json.request_id, client)).toBe(reason);
  }
  const held = await stand.createClient();
  const token = await stand.tokenOf(held);
  expect((await stand.read(bearer(token))).status).toBe(200);
  await stand.credentials.quarantine('client', held.client_id, 'under review');
  let id = '';
  await until(async () => {
    const { status, json } = await stand.read(bearer(token));
    id = json.request_id ?? '';
    return status === 403;
  });
  await stand.credentials.reactivate('client', held.client_id, 'cleared');
  await until(async () => (await stand.read(headersOf(held))).status === 200);
  expect(await reasonOf(id, held)).toBe('quarantined');
});
