/** Chains of exchanges with random limits: each token may do a part of what the one before it may. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createRandom, type Random, randomSeed } from '../../../support/random.ts';
import { detail, type NarrowDoor, openNarrowDoor } from './narrow-door.ts';

let door: NarrowDoor;

beforeAll(async () => {
  door = await openNarrowDoor();
});

afterAll(() => door?.close());

const requests = [
  ['GET', '/api/orders/list'],
  ['GET', '/api/menu/products'],
  ['POST', '/api/order/close'],
  ['GET', '/reports/rst_1'],
  ['POST', '/reports/rst_2'],
  ['GET', '/menus/today'],
] as const;

const some = <T>(random: Random, all: readonly T[]): T[] => {
  const kept = all.filter(() => random.next() < 0.6);
  return kept.length > 0 ? kept : [all[random.between(0, all.length - 1)] as T];
};

const randomDetail = (random: Random): object => {
  const members: Record<string, unknown> = {};
  if (random.next() < 0.6) members.restaurants = some(random, ['rst_1', 'rst_2']);
  if (random.next() < 0.5)
    members.operations = some(random, ['orders.list', 'menu.products', 'order.close', 'reports.day', 'menus.all']);
  if (random.next() < 0.3)
    members.routes = some(random, [
      { path: '/reports/{shop}' },
      { path: '/reports/{shop}', methods: ['GET'] },
      { path: '/menus/*' },
    ]);
  if (random.next() < 0.5) members.actions = some(random, ['read', 'write', 'GET', 'POST']);
  return detail(members);
};

const randomWish = (random: Random): Record<string, string> => {
  const details = Array.from({ length: random.between(1, 3) }, () => randomDetail(random));
  return {
    ...(random.next() < 0.8 && { authorization_details: JSON.stringify(details) }),
    ...(random.next() < 0.3 && { scope: some(random, ['read:orders', 'read:menu', 'manage:orders']).join(' ') }),
    ...(random.next() < 0.2 && { resource: random.next() < 0.5 ? 'https://reports.example/api' : 'urn:example:menus' }),
  };
};

/** The restaurants of each request that is answered with 200. */
const reachOf = async (token: string): Promise<Map<string, string[]>> => {
  const reach = new Map<string, string[]>();
  for (const [method, target] of requests) {
    const { status } = await door.call(token, method, target);
    if (status === 200) reach.set(`${method} ${target}`, door.tenantsSeen());
    else expect([401, 403]).toContain(status);
  }
  return reach;
};

test('A-399 nothing that a token may do, and for no restaurant, is refused to the token that it was exchanged from', async () => {
  const random = createRandom(randomSeed());
  let compared = 0;
  let smaller = 0;
  for (let round = 0; round < 40; round += 1) {
    const issued = await door.ask(randomWish(random));
    if (issued.status !== 200) continue;
    let token = String(issued.json.access_token);
    let before = await reachOf(token);
    for (let step = 0; step < 4; step += 1) {
      const wish = randomWish(random);
      const reply = await door.exchange(token, wish);
      if (reply.status !== 200) continue;
      token = String(reply.json.access_token);
      const reach = await reachOf(token);
      for (const [request, tenants] of reach) {
        const message = `seed ${random.seed}: ${request} with ${JSON.stringify(wish)}`;
        expect(before.get(request) ?? [], message).toEqual(expect.arrayContaining(tenants));
        compared += 1;
      }
      if (JSON.stringify([...reach]) !== JSON.stringify([...before])) smaller += 1;
      before = reach;
    }
  }
  expect([compared > 30, smaller > 5], `seed ${random.seed}: ${compared} requests, ${smaller} narrowed`).toEqual([
    true,
    true,
  ]);
});
