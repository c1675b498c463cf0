import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import pg from 'pg';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createGenerator, createOrdering } from '#src/ordering/index.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { type Answer, type Json, startOrdering, type TestOrdering } from '../../support/ordering.ts';
import type { Body } from '../../support/orders/menu-sender.ts';
import { openShop, type Shop } from '../../support/orders/order-sender.ts';
import { paramsSchemaOf } from './params-schema.ts';

/** One of everything that a restaurant has. */
type Things = {
  order: string;
  token: string;
  externalId: string;
  customer: string;
  email: string;
  code: string;
  entry: string;
  category: string;
  product: string;
  option: string;
  value: string;
  location: string;
  point: string;
  coupon: string;
  generator: string;
  plan: string;
  version: number;
};

let core: TestOrdering;
let mine: Shop;
let own: Things;
let foreign: Things;

const invented: Things = {
  order: 'ord_invented',
  token: 'invented',
  externalId: 'invented',
  customer: 'cus_invented',
  email: 'invented@example.com',
  code: 'invented',
  entry: 'loy_invented',
  category: 'cat_invented',
  product: 'prd_invented',
  option: 'opt_invented',
  value: 'opv_invented',
  location: 'loc_invented',
  point: 'point-invented',
  coupon: 'INVENTED',
  generator: 'gen-invented',
  plan: 'pln_invented',
  version: 999,
};

/** What a coupon of it costs is paid by the customer that is named. */
const ownGenerator = 'gen-for-points';

/** A coupon of a generator of this name, a plan, and as many versions of the menu as are wanted. */
const stockMore = async (shop: Shop, name: string, versions: number) => {
  const generator = `gen-${name}`;
  await inTransaction(core.db, async (tx) => {
    await createGenerator(tx, shop.restuid, { gencode: generator, discountPerc: 10, quantity: 9 }, core.clock.now());
    const paid = { gencode: ownGenerator, discountPerc: 10, points: 1 };
    await createGenerator(tx, shop.restuid, paid, core.clock.now());
  });
  const { coupon } = (await shop.call('POST', '/coupon/generate', { body: { gencode: generator } })).json;
  const importing = async (body: Body): Promise<Json> =>
    (await shop.call('POST', '/menu/import', { body: { pos_uid: 'till-9', update_mode: 'merge', ...body } })).json
      .import;
  for (let made = 1; made < versions; made += 1)
    await importing({ categories: [{ ext_id: `V${made}`, name: `Version ${made}` }] });
  const planned = await importing({ categories: [{ ext_id: 'PLAN', name: 'Planned' }], dry_run: true });
  return { coupon: coupon.code, generator, plan: planned.plan_id, version: planned.base_version };
};

const stock = async (shop: Shop, name: string, versions: number): Promise<Things> => {
  const email = `${name}@example.com`;
  const point = `point-${name}`;
  const dmethods = ['0', '1', '20'].map((code) => ({ code, name: code }));
  const deliverypoints = [{ uid: point, name: 'Station', full_address: 'Station', fee: 0 }];
  await shop.changeLocation({ dmethods, deliverypoints });
  const body = { email, code: `code-${name}` };
  const { customer } = (await shop.call('POST', '/customer/create', { body })).json;
  const points = { client_uid: customer.uid, diff_op: 'add', diff_points: 50 };
  const { loyaltylog } = (await shop.call('POST', '/loyaltylog/create', { body: points })).json;
  const order = await shop.placed({
    client: { first_name: 'Ada', email },
    external_id: `ext-${name}`,
    redeem_points: 5,
  });
  const product = shop.product('P1');
  const option = product.options.find(({ ext_id }: Json) => ext_id === 'extras');
  const value = option.option_values.find(({ ext_id }: Json) => ext_id === 'ham');
  const categories = (await shop.call('GET', '/menu/categories')).json.categories;
  return {
    order: order.uid,
    token: order.token,
    externalId: `ext-${name}`,
    customer: customer.uid,
    email,
    code: body.code,
    entry: loyaltylog.uid,
    category: categories.find(({ ext_id }: Json) => ext_id === 'C1').uid,
    product: product.uid,
    option: option.uid,
    value: value.uid,
    location: shop.locationUid,
    point,
    ...(await stockMore(shop, name, versions)),
  };
};

beforeAll(async () => {
  core = await startOrdering();
  mine = await openShop(core, { pointValue: 0.1 });
  const other = await openShop(core, { pointValue: 0.1 });
  own = await stock(mine, 'mine', 1);
  foreign = await stock(other, 'other', 3);
});
afterAll(() => core.close());

const lineOf = ({ product, option, value }: Pick<Things, 'product' | 'option' | 'value'>): Body => ({
  product: { uid: product },
  quantity: 1,
  options: [{ uid: option, values: [{ uid: value }] }],
});

const at = (): string => core.clock.now().toISOString();

/** Every member of every operation that can name an entity, as `METHOD path member`. */
const cases: Record<string, (things: Things) => Body> = {
  'GET /orders/get uid': ({ order }) => ({ uid: order }),
  'GET /orders/get external_id': ({ externalId }) => ({ external_id: externalId }),
  'GET /orders/list client_uid': ({ customer }) => ({ client_uid: customer }),
  'GET /orders/list external_id': ({ externalId }) => ({ external_id: externalId }),
  'GET /orders/list subrestaurant_uid': ({ location }) => ({ subrestaurant_uid: location }),
  'POST /order/confirm uid': ({ order, token }) => ({ uid: order, token }),
  'POST /order/close uid': ({ order, token }) => ({ uid: order, token }),
  'POST /order/cancel uid': ({ order, token }) => ({ uid: order, token }),
  'POST /order/create subrestaurant_uid': ({ location }) => mine.orderOf({ subrestaurant_uid: location }),
  'POST /order/create details.product.uid': ({ product }) => mine.orderOf({ details: [lineOf({ ...own, product })] }),
  'POST /order/create details.options.uid': ({ option }) => mine.orderOf({ details: [lineOf({ ...own, option })] }),
  'POST /order/create details.options.values.uid': ({ value }) =>
    mine.orderOf({ details: [lineOf({ ...own, value })] }),
  'POST /order/create delivery.deliverypoint.uid': ({ point }) =>
    mine.orderOf({ dmethod: '20', delivery: { date: at(), deliverypoint: { uid: point } } }),
  'GET /customerstats/customer uid': ({ customer }) => ({ uid: customer }),
  'GET /customerstats/customer email': ({ email }) => ({ email }),
  'GET /customerstats/customers code': ({ code }) => ({ code }),
  'GET /customerstats/customers q': ({ email }) => ({ q: email }),
  'GET /customerstats/customers subrestaurant_uid': ({ location }) => ({ subrestaurant_uid: location }),
  'POST /customer/create subrestaurant_uid': ({ location }) => ({ phone: '1', subrestaurant_uid: location }),
  'POST /customer/update uid': ({ customer }) => ({ uid: customer, city: 'Pisa' }),
  'POST /customer/update subrestaurant_uid': ({ location }) => ({ uid: own.customer, subrestaurant_uid: location }),
  'GET /loyaltylog/get uid': ({ entry }) => ({ uid: entry }),
  'GET /loyaltylog/list client_uid': ({ customer }) => ({ client_uid: customer }),
  'GET /loyaltylog/list client_email': ({ email }) => ({ client_email: email }),
  'GET /loyaltylog/list order_uid': ({ order }) => ({ order_uid: order }),
  'POST /loyaltylog/create client_uid': ({ customer }) => ({ client_uid: customer, diff_op: 'add', diff_points: 1 }),
  'POST /loyaltylog/create client_email': ({ email }) => ({ client_email: email, diff_op: 'add', diff_points: 1 }),
  'POST /loyaltylog/create subrestaurant_uid': ({ location }) => ({
    client_uid: own.customer,
    diff_op: 'add',
    diff_points: 1,
    subrestaurant_uid: location,
  }),
  'GET /menu/category uid': ({ category }) => ({ uid: category }),
  'GET /menu/product uid': ({ product }) => ({ uid: product }),
  'GET /menu/products catuid': ({ category }) => ({ catuid: category }),
  'POST /order/create coupon.code': ({ coupon }) => mine.orderOf({ coupon: { code: coupon } }),
  'POST /coupon/apply code': ({ coupon }) => ({ code: coupon, total: 40 }),
  'POST /coupon/generate gencode': ({ generator }) => ({ gencode: generator }),
  'POST /coupon/generate valid_email': ({ email }) => ({ gencode: ownGenerator, valid_email: email }),
  'GET /menu/imports plan_id': ({ plan }) => ({ plan_id: plan }),
  'GET /menu/imports version': ({ version }) => ({ version }),
  'POST /menu/import plan_id': ({ plan }) => ({ plan_id: plan }),
  'POST /menu/revert version': ({ version }) => ({ version }),
  'POST /customer/remove uid': ({ customer }) => ({ uid: customer }),
  'POST /customer/remove email': ({ email }) => ({ email }),
};

/** They name nothing that could be another's. */
const nameless = ['GET /menu/categories', 'GET /account/subrestaurants', 'POST /sandbox/clock'];

const ask = (name: string, members: Body): Promise<Answer> => {
  const [method = '', path = ''] = name.split(' ');
  return mine.call(method, path, method === 'GET' ? { query: members as Record<string, string> } : { body: members });
};

/** Status, content type and bytes, but for the request id. */
const shown = ({ status, headers, text }: Answer): string =>
  `${status} ${headers.get('content-type')} ${text.replace(/"request_id":"[^"]+"/, '')}`;

/** Everything that the core keeps of the restaurants other than `restuid`. */
const everythingBut = async (restuid: string): Promise<string> => {
  const { rows: tables } = await sql<{ name: string }>`
    select table_name as name from information_schema.columns
    where table_schema = 'ordering' and column_name = 'restuid' order by table_name`.execute(core.db);
  expect(tables.length).toBeGreaterThanOrEqual(8);
  const parts: unknown[] = [];
  for (const { name } of tables) {
    const { rows } = await sql`
      select t::text from ${sql.table(`ordering.${name}`)} t where restuid <> ${restuid} order by 1`.execute(core.db);
    parts.push([name, rows]);
  }
  return JSON.stringify(parts);
};

test('A-029 an entity of another restaurant answers byte for byte like an invented one, in every member of every operation', async () => {
  const before = await everythingBut(mine.restuid);
  const answers: Record<string, [string, string]> = {};
  for (const [name, members] of Object.entries(cases)) {
    answers[name] = [shown(await ask(name, members(foreign))), shown(await ask(name, members(invented)))];
  }
  for (const [name, [ofForeign, ofInvented]] of Object.entries(answers))
    expect(`${name} ${ofForeign}`).toBe(`${name} ${ofInvented}`);
  expect(await everythingBut(mine.restuid)).toBe(before);
});

test('A-029 a menu that names a location of another restaurant is answered and stored like one that names an invented one', async () => {
  const before = await everythingBut(mine.restuid);
  const named = async (location: string): Promise<string[]> => {
    const subrestaurant_uids = [location];
    const body = {
      ...{ pos_uid: 'till-1', update_mode: 'merge', dry_run: true },
      categories: [{ ext_id: 'C1', name: 'Pizza', subrestaurant_uids }],
      products: [{ ext_id: 'P1', category_ext_id: 'C1', name: 'Margherita', price: 8.5, subrestaurant_uids }],
    };
    const answers = [await ask('POST /menu/import', body)];
    answers.push(await ask('POST /menu/import', { plan_id: answers[0]?.json.import.plan_id }));
    answers.push(await ask('GET /menu/products', {}), await ask('GET /menu/product', { uid: own.product }));
    // Nothing is to be had at a location that is not there.
    answers.push(await ask('POST /order/create', mine.orderOf()));
    const back = { categories: [{ ext_id: 'C1', name: 'Pizza', subrestaurant_uids: [] }] };
    const products = [{ ...body.products[0], subrestaurant_uids: [] }];
    await ask('POST /menu/import', { ...body, ...back, products, dry_run: false });
    return answers.map((answer) =>
      shown(answer)
        .replaceAll(location, 'LOCATION')
        .replace(/"plan_id":"[^"]+"/g, '')
        .replace(/"(base_)?version":\d+/g, ''),
    );
  };
  const answers = [await named(foreign.location), await named(invented.location)] as const;
  expect(answers[0]).toEqual(answers[1]);
  expect(answers[0][0]).toContain('"to":["LOCATION"]');
  expect(answers[0][4]).toContain('PRODUCT_NOT_AVAILABLE');
  expect(await everythingBut(mine.restuid)).toBe(before);
  expect((await ask('POST /order/create', mine.orderOf())).status).toBe(200);
});

/** Statements on the core's tables and what they are bound to, as they reach the driver. */
const statementsOf = async (act: () => Promise<unknown>): Promise<{ text: string; values: unknown[] }[]> => {
  const query = vi.spyOn(pg.Client.prototype, 'query');
  try {
    await act();
    return query.mock.calls
      .map(([asked, values]: unknown[]) =>
        typeof asked === 'string' ? { text: asked, values } : (asked as { text?: string; values?: unknown[] }),
      )
      .flatMap(({ text, values }) =>
        text?.includes('ordering.') ? [{ text, values: Array.isArray(values) ? values : [] }] : [],
      );
  } finally {
    query.mockRestore();
  }
};

/** Scans of the core's tables in the plan of a statement that no condition on the restaurant holds. */
const openScans = (node: Json, within = ''): string[] => {
  const conditions = `${within} ${node['Index Cond'] ?? ''} ${node['Recheck Cond'] ?? ''} ${node.Filter ?? ''}`;
  const column = node['Relation Name'] === 'restaurants' ? 'uid' : 'restuid';
  const isScan = node['Relation Name'] !== undefined && /Scan$/.test(node['Node Type']);
  const isHeld = new RegExp(`\\b${column} = `).test(conditions);
  return [
    ...(isScan && !isHeld ? [`${node['Node Type']} ${node['Relation Name']} ${conditions}`] : []),
    ...(node.Plans ?? []).flatMap((child: Json) => openScans(child)),
  ];
};

test('every statement of every operation is bound to the own restaurant, in every table that it reads or changes', async () => {
  const statements = await statementsOf(async () => {
    for (const [name, members] of Object.entries(cases)) await ask(name, members(invented));
    for (const path of ['/orders/list', '/customerstats/customers', '/loyaltylog/list', '/menu/products'])
      await ask(`GET ${path}`, {});
    for (const name of nameless) await ask(name, {});
    await ask('GET /menu/imports', {});
    const guest = { first_name: 'Eve', email: 'eve@example.com' };
    const order = await mine.placed({ client: guest });
    await mine.done('confirm', order);
    await mine.done('close', order);
    const { uid } = await mine.customer(guest.email);
    const points = { client_uid: uid, diff_op: 'add', diff_points: 100 };
    expect((await ask('POST /loyaltylog/create', points)).status).toBe(200);
    const coupon = { code: own.coupon };
    await mine.done('cancel', await mine.placed({ client: guest, redeem_points: 5, coupon }));
    for (const [operation, members] of [
      ['POST /coupon/generate', { gencode: ownGenerator, valid_email: guest.email }],
      ['POST /coupon/apply', { ...coupon, total: 40 }],
      ['POST /menu/import', { pos_uid: 'till-3', update_mode: 'merge', categories: [{ ext_id: 'N', name: 'New' }] }],
      ['POST /menu/revert', { version: own.version }],
    ] satisfies [string, Body][])
      expect([operation, (await ask(operation, members)).status]).toEqual([operation, 200]);
    const planned = {
      pos_uid: 'till-3',
      update_mode: 'merge',
      categories: [{ ext_id: 'M', name: 'More' }],
      dry_run: true,
    };
    const { plan_id } = (await ask('POST /menu/import', planned)).json.import;
    expect((await ask('POST /menu/import', { plan_id })).status).toBe(200);
    await ask('GET /menu/imports', { plan_id });
    expect((await ask('POST /customer/update', { uid, city: 'Pisa' })).status).toBe(200);
    expect((await ask('POST /customer/remove', { uid })).status).toBe(200);
    await ask('POST /menu/import', { pos_uid: 'till-2', update_mode: 'replace', categories: [], products: [] });
  });
  const texts = new Set(statements.map(({ text }) => text));
  expect(texts.size).toBeGreaterThan(30);
  for (const { text, values } of statements) {
    const bound = values.filter((value) => typeof value === 'string' && value.startsWith('rst_'));
    expect([text, [...new Set(bound)]]).toEqual([text, [mine.restuid]]);
  }
  for (const text of texts) {
    // Without values the driver speaks the simple protocol, which a plan for any values needs.
    const { rows } = await sql
      .raw<{ 'QUERY PLAN': Json }>(`explain (generic_plan, format json) ${text}`)
      .execute(core.db);
    expect([text, openScans(rows[0]?.['QUERY PLAN'][0].Plan)]).toEqual([text, []]);
  }
});

test("A-029 the same requests with the restaurant's own entities find them", async () => {
  // The menu has moved since the first plan.
  const categories = [{ ext_id: 'PLAN', name: 'Planned' }];
  const planning = { pos_uid: 'till-9', update_mode: 'merge', categories, dry_run: true };
  own.plan = (await ask('POST /menu/import', planning)).json.import.plan_id;
  // Reads and creations first; what ends an order or a customer comes last, on one that is still there.
  for (const [name, members] of Object.entries(cases)) {
    if (/ \/(order\/(confirm|close|cancel)|customer\/remove) /.test(name)) continue;
    const found = shown(await ask(name, members(own)));
    expect(`${name} ${found}`).toContain('"success":true');
    expect(`${name} ${found}`).not.toBe(`${name} ${shown(await ask(name, members(invented)))}`);
  }
  for (const action of ['confirm', 'close', 'cancel']) {
    const name = `POST /order/${action} uid`;
    expect(`${name} ${(await ask(name, cases[name]?.(own) ?? {})).text}`).toContain('"success":true');
  }
  expect((await ask('POST /customer/remove', { email: own.email })).status).toBe(200);
});

/** Members at any depth, as `details.product.uid`. */
const membersOf = (schema: Json, before = ''): string[] => [
  ...[schema.items, ...(schema.anyOf ?? []), ...(schema.allOf ?? [])].flatMap((inner) =>
    inner === undefined ? [] : membersOf(inner, before),
  ),
  ...Object.entries<Json>(schema.properties ?? {}).flatMap(([name, inner]) => [
    `${before}${name}`,
    ...membersOf(inner, `${before}${name}.`),
  ]),
];

const naming = /(^|[._])(uid|catuid|external_id|email|client_email|code|gencode|plan_id|version)$/;

/** Not references: what an operation gives, refuses or compares with what it has found, and a caller's own words. */
const free = [
  ...['uid', 'email', 'code', 'signup_uid', 'subrestaurant_code'].map((member) => `POST /customer/create ${member}`),
  ...['email', 'code', 'signup_uid', 'subrestaurant_code'].map((member) => `POST /customer/update ${member}`),
  ...['external_id', 'client.email'].map((member) => `POST /order/create ${member}`),
  'POST /coupon/apply email',
  'POST /menu/import pos_uid',
];

test('the table names every operation of the core that there is, and every member of it that names an entity', () => {
  const { operations } = createOrdering({
    db: core.db,
    cursorKey: randomBytes(32),
    orderTokenKey: randomBytes(32),
    clock: core.clock,
    log: pino({ level: 'silent' }),
    settings: {},
  });
  const named = operations.flatMap((operation) =>
    membersOf(paramsSchemaOf(operation))
      .filter((member) => naming.test(member))
      .map((member) => `${operation.method} ${operation.path} ${member}`),
  );
  for (const known of ['POST /order/create details.options.values.uid', 'POST /order/create coupon.code'])
    expect(named).toContain(known);
  expect([...new Set(named)].filter((name) => !(name in cases) && !free.includes(name))).toEqual([]);
  const covered = new Set([...Object.keys(cases).map((name) => name.replace(/ [^ ]+$/, '')), ...nameless]);
  const offered = operations.map(({ method, path }) => `${method} ${path}`);
  expect(offered.filter((name) => !covered.has(name))).toEqual([]);
});

test('email, code and external_id of another restaurant are free here', async () => {
  const { email, code, externalId } = foreign;
  const made = await mine.call('POST', '/customer/create', { body: { email, code } });
  expect(made.json.customer).toMatchObject({ email, code, orders_count: 0, loyalty_points: 0 });
  expect(made.json.customer.uid).not.toBe(foreign.customer);
  const order = await mine.placed({ external_id: externalId, client: { first_name: 'Ada', email } });
  expect(order.uid).not.toBe(foreign.order);
  expect((await mine.customer(email)).orders_count).toBe(1);
});
