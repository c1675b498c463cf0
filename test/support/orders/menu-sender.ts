/** Menus to send and the ways to send and read them, for tests of menu/import. */
import { expect } from 'vitest';
import type { Answer, Json, TestOrdering, TestRestaurant } from '../ordering.ts';

export type Body = Record<string, unknown>;

export const category = (ext_id: string, more: Body = {}): Body => ({ ext_id, name: `Category ${ext_id}`, ...more });
export const product = (ext_id: string, more: Body = {}): Body => ({
  ext_id,
  category_ext_id: 'C1',
  name: `Product ${ext_id}`,
  price: 7.5,
  ...more,
});

export const size: Body = {
  ext_id: 'size',
  name: 'Size',
  type: 'single',
  min_selectable: 1,
  primary: true,
  option_values: [
    { ext_id: 's', name: 'Small' },
    { ext_id: 'l', name: 'Large', price_operand: 4 },
  ],
};
export const toppings: Body = {
  ext_id: 'toppings',
  name: 'Toppings',
  type: 'multiple',
  max_selectable: 6,
  option_values: [
    { ext_id: 'ham', name: 'Ham', price_operand: '1.50' },
    { ext_id: 'egg', name: 'Egg', price_operand: 1, restrict_to_primary_value_ext_ids: ['l'] },
  ],
};

/** Findings as [code, pointer]. */
export const codesOf = (report: Json): [string, string][] =>
  report.errors.map((error: Json): [string, string] => [error.code, error.pointer]);

export type MenuSender = ReturnType<typeof createMenuSender>;

/** Sends as the restaurant's own client unless another caller is given; `replace` from `till-1` unless the body says otherwise. */
export const createMenuSender = (core: TestOrdering) => {
  const send = (restaurant: TestRestaurant, body: Body, caller = restaurant.caller): Promise<Answer> =>
    core.call('POST', '/menu/import', { caller, body: { pos_uid: 'till-1', update_mode: 'replace', ...body } });

  const accepted = async (restaurant: TestRestaurant, body: Body, caller = restaurant.caller): Promise<Json> => {
    const answer = await send(restaurant, body, caller);
    expect(answer.json.import?.errors ?? answer.json).toEqual([]);
    expect(answer.status).toBe(200);
    return answer.json.import;
  };

  const refused = async (restaurant: TestRestaurant, body: Body): Promise<Json> => {
    const answer = await send(restaurant, body);
    expect([answer.status, answer.json.error]).toEqual([422, 'IMPORT_ERROR']);
    expect(answer.json.import).toMatchObject({ state: 'failed', version: null });
    return answer.json.import;
  };

  const list = async (what: 'categories' | 'products', restaurant: TestRestaurant): Promise<Json[]> =>
    (await core.call('GET', `/menu/${what}`, { caller: restaurant.caller, query: { visible: 0 } })).json[what];

  /** Everything that a reader sees of the menu. */
  const menuOf = async (restaurant: TestRestaurant): Promise<Json> => ({
    categories: await list('categories', restaurant),
    products: await list('products', restaurant),
  });

  const uidsByExtId = async (
    what: 'categories' | 'products',
    restaurant: TestRestaurant,
  ): Promise<Map<string, string>> => new Map((await list(what, restaurant)).map((each) => [each.ext_id, each.uid]));

  return { send, accepted, refused, list, menuOf, uidsByExtId };
};
