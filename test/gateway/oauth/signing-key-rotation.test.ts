import { createPrivateKey, type JsonWebKey } from 'node:crypto';
import { decodeJwt, decodeProtectedHeader, SignJWT } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { replaceSigningKeys, rotateSigningKey } from '#src/gateway/index.ts';
import { sealLabel } from '#src/gateway/oauth/keys/rotate-signing-key.ts';
import { openSigningKeys } from '#src/gateway/oauth/keys/signing-keys.ts';
import { bearer, type Harness, openHarness, read, tokenOf } from '../harness/gateway-harness.ts';
import { sendRequest } from '../harness/public-door.ts';

let harness: Harness;
let client: { client_id: string; client_secret: string };
const minuteMs = 60_000;

beforeAll(async () => {
  harness = await openHarness({ tokenLifetime: 3_600 });
  client = await harness.createClient([await harness.createTenant()]);
});

afterAll(() => harness.close());

const listed = async (url = harness.url): Promise<string[]> =>
  (await sendRequest(url, 'GET', '/api/oauth/jwks')).json.keys.map(({ kid }: { kid: string }) => kid);
const kidOf = (token: string): string => decodeProtectedHeader(token).kid ?? '';
const status = async (token: string): Promise<number> =>
  (await sendRequest(harness.url, 'GET', read, { headers: bearer(token) })).status;

test('A-046 a new key is listed ten minutes before it signs; the old one stays until its last token has ended', async () => {
  const { db } = harness.database;
  const deps = { db, box: harness.box, clock: harness.clock };
  const other = await harness.openDoor();
  const old = kidOf(await tokenOf(harness.url, client));
  const rotated = await rotateSigningKey(deps);
  expect(rotated.kid).not.toBe(old);
  const listedAt = harness.clock.now().getTime();
  for (const url of [harness.url, other.url]) {
    await expect.poll(() => listed(url)).toEqual([rotated.kid, old]);
    expect(kidOf(await tokenOf(url, client))).toBe(old);
  }
  expect(Math.round((rotated.signsFrom.getTime() - listedAt) / minuteMs)).toBe(10);
  await expect(rotateSigningKey(deps)).rejects.toMatchObject({ code: 'CONFLICT' });

  harness.clock.move(9 * minuteMs);
  const last = await tokenOf(harness.url, client);
  expect(kidOf(last)).toBe(old);
  harness.clock.move(2 * minuteMs);
  for (const url of [harness.url, other.url]) expect(kidOf(await tokenOf(url, client))).toBe(rotated.kid);
  expect([await status(last), await listed()]).toEqual([200, [rotated.kid, old]]);

  // To the end of the longest token that could have been signed a moment before the change.
  harness.clock.move(59 * minuteMs);
  expect(await listed()).toEqual([rotated.kid, old]);
  harness.clock.move(2 * minuteMs);
  expect([await listed(), await listed(other.url)]).toEqual([[rotated.kid], [rotated.kid]]);
  await other.close();
});

/** What the holder of a private key can make: a token that looks as if it was issued now. */
const forgedLike = async (
  own: Harness,
  token: string,
  privateKey: JsonWebKey,
  claims: object = {},
): Promise<string> => {
  const iat = Math.floor(own.clock.now().getTime() / 1000);
  return new SignJWT({ ...decodeJwt(token), iat, exp: iat + 600, jti: `forged-${iat}`, ...claims })
    .setProtectedHeader({ ...decodeProtectedHeader(token), alg: 'ES256' })
    .sign(createPrivateKey({ key: privateKey, format: 'jwk' }));
};

const privateKeyOf = async (own: Harness, kid: string): Promise<JsonWebKey> => {
  const { rows } = await own.database.pool.query<{ sealed: Buffer }>(
    'select private_sealed as sealed from gateway.signing_keys where kid = $1',
    [kid],
  );
  return JSON.parse(own.box.open(rows[0]?.sealed ?? Buffer.alloc(0), sealLabel(kid))) as JsonWebKey;
};

test('A-675 after a rotation and the end of the tokens issued before it, the old key opens nothing', async () => {
  const own = await openHarness({ tokenLifetime: 3_600 });
  try {
    const caller = await own.createClient([await own.createTenant()]);
    const statusOf = async (token: string): Promise<number> =>
      (await sendRequest(own.url, 'GET', read, { headers: bearer(token) })).status;
    const issued = await tokenOf(own.url, caller);
    const leaked = await privateKeyOf(own, kidOf(issued));
    expect(await statusOf(await forgedLike(own, issued, leaked))).toBe(200);
    const later = Math.floor(own.clock.now().getTime() / 1000) + 86_400;
    const ofTomorrow = await forgedLike(own, issued, leaked, { iat: later, exp: later + 600 });
    expect(await statusOf(ofTomorrow)).toBe(200);

    const rotated = await rotateSigningKey({ db: own.database.db, box: own.box, clock: own.clock });
    await expect.poll(() => listed(own.url)).toContain(rotated.kid);
    // The new key signs, and a minute for clocks that differ has passed.
    own.clock.move(12 * minuteMs);
    await own.credentials.revokeClientTokens(caller.client_id);
    own.clock.move(minuteMs);
    expect(await listed(own.url)).toContain(kidOf(issued));
    await expect.poll(() => statusOf(issued)).toBe(401);
    expect(await statusOf(await forgedLike(own, issued, leaked))).toBe(401);
    expect(await statusOf(ofTomorrow)).toBe(401);
    const backdated = {
      iat: decodeJwt(issued).iat,
      aud: [own.url],
      ancestors: ['x'],
      ancestors_iat: later - 86_400 + 760,
    };
    expect(await statusOf(await forgedLike(own, issued, leaked, backdated))).toBe(401);
    const fresh = await tokenOf(own.url, caller);
    expect([kidOf(fresh), await statusOf(fresh)]).toEqual([rotated.kid, 200]);
  } finally {
    await own.close();
  }
});

test('A-676 signing keys are replaced at once: earlier keys end with their tokens, also one that does not sign yet', async () => {
  const own = await openHarness({ tokenLifetime: 3_600 });
  try {
    const { db, pool } = own.database;
    const deps = { db, box: own.box, clock: own.clock, actor: 'cli:test' };
    const caller = await own.createClient([await own.createTenant()]);
    const other = await own.openDoor();
    const statusAt = async (url: string, token: string): Promise<number> =>
      (await sendRequest(url, 'GET', read, { headers: bearer(token) })).status;
    const issued = await tokenOf(own.url, caller);
    expect([await statusAt(own.url, issued), await statusAt(other.url, issued)]).toEqual([200, 200]);
    const leaked = await privateKeyOf(own, kidOf(issued));
    await rotateSigningKey(deps);

    const { kid, signsFrom } = await replaceSigningKeys(deps);
    expect(signsFrom.getTime()).toBeLessThanOrEqual(own.clock.now().getTime());
    const forged = await forgedLike(own, issued, leaked);
    for (const { url } of [own, other]) {
      await expect.poll(() => listed(url)).toEqual([kid]);
      expect([await statusAt(url, issued), await statusAt(url, forged)]).toEqual([401, 401]);
    }
    const fresh = await tokenOf(other.url, caller);
    expect([kidOf(fresh), await statusAt(own.url, fresh)]).toEqual([kid, 200]);
    const { rows } = await pool.query<{ count: number }>(
      'select count(*)::int as count from gateway.signing_keys where length(private_sealed) > 0',
    );
    expect(rows).toEqual([{ count: 1 }]);
    await other.close();
  } finally {
    await own.close();
  }
});

test('a key whose last token has ended verifies nothing and loses its private part with the next rotation', async () => {
  const { db, pool } = harness.database;
  await rotateSigningKey({ db, box: harness.box, clock: harness.clock });
  const { rows } = await pool.query<{ retired: boolean; sealed: number }>(
    'select retired_at is not null as retired, length(private_sealed) as sealed from gateway.signing_keys order by not_before',
  );
  expect(rows.map(({ retired, sealed }) => [retired, sealed === 0])).toEqual([
    [true, true],
    [false, false],
    [false, false],
  ]);
});

test('a key that is older than the operator wants is replaced by one of the gateways', async () => {
  // From the store: the gateway may not have read the last rotation yet.
  const { rows } = await harness.database.pool.query<{ kid: string }>('select kid from gateway.signing_keys');
  const before = rows.map(({ kid }) => kid);
  harness.clock.move(91 * 24 * 60 * minuteMs);
  const doors = await Promise.all([harness.openDoor(), harness.openDoor(), harness.openDoor()]);
  const after = await listed(doors[0]?.url);
  expect(after.filter((kid) => !before.includes(kid))).toHaveLength(1);
  for (const { url } of doors) await expect.poll(() => listed(url)).toEqual(after);
  for (const door of doors) await door.close();
});

test('a gateway with longer tokens keeps the old key listed for as long as these live', async () => {
  const own = await openHarness({ tokenLifetime: 60 });
  try {
    const { pool, db } = own.database;
    const seconds = async (): Promise<number[]> =>
      (await pool.query('select token_seconds_max as s from gateway.signing_keys order by not_before')).rows.map(
        ({ s }) => s,
      );
    expect(await seconds()).toEqual([60]);

    const deps = { db, box: own.box, clock: own.clock };
    await openSigningKeys({ ...deps, settings: { token_lifetime: 7_200, signing_key_days: 90 } });
    await openSigningKeys({ ...deps, settings: { token_lifetime: 60, signing_key_days: 90 } });
    await rotateSigningKey(deps);
    expect(await seconds()).toEqual([7_200, 7_200]);
    await expect.poll(() => listed(own.url)).toHaveLength(2);
    own.clock.move(129 * minuteMs);
    expect(await listed(own.url)).toHaveLength(2);
    own.clock.move(3 * minuteMs);
    expect(await listed(own.url)).toHaveLength(1);
  } finally {
    await own.close();
  }
});
