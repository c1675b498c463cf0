/** Deliveries that are signed as HTTP messages (interface 31), checked by libraries of others. */
import { createHash, createPublicKey, type JsonWebKey, verify as verifyWith } from 'node:crypto';
import fc from 'fast-check';
import { verifySignature } from 'http-message-sig';
import { createVerifier, httpbis } from 'http-message-signatures';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSigningKeys, type SignatureScheme, signatureSchemes } from '#src/webhooks/index.ts';
import { signText } from '#src/webhooks/signing/message-signature.ts';
import { endpointSecretLabel } from '#src/webhooks/signing/opened-secrets.ts';
import { createSignedHeaders, type SignedHeaders } from '#src/webhooks/signing/signed-headers.ts';
import { until } from '../../support/until.ts';
import { type ReceivedRequest, startReceiver, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import { type Engine, startEngine } from '../harness/engine.ts';
import { verifyMessage } from '../harness/guide-verifier.ts';

const times = Number(process.env.FUZZ_TIMES ?? 1);
const seed = process.env.FUZZ_SEED === undefined ? undefined : Number(process.env.FUZZ_SEED);

type Jwk = JsonWebKey & { kid: string; alg: string };
type Sent = { url: string; headers: Record<string, string>; body: string };

let engine: Engine;
let receiver: WebhookReceiver;
let headersFor: SignedHeaders;
let keys: Jwk[];

beforeAll(async () => {
  engine = await startEngine();
  receiver = await startReceiver();
  headersFor = createSignedHeaders({ ...engine, sign: signText, signatureHeader: 'X-Orderpass-Signature' });
  const sets = await Promise.all(signatureSchemes.map((scheme) => createSigningKeys(engine, scheme).publicJwks()));
  keys = sets.flatMap((set) => set.keys) as Jwk[];
});

afterAll(async () => {
  await engine?.close();
  await receiver?.close();
});

const algorithmOf = ({ alg }: Jwk): string => (alg === 'ES256' ? 'ecdsa-p256-sha256' : 'ed25519');
const covered = ['@method', '@authority', '@path', 'content-digest', 'content-type', 'webhook-id', 'webhook-timestamp'];
const keyOf = (jwk: Jwk) => createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' });

/** By the library http-message-signatures. */
const isGoodForFirst = async ({ url, headers }: Sent): Promise<boolean> => {
  const keyLookup = async ({ keyid }: { keyid?: string }) => {
    const jwk = keys.find(({ kid }) => kid === keyid);
    if (jwk === undefined) return null;
    const algorithm = algorithmOf(jwk);
    const key = keyOf(jwk).export({ format: 'pem', type: 'spki' });
    return { id: jwk.kid, algs: [algorithm], verify: createVerifier(key, algorithm) };
  };
  const config = {
    keyLookup,
    requiredFields: covered,
    requiredParams: ['created', 'expires', 'keyid', 'tag'],
    tolerance: 5,
  };
  const result = await httpbis.verifyMessage(config, { method: 'POST', url, headers }).catch(() => false);
  return result === true;
};

/** By the library http-message-sig. */
const isGoodForSecond = async ({ url, headers }: Sent): Promise<boolean> => {
  const fields = Object.entries(headers).map(([name, value]) => ({ name, value }));
  const policy = {
    algorithms: ['ed25519', 'ecdsa-p256-sha256'],
    requiredComponents: covered,
    requiredParameters: ['created', 'expires', 'keyid', 'alg', 'tag'],
    maxAge: 300,
    clockSkew: 5,
  };
  const resolveVerifier = ({ parameters }: { parameters: { keyid?: string } }) => {
    const jwk = keys.find(({ kid }) => kid === parameters.keyid);
    if (jwk === undefined) throw new Error('unknown key');
    const algorithm = algorithmOf(jwk);
    const key = { key: keyOf(jwk), dsaEncoding: 'ieee-p1363' } as const;
    const hash = algorithm === 'ed25519' ? null : 'sha256';
    return { algorithm, verify: (data: Uint8Array, signature: Uint8Array) => verifyWith(hash, data, key, signature) };
  };
  const message = { kind: 'request', method: 'POST', targetUri: url, fields } as const;
  return verifySignature(message, { policy, resolveVerifier }).then(
    () => true,
    () => false,
  );
};

/** The libraries leave the body to their callers. */
const hasDigest = ({ headers, body }: Sent): boolean =>
  headers['content-digest'] === `sha-256=:${createHash('sha256').update(body).digest('base64')}:`;

const isGoodForSnippet = ({ url, headers, body }: Sent): boolean =>
  verifyMessage(keys, url, headers, Buffer.from(body));

/** What each of the verifiers says. */
const verdicts = async (sent: Sent): Promise<boolean[]> => {
  const digest = hasDigest(sent);
  return [digest && (await isGoodForFirst(sent)), digest && (await isGoodForSecond(sent)), isGoodForSnippet(sent)];
};

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

const delivery = fc.record({
  url: address,
  scheme: fc.constantFrom(...signatureSchemes),
  body: fc.oneof(fc.string({ unit: 'binary', maxLength: 2_000 }), fc.json()).filter((text) => text.isWellFormed()),
  eventId: fc.stringMatching(/^evt_[A-Za-z0-9]{1,40}$/),
  signatureHeader: fc.option(fc.stringMatching(/^X-[A-Za-z0-9-]{1,40}$/), { nil: null }),
  attemptsCount: fc.integer({ min: 0, max: 14 }),
  /** Which part of it a forger changes. */
  change: fc.integer({ min: 0, max: 8 }),
});

/** Each changes one part that the signature covers. */
const changes: readonly ((sent: Sent) => Sent)[] = [
  (sent) => ({ ...sent, body: `${sent.body} ` }),
  (sent) => ({ ...sent, url: new URL('/elsewhere-x', sent.url).href }),
  (sent) => ({ ...sent, url: Object.assign(new URL(sent.url), { hostname: 'forged.example' }).href }),
  (sent) => withHeader(sent, 'webhook-id', 'evt_forged'),
  (sent) => withHeader(sent, 'webhook-timestamp', String(Number(sent.headers['webhook-timestamp']) + 1)),
  (sent) => withHeader(sent, 'content-type', 'text/plain'),
  (sent) =>
    withHeader(
      sent,
      'signature-input',
      (sent.headers['signature-input'] ?? '').replace(/expires=\d+/, 'expires=9999999999'),
    ),
  (sent) => withHeader(sent, 'signature', `sig=:${Buffer.alloc(64, 1).toString('base64')}:`),
  (sent) => withHeader(sent, 'signature-input', (sent.headers['signature-input'] ?? '').replace('"@authority" ', '')),
];

const withHeader = (sent: Sent, name: string, value: string): Sent => ({
  ...sent,
  headers: { ...sent.headers, [name]: value },
});

test('A-405 RFC 9421 3.2, RFC 9530 2: random deliveries verify with two libraries and with the code of the guide, and changed ones do not', async () => {
  const uid = 'whe_random';
  const secret = engine.box.seal('whsec_b3JkZXJwYXNzLWV4YW1wbGUtc2VjcmV0LTAwMDE=', endpointSecretLabel(uid));
  const property = async ({
    change,
    scheme,
    url,
    body,
    ...random
  }: typeof delivery extends fc.Arbitrary<infer T> ? T : never) => {
    const fixed = {
      uid: 'dlv_1',
      endpointUid: uid,
      tenant: 'rst_1',
      secret,
      previousSecret: null,
      previousSecretExpires: null,
    };
    const now = Math.floor(Date.now() / 1000);
    const headers = await headersFor({ ...fixed, ...random, url, body, signature: scheme }, now);
    const sent = { url, headers, body };
    expect(await verdicts(sent)).toEqual([true, true, true]);
    const changed = changes[change]?.(sent) ?? sent;
    expect(await verdicts(changed)).toEqual([false, false, false]);
  };
  await fc.assert(fc.asyncProperty(delivery, property), {
    numRuns: Math.ceil(500 * times),
    ...(seed === undefined ? undefined : { seed }),
  });
});

const asSent = ({ path: target, headers, body }: ReceivedRequest): Sent => ({
  url: `http://127.0.0.1:${receiver.port}${target}`,
  headers: headers as Record<string, string>,
  body,
});

test('A-406 RFC 9421 2.3, 4.1, 4.2: an endpoint with the switch gets message signatures beside Standard Webhooks, one without gets none', async () => {
  const made = [undefined, ...signatureSchemes].map(async (signature, index) => {
    const url = `http://127.0.0.1:${receiver.port}/hook/${index}?shop=7`;
    return engine.addEndpoint(url, signature === undefined ? {} : { signature });
  });
  const secrets = (await Promise.all(made)).map((one) => one.secret);
  engine.startWorker();
  await engine.record({ entity: 'cus_ü', seq: 1 });
  await until(() => receiver.received.length === 3);
  const byPath = receiver.received.toSorted((left, right) => (left.path < right.path ? -1 : 1));
  for (const [index, request] of byPath.entries()) {
    const headers = request.headers as Record<string, string>;
    expect(() => new Webhook(secrets[index] ?? '').verify(request.body, headers)).not.toThrow();
    if (index > 0) expect(await verdicts(asSent(request))).toEqual([true, true, true]);
  }
  const [plain, ed25519, p256] = byPath.map(({ headers }) => headers);
  expect(['content-digest', 'signature-input', 'signature'].filter((name) => plain?.[name] !== undefined)).toEqual([]);
  const parameters = (scheme: SignatureScheme, alg: string) =>
    `sig=("@method" "@authority" "@path" "@query" "content-digest" "content-type" "webhook-id" "webhook-timestamp");created=AT;expires=LATER;keyid="${kidOf(scheme)}";alg="${alg}";tag="orderpass-webhook"`;
  const shown = (text: unknown, at: number) =>
    String(text)
      .replace(`=${at};`, '=AT;')
      .replace(`=${at + 300};`, '=LATER;');
  expect(shown(ed25519?.['signature-input'], Number(ed25519?.['webhook-timestamp']))).toBe(
    parameters('rfc9421:ed25519', 'ed25519'),
  );
  expect(shown(p256?.['signature-input'], Number(p256?.['webhook-timestamp']))).toBe(
    parameters('rfc9421:ecdsa-p256', 'ecdsa-p256-sha256'),
  );
});

const kidOf = (scheme: SignatureScheme): string =>
  keys.find(({ alg }) => (alg === 'ES256') === (scheme === 'rfc9421:ecdsa-p256'))?.kid ?? '';
