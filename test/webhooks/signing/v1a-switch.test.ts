/** Which asymmetric signatures deliveries have: `v1a`, a message signature, both or none (interface 31.1). */
import { createHmac, createPublicKey, type JsonWebKey, verify } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand, runJson } from '../../support/program.ts';
import { until } from '../../support/until.ts';
import type { ReceivedRequest, WebhookReceiver } from '../../support/webhook-receiver.ts';
import { createMessageVerifiers, type PublishedKey } from '../harness/message-verifiers.ts';
import { keyOf, startWebhookApi, type WebhookApi } from '../harness/webhook-api.ts';

let api: WebhookApi;
let receiver: WebhookReceiver;

beforeAll(async () => {
  api = await startWebhookApi();
  // The libraries that verify message signatures compare with the time of day.
  api.clock.set(new Date());
  receiver = await api.receiver();
  api.startWorker();
});

afterAll(() => api?.close());

const ed25519 = 'rfc9421:ed25519';
const p256 = 'rfc9421:ecdsa-p256';

const keysIn = async (table: 'signing_keys' | 'message_keys'): Promise<PublishedKey[]> => {
  const { rows } = await sql<{ jwk: PublishedKey }>`
    select public_jwk as jwk from webhooks.${sql.id(table)}`.execute(api.db);
  return rows.map(({ jwk }) => jwk);
};

/** The signatures of a request in their sequence, each only if it verifies: `v1` by the number of its secret. */
const signaturesOf = async (request: ReceivedRequest, secrets: readonly string[]): Promise<string[]> => {
  const headers = request.headers as Record<string, string>;
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${request.body}`;
  const v1Of = (secret: string): string =>
    createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64'))
      .update(signed)
      .digest('base64');
  const v1aKeys = (await keysIn('signing_keys')).map((jwk) =>
    createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' }),
  );
  const ofWebhook = (headers['webhook-signature'] ?? '').split(' ').map((one) => {
    const [version = '', value = ''] = one.split(',');
    if (version === 'v1') return `v1 of ${secrets.findIndex((secret) => v1Of(secret) === value)}`;
    const isRight = v1aKeys.some((key) => verify(null, Buffer.from(signed), key, Buffer.from(value, 'base64')));
    return isRight ? version : `wrong ${version}`;
  });
  if (headers.signature === undefined) return ofWebhook;
  const url = `http://127.0.0.1:${receiver.port}${request.path}`;
  const verdicts = createMessageVerifiers(await keysIn('message_keys'));
  const found = await verdicts({ method: 'POST', url, headers, body: request.body });
  const alg = /alg="([^"]+)"/.exec(headers['signature-input'] ?? '')?.[1];
  return [...ofWebhook, found.every(Boolean) ? `${alg}` : `wrong ${alg}`];
};

let seq = 0;
/** What each path gets of the next event. */
const deliveredTo = async (paths: readonly string[]): Promise<ReceivedRequest[]> => {
  seq += 1;
  await api.record({ entity: 'cus_v1a', seq });
  const of = (path: string) =>
    receiver.received.find((one) => one.path === path && (JSON.parse(one.body) as { seq: number }).seq === seq);
  await until(() => paths.every((path) => of(path) !== undefined));
  return paths.flatMap((path) => of(path) ?? []);
};

const urlOf = (path: string): string => `http://127.0.0.1:${receiver.port}${path}`;

test('A-641 an endpoint that is made with a message signature gets no `v1a`, one without gets it, and `v1a` may be named', async () => {
  const cases: [wanted: object, v1a: boolean, signatures: string[]][] = [
    [{}, true, ['v1 of 0', 'v1a']],
    [{ signature: null }, true, ['v1 of 0', 'v1a']],
    [{ v1a: false }, false, ['v1 of 0']],
    [{ signature: ed25519 }, false, ['v1 of 0', 'ed25519']],
    [{ signature: p256, v1a: null }, false, ['v1 of 0', 'ecdsa-p256-sha256']],
    [{ signature: ed25519, v1a: true }, true, ['v1 of 0', 'v1a', 'ed25519']],
    [{ signature: p256, v1a: true }, true, ['v1 of 0', 'v1a', 'ecdsa-p256-sha256']],
  ];
  const paths = cases.map((_, number) => `/create/${number}`);
  const made: { uid: string; secret: string; v1a: boolean }[] = [];
  for (const [number, [wanted]] of cases.entries())
    made.push((await api.endpoint(urlOf(paths[number] ?? ''), { kinds: ['customers'], ...wanted })) as never);
  expect(made.map(({ v1a }) => v1a)).toEqual(cases.map(([, v1a]) => v1a));
  const wanted = cases.map(([, , signatures]) => signatures);
  const signaturesOfAll = async (requests: readonly (ReceivedRequest | undefined)[]): Promise<string[][]> => {
    const found: string[][] = [];
    for (const [number, request] of requests.entries())
      if (request !== undefined) found.push(await signaturesOf(request, [made[number]?.secret ?? '']));
    return found;
  };
  expect(await signaturesOfAll(await deliveredTo(paths))).toEqual(wanted);
  const tests: (ReceivedRequest | undefined)[] = [];
  for (const { uid } of made) {
    await api.post('/webhook/test', { uid });
    tests.push(receiver.received.at(-1));
  }
  expect(await signaturesOfAll(tests)).toEqual(wanted);
  for (const { uid } of made) await api.post('/webhook/remove', { uid });
});

test('A-641 an endpoint that gets a message signature keeps `v1a` until it is switched off, and both secrets sign as always', async () => {
  const path = '/update';
  const { uid, secret, v1a } = await api.endpoint(urlOf(path), { kinds: ['customers'] });
  const secrets: string[] = [secret];
  const shown: boolean[] = [v1a];
  const update = async (change: object): Promise<void> => {
    const { json } = await api.post('/webhook/update', { uid, ...change });
    shown.push(json.endpoint.v1a);
  };
  const signatures = async (): Promise<string[]> => {
    const [request] = await deliveredTo([path]);
    return signaturesOf(request as ReceivedRequest, secrets);
  };
  await update({ signature: ed25519 });
  expect(await signatures()).toEqual(['v1 of 0', 'v1a', 'ed25519']);
  secrets.push((await api.post('/webhook/rotate-secret', { uid })).json.secret);
  expect(await signatures()).toEqual(['v1 of 1', 'v1 of 0', 'v1a', 'ed25519']);
  await update({ v1a: false });
  expect(await signatures()).toEqual(['v1 of 1', 'v1 of 0', 'ed25519']);
  await update({ description: 'Till', v1a: null });
  await update({ signature: null });
  expect(await signatures()).toEqual(['v1 of 1', 'v1 of 0']);
  await api.post('/webhook/rotate-secret', { uid, finish: true });
  expect(await signatures()).toEqual(['v1 of 1']);
  await update({ signature: p256, v1a: 'true' });
  expect(await signatures()).toEqual(['v1 of 1', 'v1a', 'ecdsa-p256-sha256']);
  expect(shown).toEqual([true, true, false, false, false, true]);
  expect((await api.get('/webhook/endpoint', { uid })).json.endpoint.v1a).toBe(true);
  await api.post('/webhook/remove', { uid });
});

test('A-641 a value of `v1a` that is no boolean is refused, and changes nothing', async () => {
  const { uid } = await api.endpoint(receiver.url, { v1a: false });
  for (const v1a of ['yes', 2, [true], {}, 'rfc9421:ed25519']) {
    const problem = [400, [{ pointer: 'v1a', code: 'TYPE' }]];
    for (const [path, more] of [
      ['/webhook/create', { url: receiver.url }],
      ['/webhook/update', { uid }],
    ] as const) {
      const { status, json } = await api.post(path, { ...more, v1a });
      expect([status, json.errors], `${path} ${JSON.stringify(v1a)}`).toMatchObject(problem);
    }
  }
  const { json } = await api.get('/webhook/endpoints');
  expect(json.endpoints).toMatchObject([{ uid, v1a: false }]);
  await api.post('/webhook/remove', { uid });
});

test('A-643 `endpoint create` and `endpoint update` set `v1a`, and the audit has it', async () => {
  const env = await api.commandEnv();
  const of = ['--restaurant', api.restuid];
  const hook = ['--url', 'http://127.0.0.1:2/hook'];
  const create = async (...more: string[]): Promise<string> =>
    (await runJson(['endpoint', 'create', ...of, ...hook, ...more], env)).endpoint_uid ?? '';
  const shown = async (uid: string): Promise<unknown[]> => {
    const { endpoint } = (await api.get('/webhook/endpoint', { uid }, keyOf(api.restuid))).json;
    return [endpoint.signature, endpoint.v1a];
  };
  const signed = ['--signature', ed25519];
  const [plain, off, message, both] = [
    await create(),
    await create('--v1a', 'off'),
    await create(...signed),
    await create(...signed, '--v1a', 'on'),
  ];
  expect(await Promise.all([plain, off, message, both].map(shown))).toEqual([
    ...[[null, true] as unknown[], [null, false]],
    ...[[ed25519, false] as unknown[], [ed25519, true]],
  ]);
  const update = (...more: string[]) => runJson(['endpoint', 'update', ...of, '--endpoint', plain, ...more], env);
  await update(...signed);
  expect(await shown(plain)).toEqual([ed25519, true]);
  await update('--v1a', 'off');
  expect(await shown(plain)).toEqual([ed25519, false]);
  const without = await runCommand(['endpoint', 'update', ...of, '--endpoint', plain], env);
  expect([without.code, without.stderr]).toEqual([2, expect.stringContaining('Give --signature or --v1a')]);
  expect((await api.auditDetails()).map(({ operation, v1a }) => [operation, v1a])).toEqual([
    ...[true, false, false, true].map((v1a) => ['webhook/create', v1a]),
    ['webhook/update', undefined],
    ['webhook/update', false],
  ]);
});
