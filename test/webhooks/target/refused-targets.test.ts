import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import type { AddressInfo } from 'node:net';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startWebhookApi, type WebhookApi } from '../harness/webhook-api.ts';

let api: WebhookApi;
const names: Record<string, number[]> = {
  'public.example': [93, 184, 216, 34],
  'inside.example': [10, 1, 2, 3],
  'metadata.example': [169, 254, 169, 254],
};
const server = createSocket('udp4');

/** A name server of A records: it repeats the question and gives one answer for the names above. */
const answerTo = (question: Buffer): Buffer => {
  const labels: string[] = [];
  let at = 12;
  for (let length = question[at] ?? 0; length > 0; length = question[at] ?? 0) {
    labels.push(question.subarray(at + 1, at + 1 + length).toString());
    at += 1 + length;
  }
  const end = at + 5;
  const address = question.readUInt16BE(at + 1) === 1 ? names[labels.join('.')] : undefined;
  const header = Buffer.from(question.subarray(0, 12));
  header.writeUInt16BE(names[labels.join('.')] === undefined ? 0x8183 : 0x8180, 2);
  header.writeUInt16BE(address === undefined ? 0 : 1, 6);
  header.writeUInt32BE(0, 8);
  const record = address === undefined ? [] : [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, ...address];
  return Buffer.concat([header, question.subarray(12, end), Buffer.from(record)]);
};

beforeAll(async () => {
  server.on('message', (question, { port, address }) => server.send(answerTo(question), port, address));
  await new Promise<void>((resolve) => server.bind(0, '127.0.0.1', resolve));
  const resolver = new Resolver({ timeout: 1_000, tries: 2 });
  resolver.setServers([`127.0.0.1:${(server.address() as AddressInfo).port}`]);
  api = await startWebhookApi({
    rules: { allowPrivate: false, allowedOrigins: [] },
    resolve: (name) => resolver.resolve4(name),
  });
});

afterAll(async () => {
  await api?.close();
  server.close();
});

const create = (url: string, headers = {}) => api.post('/webhook/create', { url }, undefined, headers);

test('A-139 an address, or a name that a name server leads there, that is not public is refused at creation and at update', async () => {
  const hosts = ['127.0.0.1', '10.0.0.7', '[::1]', '[::ffff:10.0.0.1]', '169.254.169.254', '2130706433', '0x7f.1'];
  for (const host of [...hosts, 'inside.example', 'metadata.example', 'nowhere.example']) {
    const { status, json } = await create(`https://${host}/hook`);
    expect([host, status, json.error, json.errors?.[0]?.pointer, json.errors?.[0]?.code]).toEqual([
      host,
      400,
      'VALIDATION_ERROR',
      'url',
      'TARGET_REFUSED',
    ]);
  }
  for (const url of [
    'http://public.example/',
    'https://a:b@public.example/',
    'https://public.example/#x',
    'ftp://x/',
    'x',
  ])
    expect((await create(url)).json.errors[0].code, url).toBe('TARGET_REFUSED');
  expect((await create(`https://public.example/${'x'.repeat(2048)}`)).status).toBe(400);
  const made = await create('https://public.example/hook');
  expect(made.status).toBe(200);
  const { uid } = made.json.endpoint;
  const moved = await api.post('/webhook/update', { uid, url: 'https://inside.example/' });
  expect([moved.status, moved.json.errors[0].code]).toEqual([400, 'TARGET_REFUSED']);
  expect((await api.get('/webhook/endpoint', { uid })).json.endpoint.url).toBe('https://public.example/hook');
});

test('F-66 ports where other protocols answer are refused as targets, at creation and at update', async () => {
  const made = await create('https://public.example:8443/hook');
  expect(made.status).toBe(200);
  const { uid } = made.json.endpoint;
  for (const port of [22, 25, 110, 143, 465, 587, 6000, 6379, 5432, 3306, 11_211, 27_017, 2375]) {
    const url = `https://public.example:${port}/hook`;
    const refused = await create(url);
    const moved = await api.post('/webhook/update', { uid, url });
    for (const { status, json } of [refused, moved])
      expect([port, status, json.errors?.[0]?.code, json.errors?.[0]?.message]).toEqual([
        port,
        400,
        'TARGET_REFUSED',
        `must not name port ${port}, which is one of another protocol`,
      ]);
  }
  expect((await api.get('/webhook/endpoint', { uid })).json.endpoint.url).toBe('https://public.example:8443/hook');
  for (const port of [443, 3000, 8080, 9443])
    expect((await create(`https://public.example:${port}/`)).status).toBe(200);
});

test('F-66 an endpoint that was made with such a port before is not sent to', async () => {
  const made = await create('https://public.example/older');
  const { uid } = made.json.endpoint;
  await sql`update webhooks.endpoints set url = 'https://public.example:25/older' where uid = ${uid}`.execute(api.db);
  const { attempt } = (await api.post('/webhook/test', { uid })).json;
  expect(attempt).toMatchObject({ failure: 'target_refused', status: null, address: null });
});

test('a repeated creation is answered from its receipt, whatever the name resolves to by then; a refusal frees the key', async () => {
  const key = { 'idempotency-key': 'rebound' };
  expect((await create('https://inside.example/', key)).status).toBe(400);
  const made = await create('https://public.example/again', key);
  expect(made.status).toBe(200);
  names['public.example'] = [10, 0, 0, 1];
  const again = await create('https://public.example/again', key);
  expect(again.text).toBe(made.text);
  // The name was rebound later: the attempt is refused before any packet.
  const { attempt } = (await api.post('/webhook/test', { uid: made.json.endpoint.uid })).json;
  expect(attempt).toMatchObject({ failure: 'target_refused', status: null, address: null });
});
