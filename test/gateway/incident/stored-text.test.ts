/** A writer of the tables stored events whose details are no JSON, or not of the form that the program writes. */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { listLiveTokens, listQuarantined, listReportedLeaks, readHashedTrace } from '#src/gateway/index.ts';
import { type Harness, openHarness, pick, tokenOf } from '../harness/gateway-harness.ts';

let harness: Harness;

beforeAll(async () => {
  harness = await openHarness();
});

afterAll(() => harness.close());

const deps = () => ({ db: harness.database.db, box: harness.box, clock: harness.clock, actor: 'cli:ada' });

const texts = ['x', '', 'null', '[]', '"x"', '{"expires":"x","ancestors":{},"token_fingerprint":1,"ended":"x"}'];

test('tokens, traces, leaks and quarantines are found although a stored text is no JSON', async () => {
  const { pool, db } = harness.database;
  const client = pick(await harness.createClient([await harness.createTenant()], ['read:orders']));
  const token = await tokenOf(harness.url, client);
  const { rows } = await pool.query(
    "select credential_id, token_id from gateway.audit_events where action = 'token.issued' and client_id = $1",
    [client.client_id],
  );
  const [{ credential_id: secret, token_id: jti }] = rows;
  await harness.credentials.quarantine('secret', secret, 'odd use');
  for (const [n, text] of texts.entries())
    for (const [m, action] of ['token.issued', 'leak.reported', 'secret.state_changed'].entries())
      await pool.query(
        `insert into gateway.audit_events (chain, seq, at, action, outcome, count, request_ids, credential_id, token_id,
           client_id, tenants, scopes, details, hash)
         values (900, $1, now(), $2, 'success', 1, '{}', $3, $4, $5, '{}', '{}', $6, '\\x00')`,
        [n * 3 + m, action, secret, `jti_forged_${n}`, client.client_id, text],
      );
  const live = await listLiveTokens(deps(), { limit: 50 });
  expect(live.tokens.map(({ id }) => id)).toEqual(expect.arrayContaining([jti, 'jti_forged_0']));
  const sha256 = createHash('sha256').update(client.client_secret).digest('hex');
  expect(await readHashedTrace(deps(), { kind: 'client_secret', id: secret, sha256 })).toMatchObject({
    genuine: true,
    issuedUse: { calls: 0, refused: 0 },
  });
  const forged = {
    kind: 'token',
    id: 'jti_forged_0',
    sha256: createHash('sha256').update(token).digest('hex'),
  } as const;
  expect(await readHashedTrace(deps(), forged)).toMatchObject({ genuine: false });
  expect(await listReportedLeaks(db, new Date(Date.now() - 60_000), { limit: 10, skip: 0 })).toEqual([]);
  expect(await listQuarantined(db, harness.clock.now(), 10)).toMatchObject([{ id: secret }]);
});
