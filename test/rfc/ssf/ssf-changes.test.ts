/** CAEP 1.0 section 3: each change that the table of interface 33 names, and the events that a receiver gets for it. */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSignalAdmin } from '#src/gateway/index.ts';
import { systemClock } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { createSecretBox } from '#src/platform/secret-box.ts';
import { masterKey, origin } from '../../gateway/harness/public-door.ts';
import { until } from '../../support/until.ts';
import { event, openSsfHarness, type Receiver, type SsfHarness } from './ssf-harness.ts';

let harness: SsfHarness;
/** Sees the events of every client and key. */
let watcher: Receiver;
let stream: string;

beforeAll(async () => {
  harness = await openSsfHarness();
  watcher = await harness.receiver();
  const { db } = harness.door.database;
  const admin = createSignalAdmin({ db, box: createSecretBox(masterKey), clock: systemClock, actor: 'cli:test' });
  await admin.setReach(watcher.clientId, 'all');
  stream = await watcher.createStream();
});

afterAll(() => harness.close());

type Credentials = SsfHarness['credentials'];
type Client = { client_id: string; client_secret: string };
type Sent = { subject: unknown; type: string; members: object };

/** Events that wait are confirmed, so that the next call has those of the next change only. */
const take = async (): Promise<Sent[]> => {
  const sets = await watcher.poll(stream);
  for (let page = sets; page.size > 0; ) {
    page = await watcher.poll(stream, { returnImmediately: true, ack: [...page.keys()] });
    for (const [jti, set] of page) sets.set(jti, set);
  }
  return [...sets.values()].map(({ sub_id, events }) => {
    const [[type, payload] = ['', {}]] = Object.entries(events);
    const { event_timestamp, initiating_entity, reason_admin, ...members } = payload;
    expect(event_timestamp).toEqual(expect.any(Number));
    expect(initiating_entity).toMatch(/^(admin|user|system)$/);
    expect(reason_admin).toEqual({ en: expect.any(String) });
    return { subject: sub_id, type, members };
  });
};

const subjectOf = (id: string): object => ({ format: 'iss_sub', iss: origin, sub: id });
const sent = (type: string, id: string, members: object = {}): Sent => ({
  subject: subjectOf(id),
  type: event(type),
  members,
});
const session = (id: string): Sent => sent('session-revoked', id);
const credential = (id: string, change_type: string, credential_type: string, friendly_name?: string): Sent =>
  sent('credential-change', id, { change_type, credential_type, ...(friendly_name && { friendly_name }) });
const claims = (id: string, value: object): Sent => sent('token-claims-change', id, { claims: value });

/** What is done to the client `id`, and the events for it. What a case does before it returns is not part of the change. */
type Case = (
  id: string,
  credentials: Credentials,
  client: Client,
) => Promise<{ act: () => Promise<unknown>; events: (done: unknown) => Sent[] }>;

const jwk = (): object => generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' });
const newThumbprint = (): string => randomBytes(32).toString('base64url');
const trust = { issuer: 'https://issuer.example', subject: 'job:1', audience: 'orderpass' };
const newKey = (credentials: Credentials) => credentials.createApiKey({ tenant: 'rst_1', name: 'till' });
const idOf = (done: unknown, name: string): string => String((done as Record<string, unknown>)[name]);

/** By the first column of the table. */
const changes: Record<string, Record<string, Case>> = {
  'A client is quarantined, disabled, loses its right to tokens, or all its tokens are revoked': {
    quarantined: async (id, to) => ({
      act: () => to.quarantine('client', id, 'unusual calls'),
      events: () => [session(id)],
    }),
    'right to tokens': async (id, to) => ({
      act: () => to.setClientMayUseTokens(id, false),
      events: () => [session(id)],
    }),
    'right to tokens again': async (id, to) => {
      await to.setClientMayUseTokens(id, false);
      return { act: () => to.setClientMayUseTokens(id, true), events: () => [] };
    },
    'all tokens': async (id, to) => ({ act: () => to.revokeClientTokens(id), events: () => [session(id)] }),
  },
  'A client is disabled': {
    disabled: async (id, to) => ({
      act: () => to.disableClient(id),
      events: () => [session(id), credential(id, 'delete', 'password')],
    }),
  },
  'A token is revoked': {
    'by its client': async (id, _to, client) => {
      const token = await harness.tokenOf(client);
      return {
        act: () => harness.post('revoke', { ...client, token }),
        events: () => {
          const ended = { format: 'opaque', id: decodeJwt(token).jti };
          const subject = { format: 'complex', user: subjectOf(id), session: ended };
          return [{ subject, type: event('session-revoked'), members: {} }];
        },
      };
    },
  },
  'A secret, public key, certificate, trusted subject (28) or API key is made, quarantined or ended': {
    'secret made': async (id, to) => ({
      act: () => to.addClientSecret(id),
      events: (done) => [credential(id, 'create', 'password', idOf(done, 'secretId'))],
    }),
    'secret quarantined': async (id, to) => {
      const { secretId } = await to.addClientSecret(id);
      return {
        act: () => to.quarantine('secret', secretId, 'looks leaked'),
        events: () => [credential(id, 'revoke', 'password', secretId)],
      };
    },
    'secret ended': async (id, to) => {
      const { secretId } = await to.addClientSecret(id);
      return {
        act: () => to.revokeClientSecret(secretId),
        events: () => [credential(id, 'revoke', 'password', secretId)],
      };
    },
    'secret retired': async (id, to) => {
      const { secretId } = await to.addClientSecret(id);
      return {
        act: () => to.retireClientSecret(id, secretId, true),
        events: () => [credential(id, 'revoke', 'password', secretId)],
      };
    },
    'public key made': async (id, to) => ({
      act: () => to.addClientKey(id, jwk()),
      events: (done) => [credential(id, 'create', 'app', `${id}/${idOf(done, 'keyId')}`)],
    }),
    'public key ended': async (id, to) => {
      const { keyId } = await to.addClientKey(id, jwk());
      return {
        act: () => to.revokeClientKey(id, keyId),
        events: () => [credential(id, 'revoke', 'app', `${id}/${keyId}`)],
      };
    },
    'certificate made': async (id, to) => ({
      act: () => to.addClientCertificate(id, { thumbprint: newThumbprint() }),
      events: (done) => [credential(id, 'create', 'x509', `${id}/${idOf(done, 'thumbprint')}`)],
    }),
    'certificate ended': async (id, to) => {
      const { thumbprint } = await to.addClientCertificate(id, { thumbprint: newThumbprint() });
      return {
        act: () => to.removeClientCertificate(id, thumbprint),
        events: () => [credential(id, 'revoke', 'x509', `${id}/${thumbprint}`)],
      };
    },
    'trusted subject made': async (clientId, to) => ({
      act: () => to.addTrust({ clientId, ...trust }),
      events: (done) => [credential(clientId, 'create', 'app', idOf(done, 'trustId'))],
    }),
    'trusted subject ended': async (clientId, to) => {
      const { trustId } = await to.addTrust({ clientId, ...trust });
      return {
        act: () => to.removeTrust(clientId, trustId),
        events: () => [credential(clientId, 'revoke', 'app', trustId)],
      };
    },
    'API key made': async (_id, to) => ({
      act: () => newKey(to),
      events: (done) => [credential(idOf(done, 'keyId'), 'create', 'password', idOf(done, 'keyId'))],
    }),
    'API key quarantined': async (_id, to) => {
      const { keyId } = await newKey(to);
      return {
        act: () => to.quarantine('api_key', keyId, 'looks leaked'),
        events: () => [credential(keyId, 'revoke', 'password', keyId)],
      };
    },
    'API key ended': async (_id, to) => {
      const { keyId } = await newKey(to);
      return { act: () => to.revokeApiKey(keyId), events: () => [credential(keyId, 'revoke', 'password', keyId)] };
    },
    'all API keys of a tenant ended': async (id, to) => {
      const tenant = `rst_of_${id}`;
      await to.createTenant(tenant);
      const { keyId } = await to.createApiKey({ tenant, name: 'till' });
      return { act: () => to.revokeTenantKeys(tenant), events: () => [credential(keyId, 'revoke', 'password', keyId)] };
    },
  },
  'A secret or API key is rotated and ends later; it, or the client, is made active again': {
    'secret rotated': async (id, to) => {
      const [{ id: old = '' } = {}] = await to.showSecrets(id);
      return {
        act: () => to.rotateClientSecret(id, 1),
        events: (done) => [
          credential(id, 'update', 'password', old),
          credential(id, 'create', 'password', idOf(done, 'secretId')),
        ],
      };
    },
    'API key rotated': async (_id, to) => {
      const { keyId } = await newKey(to);
      return {
        act: () => to.rotateApiKey(keyId, 1),
        events: (done) => [
          credential(keyId, 'update', 'password', keyId),
          credential(idOf(done, 'keyId'), 'create', 'password', idOf(done, 'keyId')),
        ],
      };
    },
    'secret active again': async (id, to) => {
      const { secretId } = await to.addClientSecret(id);
      await to.quarantine('secret', secretId, 'looks leaked');
      return {
        act: () => to.reactivate('secret', secretId, 'is not'),
        events: () => [credential(id, 'update', 'password', secretId)],
      };
    },
    'API key active again': async (_id, to) => {
      const { keyId } = await newKey(to);
      await to.quarantine('api_key', keyId, 'looks leaked');
      return {
        act: () => to.reactivate('api_key', keyId, 'is not'),
        events: () => [credential(keyId, 'update', 'password', keyId)],
      };
    },
    'client active again': async (id, to) => {
      await to.quarantine('client', id, 'unusual calls');
      return {
        act: () => to.reactivate('client', id, 'checked'),
        events: () => [credential(id, 'update', 'password')],
      };
    },
  },
  'The name in certificates that a client is known by is set or removed': {
    set: async (id, to) => ({
      act: () => to.setClientCertificateName(id, { tlsSan: 'dns:till.example' }),
      events: () => [credential(id, 'update', 'x509')],
    }),
    removed: async (id, to) => {
      await to.setClientCertificateName(id, { tlsSan: 'dns:till.example' });
      return { act: () => to.setClientCertificateName(id, null), events: () => [credential(id, 'revoke', 'x509')] };
    },
  },
  'The scopes of a client change': {
    some: async (id, to) => ({
      act: () => to.setClientScopes(id, ['read:orders', 'ssf.read']),
      events: () => [claims(id, { scope: 'read:orders ssf.read' })],
    }),
    all: async (id, to) => ({ act: () => to.setClientScopes(id, null), events: () => [claims(id, { scope: '*' })] }),
  },
  'A tenant is granted or withdrawn': {
    granted: async (id, to) => ({
      act: () => to.grantTenant(id, 'rst_2'),
      events: () => [claims(id, { tenants: ['rst_1', 'rst_2'] })],
    }),
    withdrawn: async (id, to) => ({
      act: () => to.withdrawTenant(id, 'rst_1'),
      events: () => [claims(id, { tenants: [] })],
    }),
    'the hundred and first': async (id, to) => {
      for (const tenant of many.slice(1)) await to.grantTenant(id, tenant);
      return { act: () => to.grantTenant(id, 'rst_2'), events: () => [claims(id, { tenants: null })] };
    },
    'back to a hundred': async (id, to) => {
      for (const tenant of [...many.slice(1), 'rst_2']) await to.grantTenant(id, tenant);
      return { act: () => to.withdrawTenant(id, 'rst_2'), events: () => [claims(id, { tenants: many })] };
    },
  },
};

const many = ['rst_1', ...Array.from({ length: 99 }, (_, n) => `rst_many_${String(n).padStart(2, '0')}`)];

beforeAll(async () => {
  for (const tenant of ['rst_2', ...many.slice(1)]) await harness.credentials.createTenant(tenant);
});

test('A-419 the cases below are about every change of the table of interface 33', () => {
  const text = readFileSync(new URL('../../../src/contract/interface.md', import.meta.url), 'utf8');
  const table = text.split('\n## 33. ')[1]?.split('\n## ')[0]?.split('| Change | Event |')[1] ?? '';
  const named = [...table.matchAll(/^\| ([^|]+) \|/gm)].map(([, cell = '']) => cell).slice(1);
  expect(Object.keys(changes)).toEqual(named);
});

for (const [change, cases] of Object.entries(changes)) {
  test.each(Object.entries(cases))(`A-419 CAEP 3: ${change}: %s`, async (_name, run) => {
    const client = await harness.createClient();
    const { act, events } = await run(client.client_id, harness.credentials, client);
    await take();
    const done = await act();
    expect(await take()).toEqual(events(done));
  });
}

test('A-510 of two grants at the same time the later event has the tenants of both', async () => {
  const { client_id: id } = await harness.createClient();
  await take();
  const { db, pool } = harness.door.database;
  let second = Promise.resolve();
  await inTransaction(db, async (tx) => {
    await harness.credentials.grantTenant(id, 'rst_2', tx);
    second = harness.credentials.grantTenant(id, 'rst_many_00');
    // The second one has come as far as it can before the first one is committed.
    await until(async () => {
      const { rows } = await pool.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return rows.length > 0;
    });
  });
  await second;
  expect(await take()).toEqual([
    claims(id, { tenants: ['rst_1', 'rst_2'] }),
    claims(id, { tenants: ['rst_1', 'rst_2', 'rst_many_00'] }),
  ]);
});

test('A-666 a rotation without an overlap revokes the old value; one with a later end sends nothing about an earlier one', async () => {
  const { credentials } = harness;
  const { client_id: id } = await harness.createClient();
  const [{ id: first = '' } = {}] = await credentials.showSecrets(id);
  const second = await credentials.rotateClientSecret(id, 1);
  const { keyId } = await newKey(credentials);
  const secondKey = await credentials.rotateApiKey(keyId, 1);
  await take();
  const third = await credentials.rotateClientSecret(id, 2);
  expect(await take()).toEqual([
    credential(id, 'update', 'password', second.secretId),
    credential(id, 'create', 'password', third.secretId),
  ]);
  const thirdKey = await credentials.rotateApiKey(keyId, 2);
  expect(await take()).toEqual([credential(thirdKey.keyId, 'create', 'password', thirdKey.keyId)]);
  const last = await credentials.rotateClientSecret(id, 0);
  const events = await take();
  expect(events.slice(0, 3)).toHaveLength(3);
  expect(events.slice(0, 3)).toEqual(
    expect.arrayContaining(
      [first, second.secretId, third.secretId].map((old) => credential(id, 'revoke', 'password', old)),
    ),
  );
  expect(events.slice(3)).toEqual([credential(id, 'create', 'password', last.secretId)]);
  const lastKey = await credentials.rotateApiKey(secondKey.keyId, 0);
  expect(await take()).toEqual([
    credential(secondKey.keyId, 'revoke', 'password', secondKey.keyId),
    credential(lastKey.keyId, 'create', 'password', lastKey.keyId),
  ]);
});
