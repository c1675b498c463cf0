import { connect } from 'node:net';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAssertionSigner } from '#src/contract/assertion.ts';
import { assertionHeader } from '#src/contract/headers.ts';
import { deleteExpiredReceipts } from '#src/platform/db/receipts.ts';
import { whileLocked } from '../../support/contention.ts';
import { type Answer, clientOf, orderingAudience, startOrdering, type TestOrdering } from '../../support/ordering.ts';
import { until } from '../../support/until.ts';

let core: TestOrdering;

beforeAll(async () => {
  core = await startOrdering();
});
afterAll(() => core.close());

const create = (key: string, body: unknown, more: Parameters<TestOrdering['call']>[2] = {}): Promise<Answer> =>
  core.call('POST', '/customer/create', { body, ...more, headers: { 'idempotency-key': key, ...more.headers } });

const countOf = async (email: string): Promise<number> => {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from ordering.customers where lower(email) = lower(${email})`.execute(core.db);
  return rows[0]?.count ?? -1;
};

test('A-114 a repeated request gets the same bytes, marked as replayed, and has one effect and one event', async () => {
  const raw = { headers: { 'content-type': 'application/json' } };
  const first = await create('k-114', '{"email":"a114@example.com","city":"Pisa"}', raw);
  const again = await create('k-114', '{ "city" : "Pisa", "email":"a114@example.com" }', raw);
  expect(first.status).toBe(200);
  expect(first.headers.has('idempotent-replayed')).toBe(false);
  expect(first.headers.get('idempotency-expires')).toBe('Tue, 03 Mar 2026 11:00:00 GMT');
  expect([again.status, again.text]).toEqual([200, first.text]);
  expect(again.headers.get('idempotent-replayed')).toBe('true');
  expect(again.headers.get('idempotency-expires')).toBe('Tue, 03 Mar 2026 11:00:00 GMT');
  expect(again.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'));
  expect(await core.events({ entity: first.json.customer.uid })).toHaveLength(1);
});

test('A-794 a repetition after the removal of the customer gets CUSTOMER_NOT_FOUND, and makes no new one', async () => {
  const made = { email: 'a794@example.com', city: 'Pisa' };
  const first = await create('k-794', made);
  const { uid } = first.json.customer;
  const change = (path: string, key: string, body: unknown): Promise<Answer> =>
    core.call('POST', path, { body, headers: { 'idempotency-key': key } });
  expect((await change('/customer/update', 'k-794-update', { uid, phone: '+39 06 1' })).status).toBe(200);
  const refused = await change('/customer/update', 'k-794-refused', { uid, subrestaurant_uid: 'none' });
  expect((await change('/customer/remove', 'k-794-remove', { uid })).status).toBe(200);
  const again = [
    await create('k-794', made),
    await change('/customer/update', 'k-794-update', { uid, phone: '+39 06 1' }),
  ];
  for (const { status, json, text } of again) {
    expect([status, json.error]).toEqual([404, 'CUSTOMER_NOT_FOUND']);
    expect(text).not.toMatch(/a794|Pisa|\+39/);
  }
  expect(await countOf(made.email)).toBe(0);
  const others = [
    await change('/customer/remove', 'k-794-remove', { uid }),
    await change('/customer/update', 'k-794-refused', { uid, subrestaurant_uid: 'none' }),
  ];
  expect(others.map(({ status, headers }) => [status, headers.get('idempotent-replayed')])).toEqual([
    [200, 'true'],
    [422, 'true'],
  ]);
  expect(others[1]?.text).toBe(refused.text);
});

test('A-438 a key that was used for one restaurant gives nothing to a token for another one of its client, named or not', async () => {
  const other = await core.addRestaurant();
  const uids = [core.restaurant.restuid, other.restuid];
  const tokenFor = (restuid: string) => clientOf([restuid], { id: 'opc_narrowed' });
  const body = { email: 'a438@example.com' };
  const [first, foreign, again] = [
    await create('k-438', body, { caller: tokenFor(uids[0] ?? '') }),
    await create('k-438', body, { caller: tokenFor(uids[1] ?? '') }),
    await create('k-438', body, { caller: tokenFor(uids[0] ?? '') }),
  ];
  expect([first.status, foreign.status, again.status]).toEqual([200, 422, 200]);
  expect([foreign.json.error, foreign.json.errors[0].pointer]).toEqual(['IDEMPOTENCY_KEY_REUSED', 'restuid']);
  expect(foreign.text).not.toContain(first.json.customer.uid);
  expect(again.text).toBe(first.text);
  const both = clientOf(uids, { id: 'opc_narrowed' });
  const named = (restuid = '') => create('k-438-named', { ...body, restuid }, { caller: both });
  expect([(await named(uids[1])).status, (await named(uids[1])).status, (await named(uids[0])).status]).toEqual([
    200, 200, 422,
  ]);
  // Receipts of a release that did not keep it.
  await sql`update platform.receipts set headers = headers - 'x-orderpass-tenant' where key = 'k-438'`.execute(core.db);
  expect((await create('k-438', body, { caller: tokenFor(uids[0] ?? '') })).text).toBe(first.text);
});

test('A-115 another body, query or path under the same key is refused and names the first difference', async () => {
  await create('k-115', { email: 'a115@example.com', city: 'Pisa' });
  const differing: [() => Promise<Answer>, string][] = [
    [() => create('k-115', { email: 'a115@example.com', city: 'Siena' }), 'city'],
    [() => create('k-115', { email: 'a115@example.com', city: 'Pisa', zip: '1' }), 'zip'],
    [() => create('k-115', { email: 'a115@example.com', city: 'Pisa' }, { query: { x: '1' } }), 'x'],
    [
      () =>
        core.call('POST', '/customer/remove', {
          body: { email: 'a115@example.com' },
          headers: { 'idempotency-key': 'k-115' },
        }),
      '',
    ],
  ];
  for (const [asked, pointer] of differing) {
    const answer = await asked();
    expect([answer.status, answer.json.error]).toEqual([422, 'IDEMPOTENCY_KEY_REUSED']);
    expect(answer.json.errors).toMatchObject([{ pointer, code: 'IDEMPOTENCY_KEY_REUSED' }]);
  }
  expect(await countOf('a115@example.com')).toBe(1);
});

test('A-115 the first difference inside a body is a pointer down to the member, in arrays too', async () => {
  const body = { phone: '115', lines: [{ notes: 'a/b', quantity: 1 }, { 'with/slash': { quantity: 1 } }] };
  const line = body.lines[0];
  await create('k-115-deep', body);
  const differing: [unknown, string][] = [
    [{ ...body, lines: [{ ...line, quantity: 2 }, body.lines[1]] }, '/lines/0/quantity'],
    [{ ...body, lines: [line, { 'with/slash': { quantity: 2 } }] }, '/lines/1/with~1slash/quantity'],
    [{ ...body, lines: [line] }, '/lines/1'],
    [{ ...body, lines: [...body.lines, {}] }, '/lines/2'],
    [{ ...body, lines: {} }, 'lines'],
    [{ phone: '116', lines: [] }, 'phone'],
  ];
  for (const [changed, pointer] of differing)
    expect((await create('k-115-deep', changed)).json.errors).toMatchObject([{ pointer }]);
});

test('A-115 the first difference is as exact in the largest bodies, which are kept packed and replayed like small ones', async () => {
  const notes = (count: number) => Array.from({ length: count }, (_, i) => ({ 'a/b': [i, `note ${i} è 😀`] }));
  const customer = { phone: '115', more: { deep: { lines: notes(9_000) } }, lines: notes(9_000), city: 'Pisa' };
  const products = Array.from({ length: 4_000 }, (_, i) => ({
    ...{ ext_id: `P${i}`, category_ext_id: 'C', name: `Product ${i}`, price: 5, ingredients: 'x'.repeat(400) },
    options: [{ ext_id: 'o', name: 'Extras', type: 'single', option_values: [{ ext_id: 'v', name: 'Ham' }] }],
  }));
  const menu = { pos_uid: 'till', update_mode: 'merge', categories: [{ ext_id: 'C', name: 'Pizza' }], products };
  const last = products.at(-1);
  const changed = [{ ...last?.options[0], option_values: [{ ext_id: 'v', name: 'Egg' }] }];
  const cases: [string, object, [object, string][]][] = [
    [
      '/customer/create',
      customer,
      [
        [{ ...customer, lines: [...notes(8_999), { 'a/b': [8_999, 'other'] }] }, '/lines/8999/a~1b/1'],
        [{ ...customer, lines: notes(9_001) }, '/lines/9000'],
        [{ ...customer, more: { deep: { lines: notes(8_999) } } }, '/more/deep/lines/8999'],
        [{ ...customer, city: 'Siena' }, 'city'],
        [{ phone: '115', lines: notes(9_000), city: 'Pisa' }, 'more'],
        // One of them is small.
        [{ phone: '115', more: customer.more, city: 'Pisa' }, 'lines'],
      ],
    ],
    [
      '/menu/import',
      menu,
      [
        [
          { ...menu, products: [...products.slice(0, -1), { ...last, options: changed }] },
          '/products/3999/options/0/option_values/0/name',
        ],
      ],
    ],
  ];
  for (const [path, body, others] of cases) {
    expect(JSON.stringify(body).length).toBeGreaterThan(500_000);
    const ask = (sent: object): Promise<Answer> =>
      core.call('POST', path, { body: sent, headers: { 'idempotency-key': `k-115-large${path}` } });
    const first = await ask(body);
    expect(first.status).toBe(200);
    for (const [other, pointer] of others) {
      const answer = await ask(other);
      expect([answer.json.error, answer.json.errors?.[0].pointer]).toEqual(['IDEMPOTENCY_KEY_REUSED', pointer]);
    }
    const again = await ask(Object.fromEntries(Object.entries(body).reverse()));
    expect([again.text === first.text, again.headers.get('idempotent-replayed')]).toEqual([true, 'true']);
    const { rows } = await sql<{ bytes: number }>`
      select octet_length(request) + octet_length(request_body) as bytes from platform.receipts
      where key = ${`k-115-large${path}`}`.execute(core.db);
    expect(rows[0]?.bytes).toBeLessThan(JSON.stringify(body).length / 3);
  }
});

test('A-116 of 50 parallel requests with one key one has an effect; the others wait for it or replay it', async () => {
  const answers = await Promise.all(Array.from({ length: 50 }, () => create('k-116', { email: 'a116@example.com' })));
  const done = answers.filter((answer) => answer.status === 200);
  const running = answers.filter((answer) => answer.status === 409);
  expect(done.length + running.length).toBe(50);
  expect(done.filter((answer) => !answer.headers.has('idempotent-replayed'))).toHaveLength(1);
  expect(new Set(done.map((answer) => answer.text)).size).toBe(1);
  for (const answer of running) {
    expect([answer.json.error, answer.headers.get('retry-after')]).toEqual(['CONFLICT', '1']);
  }
  expect(await countOf('a116@example.com')).toBe(1);
});

test('A-117 a request refused for its parameters leaves the key free for the corrected one', async () => {
  expect((await create('k-117', { email: 'no-at' })).status).toBe(400);
  expect((await create('k-117', {})).status).toBe(400);
  const corrected = await create('k-117', { email: 'a117@example.com' });
  expect([corrected.status, corrected.headers.has('idempotent-replayed')]).toEqual([200, false]);
});

test('a refusal by entity, state or domain is kept with its first request id, and its changes are undone', async () => {
  await core.call('POST', '/customer/create', { body: { email: 'taken@example.com' } });
  const asked = [
    () => create('k-409', { email: 'taken@example.com' }),
    () => create('k-422', { email: 'k422@example.com', subrestaurant_uid: 'loc_none' }),
    () => core.call('POST', '/customer/remove', { body: { uid: 'cus_none' }, headers: { 'idempotency-key': 'k-404' } }),
  ];
  for (const [index, ask] of asked.entries()) {
    const [first, again] = [await ask(), await ask()];
    expect(first.status).toBe([409, 422, 404][index]);
    expect(first.json.request_id).toBe(first.headers.get('x-request-id'));
    expect([again.status, again.text]).toEqual([first.status, first.text]);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.headers.get('x-request-id')).not.toBe(again.json.request_id);
  }
  expect(await countOf('k422@example.com')).toBe(0);
});

test('A-118 a key belongs to the client: its token replays what its headers did, another client is independent', async () => {
  const body = { phone: '118' };
  const { restuid, caller } = core.restaurant;
  const byHeaders = await create('k-118', body);
  const byToken = await create('k-118', body, { caller: { ...caller, kind: 'bearer' } });
  expect([byToken.text, byToken.headers.get('idempotent-replayed')]).toEqual([byHeaders.text, 'true']);
  const other = await create('k-118', body, { caller: clientOf([restuid], { id: 'opc_other' }) });
  expect([other.status, other.headers.has('idempotent-replayed')]).toEqual([200, false]);
  expect(other.json.customer.uid).not.toBe(byHeaders.json.customer.uid);
});

test('a key is visible ASCII of 1 to 255 characters; without one nothing is kept', async () => {
  for (const key of ['a b', 'x'.repeat(256), 'caf\u00e9', '']) {
    const answer = await create(key, { email: 'key@example.com' });
    expect([answer.status, answer.json.errors]).toMatchObject([400, [{ pointer: 'Idempotency-Key', code: 'FORMAT' }]]);
  }
  const long = await create('x'.repeat(255), { email: 'key@example.com' });
  expect(long.status).toBe(200);
  const plain = await core.call('POST', '/customer/create', { body: { phone: '1' } });
  expect(plain.headers.has('idempotency-expires')).toBe(false);
});

test('an answer is kept for 48 hours and then the key is free', async () => {
  const start = core.clock.now();
  const first = await create('k-48', { phone: '48' });
  core.clock.advance(48 * 3_600_000 - 1000);
  expect((await create('k-48', { phone: '48' })).text).toBe(first.text);
  core.clock.advance(1000);
  const later = await create('k-48', { phone: '48' });
  expect([later.status, later.headers.has('idempotent-replayed')]).toEqual([200, false]);
  core.clock.set(start);
});

test('receipts go away once they have expired, and no earlier', async () => {
  const start = core.clock.now();
  await create('k-old', { phone: '49' });
  core.clock.advance(24 * 3_600_000);
  await create('k-young', { phone: '50' });
  core.clock.advance(24 * 3_600_000);
  const keys = async (): Promise<string[]> =>
    (await sql<{ key: string }>`select key from platform.receipts`.execute(core.db)).rows.map((row) => row.key);
  expect(await keys()).toContain('k-old');
  const ended = new AbortController();
  const service = core.services.find(({ name }) => name === 'expire-receipts');
  const running = service?.run(ended.signal);
  await until(async () => !(await keys()).includes('k-old'));
  expect(await keys()).toContain('k-young');
  ended.abort();
  await running;
  core.clock.set(start);
});

test('A-120 change and receipt commit together: when the receipt cannot be written, nothing has happened', async () => {
  await sql`alter table platform.receipts add constraint nothing_more check (key <> 'k-120')`.execute(core.db);
  const failed = await create('k-120', { email: 'a120@example.com' });
  expect([failed.status, failed.json.error]).toEqual([500, 'INTERNAL_ERROR']);
  expect(Object.keys(failed.json).sort()).toEqual(['error', 'message', 'request_id', 'success']);
  expect(await countOf('a120@example.com')).toBe(0);
  await sql`alter table platform.receipts drop constraint nothing_more`.execute(core.db);
  const made = await create('k-120', { email: 'a120@example.com' });
  expect([made.status, made.headers.has('idempotent-replayed')]).toEqual([200, false]);
  expect(await core.events({ entity: made.json.customer.uid })).toHaveLength(1);
});

test('A-120 a caller that never saw the answer gets the committed one on the next try', async () => {
  const target = '/api/customer/create';
  const body = JSON.stringify({ email: 'lost@example.com' });
  const sign = createAssertionSigner({
    key: core.assertionKey,
    audience: orderingAudience,
    now: () => core.clock.now().getTime(),
  });
  const assertion = sign(core.restaurant.caller, { method: 'POST', target });
  const socket = connect(Number(new URL(core.url).port), '127.0.0.1');
  socket.on('error', () => undefined);
  const head = `POST ${target} HTTP/1.1\r\nhost: x\r\n${assertionHeader}: ${assertion}\r\nidempotency-key: k-lost`;
  socket.write(`${head}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
  await until(async () => (await countOf('lost@example.com')) === 1);
  socket.destroy();
  const again = await create('k-lost', { email: 'lost@example.com' });
  expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, 'true']);
  expect(await core.events({ entity: again.json.customer.uid })).toHaveLength(1);
  expect(await countOf('lost@example.com')).toBe(1);
});

test('A-507 a receipt that replaces an expired one while expired ones are deleted stays', async () => {
  expect((await create('k-507', { email: 'a507@example.com' })).status).toBe(200);
  const after = new Date(core.clock.now().getTime() + 49 * 3_600_000);
  const later = new Date(after.getTime() + 48 * 3_600_000);
  const replaced = sql`update platform.receipts set expires = ${later} where key = 'k-507'`;
  await whileLocked(core.db, replaced, 1, () => deleteExpiredReceipts(core.db, after, 1000));
  const { rows } = await sql`select from platform.receipts where key = 'k-507'`.execute(core.db);
  expect(rows).toHaveLength(1);
});
