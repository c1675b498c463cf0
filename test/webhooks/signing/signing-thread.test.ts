/** Signatures that a thread of the worker makes, and what holds when the thread ends or does not answer. */
import { createPublicKey, generateKeyPairSync, type JsonWebKey, type KeyObject, verify } from 'node:crypto';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { recordEvent } from '#src/platform/db/outbox/outbox.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { createSigningKeys, signatureSchemes } from '#src/webhooks/index.ts';
import { signText } from '#src/webhooks/signing/message-signature.ts';
import { createThreadSigner, openSigningThread, type ThreadSigner } from '#src/webhooks/signing/thread-signer.ts';
import { until } from '../../support/until.ts';
import { startReceiver } from '../../support/webhook-receiver.ts';
import { startEngine } from '../harness/engine.ts';
import { draftOf } from '../harness/event-draft.ts';
import { verifyMessage } from '../harness/guide-verifier.ts';

type Opened = { worker: Worker; groupsCount: number };

let opened: Opened[];
let logged: string[];
let signers: ThreadSigner[];

beforeEach(() => {
  [opened, logged, signers] = [[], [], []];
});

afterEach(async () => {
  for (const signer of signers) await signer.close();
});

/** Counts the groups that a thread gets; `onGroup` runs after each. */
const watch = (worker: Worker, onGroup: (one: Opened) => void): Worker => {
  const one = { worker, groupsCount: 0 };
  opened.push(one);
  const post = worker.postMessage.bind(worker);
  worker.postMessage = (group: unknown) => {
    post(group);
    one.groupsCount += 1;
    onGroup(one);
  };
  return worker;
};

const signerWith = (options: { cores?: number; open?: () => Worker; onGroup?: (one: Opened) => void } = {}) => {
  const { cores = 2, open = openSigningThread, onGroup = () => undefined } = options;
  const log = pino({}, { write: (line: string) => void logged.push(line) });
  const signer = createThreadSigner({ log, cores, open: () => watch(open(), onGroup) });
  signers.push(signer);
  return signer;
};

const ed25519 = generateKeyPairSync('ed25519');
const rotated = generateKeyPairSync('ed25519');
const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' });

const textsOf = (count: number): string[] => Array.from({ length: count }, (_, number) => `evt_${number}.1.{"a":"ü€"}`);

const signGroup = (signer: ThreadSigner, key: KeyObject = ed25519.privateKey) =>
  Promise.all(textsOf(20).map((text) => signer.sign(key, text)));

/** Signs until the thread does it. */
const untilThreadSigns = (signer: ThreadSigner): Promise<void> =>
  until(async () => {
    await signGroup(signer);
    return opened.some(({ groupsCount }) => groupsCount > 0);
  });

const expected = (key: KeyObject): string[] => textsOf(20).map((text) => signText(key, text));

test('a thread gives the signatures of the main thread, also while a key is rotated', async () => {
  const signer = signerWith();
  await untilThreadSigns(signer);
  const before = opened[0]?.groupsCount ?? 0;
  const [first, second, third] = await Promise.all([
    signGroup(signer),
    signGroup(signer, rotated.privateKey),
    signGroup(signer, p256.privateKey),
  ]);
  expect(opened[0]?.groupsCount).toBe(before + 1);
  expect(first).toEqual(expected(ed25519.privateKey));
  expect(second).toEqual(expected(rotated.privateKey));
  const key = { key: p256.publicKey, dsaEncoding: 'ieee-p1363' } as const;
  const isGood = (text: string, index: number): boolean =>
    verify('sha256', Buffer.from(text), key, Buffer.from(third[index] ?? '', 'base64'));
  expect(textsOf(20).map(isGood)).toEqual(textsOf(20).map(() => true));
  expect(await signGroup(signer, rotated.privateKey)).toEqual(expected(rotated.privateKey));
});

test('no thread is started on one core, or for one delivery at a time', async () => {
  const single = signerWith({ cores: 1 });
  expect(await signGroup(single)).toEqual(expected(ed25519.privateKey));
  const signer = signerWith();
  for (const text of textsOf(20)) await signer.sign(ed25519.privateKey, text);
  expect(opened).toHaveLength(0);
  await signGroup(signer);
  expect(opened).toHaveLength(1);
});

test('a thread that does not answer is ended within seconds, and the main thread signs what it had', async () => {
  const silent = `require('node:worker_threads').parentPort.on('message', () => undefined).postMessage([])`;
  const signer = signerWith({ open: () => new Worker(silent, { eval: true }) });
  await untilThreadSigns(signer);
  const [{ worker } = { worker: undefined }] = opened;
  expect(await signGroup(signer)).toEqual(expected(ed25519.privateKey));
  await until(() => worker?.threadId === -1);
  expect(opened).toHaveLength(1);
  expect(logged.join('')).toContain('did not answer');
});

test('a thread that cannot start leaves all signatures to the main thread, and is not started each time', async () => {
  const signer = signerWith({ open: () => new Worker('throw new Error("no start")', { eval: true }) });
  for (let round = 0; round < 3; round += 1) {
    expect(await signGroup(signer)).toEqual(expected(ed25519.privateKey));
    await until(() => logged.length === 1);
  }
  expect(opened).toHaveLength(1);
});

test('the thread ends with its worker', async () => {
  const signer = signerWith();
  await untilThreadSigns(signer);
  const ended = once(opened[0]?.worker as Worker, 'exit');
  const signatures = signGroup(signer);
  await signer.close();
  await ended;
  expect(await signatures).toEqual(expected(ed25519.privateKey));
  expect(await signGroup(signer)).toEqual(expected(ed25519.privateKey));
  expect(logged).toEqual([]);
});

test('no delivery is lost, sent twice or unsigned when the thread dies under load', async () => {
  const engine = await startEngine();
  const receiver = await startReceiver();
  try {
    const schemes = [undefined, ...signatureSchemes];
    for (const [index, signature] of schemes.entries())
      await engine.addEndpoint(`${receiver.url}/${index}`, signature === undefined ? {} : { signature, v1a: true });
    // It dies while it has its third group.
    const signer = signerWith({ onGroup: ({ worker, groupsCount }) => groupsCount === 3 && void worker.terminate() });
    engine.startWorker({ signer });
    let recorded = 0;
    const record = (count: number): Promise<void> =>
      inTransaction(engine.db, async (tx) => {
        for (let number = 0; number < count; number += 1)
          await recordEvent(tx, draftOf({ entity: `cus_${recorded + number}`, seq: 1 }, engine.clock.now()));
        recorded += count;
      });
    await until(async () => {
      await record(50);
      return logged.length > 0;
    });
    await record(100);
    await until(() => receiver.received.length >= recorded * schemes.length);
    await until(async () => (await engine.deliveries()).every(({ state }) => state === 'succeeded'));
    const deliveries = await engine.deliveries();
    expect(deliveries).toHaveLength(recorded * schemes.length);
    expect(deliveries.filter(({ attempts_count: count }) => count !== 1)).toEqual([]);
    expect(new Set(receiver.received.map(({ headers }) => headers['x-orderpass-delivery'])).size).toBe(
      deliveries.length,
    );
    const uses = ['v1a', ...signatureSchemes] as const;
    const sets = await Promise.all(uses.map((use) => createSigningKeys(engine, use).publicJwks()));
    const [ofV1a = [], ...others] = sets.map(({ keys }) => keys as (JsonWebKey & { kid: string })[]);
    const v1aKey = createPublicKey({ key: ofV1a[0] ?? {}, format: 'jwk' });
    const unsigned = receiver.received.filter(({ path, headers, body }) => {
      const own = headers as Record<string, string>;
      const v1a = Buffer.from(/v1a,(\S+)/.exec(own['webhook-signature'] ?? '')?.[1] ?? '', 'base64');
      const signed = Buffer.from(`${own['webhook-id']}.${own['webhook-timestamp']}.${body}`);
      const url = `http://127.0.0.1:${receiver.port}${path}`;
      const isMessage = path.endsWith('/0') || verifyMessage(others.flat(), url, own, Buffer.from(body));
      return !isMessage || !verify(null, signed, v1aKey, v1a);
    });
    expect(unsigned).toEqual([]);
    expect(logged.length).toBeGreaterThan(0);
    expect(logged.join('')).not.toMatch(/PRIVATE|whsec_|evt_/);
  } finally {
    await engine.close();
    await receiver.close();
  }
});
