/** What a gateway keeps of the tokens that a client with many tenants has used. */
import { randomUUID } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type JWTPayload, SignJWT } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createBearerTokens } from '#src/gateway/access/bearer-tokens.ts';
import { openSigningKeys, type SigningKey } from '#src/gateway/oauth/keys/signing-keys.ts';
import { until } from '../../support/until.ts';
import { bearer, type Harness, openHarness, read, scopes } from '../harness/gateway-harness.ts';
import { routeFile, sendRequest } from '../harness/public-door.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** So many that the list of them is 40 kB of text. */
const tenantsCount = 600;
/** More than the sets of scopes of one client that share what is made of them. */
const tokensCount = 300;

let harness: Harness;
let clientId: string;
let key: SigningKey;

beforeAll(async () => {
  harness = await openHarness();
  const { database, box, clock } = harness;
  clientId = (await harness.createClient([await harness.createTenant()])).client_id;
  // Ids of the greatest length. One statement, since a call for each would take a minute.
  await database.pool.query(
    `with made as (
       insert into gateway.tenants (id, created)
       select 'tenant_' || lpad(n::text, 57, '0'), now() from generate_series(2, $1) n returning id
     )
     insert into gateway.client_tenants (tenant, client_id, granted_at) select id, $2, now() from made`,
    [tenantsCount, clientId],
  );
  const settings = { token_lifetime: 3_600, signing_key_days: 90 };
  key = (await openSigningKeys({ db: database.db, box, clock, settings })).current();
});

afterAll(() => harness.close());

/** As the token endpoint makes it, which takes a hundred times as long. */
const makeToken = (claims: JWTPayload, jti: string): Promise<string> =>
  new SignJWT({ scope: scopes.join(' '), client_id: clientId, ...claims })
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: key.kid })
    .setIssuer(harness.url)
    .setAudience(claims.authorization_details === undefined ? harness.url : [harness.url])
    .setSubject(clientId)
    .setJti(jti)
    .setIssuedAt()
    .setExpirationTime('1h')
    .sign(key.privateKey);

const heldBytes = (): number => {
  collect();
  collect();
  return process.memoryUsage().heapUsed;
};

/** Uses new tokens once each. */
const use = async (claimsOf: (index: number) => JWTPayload, count = tokensCount): Promise<void> => {
  for (let index = 0; index < count; index += 1) {
    const token = await makeToken(claimsOf(index), randomUUID());
    const { status } = await sendRequest(harness.url, 'GET', read, { headers: bearer(token) });
    expect(status).toBe(200);
    // The double keeps every request.
    const [seen] = harness.upstream.seen.splice(0);
    expect(seen?.headers['x-orderpass-assertion']?.length).toBeGreaterThan(tenantsCount * 64);
  }
};

/** One of the names in all sets, and another set of the others for each index from 0. */
const someOf = (names: readonly string[], always: string, index: number): string[] => [
  always,
  ...names.filter((name) => name !== always).filter((_name, place) => ((index + 1) >> place) % 2 === 1),
];

/** With a list of the tenants for each token it is more than 20 MiB. */
const growthBytesMax = 12 * 2 ** 20;

test('A-750 tokens of one client with different scopes or details keep no list of its tenants each', async () => {
  const operations = routeFile().routes.map(({ id }) => String(id));
  // Fills what the first requests fill.
  await use(() => ({}), 100);
  for (const claimsOf of [
    (index: number) => ({ scope: someOf(scopes, 'read:orders', index).join(' ') }),
    (index: number) => ({
      authorization_details: [{ type: 'orderpass_access', operations: someOf(operations, 'orders.list', index) }],
    }),
  ]) {
    const before = heldBytes();
    await use(claimsOf);
    // What ended requests leave behind is freed soon, and what the gateway remembers is not.
    await until(() => heldBytes() - before < growthBytesMax);
  }
});

test('A-773 remembered tokens are bounded by their length too, and those used last stay', async () => {
  const charactersMax = 100_000;
  const tokens = createBearerTokens({
    origin: harness.url,
    clock: harness.clock,
    findKey: () => ({ publicKey: key.publicKey, signsUntilMs: Number.POSITIVE_INFINITY }),
    charactersMax,
  });
  const details = [
    { type: 'orderpass_access', operations: Array.from({ length: 60 }, (_, n) => `operation.number.${n}`) },
  ];
  let last = '';
  let characters = 0;
  for (let n = 0; n < 100; n += 1) {
    last = await makeToken({ authorization_details: details }, randomUUID());
    await tokens.verify(last);
    characters += last.length;
  }
  expect(characters).toBeGreaterThan(2 * charactersMax);
  const { entries } = tokens.figures();
  expect(entries * last.length).toBeLessThanOrEqual(charactersMax);
  expect(entries * last.length).toBeGreaterThan(charactersMax / 3);
  await tokens.verify(last);
  expect(tokens.figures().hits).toBe(1);
  const short = await makeToken({}, randomUUID());
  for (let n = 0; n < 3; n += 1) await tokens.verify(short);
  expect(tokens.figures().hits).toBe(3);
});
