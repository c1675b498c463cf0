/** Deliveries that are signed as HTTP messages (interface 31), checked by libraries of others. */
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { createSigningKeys, rotateWebhookKey, type SignatureScheme, signatureSchemes } from '#src/webhooks/index.ts';
import { signText } from '#src/webhooks/signing/message-signature.ts';
import { endpointSecretLabel } from '#src/webhooks/signing/opened-secrets.ts';
import { createSignedHeaders, type SignedHeaders } from '#src/webhooks/signing/signed-headers.ts';
import { until } from '../../support/until.ts';
import { type ReceivedRequest, startReceiver, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import { type Engine, startEngine } from '../harness/engine.ts';
import { createMessageVerifiers, type PublishedKey, type SentMessage } from '../harness/message-verifiers.ts';

const times = Number(process.env.FUZZ_TIMES ?? 1);
const seed = process.env.FUZZ_SEED === undefined ? undefined : Number(process.env.FUZZ_SEED);
const hourMs = 3_600_000;

let engine: Engine;
let receiver: WebhookReceiver;
/** Two keys of each kind are published; the later signs beside the earlier one, or waits for its time. */
let headersFor: Record<'earlier' | 'later', SignedHeaders>;
let keys: PublishedKey[];
let verdicts: ReturnType<typeof createMessageVerifiers>;

beforeAll(async () => {
  engine = await startEngine();
  receiver = await startReceiver();
  const { db, box } = engine;
  const clockAt = (ms: number) => ({ now: () => new Date(Date.now() + ms) });
  const rotateAt = (scheme: SignatureScheme, ms: number) =>
    inTransaction(db, (tx) => rotateWebhookKey(tx, { box, clock: clockAt(ms) }, scheme));
  for (const scheme of signatureSchemes) await rotateAt(scheme, -240 * hourMs);
  // A later key signs a day after it was made.
  await rotateAt('rfc9421:ed25519', -12 * hourMs);
  await rotateAt('rfc9421:ecdsa-p256', -36 * hourMs);
  const signerAt = (ms: number): SignedHeaders =>
    createSignedHeaders({ db, box, clock: clockAt(ms), sign: signText, signatureHeader: 'X-Orderpass-Signature' });
  headersFor = { earlier: signerAt(-24 * hourMs), later: signerAt(24 * hourMs) };
  const sets = await Promise.all(signatureSchemes.map((scheme) => createSigningKeys(engine, scheme).publicJwks()));
  keys = sets.flatMap((set) => set.keys) as PublishedKey[];
  verdicts = createMessageVerifiers(keys);
});

afterAll(async () => {
  await engine?.close();
  await receiver?.close();
});

const accepted = [true, true, true];
const refused = [false, false, false];

const label = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?$/);
const host = fc.oneof(
  fc.tuple(label, label, fc.constantFrom('example', 'it', 'co.uk')).map((parts) => parts.join('.')),
  fc.ipV4(),
  fc.constantFrom('[::1]', '[2001:db8::17]', 'bücher.example', 'TILL.Example'),
);
const path = fc.array(fc.webPath(), { maxLength: 3 }).map((parts) => `/${parts.join('/')}`);
const query = fc.oneof(
  fc.constant(''),
  fc.webQueryParameters().map((text) => `?${text}`),
);
const port = fc.option(fc.integer({ min: 1, max: 65_535 }), { nil: undefined });
const address = fc
  .record({ scheme: fc.constantFrom('https', 'http'), host, port, path, query })
  .map((one) => `${one.scheme}://${one.host}${one.port === undefined ? '' : `:${one.port}`}${one.path}${one.query}`)
  .filter((text) => URL.canParse(text))
  .map((text) => new URL(text).href);

const body = fc.oneof(
  fc.constant(''),
  fc.string({ unit: 'binary', maxLength: 2_000 }).filter((text) => text.isWellFormed()),
  fc.json(),
);

const delivery = fc.record({
  url: address,
  scheme: fc.constantFrom(...signatureSchemes),
  signedBy: fc.constantFrom('earlier' as const, 'later' as const),
  body,
  eventId: fc.stringMatching(/^evt_[A-Za-z0-9]{1,40}$/),
  signatureHeader: fc.option(fc.stringMatching(/^X-[A-Za-z0-9-]{1,40}$/), { nil: null }),
  attemptsCount: fc.integer({ min: 0, max: 14 }),
  /** Which part of it a forger changes. */
  change: fc.integer({ min: 0, max: 19 }),
});

const withHeader = (sent: SentMessage, name: string, value: string): SentMessage => ({
  ...sent,
  headers: { ...sent.headers, [name]: value },
});

const withInput = (sent: SentMessage, from: RegExp | string, to: string): SentMessage =>
  withHeader(sent, 'signature-input', (sent.headers['signature-input'] ?? '').replace(from, to));

const withUrl = (sent: SentMessage, change: Partial<URL>): SentMessage => ({
  ...sent,
  url: Object.assign(new URL(sent.url), change).href,
});

/** As a bit that was flipped: the character at the place becomes another one of base64. */
const flipped = (text: string, at: number): string =>
  text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1);

const otherKeyOf = (sent: SentMessage): string => {
  const own = keys.find(({ kid }) => sent.headers['signature-input']?.includes(kid));
  return keys.find(({ kid, alg }) => kid !== own?.kid && alg === own?.alg)?.kid ?? '';
};

/** Each changes one part that the signature covers. */
const changes: readonly ((sent: SentMessage) => SentMessage)[] = [
  (sent) => ({ ...sent, body: `${sent.body} ` }),
  (sent) => {
    const forged = `${sent.body} `;
    const digest = createHash('sha256').update(forged).digest('base64');
    return withHeader({ ...sent, body: forged }, 'content-digest', `sha-256=:${digest}:`);
  },
  (sent) => ({ ...sent, method: 'PUT' }),
  (sent) => withUrl(sent, { pathname: `${new URL(sent.url).pathname}x` }),
  (sent) => {
    const { search, pathname } = new URL(sent.url);
    return withUrl(sent, search === '' ? { pathname: `/x${pathname}` } : { search: `${search}x` });
  },
  (sent) => withUrl(sent, { hostname: 'forged.example' }),
  (sent) => withUrl(sent, { port: new URL(sent.url).port === '8443' ? '8444' : '8443' }),
  (sent) => withHeader(sent, 'webhook-id', `${sent.headers['webhook-id']}x`),
  (sent) => withHeader(sent, 'webhook-timestamp', String(Number(sent.headers['webhook-timestamp']) + 1)),
  (sent) => withHeader(sent, 'content-type', 'text/plain'),
  (sent) => withInput(sent, /created=(\d+)/, `created=${Number(sent.headers['webhook-timestamp']) - 1}`),
  (sent) => withInput(sent, /expires=\d+/, 'expires=9999999999'),
  (sent) => withInput(sent, /keyid="[^"]+"/, `keyid="${otherKeyOf(sent)}"`),
  (sent) => withInput(sent, /keyid="[^"]+"/, 'keyid="webhook-unknown"'),
  (sent) => withInput(sent, 'tag="orderpass-webhook"', 'tag="orderpass-webhooks"'),
  (sent) => withInput(sent, /;alg="[^"]+"/, ''),
  (sent) => withInput(sent, '"@authority" ', ''),
  (sent) => withInput(sent, '"@method" "@authority"', '"@authority" "@method"'),
  (sent) => withHeader(sent, 'signature', flipped(sent.headers.signature ?? '', 5 + (sent.body.length % 80))),
  (sent) => withHeader(sent, 'signature', `sig=:${Buffer.alloc(64, 1).toString('base64')}:`),
];

type Delivery = typeof delivery extends fc.Arbitrary<infer T> ? T : never;

/** What the engine sends, by the function that it signs with. */
const signed = async ({ change: _, scheme, signedBy, ...random }: Delivery, seconds: number): Promise<SentMessage> => {
  const uid = 'whe_random';
  const fixed = { uid: 'dlv_1', endpointUid: uid, tenant: 'rst_1', previousSecret: null, previousSecretExpires: null };
  const signing = { secret: sealed(uid), signature: scheme, v1a: false };
  const headers = await headersFor[signedBy]({ ...fixed, ...random, ...signing }, seconds);
  return { method: 'POST', url: random.url, headers, body: random.body };
};

let secret: Buffer | undefined;
const sealed = (uid: string): Buffer => {
  secret ??= engine.box.seal('whsec_b3JkZXJwYXNzLWV4YW1wbGUtc2VjcmV0LTAwMDE=', endpointSecretLabel(uid));
  return secret;
};

const nowSeconds = (): number => Math.floor(Date.now() / 1000);

const checked = (runs: number, property: (one: Delivery) => Promise<void>): Promise<void> =>
  fc.assert(fc.asyncProperty(delivery, property), {
    numRuns: Math.ceil(runs * times),
    ...(seed === undefined ? undefined : { seed }),
  });

// Each of the twenty changes comes about a hundred times. FUZZ_TIMES=5 makes 10,000 deliveries.
test('A-405 RFC 9421 3.2, RFC 9530 2: 2,000 random deliveries verify with two libraries and with the code of the guide, and changed ones do not', async () => {
  const used = new Set<string>();
  await checked(2_000, async (one) => {
    const sent = await signed(one, nowSeconds());
    used.add(/keyid="([^"]+)"/.exec(sent.headers['signature-input'] ?? '')?.[1] ?? '');
    expect(await verdicts(sent)).toEqual(accepted);
    const changed = changes[one.change]?.(sent) ?? sent;
    expect([one.change, ...(await verdicts(changed))]).toEqual([one.change, ...refused]);
  });
  expect([...used].toSorted()).toEqual(keys.map(({ kid }) => kid).toSorted());
});

test('A-405 RFC 9421 3.2: a delivery that is 6 minutes old or 2 minutes ahead verifies with none of them', () =>
  checked(200, async (one) => {
    for (const seconds of [nowSeconds() - 360, nowSeconds() + 120])
      expect(await verdicts(await signed(one, seconds))).toEqual(refused);
  }));

const asSent = ({ path: target, headers, body: received }: ReceivedRequest): SentMessage => ({
  method: 'POST',
  url: `http://127.0.0.1:${receiver.port}${target}`,
  headers: headers as Record<string, string>,
  body: received,
});

test('A-406 RFC 9421 2.3, 4.1, 4.2: an endpoint with the switch gets message signatures beside Standard Webhooks, one without gets none', async () => {
  const made = [undefined, ...signatureSchemes].map(async (signature, index) => {
    const url = `http://127.0.0.1:${receiver.port}/hook/${index}?shop=7`;
    return engine.addEndpoint(url, signature === undefined ? {} : { signature });
  });
  const secrets = (await Promise.all(made)).map((one) => one.secret);
  engine.startWorker();
  await engine.record({ entity: 'cus_ü', seq: 1 });
  const received = () => receiver.received.filter(({ path: target }) => target.startsWith('/hook/'));
  await until(() => received().length === 3);
  const byPath = received().toSorted((left, right) => (left.path < right.path ? -1 : 1));
  for (const [index, request] of byPath.entries()) {
    const headers = request.headers as Record<string, string>;
    expect(() => new Webhook(secrets[index] ?? '').verify(request.body, headers)).not.toThrow();
    if (index > 0) expect(await verdicts(asSent(request))).toEqual(accepted);
  }
  const [plain, ed25519, p256] = byPath.map(({ headers }) => headers);
  expect(['content-digest', 'signature-input', 'signature'].filter((name) => plain?.[name] !== undefined)).toEqual([]);
  const kidOf = async (scheme: SignatureScheme): Promise<string> =>
    (await createSigningKeys(engine, scheme).current()).kid;
  const parameters = async (scheme: SignatureScheme, alg: string) =>
    `sig=("@method" "@authority" "@path" "@query" "content-digest" "content-type" "webhook-id" "webhook-timestamp");created=AT;expires=LATER;alg="${alg}";keyid="${await kidOf(scheme)}";tag="orderpass-webhook"`;
  const shown = (text: unknown, at: number) =>
    String(text)
      .replace(`=${at};`, '=AT;')
      .replace(`=${at + 300};`, '=LATER;');
  expect(shown(ed25519?.['signature-input'], Number(ed25519?.['webhook-timestamp']))).toBe(
    await parameters('rfc9421:ed25519', 'ed25519'),
  );
  expect(shown(p256?.['signature-input'], Number(p256?.['webhook-timestamp']))).toBe(
    await parameters('rfc9421:ecdsa-p256', 'ecdsa-p256-sha256'),
  );
});

test('A-520 RFC 9421 3.2: 100 random deliveries that arrive at a receiver verify with the libraries, and changed ones do not', async () => {
  const used = seed ?? Math.floor(Math.random() * 0x7fff_ffff);
  const origin = `http://127.0.0.1:${receiver.port}`;
  const targets = fc.sample(fc.tuple(path, query), { numRuns: 10, seed: used });
  for (const [number, [pathname, search]] of targets.entries())
    await engine.addEndpoint(new URL(`/random/${number}${pathname}${search}`, origin).href, {
      signature: signatureSchemes[number % 2] ?? 'rfc9421:ed25519',
    });
  engine.startWorker();
  const texts = fc.sample(body, { numRuns: 10, seed: used });
  for (const [seq, text] of texts.entries()) {
    // PostgreSQL keeps no NUL.
    const value = () => ({ text: text.replaceAll('\0', ''), name: 'Caffè 東京 🍕' });
    await engine.record({ entity: 'cus_random', seq: seq + 1, value });
  }
  const received = () => receiver.received.filter(({ path: target }) => target.startsWith('/random/'));
  await until(() => received().length === 100);
  for (const [number, request] of received().entries()) {
    const sent = asSent(request);
    const changed = changes[number % changes.length]?.(sent) ?? sent;
    const found = [await verdicts(sent), await verdicts(changed)];
    expect(found, `FUZZ_SEED=${used}, change ${number % changes.length}`).toEqual([accepted, refused]);
  }
});
