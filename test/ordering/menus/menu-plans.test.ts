import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type Answer,
  clientOf,
  type Json,
  startOrdering,
  type TestOrdering,
  type TestRestaurant,
} from '../../support/ordering.ts';
import {
  type Body,
  category,
  codesOf,
  createMenuSender,
  type MenuSender,
  product,
  size,
  toppings,
} from '../../support/orders/menu-sender.ts';
import { until } from '../../support/until.ts';

let core: TestOrdering;
let accepted: MenuSender['accepted'];
let refused: MenuSender['refused'];
let menuOf: MenuSender['menuOf'];
let send: MenuSender['send'];

beforeAll(async () => {
  core = await startOrdering();
  ({ accepted, refused, menuOf, send } = createMenuSender(core));
});
afterAll(() => core.close());

const first = { categories: [category('C1'), category('C2')], products: [product('P1'), product('P2')] };
const second = {
  categories: [category('C1', { options: [size] }), category('C3')],
  products: [product('P1', { price: 9, options: [toppings] }), product('P3', { category_ext_id: 'C3' })],
};

const planned = (restaurant: TestRestaurant, body: Body, caller = restaurant.caller): Promise<Json> =>
  accepted(restaurant, { ...body, dry_run: true }, caller);

const apply = (restaurant: TestRestaurant, plan_id: string, more: Body = {}, caller = restaurant.caller) =>
  core.call('POST', '/menu/import', { caller, body: { plan_id, ...more } });

const revert = (restaurant: TestRestaurant, version: number, caller = restaurant.caller): Promise<Answer> =>
  core.call('POST', '/menu/revert', { caller, body: { version } });

const imports = async (restaurant: TestRestaurant, query = {}, caller = restaurant.caller): Promise<Answer> =>
  core.call('GET', '/menu/imports', { caller, query });

const menuEvents = (restaurant: TestRestaurant) => core.events({ kind: 'menu', entity: restaurant.restuid });

test('A-100 a dry run shows the exact difference and changes nothing; applying its plan does what it showed', async () => {
  const restaurant = await core.addRestaurant();
  await accepted(restaurant, first);
  const before = await menuOf(restaurant);
  const plan = await planned(restaurant, second);
  expect(plan).toMatchObject({
    version: null,
    base_version: 1,
    state: 'planned',
    plan_id: expect.stringMatching(/^pln_/),
    plan_expires_iso: '2026-03-02T12:00:00+01:00',
    counts: {
      categories: { created: 1, updated: 0, unchanged: 1, removed: 1 },
      products: { created: 1, updated: 1, unchanged: 0, removed: 1 },
      options: { created: 2 },
      option_values: { created: 4 },
    },
    errors: [],
  });
  expect(plan.items.find((item: Json) => item.ext_id === 'P1')).toMatchObject({
    action: 'updated',
    pointer: '/products/0',
    changes: [{ field: 'price', from: 7.5, to: 9 }],
  });
  expect(await menuOf(restaurant)).toEqual(before);
  expect(await menuEvents(restaurant)).toHaveLength(1);
  const { status, json } = await apply(restaurant, plan.plan_id);
  expect(status).toBe(200);
  expect(json.import).toEqual({ ...plan, state: 'applied', version: 2, percent: 100 });
  // The same menu sent at once: everything is as the plan said.
  const again = await accepted(restaurant, second);
  expect([again.version, again.items]).toEqual([2, []]);
  const after = await menuOf(restaurant);
  expect(after.products.map((each: Json) => each.uid)).toEqual(
    expect.arrayContaining(
      plan.items
        .filter((item: Json) => item.kind === 'product' && item.action !== 'removed')
        .map((item: Json) => item.uid),
    ),
  );
  const event = (await menuEvents(restaurant)).at(-1);
  expect(event.menu).toMatchObject({ version: 2, previous_version: 1, cause: 'import' });
  expect(event.menu.products.removed).toEqual([{ uid: expect.any(String), ext_id: 'P2' }]);
  const replaced = await core.addRestaurant();
  await accepted(replaced, first);
  expect((await accepted(replaced, second)).counts).toEqual(plan.counts);
});

test('A-509 a plan that expires while it is applied, so that parts of it are deleted, is not applied in part', async () => {
  const restaurant = await core.addRestaurant();
  await accepted(restaurant, first);
  const before = await menuOf(restaurant);
  const plan = await planned(restaurant, second);
  // As another import of the restaurant does when a plan has expired. The first part has the categories.
  await sql`delete from ordering.menu_plan_parts where plan_id = ${plan.plan_id} and part > 0`.execute(core.db);
  const { status, json } = await apply(restaurant, plan.plan_id);
  expect([status, json.error]).toEqual([404, 'NOT_FOUND']);
  expect(await menuOf(restaurant)).toEqual(before);
  expect(await menuEvents(restaurant)).toHaveLength(1);
});

test('A-101 a plan is applied once, within a day, by its client, while the menu stays', async () => {
  const restaurant = await core.addRestaurant();
  await accepted(restaurant, first);
  const other = clientOf([restaurant.restuid], { id: 'opc_other' });
  const plan = await planned(restaurant, second);
  const stale = await planned(restaurant, second);
  const gone = [404, 'NOT_FOUND'];
  const tried = async (...args: Parameters<typeof apply>): Promise<unknown[]> => {
    const { status, json } = await apply(...args);
    return [status, json.error];
  };
  expect(await tried(restaurant, plan.plan_id, {}, other)).toEqual(gone);
  expect(await tried(await core.addRestaurant(), plan.plan_id)).toEqual(gone);
  const parallel = await Promise.all([0, 1, 2, 3].map(() => apply(restaurant, plan.plan_id)));
  expect(parallel.map(({ status }) => status).sort()).toEqual([200, 404, 404, 404]);
  expect(await tried(restaurant, plan.plan_id)).toEqual(gone);
  const moved = await apply(restaurant, stale.plan_id);
  expect([moved.status, moved.json.error, moved.json.message]).toEqual([
    409,
    'CONFLICT',
    'The menu is at version 2, the plan was made at 1',
  ]);
  const late = await planned(restaurant, first);
  const before = core.clock.now();
  core.clock.advance(24 * 3_600_000);
  expect(await tried(restaurant, late.plan_id)).toEqual(gone);
  core.clock.set(before);
  expect(await tried(restaurant, late.plan_id)).toEqual([200, undefined]);
  expect(await tried(restaurant, 'pln_invented')).toEqual(gone);
});

test('A-101 a plan is CONFLICT after another point of sale took over elements of the client, though the version stays', async () => {
  const restaurant = await core.addRestaurant();
  await accepted(restaurant, first);
  const less = { categories: [category('C1')], products: [product('P1')], confirm_removal: true };
  const plan = await planned(restaurant, less);
  const merge = await planned(restaurant, { products: [product('P1', { price: 9 })], update_mode: 'merge' });
  // The same menu from the same point of sale takes over nothing.
  expect((await accepted(restaurant, first)).version).toBe(1);
  const other = clientOf([restaurant.restuid], { id: 'opc_other' });
  await accepted(restaurant, { categories: [category('C1')], products: [] }, other);
  const ofOther = await planned(restaurant, { categories: [], products: [], confirm_removal: true }, other);
  const again = await planned(restaurant, less);
  const taken = await accepted(restaurant, { ...first, pos_uid: 'till-2' });
  expect([taken.version, taken.items]).toEqual([2, []]);
  const before = await menuOf(restaurant);
  for (const { plan_id } of [plan, merge, again]) {
    const { status, json } = await apply(restaurant, plan_id, { confirm_removal: true });
    expect([status, json.error]).toEqual([409, 'CONFLICT']);
  }
  expect(await menuOf(restaurant)).toEqual(before);
  expect((await apply(restaurant, ofOther.plan_id, { confirm_removal: true }, other)).status).toBe(200);
});

test('a dry run with faults is IMPORT_ERROR with its report and keeps no plan', async () => {
  const restaurant = await core.addRestaurant();
  const report = await refused(restaurant, { categories: [], products: [product('P1')], dry_run: true });
  expect([codesOf(report), report.plan_id]).toEqual([[['CATEGORY_UNKNOWN', '/products/0/category_ext_id']], null]);
});

test('A-518 a plan with as many other warnings as a report lists keeps its guard', async () => {
  const restaurant = await core.addRestaurant();
  await accepted(restaurant, {
    categories: [category('C1')],
    products: [product('P1'), product('P2'), product('P3')],
  });
  const unknown = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`m${i}`, 1]));
  const body = { categories: [category('C1')], products: [product('P1', unknown)], dry_run: true };
  const { plan_id, warnings } = await accepted(restaurant, body);
  expect(warnings.filter(({ code }: Json) => code === 'REMOVAL_GUARD')).toMatchObject([{ pointer: '/products' }]);
  const { status, json } = await apply(restaurant, plan_id);
  expect([status, codesOf(json.import)]).toEqual([422, [['REMOVAL_GUARD', '/products']]]);
  expect((await apply(restaurant, plan_id, { confirm_removal: true })).status).toBe(200);
});

test('A-102 in a dry run the guard is a warning, and applying that plan needs confirm_removal', async () => {
  const restaurant = await core.addRestaurant();
  await accepted(restaurant, first);
  const plan = await planned(restaurant, { categories: [], products: [] });
  expect([plan.removal_percent, plan.warnings.map((each: Json) => each.code)]).toEqual([
    100,
    ['REMOVAL_GUARD', 'REMOVAL_GUARD'],
  ]);
  const stopped = await apply(restaurant, plan.plan_id);
  expect([stopped.status, stopped.json.error, codesOf(stopped.json.import)]).toEqual([
    422,
    'IMPORT_ERROR',
    [
      ['REMOVAL_GUARD', '/categories'],
      ['REMOVAL_GUARD', '/products'],
    ],
  ]);
  expect(stopped.json.import).toMatchObject({ version: null, state: 'failed', counts: plan.counts });
  expect((await apply(restaurant, plan.plan_id, { confirm_removal: true })).json.import.version).toBe(2);
  expect(await menuOf(restaurant)).toEqual({ categories: [], products: [] });
});

test('A-103 a revert puts elements back with their uids, as a new version with its event', async () => {
  const restaurant = await core.addRestaurant();
  await accepted(restaurant, { ...first, products: [product('P1', { options: [toppings, size] }), product('P2')] });
  const one = await menuOf(restaurant);
  await accepted(restaurant, second);
  await accepted(restaurant, {
    ...second,
    products: [product('P3', { category_ext_id: 'C3', price: 1 })],
    confirm_removal: true,
  });
  const three = await menuOf(restaurant);
  const { status, json } = await revert(restaurant, 1);
  expect(status).toBe(200);
  expect(json.import).toMatchObject({
    version: 4,
    base_version: 3,
    state: 'applied',
    kind: 'revert',
    pos_uid: null,
    update_mode: null,
    counts: {
      categories: { created: 1, updated: 0, unchanged: 1, removed: 1 },
      products: { created: 2, updated: 0, unchanged: 0, removed: 1 },
      options: { created: 2, removed: 1 },
      option_values: { created: 4, removed: 2 },
    },
  });
  expect(await menuOf(restaurant)).toEqual(one);
  const event = (await menuEvents(restaurant)).at(-1);
  expect(event.menu).toMatchObject({ version: 4, previous_version: 3, cause: 'revert' });
  expect(event.menu.products.removed).toEqual([{ uid: expect.any(String), ext_id: 'P3' }]);
  expect((await revert(restaurant, 3)).json.import.version).toBe(5);
  expect(await menuOf(restaurant)).toEqual(three);
  // The way back goes through every change in between, not only the last.
  expect((await revert(restaurant, 4)).json.import.version).toBe(6);
  expect(await menuOf(restaurant)).toEqual(one);
  const same = await revert(restaurant, 6);
  expect([same.json.import.version, same.json.import.items]).toEqual([6, []]);
  expect(same.json.import.counts.option_values).toEqual({ created: 0, updated: 0, unchanged: 4, removed: 0 });
});

test('A-103 a revert names changed fields, and an import after it goes on from there', async () => {
  const restaurant = await core.addRestaurant();
  const cheaper = { ...toppings, option_values: [{ ext_id: 'ham', name: 'Ham', price_operand: 2 }] };
  await accepted(restaurant, { ...first, products: [product('P1', { options: [cheaper] })] });
  const dearer = { ...toppings, option_values: [{ ext_id: 'ham', name: 'Ham', price_operand: 3 }] };
  await accepted(restaurant, { ...first, products: [product('P1', { price: 8, options: [dearer] })] });
  const { items } = (await revert(restaurant, 1)).json.import;
  expect(items.map((item: Json) => [item.kind, item.action, item.changes])).toEqual([
    ['product', 'updated', [{ field: 'price', from: 8, to: 7.5 }]],
    ['option_value', 'updated', [{ field: 'price_operand', from: 3, to: 2 }]],
  ]);
  const again = await accepted(restaurant, { ...first, products: [product('P1', { options: [cheaper] })] });
  expect([again.version, again.items]).toEqual([3, []]);
});

test('A-103 a revert reaches the latest 50 versions of the same client, and leaves the elements of others alone', async () => {
  const restaurant = await core.addRestaurant();
  const other = clientOf([restaurant.restuid], { id: 'opc_other' });
  const price = (amount: number, caller = restaurant.caller) =>
    accepted(
      restaurant,
      { update_mode: 'merge', categories: [category('C1')], products: [product('P1', { price: amount })] },
      caller,
    );
  await price(1);
  await price(100, other);
  for (let amount = 2; amount <= 51; amount += 1) await price(amount);
  const refusal = async (version: number, caller = restaurant.caller): Promise<unknown[]> => {
    const { status, json } = await revert(restaurant, version, caller);
    return [status, json.error];
  };
  const gone = [404, 'NOT_FOUND'];
  // Version 1 is the 51st of the client, version 2 is the other's.
  expect(await refusal(1)).toEqual(gone);
  expect(await refusal(2)).toEqual(gone);
  expect(await refusal(99)).toEqual(gone);
  expect(await refusal(3, other)).toEqual(gone);
  expect((await revert(restaurant, 3)).json.import.version).toBe(53);
  const prices = (await menuOf(restaurant)).products.map((each: Json) => each.price).sort();
  expect(prices).toEqual([100, 2]);
  expect(await keptStates(restaurant)).toBeLessThanOrEqual(100);
});

const keptStates = async ({ restuid, caller }: TestRestaurant): Promise<number | undefined> => {
  const { rows } = await sql<{ states: number }>`
    select count(*) as states from ordering.menu_undo
    where restuid = ${restuid} and client_id = ${caller.id}`.execute(core.db);
  return rows[0]?.states;
};

test('A-103 versions that were made by plans keep no more states for reverts than other ones', async () => {
  const restaurant = await core.addRestaurant();
  await accepted(restaurant, first);
  for (let price = 1; price <= 52; price += 1) {
    const body = { update_mode: 'merge', products: [product('P1', { price })] };
    expect((await apply(restaurant, (await planned(restaurant, body)).plan_id)).status).toBe(200);
  }
  // One state of the product for each version after the oldest that a revert can reach.
  expect(await keptStates(restaurant)).toBe(49);
  expect((await revert(restaurant, 3)).status).toBe(404);
  expect((await revert(restaurant, 4)).json.import.version).toBe(54);
  expect((await menuOf(restaurant)).products.find((each: Json) => each.ext_id === 'P1').price).toBe(3);
});

test('A-101 a plan stays for its 24 h, however many other imports the client makes', async () => {
  const restaurant = await core.addRestaurant();
  await accepted(restaurant, first);
  const plan = await planned(restaurant, second);
  const before = core.clock.now();
  core.clock.advance(1000);
  for (let count = 0; count < 201; count += 1) expect((await accepted(restaurant, first)).version).toBe(1);
  expect((await imports(restaurant, { plan_id: plan.plan_id })).json.imports).toEqual([plan]);
  expect((await apply(restaurant, plan.plan_id)).json.import.version).toBe(2);
  core.clock.set(before);
});

test('menu/imports lists imports, the latest first, and shows one with its report', async () => {
  const restaurant = await core.addRestaurant();
  const other = clientOf([restaurant.restuid], { id: 'opc_other' });
  const key = clientOf([restaurant.restuid], { id: 'key_1', kind: 'api_key' });
  const at = core.clock.now();
  await accepted(restaurant, first);
  core.clock.advance(1000);
  await refused(restaurant, { categories: [], products: [product('P9')] });
  core.clock.advance(1000);
  const plan = await planned(restaurant, second);
  core.clock.advance(1000);
  await accepted(restaurant, { ...first, products: [] }, other);
  const { json } = await imports(restaurant);
  expect(json.imports.map((each: Json) => [each.state, each.version, each.percent])).toEqual([
    ['planned', null, 0],
    ['failed', null, 0],
    ['applied', 1, 100],
  ]);
  expect([json.total_count, json.more, json.next_cursor]).toEqual([3, false, null]);
  expect(json.imports[0].items).toBe(undefined);
  expect((await imports(restaurant, {}, key)).json.imports.map((each: Json) => each.client_id)).toEqual([
    'opc_other',
    ...Array(3).fill(restaurant.caller.id),
  ]);
  expect((await imports(restaurant, { page: 2, pagesize: 2 })).json.imports).toHaveLength(1);
  const shown = await imports(restaurant, { plan_id: plan.plan_id });
  expect(shown.json.imports).toEqual([plan]);
  expect((await imports(restaurant, { version: 1 })).json.imports[0]).toMatchObject({
    version: 1,
    created_iso: '2026-03-01T12:00:00+01:00',
    items: expect.arrayContaining([expect.objectContaining({ kind: 'product', ext_id: 'P1', action: 'created' })]),
    errors: [],
  });
  for (const query of [{ version: 2 }, { plan_id: 'pln_invented' }])
    expect((await imports(restaurant, query)).json.error).toBe('NOT_FOUND');
  expect((await imports(await core.addRestaurant(), { plan_id: plan.plan_id })).json.error).toBe('NOT_FOUND');
  core.clock.set(at);
});

test('a long import is listed as running, with its progress, until it is done', async () => {
  const restaurant = await core.addRestaurant();
  const values = Array.from({ length: 10 }, (_, i) => ({ ext_id: `v${i}`, name: `V${i}` }));
  const options = [{ ext_id: 'o', name: 'O', type: 'multiple', option_values: values }];
  const products = Array.from({ length: 5000 }, (_, i) => product(`P${i}`, { options }));
  const importing = accepted(restaurant, { categories: [category('C1')], products });
  const seen: number[] = [];
  let done = false;
  void importing.finally(() => {
    done = true;
  });
  await until(async () => {
    const [running] = (await imports(restaurant)).json.imports;
    if (running?.state === 'running') seen.push(running.percent);
    return done;
  });
  expect(seen.length).toBeGreaterThan(1);
  expect(seen).toEqual(seen.toSorted((a, b) => a - b));
  expect(seen.at(-1)).toBeLessThan(100);
  expect((await imports(restaurant)).json.imports).toMatchObject([{ state: 'applied', percent: 100, version: 1 }]);
  const report = await importing;
  expect((await imports(restaurant, { version: 1 })).json.imports).toEqual([report]);
  // Its process has died, so its record is not updated any more.
  await sql`update ordering.menu_imports set state = 'running', touched = now() - interval '3 minutes'
    where restuid = ${restaurant.restuid}`.execute(core.db);
  expect((await imports(restaurant)).json.imports).toMatchObject([{ state: 'failed' }]);
});

test('A-764 an import or a revert that meets a conflict and is repeated has one record, that of its outcome', async () => {
  const restaurant = await core.addRestaurant();
  await accepted(restaurant, first);
  // A sequence is not rolled back, so each second change of this menu fails, as after a deadlock, and its repetition does not.
  await sql`create sequence conflicts`.execute(core.db);
  await sql`create function conflict_once() returns trigger language plpgsql as $$ begin
    if nextval('public.conflicts') % 2 = 1 then raise exception 'deadlock' using errcode = '40P01'; end if;
    return new; end $$`.execute(core.db);
  await sql`create trigger conflict_once before update on ordering.menus for each row
    when (old.restuid = ${sql.lit(restaurant.restuid)}) execute function conflict_once()`.execute(core.db);
  await accepted(restaurant, second);
  expect((await revert(restaurant, 1)).status).toBe(200);
  const { rows } = await sql<{ last: number }>`select last_value::int as last from conflicts`.execute(core.db);
  await sql`drop trigger conflict_once on ordering.menus`.execute(core.db);
  expect(rows).toEqual([{ last: 4 }]);
  const records = (await imports(restaurant)).json.imports;
  expect(records.map((each: Json) => [each.kind, each.state, each.version]).toSorted()).toEqual([
    ['import', 'applied', 1],
    ['import', 'applied', 2],
    ['revert', 'applied', 3],
  ]);
});

test('A-764 an import whose event meets the conflict has one record too, and one whose repetitions all fail a failed one', async () => {
  const restaurant = await core.addRestaurant();
  await sql`create sequence event_conflicts`.execute(core.db);
  await sql`create function event_conflict() returns trigger language plpgsql as $$ begin
    if nextval('public.event_conflicts') <> 2 then raise exception 'deadlock' using errcode = '40P01'; end if;
    return new; end $$`.execute(core.db);
  await sql`create trigger event_conflict before insert on outbox.events for each row
    when (new.tenant = ${sql.lit(restaurant.restuid)}) execute function event_conflict()`.execute(core.db);
  const states = async (): Promise<unknown[]> =>
    (await imports(restaurant)).json.imports.map((each: Json) => [each.kind, each.state]).toSorted();
  try {
    await accepted(restaurant, first);
    expect(await states()).toEqual([['import', 'applied']]);
    expect((await send(restaurant, second)).status).toBe(503);
    expect(await states()).toEqual([
      ['import', 'applied'],
      ['import', 'failed'],
    ]);
  } finally {
    await sql`drop trigger event_conflict on outbox.events`.execute(core.db);
  }
});

test('a plan that is applied under an Idempotency-Key answers the same again', async () => {
  const restaurant = await core.addRestaurant();
  const plan = await planned(restaurant, first);
  const once = () =>
    core.call('POST', '/menu/import', {
      caller: restaurant.caller,
      body: { plan_id: plan.plan_id },
      headers: { 'idempotency-key': 'apply' },
    });
  const [one, two] = [await once(), await once()];
  expect([one.status, two.text, two.headers.get('idempotent-replayed')]).toEqual([200, one.text, 'true']);
  expect((await send(restaurant, { plan_id: plan.plan_id, pos_uid: undefined, update_mode: undefined })).status).toBe(
    404,
  );
});

test('the records of failed imports are bounded too, because a client may send nothing else', async () => {
  const restaurant = await core.addRestaurant();
  const recordsMax = 200;
  for (let sent = 0; sent < recordsMax + 5; sent += 1)
    await refused(restaurant, { categories: [], products: [product('P9')] });
  await until(async () => (await imports(restaurant)).json.total_count === recordsMax);
});
