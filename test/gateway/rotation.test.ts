import { afterAll, beforeAll, expect, test } from 'vitest';
import { withinASecond } from '../support/until.ts';
import { knock } from './public-door.ts';
import { clientHeaders, openStand, postToken, read, type Stand } from './stand.ts';

let stand: Stand;
let tenant: string;
const hourMs = 3_600_000;

beforeAll(async () => {
  stand = await openStand();
  tenant = await stand.createTenant();
});

afterAll(() => stand.close());

const status = async (headers: Record<string, string>, url = stand.url): Promise<number> =>
  (await knock(url, 'GET', read, { headers })).status;

test('A-023 after a rotation both secrets work by headers and at the token endpoint, until the overlap ends the old one', async () => {
  const old = await stand.createClient([tenant]);
  const { client_id } = old;
  expect(await status(clientHeaders(old))).toBe(200);
  const made = await stand.credentials.rotateClientSecret(client_id, 2);
  const fresh = { client_id, client_secret: made.client_secret };
  for (const one of [old, fresh]) {
    await expect.poll(() => status(clientHeaders(one)), withinASecond).toBe(200);
    const { client_secret } = one;
    const reply = await postToken(stand.url, { grant_type: 'client_credentials', client_id, client_secret });
    expect(reply.status).toBe(200);
  }
  stand.clock.move(2 * hourMs - 10_000);
  expect([await status(clientHeaders(old)), await status(clientHeaders(fresh))]).toEqual([200, 200]);
  stand.clock.move(11_000);
  expect([await status(clientHeaders(old)), await status(clientHeaders(fresh))]).toEqual([401, 200]);
  const { secrets } = await stand.credentials.showClient(client_id);
  expect(secrets.map(({ state }) => state)).toEqual(['expired', 'active']);
  expect(secrets[0]?.reason).toMatch(/^rotated; ends /);
  stand.clock.move(-2 * hourMs - 1_000);
});

test('an overlap is 0 to 30 days; with 0 the old secret ends within 1 s; a longer one does not revive an earlier end', async () => {
  const old = await stand.createClient([tenant]);
  const { client_id } = old;
  for (const hours of [-1, 721, Number.NaN]) {
    await expect(stand.credentials.rotateClientSecret(client_id, hours)).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
    });
  }
  await stand.credentials.rotateClientSecret(client_id, 1);
  await stand.credentials.rotateClientSecret(client_id, 720);
  const ends = (await stand.credentials.showClient(client_id)).secrets.map(({ expires }) =>
    expires === null ? null : Math.round((Date.parse(expires) - Date.now()) / hourMs),
  );
  expect(ends).toEqual([1, 720, null]);
  expect(await status(clientHeaders(old))).toBe(200);
  const last = await stand.credentials.rotateClientSecret(client_id, 0);
  await expect.poll(() => status(clientHeaders(old)), withinASecond).toBe(401);
  expect(await status(clientHeaders({ client_id, client_secret: last.client_secret }))).toBe(200);
});

test('a secret that is used is not retired unless forced; one that was silent for five minutes is', async () => {
  const old = await stand.createClient([tenant]);
  const { client_id, secret_id } = old as typeof old & { secret_id: string };
  const retire = (id: string, force = false): Promise<void> =>
    stand.credentials.retireClientSecret(client_id, id, force);
  // The only one.
  await expect(retire(secret_id)).rejects.toMatchObject({ code: 'CONFLICT' });
  const fresh = await stand.credentials.rotateClientSecret(client_id, 24);
  const safe = async (): Promise<boolean | undefined> =>
    (await stand.credentials.showClient(client_id)).secrets.find(({ id }) => id === secret_id)?.safe_to_retire;
  expect(await safe()).toBe(true);

  const door = await stand.openDoor();
  expect(await status(clientHeaders(old), door.url)).toBe(200);
  await door.close();
  expect(await safe()).toBe(false);
  await expect(retire(secret_id)).rejects.toMatchObject({
    code: 'CONFLICT',
    publicText: expect.stringMatching(/still used: 1 calls in the last 5 minutes/),
  });
  stand.clock.move(301_000);
  expect(await safe()).toBe(true);
  await retire(secret_id);
  stand.clock.move(-301_000);
  await expect.poll(() => status(clientHeaders(old)), withinASecond).toBe(401);
  expect(await status(clientHeaders({ client_id, client_secret: fresh.client_secret }))).toBe(200);
  await expect(retire(fresh.secret_id)).rejects.toMatchObject({ code: 'CONFLICT' });
  await retire(fresh.secret_id, true);
  await expect
    .poll(() => status(clientHeaders({ client_id, client_secret: fresh.client_secret })), withinASecond)
    .toBe(401);
  await expect(retire('ops_absent')).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

test('an API key is rotated with the same tenant, name and overlap; an ended key is not', async () => {
  const old = await stand.credentials.createApiKey({ tenant, name: 'till' });
  const fresh = await stand.credentials.rotateApiKey(old.key_id, 1);
  const shown = async () =>
    (await stand.credentials.listApiKeys(tenant)).filter(({ id }) => [old.key_id, fresh.key_id].includes(id));
  expect((await shown()).map(({ name, state }) => [name, state])).toEqual([
    ['till', 'active'],
    ['till', 'active'],
  ]);
  const both = async (): Promise<number[]> => [
    await status({ 'x-api-key': old.api_key }),
    await status({ 'x-api-key': fresh.api_key }),
  ];
  expect(await both()).toEqual([200, 200]);
  stand.clock.move(hourMs + 1_000);
  expect(await both()).toEqual([401, 200]);
  await expect(stand.credentials.rotateApiKey(old.key_id, 1)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  stand.clock.move(-hourMs - 1_000);
});
