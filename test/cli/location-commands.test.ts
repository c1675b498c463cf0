import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Answer, type Json, startOrdering, type TestOrdering } from '../support/ordering.ts';
import { openShop, refusalOf, type Shop } from '../support/orders/order-sender.ts';
import { type CommandResult, runCommand, runJson } from '../support/program.ts';

let core: TestOrdering;
let env: Record<string, string>;
let folder: string;

beforeAll(async () => {
  core = await startOrdering();
  env = { DATABASE_URL: core.databaseUrl, ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64') };
  folder = mkdtempSync(join(tmpdir(), 'orderpass-'));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await core?.close();
});

/** A file with the value as JSON, or with the text as it is. */
const file = (name: string, content: unknown): string => {
  const path = join(folder, name);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
};

const set = (shop: Shop, ...args: string[]): string[] => ['location', 'set', '--restaurant', shop.restuid, ...args];

const ofShop = 'Trattoria da Ada';

const deliver = (shop: Shop, address: Json, change: Json = {}): Promise<Answer> =>
  shop.create({ dmethod: '1', pickup: null, delivery: { date: core.clock.now().toISOString(), address }, ...change });

test('A-083 A-086 zones of a file, by distance and by polygon, decide fee, minimum and reach of the next order', async () => {
  const shop = await openShop(core);
  const zones = [
    { name: 'Centre', radius_kms: 1, fee: 1.5, order_min: 10 },
    {
      name: 'Hills',
      fee: '3',
      polygon: [
        [43.9, 11.3],
        [43.8, 11.3],
        [43.8, 11.6],
        [43.9, 11.6],
      ],
    },
    { name: 'Town', zips: ['50122'] },
  ];
  const made = await runJson(
    set(shop, '--name', ofShop, '--zones', file('zones.json', zones), '--lat', '43.7731', '--lng', '11.256'),
    env,
  );
  expect(made).toMatchObject({
    restuid: shop.restuid,
    uid: shop.locationUid,
    name: ofShop,
    lat: 43.7731,
    zones: [zones[0], { ...zones[1], fee: 3, order_min: 0 }, { ...zones[2], fee: 0, order_min: 0 }],
    hours: null,
  });
  const two = { details: [shop.line('P1', { quantity: 2 })] };
  expect((await deliver(shop, { lat: 43.782, lng: 11.256 }, two)).json.order.delivery_fee).toBe(1.5);
  expect(refusalOf(await deliver(shop, { lat: 43.782, lng: 11.256 }))[2]).toEqual([['details', 'ORDER_MIN']]);
  expect((await deliver(shop, { lat: 43.85, lng: 11.45 })).json.order.delivery_fee).toBe(3);
  expect((await deliver(shop, { street: 'Via Roma', city: 'Firenze', zip: '50122' })).json.order.delivery_fee).toBe(0);
  const outside = refusalOf(await deliver(shop, { lat: 43.79, lng: 11.256 }));
  expect(outside).toEqual([422, 'INVALID_ADDRESS', [['/delivery/address', 'INVALID_ADDRESS']]]);
  await runJson(set(shop, '--name', ofShop, '--zones', 'none'), env);
  expect((await deliver(shop, { lat: 1, lng: 1 })).json.order.delivery_fee).toBe(0);
});

test('A-086 hours of a file close the location outside them, days that are not named too; none opens it always', async () => {
  const shop = await openShop(core);
  const hours = { sunday: [['11:30', '15:00']], saturday: [['19:00', '24:00']] };
  await runJson(set(shop, '--location', shop.locationUid, '--hours', file('hours.json', hours)), env);
  // 1 March 2026 is a Sunday.
  const cases: [string, boolean][] = [
    ['2026-03-01T14:59:00+01:00', true],
    ['2026-03-01T15:00:00+01:00', false],
    ['2026-03-02T12:30:00+01:00', false],
    ['2026-03-07T18:59:00+01:00', false],
    ['2026-03-07T23:59:59+01:00', true],
    ['2026-03-08T00:00:00+01:00', false],
  ];
  for (const [date, isOpen] of cases) {
    const answer = await shop.create({ pickup: { date } });
    if (isOpen) expect([date, answer.status]).toEqual([date, 200]);
    else expect([date, refusalOf(answer)[2]]).toEqual([date, [['/pickup/date', 'CLOSED']]]);
  }
  await runJson(set(shop, '--location', shop.locationUid, '--hours', 'none'), env);
  expect((await shop.create({ pickup: { date: '2026-03-02T12:30:00+01:00' } })).status).toBe(200);
});

test('A-087 location create adds one with its methods and code; then orders must name a location', async () => {
  const shop = await openShop(core);
  const points = [{ uid: 'station', name: 'Station', full_address: 'Piazza 1', fee: 1 }];
  const args = ['location', 'create', '--restaurant', shop.restuid, '--name', 'Harbour'];
  const more = ['--code', 'H', '--dmethods', '0,20,0e-fair=Fair', '--points', file('points.json', points)];
  const made = await runJson([...args, ...more], env);
  expect(made).toMatchObject({
    name: 'Harbour',
    code: 'H',
    time_zone: 'Europe/Rome',
    hidden: false,
    deliverypoints: points,
    dmethods: [
      { code: '0', name: 'Pickup' },
      { code: '20', name: 'Pickup point' },
      { code: '0e-fair', name: 'Fair' },
    ],
  });
  const listed = (await shop.call('GET', '/account/subrestaurants')).json.subrestaurants;
  expect(listed.map(({ uid }: Json) => uid)).toEqual([shop.locationUid, made.uid]);
  expect(refusalOf(await shop.create())[2]).toEqual([['subrestaurant_uid', 'REQUIRED']]);
  const there = { subrestaurant_uid: made.uid };
  expect((await shop.placed(there)).order_number).toMatch(/^H-\d+$/);
  const delivery = { date: core.clock.now().toISOString(), deliverypoint: { uid: 'station' } };
  expect((await shop.placed({ ...there, dmethod: '20', pickup: null, delivery })).delivery_fee).toBe(1);
  expect(refusalOf(await shop.create({ ...there, dmethod: '0t', table: '4' }))[2]).toEqual([
    ['dmethod', 'NOT_ENABLED'],
  ]);

  const again = await runCommand([...args, '--json'], env);
  expect([again.code, again.stdout]).toEqual([1, '']);
  expect(again.stderr).toContain('another location named Harbour');
  const renamed = await runJson(set(shop, '--location', String(made.uid), '--name', 'Port', '--hidden', 'on'), env);
  expect(renamed).toMatchObject({ ...made, name: 'Port', hidden: true });
  expect((await shop.create()).status).toBe(200);
});

test('every fault of a file is named with file, line and pointer, and nothing is changed', async () => {
  const shop = await openShop(core);
  const before = await runJson(set(shop, '--name', ofShop), env);
  const zones = file(
    'bad-zones.json',
    `[
  {"name": "A", "radius_kms": 0, "fee": -1},
  {"name": "B, \\"{[", "polygon": [[43.9, 11.3],
    [43.8, 191],
    [43.8]],
   "feee": 2},
  {"fee": 1}
]`,
  );
  const hours = file('bad-hours.json', '{"monday": [["25:00", "26:00"]],\n "funday": []}');
  const refused = await runCommand(set(shop, '--name', ofShop, '--zones', zones, '--hours', hours, '--lat', '91'), env);
  expect([refused.code, refused.stdout]).toEqual([1, '']);
  const said = [
    `${zones} line 2 /0/radius_kms: must be above 0`,
    `${zones} line 2 /0/fee: must be between 0`,
    `${zones} line 4 /1/polygon/1/1: must be between -180`,
    `${zones} line 5 /1/polygon/2`,
    `${zones} line 3 /1: `,
    `${zones} line 7 /2/name: is required`,
    `${hours} line 1 /monday/0/0: must be a time`,
    `${hours} line 1 /monday/0/1: must be a time`,
    `${hours} line 1: `,
    '--lat: must be between -90 and 90',
  ];
  for (const part of said) expect(refused.stderr).toContain(part);
  expect(refused.stderr).toContain('"feee"');
  expect(refused.stderr).toContain('"funday"');

  const outcome = async (...args: string[]): Promise<CommandResult> =>
    runCommand(set(shop, '--name', ofShop, ...args), env);
  const circle = file('circle.json', '[\n {"name": "C",\n  "radius_kms": 2}]');
  expect((await outcome('--zones', circle)).stderr).toContain(`${circle} line 3 /0/radius_kms: needs the place`);
  const broken = file('broken.json', '[\n {"name": "C",\n  oops}]');
  const unread = await outcome('--zones', broken);
  expect([unread.code, unread.stderr]).toEqual([2, expect.stringContaining(`${broken}: line 3: is not JSON`)]);
  expect((await outcome('--zones', join(folder, 'absent.json'))).code).toBe(2);
  expect((await outcome('--zones', file('object.json', '{}'))).stderr).toContain('must be an array');
  expect((await outcome('--dmethods', '0,drone,0')).stderr).toContain('--dmethods');
  expect(await runJson(set(shop, '--name', ofShop), env)).toEqual(before);
});

test('an unknown target or a missing option gives an exit code and a sentence; --help describes every option and the files', async () => {
  const shop = await openShop(core);
  const absent = await runCommand(set(shop, '--name', 'Nowhere'), env);
  expect([absent.code, absent.stderr]).toEqual([1, expect.stringContaining(`${ofShop} (${shop.locationUid})`)]);
  const other = await openShop(core);
  expect((await runCommand(set(shop, '--location', other.locationUid), env)).code).toBe(1);
  expect((await runCommand(['location', 'set', '--restaurant', 'rst_none', '--name', 'x'], env)).code).toBe(1);
  expect((await runCommand(set(shop), env)).code).toBe(2);
  expect((await runCommand(['location', 'create', '--name', 'x'], env)).code).toBe(2);
  for (const command of ['create', 'set']) {
    const help = await runCommand(['location', command, '--help'], env);
    expect(help.code).toBe(0);
    for (const option of [
      '--restaurant',
      '--name',
      '--code',
      '--dmethods',
      '--zones',
      '--hours',
      'radius_kms',
      'polygon',
    ])
      expect(help.stdout).toContain(option);
  }
});
