/** What gateways forget after a change, counted by what they look up again. */
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { raiseEpoch } from '#src/gateway/credentials/lookup/epoch-store.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { statementsOf } from '../../support/statements-of.ts';
import { isWithinASecond, until } from '../../support/until.ts';
import { bearer, clientHeaders, type Harness, openHarness, read, tokenOf } from '../harness/gateway-harness.ts';
import { type Headers, sendRequest } from '../harness/public-door.ts';

let harness: Harness;
let doors: string[];
let tenant: string;

beforeAll(async () => {
  harness = await openHarness();
  doors = [harness.url, (await harness.openDoor()).url];
  tenant = await harness.createTenant();
});

afterAll(() => harness.close());

const status = async (url: string, headers: Headers): Promise<number> =>
  (await sendRequest(url, 'GET', read, { headers })).status;
const everywhere = (headers: Headers): Promise<number[]> => Promise.all(doors.map((url) => status(url, headers)));
const all = (code: number): number[] => doors.map(() => code);

type Held = { id: string; headers: Headers };

const addClient = async (): Promise<Held> => {
  const client = await harness.createClient([tenant]);
  return { id: client.client_id, headers: clientHeaders(client) };
};
const addKey = async (): Promise<Held> => {
  const { keyId, value } = await harness.credentials.createApiKey({ tenant, name: 'test' });
  return { id: keyId, headers: { 'x-api-key': value } };
};
/** Clients, keys and a token, remembered by every gateway. */
const useSome = async (): Promise<{ clients: Held[]; keys: Held[]; token: Held }> => {
  const clients = [await addClient(), await addClient(), await addClient()];
  const keys = [await addKey(), await addKey(), await addKey()];
  const owner = await harness.createClient([tenant]);
  const token = { id: owner.client_id, headers: bearer(await tokenOf(harness.url, owner)) };
  const used = { clients, keys, token };
  await settle();
  await useAll(used);
  return used;
};
const useAll = async ({ clients, keys, token }: Awaited<ReturnType<typeof useSome>>): Promise<void> => {
  for (const { headers } of [...clients, ...keys, token]) expect(await everywhere(headers)).toEqual(all(200));
};

/**
 * Waits until each gateway has applied every change so far. A gateway refuses the key when it has applied some reading since
 * then; that of the second round was asked for after that of the first.
 */
const settle = async (): Promise<void> => {
  for (let round = 0; round < 2; round += 1) {
    const last = await addKey();
    expect(await everywhere(last.headers)).toEqual(all(200));
    await harness.credentials.revokeApiKey(last.id);
    await expect.poll(() => everywhere(last.headers)).toEqual(all(401));
  }
};

const ofKey = 'gateway.api_keys k join gateway.tenants t';
const ofClient = 'left join gateway.clients c';

/** The credentials that gateways look up in the store while `act` runs. A key is shown as `key`. */
const lookUpsOf = async (act: () => Promise<unknown>): Promise<string[]> =>
  (await statementsOf(act)).flatMap(({ text, values }) => {
    if (text.includes(ofKey)) return ['key'];
    return text.includes(ofClient) ? [String(values[0])] : [];
  });

const twice = (...ids: string[]): string[] => ids.flatMap((id) => [id, id]).toSorted();

test('a change of a client or of a key makes every gateway look up that one again, and no other', async () => {
  const used = await useSome();
  const [client, key] = [used.clients[1], used.keys[1]];
  if (client === undefined || key === undefined) throw new Error('nothing to change');
  await harness.credentials.setLimits('client', client.id, { minute: 1_000_000 });
  await settle();
  expect((await lookUpsOf(() => useAll(used))).toSorted()).toEqual(twice(client.id));
  expect(await lookUpsOf(() => useAll(used))).toEqual([]);
  await harness.credentials.setLimits('key', key.id, { minute: 1_000_000 });
  await settle();
  expect(await lookUpsOf(() => useAll(used))).toEqual(['key', 'key']);
  // A token is looked up by its client.
  await harness.credentials.rotateClientSecret(used.token.id, 1);
  await settle();
  expect(await lookUpsOf(() => useAll(used))).toEqual(twice(used.token.id));
});

test('a change of a secret makes every gateway look up its client again, and a new restaurant nothing', async () => {
  const used = await useSome();
  const added = await harness.credentials.addClientSecret(used.token.id);
  await settle();
  await useAll(used);
  await harness.credentials.quarantine('secret', added.secretId, 'seen elsewhere');
  await settle();
  expect(await lookUpsOf(() => useAll(used))).toEqual(twice(used.token.id));
  await harness.credentials.revokeClientSecret(added.secretId);
  await settle();
  expect(await lookUpsOf(() => useAll(used))).toEqual(twice(used.token.id));
  await harness.createTenant();
  await settle();
  expect(await lookUpsOf(() => useAll(used))).toEqual([]);
});

test('a tenant that is switched off, and the revocation of all its keys, hold everywhere within a second', async () => {
  const used = await useSome();
  const other = await harness.createTenant();
  const { value } = await harness.credentials.createApiKey({ tenant: other, name: 'other' });
  const ofOther = { 'x-api-key': value };
  expect(await everywhere(ofOther)).toEqual(all(200));
  await harness.credentials.setTenantApiEnabled(other, false);
  await isWithinASecond(() => everywhere(ofOther), all(403));
  await harness.credentials.setTenantApiEnabled(other, true);
  await isWithinASecond(() => everywhere(ofOther), all(200));
  await settle();
  await useAll(used);
  await harness.credentials.revokeTenantKeys(other);
  await isWithinASecond(() => everywhere(ofOther), all(401));
  expect(await lookUpsOf(() => useAll(used))).toEqual([]);
});

test('a client that was refused as unknown is accepted within a second of its creation', async () => {
  const { db } = harness.database;
  const headers = await inTransaction(db, async (tx) => {
    const made = await harness.credentials.createClient({ name: 'new', tenants: [tenant] }, tx);
    const sent = { 'x-client-id': made.clientId, 'x-client-secret': made.secret };
    expect(await everywhere(sent)).toEqual(all(401));
    return sent;
  });
  await isWithinASecond(() => everywhere(headers), all(200));
});

const raised = 'update gateway.credential_epoch set epoch = epoch + 1, mark = gen_random_uuid()';
const lastRow = '(select epoch from gateway.credential_epoch)';

/** Ways in which the feed does not continue what a gateway knows. */
const breaks: [string, string[]][] = [
  ['a change of an earlier release adds no row', [raised]],
  ['the mark of the epoch is another one', ['update gateway.credential_epoch set mark = gen_random_uuid()']],
  ['the number falls', ['update gateway.credential_epoch set epoch = epoch - 1, mark = gen_random_uuid()']],
  [
    'a change follows another mark than the known one',
    [
      raised,
      `insert into gateway.credential_feed (number, mark, mark_before, credentials)
       select epoch, mark, gen_random_uuid(), '{}' from gateway.credential_epoch`,
    ],
  ],
  [
    'the last row has another mark than the epoch',
    [
      `insert into gateway.credential_feed (number, mark, mark_before, credentials)
       select epoch + 1, gen_random_uuid(), mark, '{}' from gateway.credential_epoch`,
      raised,
    ],
  ],
];

test('F-25 when the changes do not continue what a gateway knows, it looks up everything again, and then only what changes', async () => {
  const { pool, db } = harness.database;
  const used = await useSome();
  const everything = twice(...used.clients.map(({ id }) => id), used.token.id, 'key', 'key', 'key');
  for (const [why, statements] of breaks) {
    const line = await pool.connect();
    for (const text of ['begin', ...statements, 'commit']) await line.query(text);
    line.release();
    await settle();
    expect((await lookUpsOf(() => useAll(used))).toSorted(), why).toEqual(everything);
  }
  // A change between two others is missing.
  await inTransaction(db, async (tx) => {
    for (let count = 0; count < 3; count += 1) await raiseEpoch(tx, []);
    await sql`delete from gateway.credential_feed where number = ${sql.raw(lastRow)} - 1`.execute(tx);
  });
  await settle();
  expect((await lookUpsOf(() => useAll(used))).toSorted()).toEqual(everything);

  const [client] = used.clients;
  await harness.credentials.setLimits('client', client?.id ?? '', { minute: 1_000_000 });
  await settle();
  expect(await lookUpsOf(() => useAll(used))).toEqual(twice(client?.id ?? ''));
});

test('the feed holds 1,000 changes; a gateway that missed more looks up everything again', async () => {
  const { pool, db } = harness.database;
  const used = await useSome();
  await inTransaction(db, async (tx) => {
    for (let count = 0; count < 1_001; count += 1) await raiseEpoch(tx, []);
  });
  await settle();
  expect(await lookUpsOf(() => useAll(used))).toHaveLength(14);
  const { rows } = await pool.query('select count(*)::int as count from gateway.credential_feed');
  expect(rows[0]?.count).toBe(1_000);
});

test('changes that many processes make at once follow each other without a gap', async () => {
  const used = await useSome();
  const keys: Held[] = [];
  for (let count = 0; count < 20; count += 1) keys.push(await addKey());
  await Promise.all(keys.map(({ id }) => harness.credentials.revokeApiKey(id)));
  await settle();
  expect(await lookUpsOf(() => useAll(used))).toEqual([]);
  for (const { headers } of keys) expect(await everywhere(headers)).toEqual(all(401));
});

test('A-022 under ten changes a second each revocation holds everywhere within a second, and what did not change is not looked up', async () => {
  const quiet: Held[] = [];
  const changed: Held[] = [];
  for (let count = 0; count < 30; count += 1) {
    quiet.push(await addClient());
    changed.push(await addKey());
  }
  await settle();
  for (const { headers } of [...quiet, ...changed]) expect(await everywhere(headers)).toEqual(all(200));
  let isOver = false;
  let requests = 0;
  const use = async (url: string): Promise<void> => {
    while (!isOver) {
      for (const { headers } of quiet) {
        expect(await status(url, headers)).toBe(200);
        requests += 1;
      }
    }
  };
  const lookUps = await lookUpsOf(async () => {
    const using = doors.map(use);
    const refused: Promise<void>[] = [];
    for (const [index, held] of changed.entries()) {
      const pause = new Promise((resolve) => setTimeout(resolve, 100));
      if (index % 3 === 0) {
        await harness.credentials.revokeApiKey(held.id);
        refused.push(isWithinASecond(() => everywhere(held.headers), all(401)));
      } else await harness.credentials.setLimits('key', held.id, { minute: 1_000_000 + index });
      await pause;
    }
    await Promise.all(refused);
    await until(() => requests > 1_000);
    isOver = true;
    await Promise.all(using);
  });
  expect(lookUps.filter((name) => name !== 'key')).toEqual([]);
});
