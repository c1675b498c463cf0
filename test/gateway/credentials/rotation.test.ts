import { generateKeyPairSync } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createKeyViews } from '#src/gateway/index.ts';
import { whileLocked } from '../../support/contention.ts';
import { isWithinASecond } from '../../support/until.ts';
import { clientHeaders, type Harness, openHarness, postToken, read } from '../harness/gateway-harness.ts';
import { sendRequest } from '../harness/public-door.ts';

let harness: Harness;
let tenant: string;
const hourMs = 3_600_000;

beforeAll(async () => {
  harness = await openHarness();
  tenant = await harness.createTenant();
});

afterAll(() => harness.close());

const status = async (headers: Record<string, string>, url = harness.url): Promise<number> =>
  (await sendRequest(url, 'GET', read, { headers })).status;

test('A-023 after a rotation both secrets work by headers and at the token endpoint, until the overlap ends', async () => {
  const old = await harness.createClient([tenant]);
  const { client_id } = old;
  expect(await status(clientHeaders(old))).toBe(200);
  const made = await harness.credentials.rotateClientSecret(client_id, 2);
  const fresh = { client_id, client_secret: made.secret };
  for (const one of [old, fresh]) {
    await expect.poll(() => status(clientHeaders(one))).toBe(200);
    const { client_secret } = one;
    const reply = await postToken(harness.url, { grant_type: 'client_credentials', client_id, client_secret });
    expect(reply.status).toBe(200);
  }
  harness.clock.move(2 * hourMs - 10_000);
  expect([await status(clientHeaders(old)), await status(clientHeaders(fresh))]).toEqual([200, 200]);
  harness.clock.move(11_000);
  expect([await status(clientHeaders(old)), await status(clientHeaders(fresh))]).toEqual([401, 200]);
  const { secrets } = await harness.credentials.showClient(client_id);
  expect(secrets.map(({ state }) => state)).toEqual(['expired', 'active']);
  expect(secrets[0]?.reason).toMatch(/^rotated; ends /);
  harness.clock.move(-2 * hourMs - 1_000);
});

test('an overlap is 0 to 30 days; with 0 the old secret ends within 1 s; a longer one does not revive an earlier end', async () => {
  const old = await harness.createClient([tenant]);
  const { client_id } = old;
  for (const hours of [-1, 721, Number.NaN]) {
    await expect(harness.credentials.rotateClientSecret(client_id, hours)).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
    });
  }
  await harness.credentials.rotateClientSecret(client_id, 1);
  await harness.credentials.rotateClientSecret(client_id, 720);
  const ends = (await harness.credentials.showClient(client_id)).secrets.map(({ expires }) =>
    expires === null ? null : Math.round((expires.getTime() - Date.now()) / hourMs),
  );
  expect(ends).toEqual([1, 720, null]);
  expect(await status(clientHeaders(old))).toBe(200);
  const last = await harness.credentials.rotateClientSecret(client_id, 0);
  await isWithinASecond(() => status(clientHeaders(old)), 401);
  expect(await status(clientHeaders({ client_id, client_secret: last.secret }))).toBe(200);
});

test('A-454 of a client at most 20 secrets and 20 public keys work at a time; a rotation without an overlap passes all the same', async () => {
  const { client_id } = await harness.createClient([tenant]);
  const { credentials } = harness;
  const rotate = (hours: number) => credentials.rotateClientSecret(client_id, hours);
  for (let live = 1; live < 20; live += 1) await rotate(1);
  await expect(rotate(1)).rejects.toMatchObject({ code: 'CONFLICT' });
  await rotate(0);
  await rotate(1);
  const key = () => generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' });
  for (let live = 1; live < 20; live += 1) await credentials.addClientKey(client_id, key());
  const both = await Promise.allSettled([
    credentials.addClientKey(client_id, key()),
    credentials.addClientKey(client_id, key()),
  ]);
  expect(both.map(({ status: end }) => end).toSorted()).toEqual(['fulfilled', 'rejected']);
  const added = both.flatMap((one) => (one.status === 'fulfilled' ? [one.value.keyId] : []));
  await credentials.revokeClientKey(client_id, added[0] ?? '');
  await credentials.addClientKey(client_id, key());
});

const secretsOf = async (clientId: string) => (await harness.credentials.showClient(clientId)).secrets;

const endless = async (clientId: string): Promise<string[]> =>
  (await secretsOf(clientId)).flatMap(({ id, expires }) => (expires === null ? [id] : []));

/** Both wait for the secret that they give an end. */
const rotateTwiceAtOnce = async (clientId: string): Promise<PromiseSettledResult<unknown>[]> => {
  const [held = ''] = await endless(clientId);
  const rotate = () => harness.credentials.rotateClientSecret(clientId, 1);
  const secret = sql`select from gateway.client_secrets where secret_id = ${held} for update`;
  return whileLocked(harness.database.db, secret, 2, () => Promise.allSettled([rotate(), rotate()]));
};

test('A-665 of two rotations at once one new secret has no end', async () => {
  const { client_id } = await harness.createClient([tenant]);
  const outcomes = await rotateTwiceAtOnce(client_id);
  expect(outcomes.map(({ status: outcome }) => outcome)).toEqual(['fulfilled', 'fulfilled']);
  expect(await endless(client_id)).toHaveLength(1);
});

test('A-665 with 19 secrets that work one of two rotations at once is refused', async () => {
  const { client_id } = await harness.createClient([tenant]);
  for (let live = 1; live < 19; live += 1) await harness.credentials.rotateClientSecret(client_id, 1);
  const outcomes = await rotateTwiceAtOnce(client_id);
  const refused = outcomes.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
  expect(refused).toEqual([expect.objectContaining({ code: 'CONFLICT' })]);
  expect(await secretsOf(client_id)).toHaveLength(20);
});

/** Whether the last change of a credential is measured as a revocation. */
const isRevocation = async (): Promise<boolean> => {
  const { rows } = await harness.database.pool.query(
    'select revoked_at is not null as revoked from gateway.credential_feed order by number desc limit 1',
  );
  return rows[0].revoked;
};

test('A-666 the history has the ends that a rotation changed, and one without an overlap is measured as a revocation', async () => {
  const { credentials } = harness;
  const { client_id } = await harness.createClient([tenant]);
  const key = await credentials.createApiKey({ tenant, name: 'bar' });
  const shown = async () => [
    ...(await credentials.showClient(client_id)).secrets,
    ...(await credentials.listApiKeys(tenant)).filter(({ id }) => id === key.keyId),
  ];
  const rotateBoth = async (hours: number): Promise<boolean[]> => {
    await credentials.rotateClientSecret(client_id, hours);
    const secret = await isRevocation();
    await credentials.rotateApiKey(key.keyId, hours);
    return [secret, await isRevocation()];
  };
  expect([await rotateBoth(1), await rotateBoth(2)]).toEqual([
    [false, false],
    [false, false],
  ]);
  for (const { expires, reason } of await shown())
    expect(reason).toBe(expires === null ? null : `rotated; ends ${expires.toISOString()}`);
  expect(await rotateBoth(0)).toEqual([true, true]);
  for (const { expires, reason, state } of (await shown()).filter(({ expires: end }) => end !== null)) {
    expect(state).toBe('expired');
    expect(reason).toBe(`rotated; ends ${expires?.toISOString()}`);
  }
});

/** Calls through a gateway of its own, which writes the counted use when it is closed. */
const useAll = async (...credentials: Record<string, string>[]): Promise<void> => {
  const door = await harness.openDoor();
  for (const headers of credentials) expect(await status(headers, door.url)).toBe(200);
  await door.close();
};

test('F-40 a secret is safe to retire only when a newer one was used and it was unused for longer than a day and its longest pause', async () => {
  const old = await harness.createClient([tenant]);
  const { client_id, secret_id } = old as typeof old & { secret_id: string };
  const retire = (id: string, force = false): Promise<void> =>
    harness.credentials.retireClientSecret(client_id, id, force);
  const advice = async (): Promise<unknown[]> =>
    (await harness.credentials.showClient(client_id)).secrets.map((secret) => secret.advice);
  const refused = (text: RegExp) => ({ code: 'CONFLICT', publicText: expect.stringMatching(text) });
  expect(await advice()).toEqual(['not_used_yet']);
  await expect(retire(secret_id)).rejects.toMatchObject(refused(/not used yet/));

  const made = await harness.credentials.rotateClientSecret(client_id, 720);
  const fresh = { client_id, client_secret: made.secret };
  expect(await advice()).toEqual(['not_used_yet', 'not_used_yet']);
  await useAll(clientHeaders(old));
  expect(await advice()).toEqual(['successor_not_used', 'not_used_yet']);
  await expect(retire(made.secretId)).rejects.toMatchObject(refused(/not used yet/));

  // The length of the silence does not matter: no use of the new secret shows that the client has changed to it.
  harness.clock.move(72 * hourMs);
  expect(await advice()).toEqual(['successor_not_used', 'not_used_yet']);
  await useAll(clientHeaders(old), clientHeaders(fresh));
  expect(await advice()).toEqual(['used_lately', 'newest']);
  harness.clock.move(25 * hourMs);
  expect(await advice()).toEqual(['used_lately', 'newest']);
  await expect(retire(secret_id)).rejects.toMatchObject(refused(/last used at .* longest pause .* 2592\d\d seconds/));
  await expect(retire(made.secretId)).rejects.toMatchObject(refused(/the newest credential/));
  const { secrets } = await harness.credentials.showClient(client_id);
  expect(secrets.map(({ safeToRetire }) => safeToRetire)).toEqual([false, false]);

  harness.clock.move(49 * hourMs);
  expect(await advice()).toEqual(['safe', 'newest']);
  await retire(secret_id);
  await expect.poll(() => status(clientHeaders(old))).toBe(401);
  expect(await status(clientHeaders(fresh))).toBe(200);
  expect(await advice()).toEqual([null, 'only_one']);
  await expect(retire(made.secretId)).rejects.toMatchObject(refused(/only live credential/));
  await retire(made.secretId, true);
  await expect.poll(() => status(clientHeaders(fresh))).toBe(401);
  await expect(retire('ops_absent')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  harness.clock.move(-146 * hourMs);
});

test('F-40 a secret or key that was used twice within a minute is safe to retire only after a day without use', async () => {
  const views = createKeyViews({ db: harness.database.db, clock: harness.clock });
  const client = await harness.createClient([tenant]);
  const { client_id } = client;
  const key = await harness.credentials.createApiKey({ tenant, name: 'bar' });
  const secret = await harness.credentials.rotateClientSecret(client_id, 720);
  const { value } = await harness.credentials.rotateApiKey(key.keyId, 720);
  const old = [clientHeaders(client), { 'x-api-key': key.value }];
  const advice = async (): Promise<unknown[]> => [
    (await harness.credentials.showClient(client_id)).secrets[0]?.advice,
    (await views.find(tenant, key.keyId))?.safeToRetire,
  ];
  await useAll(...old);
  harness.clock.move(60_000);
  await useAll(...old, clientHeaders({ client_id, client_secret: secret.secret }), { 'x-api-key': value });
  for (const hours of [1, 22]) {
    harness.clock.move(hours * hourMs);
    expect(await advice()).toEqual(['used_lately', false]);
  }
  harness.clock.move(2 * hourMs);
  expect(await advice()).toEqual(['safe', true]);
  harness.clock.move(-25 * hourMs - 60_000);
});

test('F-40 an API key is safe to retire only when its successor was used and it was unused for longer than ever before', async () => {
  const views = createKeyViews({ db: harness.database.db, clock: harness.clock });
  const old = await harness.credentials.createApiKey({ tenant, name: 'kitchen' });
  const fresh = await harness.credentials.rotateApiKey(old.keyId, 720);
  const other = await harness.credentials.createApiKey({ tenant, name: 'another' });
  const safe = async (): Promise<unknown[]> =>
    Promise.all([old, fresh].map(async ({ keyId: key_id }) => (await views.find(tenant, key_id))?.safeToRetire));
  expect(await safe()).toEqual([false, false]);
  await useAll({ 'x-api-key': old.value }, { 'x-api-key': other.value });
  harness.clock.move(30 * hourMs);
  expect(await safe()).toEqual([false, false]);
  await useAll({ 'x-api-key': old.value }, { 'x-api-key': fresh.value });
  harness.clock.move(29 * hourMs);
  expect(await safe()).toEqual([false, false]);
  harness.clock.move(2 * hourMs);
  expect(await safe()).toEqual([true, false]);
  harness.clock.move(-61 * hourMs);
});

test('an API key is rotated with the same tenant and name and an overlap; an ended key cannot be rotated', async () => {
  const old = await harness.credentials.createApiKey({ tenant, name: 'till' });
  const fresh = await harness.credentials.rotateApiKey(old.keyId, 1);
  const shown = async () =>
    (await harness.credentials.listApiKeys(tenant)).filter(({ id }) => [old.keyId, fresh.keyId].includes(id));
  expect((await shown()).map(({ name, state }) => [name, state])).toEqual([
    ['till', 'active'],
    ['till', 'active'],
  ]);
  const both = async (): Promise<number[]> => [
    await status({ 'x-api-key': old.value }),
    await status({ 'x-api-key': fresh.value }),
  ];
  expect(await both()).toEqual([200, 200]);
  harness.clock.move(hourMs + 1_000);
  expect(await both()).toEqual([401, 200]);
  await expect(harness.credentials.rotateApiKey(old.keyId, 1)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  harness.clock.move(-hourMs - 1_000);
});
