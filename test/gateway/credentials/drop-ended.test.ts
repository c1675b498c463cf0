/** How long keys and secrets that have ended are kept. */
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { dropEndedCredentials } from '#src/gateway/credentials/change/drop-ended.ts';
import { until } from '../../support/until.ts';
import { type Harness, openHarness } from '../harness/gateway-harness.ts';

let harness: Harness;
const dayMs = 86_400_000;
/** The audit's 400 days, and a month. */
const keptDays = 431;

beforeAll(async () => {
  harness = await openHarness();
});

afterAll(() => harness.close());

const ids = async (table: string, column: string): Promise<Set<string>> => {
  const { db } = harness.database;
  const { rows } = await sql<{ id: string }>`select ${sql.ref(column)} as id from ${sql.table(table)}`.execute(db);
  return new Set(rows.map(({ id }) => id));
};
const keys = () => ids('gateway.api_keys', 'key_id');
const secrets = () => ids('gateway.client_secrets', 'secret_id');

test('A-532 a gateway deletes keys and secrets with their use and history when their end is older than the audit; live and later ones stay', async () => {
  const { clock, credentials, database } = harness;
  const tenant = await harness.createTenant();
  const { client_id, secret_id: rotated } = await harness.createClient([tenant]);
  const { secretId: live } = await credentials.rotateClientSecret(client_id, 1);
  const key = async (expires?: Date): Promise<string> =>
    (await credentials.createApiKey({ tenant, name: 'till', ...(expires && { expires }) })).keyId;
  const [revoked, expired, used] = [await key(), await key(new Date(clock.now().getTime() + 60_000)), await key()];
  await credentials.revokeApiKey(revoked);
  for (const id of [rotated, live, revoked, expired, used])
    await sql`insert into gateway.credential_use (credential, last_used, last_address) values (${id}, now(), '::1')`.execute(
      database.db,
    );

  clock.move((keptDays - 1) * dayMs);
  await (await harness.openDoor()).close();
  expect(await dropEndedCredentials({ db: database.db, clock }, 400)).toBe(0);
  const late = await key();
  await credentials.revokeApiKey(late);
  clock.move(2 * dayMs);
  await harness.openDoor();
  await until(async () => (await keys()).size === 2 && (await secrets()).size === 1);
  expect([await keys(), await secrets()]).toEqual([new Set([used, late]), new Set([live])]);
  expect(await ids('gateway.credential_use', 'credential')).toEqual(new Set([live, used]));
  expect(await ids('gateway.credential_changes', 'credential')).toEqual(new Set([late]));

  // An audit that is kept for a short time does not shorten this below 90 days.
  clock.move(90 * dayMs);
  expect(await dropEndedCredentials({ db: database.db, clock }, 1)).toBe(0);
});
