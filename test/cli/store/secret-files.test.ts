/** The files of secrets change while the program runs. */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { freePort } from '../../support/free-port.ts';
import type { Json } from '../../support/ordering.ts';
import { type RunningProgram, startProgram } from '../../support/program.ts';
import { until } from '../../support/until.ts';
import { startReceiver, type WebhookReceiver } from '../../support/webhook-receiver.ts';

const folder = mkdtempSync(join(tmpdir(), 'orderpass-secrets-'));
const masterKey = randomBytes(32).toString('base64');
const [firstToken, secondToken] = ['first-token-of-metrics', 'second-token-of-metrics'];

let database: TestDatabase;
let receiver: WebhookReceiver;
let program: RunningProgram;
let internal: string;

/** The way of orchestrators: a new file takes the place of the old one. */
const writeSecret = (name: string, text: string): string => {
  const path = join(folder, name);
  writeFileSync(`${path}.new`, `${text}\n`);
  renameSync(`${path}.new`, path);
  return path;
};

const newKey = (): string =>
  generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();

const auditLog = async (): Promise<Json> => (await fetch(`${program.url}/.well-known/audit-log`)).json();

/** Position of the key whose id (C2SP signed-note) is in the signature of the checkpoint. */
const signerOf = ({ vkeys, checkpoint }: Json): number => {
  const signature = Buffer.from(String(checkpoint).trimEnd().split(' ').at(-1) ?? '', 'base64');
  return vkeys.findIndex((vkey: string) => vkey.split('+')[1] === signature.subarray(0, 4).toString('hex'));
};

const metricsWith = (token: string): Promise<Response> =>
  fetch(`${internal}/metrics`, { headers: { authorization: `Bearer ${token}` } });

const readiness = async (): Promise<Json> => (await fetch(`${internal}/readyz`)).json();

beforeAll(async () => {
  database = await createTestDatabase();
  receiver = await startReceiver();
  const port = String(await freePort());
  internal = `http://127.0.0.1:${port}`;
  program = await startProgram({
    DATABASE_URL_FILE: writeSecret('database', database.url),
    ORDERPASS_DATA_DIR: join(folder, 'data'),
    ORDERPASS_MASTER_KEY_FILE: writeSecret('master', masterKey),
    ORDERPASS_INTERNAL_PORT: port,
    ORDERPASS_METRICS_TOKEN_FILE: writeSecret('metrics', firstToken),
    ORDERPASS_AUDIT_HTTP_URL: receiver.url,
    ORDERPASS_AUDIT_HTTP_AUTHORIZATION_FILE: writeSecret('audit', 'Bearer one'),
    ORDERPASS_AUDIT_KEY_FILE: writeSecret('audit-key', newKey()),
  });
});

afterAll(async () => {
  await program?.stop();
  await receiver?.close();
  await database?.drop();
  rmSync(folder, { recursive: true, force: true });
});

test('A-263 a changed secret is used without a restart; one that cannot be used is shown and holds back no other', async () => {
  expect((await metricsWith(firstToken)).status).toBe(200);
  writeSecret('metrics', 'short');
  await until(() => program.errors().includes('a changed secret cannot be used'));
  const shown = await metricsWith(firstToken);
  expect(await shown.text()).toContain('orderpass_secret_refused{setting="metrics_token"} 1');
  expect(await readiness()).toMatchObject({ status: 'degraded', secrets: 'refused' });
  // The other secrets change all the same.
  writeSecret('audit', 'Bearer meanwhile');
  await until(() => program.errors().includes('a changed secret is used'));
  expect(program.errors().match(/a changed secret cannot be used/g)).toHaveLength(1);
  writeSecret('metrics', secondToken);
  await until(async () => (await metricsWith(secondToken)).status === 200);
  expect((await metricsWith(firstToken)).status).toBe(401);
  expect((await readiness()).secrets).toBe('ok');

  writeSecret('audit', 'Bearer two');
  await until(async () => {
    // A request of a caller without a credential is an event of the audit.
    await fetch(`${program.url}/api/menu/products`);
    return receiver.received.at(-1)?.headers.authorization === 'Bearer two';
  });
  expect(receiver.received[0]?.headers.authorization).toBe('Bearer one');
  expect(program.errors()).not.toContain(secondToken);
});

test('A-439 a changed key of the checkpoints signs them without a restart, and the earlier one stays published', async () => {
  await until(async () => (await auditLog()).checkpoint !== null && (await auditLog()).keys[0].since_iso !== null);
  const before = await auditLog();
  expect(before.keys).toHaveLength(1);
  const second = newKey();
  writeSecret('audit-key', second);
  await until(async () => (await auditLog()).vkeys[0] !== before.vkeys[0]);
  // The document names the keys a moment before it has a checkpoint of the new one.
  await until(async () => signerOf(await auditLog()) === 0);
  const after = await auditLog();
  expect([after.origin, after.vkeys[1], after.keys[1].until_iso]).toEqual([
    before.origin,
    before.vkeys[0],
    after.keys[0].since_iso,
  ]);
  expect(signerOf(before)).toBe(0);
  expect(signerOf({ ...after, checkpoint: before.checkpoint })).toBe(1);
  writeSecret('audit-key', 'no key');
  await until(() => program.errors().match(/a changed secret cannot be used/g)?.length === 2);
  expect((await auditLog()).vkeys).toEqual(after.vkeys);
  writeSecret('audit-key', second);
});

test('A-263 a changed secret that only another start uses is logged once and shown, until its file is as before', async () => {
  // The test before has put a usable key back.
  await until(async () => (await readiness()).secrets === 'ok');
  writeSecret('database', `${database.url}?application_name=other`);
  await until(async () => (await readiness()).secrets === 'restart_needed');
  expect(await readiness()).toMatchObject({ status: 'degraded' });
  const shown = await (await metricsWith(secondToken)).text();
  expect(shown).toContain('orderpass_secret_restart_needed{setting="database_url"} 1');
  writeSecret('audit', 'Bearer three');
  await until(() => program.errors().match(/a changed secret is used"/g)?.length === 5);
  expect(program.errors().match(/by the next start only/g)).toHaveLength(1);
  writeSecret('database', database.url);
  await until(async () => (await readiness()).secrets === 'ok');
});

/** What the file is, its text, and the reason in the log. */
const wrongKeys: [string, string, string][] = [
  ['is no key', 'no key', 'must be 32 bytes'],
  ['opens another store', randomBytes(32).toString('base64'), 'the store is sealed by the key'],
];

test.each(wrongKeys)(
  'A-572 a file of the master key that %s is shown until it is corrected',
  async (_what, text, reason) => {
    await until(async () => (await readiness()).secrets === 'ok');
    writeSecret('master', text);
    await until(async () => (await readiness()).secrets === 'refused');
    expect(await readiness()).toMatchObject({ status: 'degraded' });
    const shown = await (await metricsWith(secondToken)).text();
    expect(shown).toContain('orderpass_secret_refused{setting="master_key"} 1');
    await until(() => program.errors().includes(reason));
    writeSecret('master', masterKey);
    await until(async () => (await readiness()).secrets === 'ok');
  },
);
