import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { countOrder, uncountOrder } from '#src/ordering/customers/customer-statistics.ts';
import { matchOrCreateCustomer } from '#src/ordering/customers/match-customer.ts';
import { findLocation, saveLocation, updateRestaurant } from '#src/ordering/restaurants/restaurant-store.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { whileLocked } from '../../support/contention.ts';
import { type Answer, type Json, startOrdering, type TestOrdering } from '../../support/ordering.ts';

let core: TestOrdering;

beforeAll(async () => {
  core = await startOrdering();
});
afterAll(() => core.close());

const create = async (members: Record<string, unknown>): Promise<Json> => {
  const answer = await core.call('POST', '/customer/create', { body: members });
  expect(answer.text).toContain('"success":true');
  return answer.json.customer;
};

const update = (members: Record<string, unknown>): Promise<Answer> =>
  core.call('POST', '/customer/update', { body: members });

const read = async (uid: string): Promise<Json> =>
  (await core.call('GET', '/customerstats/customer', { query: { uid } })).json.customer;

const changesOf = (uid: string): Promise<Json[]> => core.events({ kind: 'customers', entity: uid });

/** Everything but what two answers about different requests may differ in. */
const withoutRequestId = (answer: Answer): string => answer.text.replace(/"request_id":"[^"]+"/, '');

test('A-069 a created customer is read by uid and by email in other case, and is announced once as created', async () => {
  const made = await create({ email: 'Grace@Example.com', first_name: ' Grace ', phone: '+39 055 1', last_name: '  ' });
  expect(made).toMatchObject({ email: 'Grace@Example.com', first_name: 'Grace', last_name: null, signedup: false });
  const byUid = await core.call('GET', '/customerstats/customer', { query: { uid: made.uid } });
  const byEmail = await core.call('GET', '/customerstats/customer', { query: { email: 'gRACE@example.COM' } });
  expect(byUid.json).toEqual({ success: true, customer: made });
  expect(byEmail.text).toBe(byUid.text);
  const events = await changesOf(made.uid);
  expect(events).toHaveLength(1);
  expect(events[0]).toMatchObject({
    event: 'customer.changed',
    customer: made,
    restuid: core.restaurant.restuid,
    seq: 1,
    previous_seq: null,
    change: 'created',
    changed_fields: ['email', 'first_name', 'phone'],
  });
});

test('A-128 customer.changed has the members of the envelope in their order', async () => {
  const made = await create({ phone: '1281281' });
  const [event] = await changesOf(made.uid);
  expect(Object.keys(event)).toEqual([
    'event',
    'customer',
    'id',
    'created',
    'restuid',
    'seq',
    'previous_seq',
    'change',
    'changed_fields',
  ]);
  expect(event.id).toMatch(/^evt_/);
  expect(event.created).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  expect(Object.keys(event.customer)).toEqual(Object.keys(made));
});

test('A-012 each legacy date has a twin at the same instant, and members without a value are null', async () => {
  const tokyo = await core.addRestaurant({ timeZone: 'Asia/Tokyo' });
  await updateRestaurant(core.db, tokyo.restuid, { apiTimeZone: 'America/New_York' });
  const { caller } = tokyo;
  const made = await core.call('POST', '/customer/create', { caller, body: { email: 'twin@example.com' } });
  const { customer } = made.json;
  expect(customer.added).toBe('2026-03-01 06:00:00');
  expect(customer.added_iso).toBe('2026-03-01T20:00:00+09:00');
  const members = [
    'uid,added,added_iso,email,first_name,last_name,phone,address,number,city,province,zip,country,code',
    'subrestaurant_uid,subrestaurant_code,signup_uid,signedup,signup_deleted,signup_deleted_iso',
    'devices_unregistered,devices_unregistered_iso,orders_count,pickup_orders_count,delivery_orders_count',
    'offline_orders_count,first_order,first_order_iso,last_order,last_order_iso,last_offline_order',
    'last_offline_order_iso,orders_total,loyalty_points,loyalty_seq',
  ].join(',');
  expect(Object.keys(customer).join(',')).toBe(members);
  expect(customer).toMatchObject({ phone: null, first_order: null, first_order_iso: null, signup_deleted_iso: null });
});

test('A-070 a second customer with the same email or code is a conflict, also when both come at once', async () => {
  await create({ email: 'same@example.com', code: 'C-1' });
  const email = await core.call('POST', '/customer/create', { body: { email: 'SAME@example.com' } });
  const code = await core.call('POST', '/customer/create', { body: { phone: '70', code: 'C-1' } });
  expect([email.status, email.json.error]).toEqual([409, 'CONFLICT']);
  expect([code.status, code.json.error]).toEqual([409, 'CONFLICT']);
  const parallel = await Promise.all(
    Array.from({ length: 8 }, () => core.call('POST', '/customer/create', { body: { email: 'race@example.com' } })),
  );
  expect(parallel.map((answer) => answer.status).sort()).toEqual([200, 409, 409, 409, 409, 409, 409, 409]);
});

test('A-070 an update to an email or code of another customer is a conflict and changes nothing', async () => {
  const first = await create({ email: 'one@example.com', code: 'K-1' });
  const second = await create({ email: 'two@example.com' });
  expect((await update({ uid: second.uid, email: 'ONE@example.com', city: 'Pisa' })).status).toBe(409);
  expect((await update({ uid: second.uid, code: 'K-1' })).status).toBe(409);
  expect(await read(second.uid)).toEqual(second);
  const own = await update({ uid: first.uid, email: 'One@example.com' });
  expect(own.json.customer.email).toBe('One@example.com');
});

test('A-070 of parallel updates to one email or code exactly one succeeds, with an Idempotency-Key too', async () => {
  const made = await Promise.all(Array.from({ length: 6 }, (_, i) => create({ phone: `70${i}` })));
  for (const [member, value] of [
    ['email', 'wanted@example.com'],
    ['code', 'WANTED'],
  ] as const) {
    const answers = await Promise.all(
      made.map(({ uid }, i) =>
        core.call('POST', '/customer/update', {
          body: { uid, [member]: value },
          headers: i % 2 === 0 ? {} : { 'idempotency-key': `k-70-${member}-${i}` },
        }),
      ),
    );
    expect(answers.map((answer) => answer.status).sort()).toEqual([200, 409, 409, 409, 409, 409]);
  }
});

test('A-071 members that statistics, ledger and system write are refused as read-only, all at once by name', async () => {
  const refused = { orders_count: 1, loyalty_points: '5', signedup: true, added: null, first_order_iso: 'x' };
  const made = await create({ phone: '7171' });
  for (const [path, body] of [
    ['/customer/create', { email: 'ro@example.com', uid: 'cus_mine', ...refused }],
    ['/customer/update', { uid: made.uid, city: 'Pisa', ...refused }],
  ] as const) {
    const answer = await core.call('POST', path, { body });
    expect([answer.status, answer.json.error]).toEqual([400, 'VALIDATION_ERROR']);
    const names = answer.json.errors.map((error: Json) => `${error.pointer} ${error.code}`).sort();
    const expected = [...Object.keys(refused), ...('email' in body ? ['uid'] : [])];
    expect(names).toEqual(expected.map((name) => `${name} READ_ONLY`).sort());
  }
  expect(await read(made.uid)).toEqual(made);
});

test('A-072 an update names the changed members and raises seq; one without a difference is 200 without an event', async () => {
  const made = await create({ email: 'upd@example.com', phone: '1', city: 'Pisa' });
  const changed = await update({ uid: made.uid, phone: '2', city: ' Pisa ', email: 'upd@example.com' });
  expect(changed.json.customer).toEqual({ ...made, phone: '2' });
  const same = await update({ uid: made.uid, phone: '2' });
  expect([same.status, same.json.customer.phone]).toEqual([200, '2']);
  expect((await update({ uid: made.uid })).status).toBe(200);
  await update({ uid: made.uid, city: '' });
  const events = await changesOf(made.uid);
  expect(
    events.map(({ seq, previous_seq, change, changed_fields }) => ({ seq, previous_seq, change, changed_fields })),
  ).toEqual([
    { seq: 1, previous_seq: null, change: 'created', changed_fields: ['email', 'phone', 'city'] },
    { seq: 2, previous_seq: 1, change: 'updated', changed_fields: ['phone'] },
    { seq: 3, previous_seq: 2, change: 'updated', changed_fields: ['city'] },
  ]);
});

test('null or an empty string in a body clears a member, an empty query value does not, and one way to reach stays', async () => {
  const made = await create({ email: 'clear@example.com', phone: '55', first_name: 'C', last_name: 'D' });
  const cleared = await update({ uid: made.uid, first_name: null, last_name: '' });
  expect(cleared.json.customer).toMatchObject({ first_name: null, last_name: null, phone: '55' });
  const query = await core.call('POST', `/customer/update?uid=${made.uid}&phone=`);
  expect(query.json.customer.phone).toBe('55');
  expect((await update({ uid: made.uid, phone: null })).json.customer.phone).toBeNull();
  const last = await update({ uid: made.uid, email: null });
  expect([last.status, last.json.errors]).toEqual([
    400,
    ['email', 'phone'].map((pointer) => ({ pointer, code: 'REQUIRED', message: 'email or phone must keep a value' })),
  ]);
  expect((await read(made.uid)).email).toBe('clear@example.com');
});

test('A-073 removal erases the record for every reader, frees the email and leaves an event that holds only the uid', async () => {
  const made = await create({ email: 'gone@example.com', first_name: 'G', code: 'GONE' });
  const removed = await core.call('POST', '/customer/remove', { body: { email: 'GONE@example.com' } });
  expect([removed.status, removed.json]).toEqual([200, { success: true }]);
  const later = [
    await core.call('GET', '/customerstats/customer', { query: { uid: made.uid } }),
    await core.call('POST', '/customer/remove', { body: { uid: made.uid } }),
    await update({ uid: made.uid, city: 'Pisa' }),
  ];
  for (const answer of later) expect([answer.status, answer.json.error]).toEqual([404, 'CUSTOMER_NOT_FOUND']);
  const again = await create({ email: 'gone@example.com', code: 'GONE' });
  expect(again.uid).not.toBe(made.uid);
  const [, event] = await changesOf(made.uid);
  expect(event).toMatchObject({ seq: 2, previous_seq: 1, change: 'removed', changed_fields: [] });
  expect(event.customer).toEqual({ uid: made.uid });
});

test('A-629 a removal that waits for the customer has the time after the wait, so it is never older than the change before it', async () => {
  const made = await create({ email: 'waits@example.com' });
  const before = core.clock.now();
  const row = sql`select 1 from ordering.customers where uid = ${made.uid} for update`;
  const removed = await whileLocked(
    core.db,
    row,
    1,
    () => core.call('POST', '/customer/remove', { body: { uid: made.uid } }),
    () => core.clock.advance(60_000),
  );
  expect(removed.status).toBe(200);
  const after = core.clock.now();
  expect(after.getTime() - before.getTime()).toBe(60_000);
  const [, event] = await changesOf(made.uid);
  expect([event.change, new Date(event.created)]).toEqual(['removed', after]);
  const { rows } = await sql<{ removed_at: Date }>`
    select removed_at from ordering.customers where uid = ${made.uid}`.execute(core.db);
  expect(rows).toEqual([{ removed_at: after }]);
  core.clock.set(before);
});

test('A-793 an update that waited for the same change answers the code of the location', async () => {
  const { restuid, locationUid } = core.restaurant;
  const location = await findLocation(core.db, restuid, locationUid);
  if (location === undefined) throw new Error('a new restaurant has no location');
  await saveLocation(core.db, { ...location, uid: 'loc_b', code: 'B' });
  const made = await create({ email: 'moved@example.com', subrestaurant_uid: locationUid });
  const row = sql`select 1 from ordering.customers where uid = ${made.uid} for update`;
  const first = sql`update ordering.customers set subrestaurant_uid = 'loc_b', seq = seq + 1 where uid = ${made.uid}`;
  const again = await whileLocked(
    core.db,
    row,
    1,
    () => update({ uid: made.uid, subrestaurant_uid: 'loc_b' }),
    (holder) => first.execute(holder),
  );
  expect(again.json.customer).toMatchObject({ subrestaurant_uid: 'loc_b', subrestaurant_code: 'B' });
  expect(again.json.customer).toEqual(await read(made.uid));
  expect(await changesOf(made.uid)).toHaveLength(1);
});

test('A-074 statistics follow orders at once and never announce the customer', async () => {
  const made = await create({ email: 'stats@example.com' });
  const count = (dmethod: string, creator: string, total: number, at: string) =>
    inTransaction(core.db, (tx) =>
      countOrder(tx, {
        restuid: core.restaurant.restuid,
        customerUid: made.uid,
        order: { dmethod, creator, total, date: new Date(at) },
      }),
    );
  await count('0', 'customer', 1250, '2026-02-01T10:00:00Z');
  await Promise.all([
    count('1', 'restaurant', 800, '2026-02-03T10:00:00Z'),
    count('0t', 'customer', 25, '2026-01-15T10:00:00Z'),
  ]);
  expect(await read(made.uid)).toMatchObject({
    orders_count: 3,
    pickup_orders_count: 1,
    delivery_orders_count: 1,
    offline_orders_count: 1,
    orders_total: 20.75,
    first_order: '2026-01-15 11:00:00',
    last_order: '2026-02-03 11:00:00',
    last_offline_order_iso: '2026-02-03T11:00:00+01:00',
  });
  await update({ uid: made.uid, city: 'Pisa' });
  const events = await changesOf(made.uid);
  expect(events.map(({ seq, change }) => [seq, change])).toEqual([
    [1, 'created'],
    [2, 'updated'],
  ]);
  expect(events[1].customer).toMatchObject({ orders_count: 3, orders_total: 20.75 });
  expect(events[1].changed_fields).toEqual(['city']);
});

test('A-076 an order that no longer counts leaves the statistics as they were without it, and records no event', async () => {
  const made = await create({ email: 'uncount@example.com' });
  const counting = { restuid: core.restaurant.restuid, customerUid: made.uid };
  const order = { dmethod: '1', creator: 'restaurant', total: 990, date: new Date('2026-02-01T10:00:00Z') };
  await inTransaction(core.db, (tx) => countOrder(tx, { ...counting, order }));
  const remaining = { firstOrder: null, lastOrder: null, lastOfflineOrder: null };
  await inTransaction(core.db, (tx) => uncountOrder(tx, { ...counting, order, remaining }));
  expect(await read(made.uid)).toEqual(made);
  await update({ uid: made.uid, city: 'Pisa' });
  expect((await changesOf(made.uid)).map((event) => event.seq)).toEqual([1, 2]);
});

const match = (client: Partial<Record<'first_name' | 'last_name' | 'email' | 'phone', string>>) =>
  inTransaction(core.db, (tx) =>
    matchOrCreateCustomer(tx, {
      restuid: core.restaurant.restuid,
      client: { first_name: null, last_name: null, email: null, phone: null, ...client },
      subrestaurantUid: core.restaurant.locationUid,
      now: core.clock.now(),
      order: { dmethod: '0', creator: 'customer', total: 100, date: core.clock.now() },
    }),
  );

test('A-075 an order finds its customer by email, else by phone digits (the oldest), else makes and announces one', async () => {
  const byEmail = await create({ email: 'match@example.com', phone: '0001' });
  const oldest = await create({ phone: '+39 (055) 777' });
  core.clock.advance(1000);
  await create({ phone: '39055777' });
  expect(await match({ email: 'MATCH@example.com', phone: '39055777' })).toEqual({ uid: byEmail.uid, created: false });
  expect(await match({ email: 'unknown@example.com', phone: '39-055-777' })).toEqual({
    uid: oldest.uid,
    created: false,
  });
  expect(await match({ first_name: 'Walk-in' })).toBeUndefined();
  const made = await match({ email: 'fresh@example.com', phone: '39055778', first_name: 'Fresh' });
  expect(made?.created).toBe(true);
  const [event, ...more] = await changesOf(made?.uid ?? '');
  expect(more).toEqual([]);
  expect(event).toMatchObject({
    change: 'created',
    changed_fields: ['email', 'first_name', 'phone', 'subrestaurant_uid'],
    customer: { email: 'fresh@example.com', orders_count: 1, orders_total: 1 },
  });
  expect((await changesOf(oldest.uid)).map(({ change }) => change)).toEqual(['created']);
});

test('parallel first orders of one email or one phone make one customer', async () => {
  for (const client of [{ email: 'parallel@example.com' }, { phone: '+1 202 555' }]) {
    const found = await Promise.all(Array.from({ length: 6 }, () => match(client)));
    expect(new Set(found.map((customer) => customer?.uid)).size).toBe(1);
    expect(found.filter((customer) => customer?.created)).toHaveLength(1);
    expect((await read(found[0]?.uid ?? '')).orders_count).toBe(6);
  }
});

test('A-078 uid and email of two customers are CUSTOMER_NOT_FOUND; without both a parameter is missing', async () => {
  const first = await create({ email: 'a78@example.com' });
  await create({ email: 'b78@example.com' });
  const both = { uid: first.uid, email: 'b78@example.com' };
  const mixed = await core.call('GET', '/customerstats/customer', { query: both });
  expect([mixed.status, mixed.json.error]).toEqual([404, 'CUSTOMER_NOT_FOUND']);
  const kept = await core.call('POST', '/customer/remove', { body: both });
  expect(kept.status).toBe(404);
  const same = await core.call('GET', '/customerstats/customer', {
    query: { uid: first.uid, email: 'A78@example.com' },
  });
  expect(same.json.customer.uid).toBe(first.uid);
  for (const [method, path] of [
    ['GET', '/customerstats/customer'],
    ['POST', '/customer/remove'],
  ] as const) {
    const neither = await core.call(method, path);
    expect([neither.status, neither.json.error]).toEqual([400, 'MISSING_PARAMETER']);
  }
});

test('A-029 a customer of another restaurant answers like an invented one, in every read and write', async () => {
  const other = await core.addRestaurant();
  const theirs = await core.call('POST', '/customer/create', {
    caller: other.caller,
    body: { email: 'theirs@example.com', code: 'T-1' },
  });
  const { uid } = theirs.json.customer;
  const ask = async (customerUid: string, email: string, locationUid: string): Promise<string[]> =>
    (
      await Promise.all([
        core.call('GET', '/customerstats/customer', { query: { uid: customerUid } }),
        core.call('GET', '/customerstats/customer', { query: { email } }),
        core.call('GET', '/customerstats/customers', { query: { subrestaurant_uid: locationUid } }),
        update({ uid: customerUid, city: 'Pisa' }),
        core.call('POST', '/customer/remove', { body: { uid: customerUid } }),
        core.call('POST', '/customer/remove', { body: { email } }),
        core.call('POST', '/customer/create', { body: { phone: '29', subrestaurant_uid: locationUid } }),
      ])
    ).map((answer) => `${answer.status} ${withoutRequestId(answer)}`);
  const foreign = await ask(uid, 'theirs@example.com', other.locationUid);
  expect(foreign).toEqual(await ask('cus_invented', 'invented@example.com', 'loc_invented'));
  expect(foreign[6]).toContain('"SUBRESTAURANT_NOT_FOUND"');
  const still = await core.call('GET', '/customerstats/customer', { caller: other.caller, query: { uid } });
  expect(still.json).toEqual(theirs.json);
});

test('subrestaurant_code follows the location, and an unknown location is refused in create and update', async () => {
  const made = await create({ phone: '808', subrestaurant_uid: core.restaurant.locationUid });
  expect(made).toMatchObject({ subrestaurant_uid: core.restaurant.locationUid, subrestaurant_code: null });
  for (const answer of [
    await update({ uid: made.uid, subrestaurant_uid: 'loc_none' }),
    await core.call('POST', '/customer/create', { body: { phone: '1', subrestaurant_uid: 'loc_none' } }),
  ]) {
    expect([answer.status, answer.json.error]).toEqual([422, 'SUBRESTAURANT_NOT_FOUND']);
    expect(answer.json.errors[0].pointer).toBe('subrestaurant_uid');
  }
});

test('A-127 what changes while the kind is off is not recorded, and the next event tells that something was missed', async () => {
  const made = await create({ phone: '127' });
  await core.setKinds({ customers: false });
  await update({ uid: made.uid, phone: '1271' });
  await core.setKinds({ customers: true });
  await update({ uid: made.uid, phone: '1272' });
  expect((await changesOf(made.uid)).map(({ seq, previous_seq }) => [seq, previous_seq])).toEqual([
    [1, null],
    [3, 1],
  ]);
});

test('A-127 an entity whose first changes were not recorded starts with previous_seq null', async () => {
  await core.setKinds({ customers: false });
  const made = await create({ phone: '128' });
  await core.setKinds({ customers: true });
  await update({ uid: made.uid, phone: '1281' });
  expect((await changesOf(made.uid)).map(({ seq, previous_seq }) => [seq, previous_seq])).toEqual([[2, null]]);
});

test('parallel updates of one customer queue up: seq without gap or double, previous_seq as defined', async () => {
  const made = await create({ phone: '900' });
  const answers = await Promise.all(Array.from({ length: 8 }, (_, i) => update({ uid: made.uid, phone: `90${i}1` })));
  expect(answers.map((answer) => answer.status)).toEqual(Array(8).fill(200));
  expect((await changesOf(made.uid)).map(({ seq, previous_seq }) => [seq, previous_seq])).toEqual(
    Array.from({ length: 9 }, (_, i) => [i + 1, i === 0 ? null : i]),
  );
});
