/** What is stored is what was sent: every value of every operation, with numbers that a double cannot hold. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { kindScopes } from '#src/app/webhooks/wire-engine.ts';
import { describedOperations } from '#src/ordering/index.ts';
import { readExactJson } from '#src/platform/http/exact-json.ts';
import type { Operation } from '#src/platform/http/operation.ts';
import { describedOperations as describedWebhookOperations } from '#src/webhooks/index.ts';
import type { Answer, Json } from '../../support/ordering.ts';
import { startWebhookApi, type WebhookApi } from '../../webhooks/harness/webhook-api.ts';
import { paramsSchemaOf } from './params-schema.ts';

/** As they stand in a text: a JavaScript number could not hold them. */
const hostile = [
  '1300000000062769153',
  '9007199254740993',
  '1e21',
  '0.1e400',
  '1e-400',
  '12.499999999999999999',
  '1.0000000000000000001',
  '0.99999999999999999999',
  '-0',
  '1E5',
  '1.50000000000000000000000',
  '100000000000000000000.01',
  '-9007199254740993',
  '0',
  '1',
];

const operations: Operation[] = [...describedOperations(), ...describedWebhookOperations(kindScopes)];

type Leaf = { path: string[]; type: 'string' | 'number' | 'integer' | 'boolean'; schema: Json };

/** Every value that an operation takes, down to the members of what is nested. */
const leavesOf = (schema: Json, path: string[] = []): Leaf[] => {
  const inner = schema.anyOf?.find((one: Json) => one.type !== undefined && one.type !== 'null');
  if (schema.type === undefined && inner !== undefined) return leavesOf(inner, path);
  if (schema.properties !== undefined)
    return Object.entries<Json>(schema.properties).flatMap(([name, member]) => leavesOf(member, [...path, name]));
  if (schema.type === 'object') return leavesOf(schema.additionalProperties, [...path, '0']);
  if (schema.type === 'array') return leavesOf(schema.items, [...path, '0']);
  return schema.readOnly === true ? [] : [{ path, type: schema.type, schema }];
};

/** Checked against the restaurant before the values are validated. */
const leaves = (operation: Operation): Leaf[] =>
  leavesOf(paramsSchemaOf(operation)).filter(({ path }) => path[0] !== 'restuid');

/** JSON text of a body in which every leaf is `text`. */
const bodyOf = (found: readonly Leaf[], text: (leaf: Leaf) => string): string => {
  const build = (depth: number, members: readonly Leaf[]): string => {
    const [first] = members;
    if (first === undefined || first.path.length === depth) return first === undefined ? '{}' : text(first);
    const names = [...new Set(members.map(({ path }) => path[depth] ?? ''))];
    const parts = names.map((name) => ({
      name,
      value: build(
        depth + 1,
        members.filter(({ path }) => path[depth] === name),
      ),
    }));
    const isArray = names[0] === '0' && first.path[depth - 1] !== 'prices_table';
    return isArray
      ? `[${parts.map(({ value }) => value).join(',')}]`
      : `{${parts.map(({ name, value }) => `${JSON.stringify(name)}:${value}`).join(',')}}`;
  };
  return build(0, found);
};

const pointerOf = ({ path }: Leaf): string => (path.length === 1 ? String(path[0]) : `/${path.join('/')}`);

const faultsOf = ({ json }: Answer): Json[] => json.import?.errors ?? json.errors ?? [];

/** The number as integer hundredths of a millionth; undefined when it has more decimals than that. */
const exactly = (text: string): bigint | undefined => {
  const [mantissa = '', exponent = '0'] = text.toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.');
  const power = Number(exponent) - fraction.length + 8;
  const sign = mantissa.startsWith('-') ? -1n : 1n;
  const digits = BigInt(whole + fraction);
  if (power >= 0) return sign * digits * 10n ** BigInt(power);
  const divisor = 10n ** BigInt(-power);
  return digits % divisor === 0n ? (sign * digits) / divisor : undefined;
};

/** May this leaf hold this number as it is? */
const canHold = ({ type, schema }: Leaf, text: string): boolean => {
  const value = exactly(text);
  if (type === 'string' || value === undefined) return false;
  const unit = 10n ** 8n;
  if (type === 'boolean' || schema.enum !== undefined) return value === 0n || value === unit;
  const decimals = type === 'integer' ? 0 : Number(/At most (\d) decimals/.exec(schema.description ?? '')?.[1] ?? 2);
  const bound = (limit: number): bigint => exactly(String(limit)) ?? 0n;
  return (
    value % 10n ** BigInt(8 - decimals) === 0n &&
    (schema.minimum === undefined || value >= bound(schema.minimum)) &&
    (schema.exclusiveMinimum === undefined || value > bound(schema.exclusiveMinimum)) &&
    (schema.maximum === undefined || value <= bound(schema.maximum))
  );
};

const codesOf = (leaf: Leaf): string[] =>
  leaf.type === 'string'
    ? ['TYPE', 'EXT_ID_MISSING']
    : leaf.schema.enum !== undefined
      ? ['ENUM']
      : ['FORMAT', 'RANGE', 'TYPE'];

let api: WebhookApi;

beforeAll(async () => {
  api = await startWebhookApi();
});
afterAll(() => api.close());

const send = (operation: Operation, body: string): Promise<Answer> =>
  api.core.call(operation.method, operation.path, { body, headers: { 'content-type': 'application/json' } });

test('the table lists all operations and their values', () => {
  const names = operations.flatMap((operation) =>
    leaves(operation).map((leaf) => `${operation.path} ${pointerOf(leaf)}`),
  );
  for (const name of [
    '/order/create external_id',
    '/order/create /details/0/options/0/values/0/quantity',
    '/order/create /delivery/address/lat',
    '/menu/import /products/0/options/0/option_values/0/price_operand',
    '/menu/import /products/0/prices_table/0',
    '/loyaltylog/create diff_points',
    '/webhook/create max_per_second',
    '/webhook/create /kinds/0',
    '/events/list cursor',
  ])
    expect(names).toContain(name);
  expect(names.length).toBeGreaterThan(150);
});

const posts = operations
  .filter(({ method }) => method === 'POST')
  .map((operation) => [operation.path, operation] as const);

test.each(posts)('F-01 F-02 %s takes a number of a body as it is, or refuses it', async (_path, operation) => {
  const all = leaves(operation);
  // An import validates its elements after its own parameters.
  const fixed: Record<string, string> =
    operation.path === '/menu/import' ? { pos_uid: '"till"', update_mode: '"merge"' } : {};
  const nested = all.filter(({ path }) => path.length > 1);
  const rounds: [Leaf[], Record<string, string>][] =
    operation.path === '/menu/import'
      ? [
          [all.filter(({ path }) => path.length === 1), {}],
          [[...all.filter(({ path }) => fixed[path[0] ?? ''] !== undefined), ...nested], fixed],
        ]
      : [[all, {}]];
  for (const [sent, given] of rounds)
    for (const text of hostile) {
      const answer = await send(
        operation,
        bodyOf(sent, (leaf) => given[leaf.path[0] ?? ''] ?? text),
      );
      expect(answer.status).toBeGreaterThanOrEqual(400);
      for (const leaf of sent) {
        if (given[leaf.path[0] ?? ''] !== undefined) continue;
        const faults = faultsOf(answer).filter(({ pointer }) => pointer === pointerOf(leaf));
        const label = `${text} for ${pointerOf(leaf)}: ${JSON.stringify(faults)}`;
        if (canHold(leaf, text))
          expect(
            faults.filter(({ code }) => code !== 'CONFLICTING_VALUES'),
            label,
          ).toEqual([]);
        else expect(codesOf(leaf), label).toContain(faults[0]?.code);
      }
    }
});

const gets = operations
  .filter(({ method }) => method === 'GET')
  .map((operation) => [operation.path, operation] as const);

test.each(gets)('F-01 F-02 %s takes a number of its query as it is, or refuses it', async (_path, operation) => {
  const numbers = leaves(operation).filter(({ path, type }) => path.length === 1 && type !== 'string');
  for (const text of hostile) {
    const query = new URLSearchParams(numbers.map(({ path }): [string, string] => [path[0] ?? '', text]));
    const answer = await api.core.call('GET', `${operation.path}?${query}`);
    for (const leaf of numbers) {
      const faults = faultsOf(answer).filter(({ pointer }) => pointer === pointerOf(leaf));
      const label = `${text} for ${pointerOf(leaf)}: ${JSON.stringify(faults)}`;
      // A query is text, and the text of a number has no exponent.
      if (!/e/i.test(text) && canHold(leaf, text) && !(text === '-0' && leaf.type === 'boolean')) {
        if (!/^-0$|^\d\.\d+$/.test(text)) expect(faults, label).toEqual([]);
      } else {
        const isNumber = !/e/i.test(text) && leaf.type !== 'boolean';
        expect(
          codesOf(leaf).filter((code) => !isNumber || code !== 'TYPE'),
          label,
        ).toContain(faults[0]?.code);
      }
    }
  }
});

/** The types inside `type` that read a number, with what is around them: bounds, defaults, the change to minor units. */
const numberTypesIn = (type: z.ZodType, seen = new Set<unknown>()): z.ZodType[] => {
  const inside = (value: unknown): z.ZodType[] => {
    if (typeof value !== 'object' || value === null || seen.has(value)) return [];
    seen.add(value);
    if (!(value instanceof z.ZodType)) return Object.values(value).flatMap(inside);
    const { anyOf, ...own }: Json = z.toJSONSchema(value, { io: 'input', unrepresentable: 'any' });
    const read: Json = anyOf?.find((one: Json) => one.type !== 'null') ?? own;
    const isNumber = ['number', 'integer'].includes(read.type) && read.enum === undefined;
    return [...(isNumber ? [value] : []), ...Object.values(value.def).flatMap(inside)];
  };
  return inside(type);
};

test('F-01 F-02 what a member makes of a number is that number, in its own unit or in hundredths of it', () => {
  const texts = [...hostile, '12.35', '0.29', '1.15', '45.46', '2', '30', '4102444800', '"0.57"', '"12.50"', '"3"'];
  let tried = 0;
  for (const { path, params } of operations)
    for (const type of numberTypesIn(params)) {
      const made = texts.flatMap((text) => {
        const { success, data } = type.safeParse(readExactJson(text));
        return success ? [[exactly(text.replaceAll('"', '')) ?? text, exactly(String(data))] as const] : [];
      });
      const scale = [1n, 100n].find((unit) =>
        made.every(([sent, data]) => typeof sent === 'bigint' && sent * unit === data),
      );
      expect(scale, `${path} ${JSON.stringify(type.meta())}: ${made.join(' ')}`).toBeDefined();
      expect(made.length).toBeGreaterThan(0);
      tried += made.length;
    }
  expect(tried).toBeGreaterThan(500);
});

test('F-01 text that looks like a number comes back letter for letter', async () => {
  for (const text of hostile) {
    const created = await api.post('/customer/create', {
      ...{ phone: text, code: text, first_name: text, last_name: text, address: text, city: text },
    });
    expect(created.status).toBe(200);
    const read = await api.get('/customerstats/customer', { uid: created.json.customer.uid });
    for (const name of ['phone', 'code', 'first_name', 'last_name', 'address', 'city'])
      expect(read.json.customer[name]).toBe(text);
    const imported = await api.post('/menu/import', {
      ...{ pos_uid: text, update_mode: 'merge' },
      categories: [{ ext_id: text, name: text }],
      products: [{ ext_id: text, category_ext_id: text, name: text, price: '12.50' }],
    });
    expect(imported.status).toBe(200);
    const products = (await api.get('/menu/products', { q: text })).json.products;
    expect(products).toContainEqual(expect.objectContaining({ ext_id: text, name: text, price: 12.5 }));
  }
});

const product = async (name: string): Promise<string> => {
  await api.post('/menu/import', {
    ...{ pos_uid: name, update_mode: 'merge' },
    categories: [{ ext_id: name, name }],
    products: [{ ext_id: name, category_ext_id: name, name, price: 10 }],
  });
  return (await api.get('/menu/products', { q: name })).json.products[0].uid;
};

test('F-01 orders whose external ids differ beyond a double are two orders, and a number is no external id', async () => {
  const uid = await product('orders');
  const orderWith = (externalId: string): string =>
    `{"client":{"first_name":"Ada","email":"ada@example.com"},"dmethod":"0","payment_method":"external",
      "pickup":{"date":"2026-03-01T19:30:00+01:00"},"details":[{"product":{"uid":"${uid}"},"quantity":1}],
      "external_id":${externalId}}`;
  const headers = { 'content-type': 'application/json' };
  const create = (externalId: string): Promise<Answer> =>
    api.core.call('POST', '/order/create', { body: orderWith(externalId), headers });
  const refused = await create('1300000000062769153');
  expect([refused.status, refused.json.errors]).toEqual([
    400,
    [{ pointer: 'external_id', code: 'TYPE', message: 'must be a string: put the number in quotes' }],
  ]);
  const first = await create('"1300000000062769153"');
  const second = await create('"1300000000062769200"');
  expect([first.json.order.external_id, second.json.order.external_id]).toEqual([
    '1300000000062769153',
    '1300000000062769200',
  ]);
  expect(second.json.order.uid).not.toBe(first.json.order.uid);
  const found = await api.get('/orders/get', { external_id: '1300000000062769153' });
  expect(found.json.order).toMatchObject({ uid: first.json.order.uid, external_id: '1300000000062769153' });
});

test('F-01 a number is no restaurant and no cursor', async () => {
  for (const text of hostile) {
    const answer = await api.core.call('POST', '/customer/create', {
      body: `{"restuid":${text},"phone":"1"}`,
      headers: { 'content-type': 'application/json' },
    });
    expect([text, answer.status, answer.json.errors[0]]).toMatchObject([
      text,
      400,
      { pointer: 'restuid', code: 'TYPE' },
    ]);
    const list = await api.get('/orders/list', { cursor: text });
    expect([text, list.status, list.json.errors[0].code]).toEqual([text, 400, 'CURSOR_INVALID']);
  }
});

test('F-01 two bodies that differ beyond a double are two requests, also in members that mean nothing', async () => {
  const headers = { 'content-type': 'application/json', 'idempotency-key': 'double-1' };
  const create = (text: string, code: string): Promise<Answer> =>
    api.core.call('POST', '/customer/create', {
      body: `{"phone":"555","code":"${code}","till":{"id":[${text}]}}`,
      headers,
    });
  const first = await create('9007199254740993', 'same');
  expect(first.status).toBe(200);
  const other = await create('9007199254740992', 'same');
  expect([other.status, other.json.error, other.json.errors[0].pointer]).toEqual([
    422,
    'IDEMPOTENCY_KEY_REUSED',
    '/till/id/0',
  ]);
  const elsewhere = await create('9007199254740993', 'other');
  expect([elsewhere.json.error, elsewhere.json.errors[0].pointer]).toEqual(['IDEMPOTENCY_KEY_REUSED', 'code']);
  const again = await create('9007199254740993', 'same');
  expect([again.headers.get('idempotent-replayed'), again.text]).toEqual(['true', first.text]);
});

test('F-02 points with more decimals than they have are FORMAT in every spelling, and exact ones are kept', async () => {
  const { uid } = (await api.post('/customer/create', { email: 'points@example.com' })).json.customer;
  const move = (points: string): Promise<Answer> =>
    api.core.call('POST', '/loyaltylog/create', {
      body: `{"client_uid":"${uid}","diff_op":"add","diff_points":${points}}`,
      headers: { 'content-type': 'application/json' },
    });
  for (const text of ['12.499999999999999999', '12.5000000000000000001', '1e-400', '0.001', '1249e-3']) {
    for (const spelled of text.includes('e') ? [text] : [text, `"${text}"`]) {
      const answer = await move(spelled);
      expect([spelled, answer.status, answer.json.errors]).toEqual([
        spelled,
        400,
        [{ pointer: 'diff_points', code: 'FORMAT', message: 'must have at most 2 decimals' }],
      ]);
    }
  }
  for (const text of ['1000000.01', '1e21', '0.1e400', '"100000000000000000000.01"'])
    expect([text, (await move(text)).json.errors[0].code]).toEqual([text, 'RANGE']);
  let balance = 0;
  for (const [text, points] of [
    ['12.50000000000000000000000', 12.5],
    ['"12.50000000000000000000000"', 12.5],
    ['1.25e1', 12.5],
    ['125E-1', 12.5],
    ['1E5', 100_000],
    ['0.29', 0.29],
  ] as const) {
    const { json } = await move(text);
    balance += Math.round(points * 100);
    expect([text, json.loyaltylog.diff_points, json.loyaltylog.loyalty_points]).toEqual([text, points, balance / 100]);
  }
});
