/** A new key of v1a signatures is published a day before it signs, the old one for a week after (interface 4.3). */
import { createPublicKey, type JsonWebKey, randomBytes, verify } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { createSigningKeys, rotateWebhookKey } from '#src/webhooks/index.ts';
import { boxOfEarlierStore } from '../../cli/store/earlier-store.ts';
import { createTestDatabase } from '../../support/database.ts';
import { runCommand } from '../../support/program.ts';
import { until } from '../../support/until.ts';
import { startReceiver, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import { type Engine, startEngine } from '../harness/engine.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

let engine: Engine;
let receiver: WebhookReceiver;

beforeAll(async () => {
  engine = await startEngine();
  receiver = await startReceiver();
});

afterAll(async () => {
  await engine?.close();
  await receiver?.close();
});

const listed = async (): Promise<string[]> =>
  (await createSigningKeys(engine).publicJwks()).keys.map(({ kid }) => String(kid));

let seq = 0;
/** Which of the listed keys signed the next delivery. */
const signerOfNext = async (): Promise<string[]> => {
  seq += 1;
  await engine.record({ entity: 'cus_1', seq });
  await until(() => receiver.received.length === seq);
  const { headers, body } = receiver.received[seq - 1] as (typeof receiver.received)[number];
  const signature = Buffer.from(/v1a,(\S+)/.exec(String(headers['webhook-signature']))?.[1] ?? '', 'base64');
  const signed = Buffer.from(`${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`);
  const { keys } = await createSigningKeys(engine).publicJwks();
  return keys
    .filter((jwk) => verify(null, signed, createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' }), signature))
    .map(({ kid }) => String(kid));
};

const rotate = () => inTransaction(engine.db, (tx) => rotateWebhookKey(tx, engine));

test('a new key is published a day before it signs, the old one for a week after, and no second key in between', async () => {
  await engine.addEndpoint(receiver.url);
  engine.startWorker();
  const [first = ''] = await listed();
  expect(await signerOfNext()).toEqual([first]);
  const { kid: second, signsFrom } = await rotate();
  expect(signsFrom.getTime() - engine.clock.now().getTime()).toBeGreaterThan(dayMs - hourMs);
  await expect(rotate()).rejects.toMatchObject({ code: 'CONFLICT' });
  expect(await listed()).toEqual([second, first]);
  engine.advance(23 * hourMs);
  expect(await signerOfNext()).toEqual([first]);
  engine.advance(2 * hourMs);
  expect(await signerOfNext()).toEqual([second]);
  engine.advance(6 * dayMs);
  expect(await listed()).toEqual([second, first]);
  engine.advance(dayMs);
  expect(await listed()).toEqual([second]);
  const { kid: third } = await rotate();
  expect(await listed()).toEqual([third, second]);
  expect(await signerOfNext()).toEqual([second]);
});

test('the command publishes a new key, is recorded in the audit, and refuses a second one before the first signs', async () => {
  const database = await createTestDatabase();
  const masterKey = randomBytes(32);
  const env = { DATABASE_URL: database.url, ORDERPASS_MASTER_KEY: masterKey.toString('base64') };
  const rotateByCommand = () => runCommand(['webhook', 'rotate-signing-key', '--json'], env);
  try {
    const box = await boxOfEarlierStore(database.db, masterKey);
    const keys = createSigningKeys({ ...database, box, clock: systemClock });
    const [first] = (await keys.publicJwks()).keys;
    const made = await rotateByCommand();
    expect(made.code, made.stderr).toBe(0);
    const { kid } = JSON.parse(made.stdout) as { kid: string };
    const refused = await rotateByCommand();
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(kid)]);
    const later = createSigningKeys({ ...database, box, clock: systemClock });
    expect((await later.publicJwks()).keys.map((one) => one.kid)).toEqual([kid, first?.kid]);
    const { rows } = await database.pool.query(
      `select details from gateway.audit_events where action = 'webhook.changed'`,
    );
    expect(rows.map(({ details }) => JSON.parse(details))).toEqual([{ operation: 'webhook/rotate-signing-key', kid }]);
  } finally {
    await database.drop();
  }
});
