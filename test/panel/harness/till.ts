/** A till in front of the restaurant of a panel: a client with a menu, which inserts and moves orders through the API. */
import { expect } from 'vitest';
import { importsAnswer } from '../../support/orders/imports-answer.ts';
import type { PanelHarness } from './panel-harness.ts';

type Placed = { uid: string; token: string; number: number };

export type Till = {
  clientId: string;
  /** `more`: members of order/create beside those of a small order at a table. */
  order(more?: Readonly<Record<string, unknown>>): Promise<Placed>;
  /** Imports the menu with another price of its product. */
  reprice(price: number): Promise<void>;
  move(move: 'confirm' | 'close' | 'cancel', order: Placed): Promise<void>;
};

type Names = { client?: string; product?: string };

export const openTill = async (
  { command, url }: Pick<PanelHarness, 'command' | 'url'>,
  restuid: string,
  { client: clientName = 'Till at the bar', product: productName = 'Marinara' }: Names = {},
): Promise<Till> => {
  const client = await command('client', 'create', '--name', clientName, '--restaurant', restuid);
  const headers = {
    'x-client-id': client.client_id ?? '',
    'x-client-secret': client.client_secret ?? '',
    'content-type': 'application/json',
  };
  const ask = async (path: string, body?: unknown) => {
    const sent = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    const answer = await fetch(`${url}/api/${path}`, { headers, ...sent });
    const text = await answer.text();
    expect(answer.status, text).toBe(200);
    return JSON.parse(text) as { products?: { uid: string }[]; order?: Placed };
  };
  await importsAnswer(url, headers);
  const importMenu = (price: number) =>
    ask('menu/import', {
      pos_uid: 'till',
      update_mode: 'merge',
      categories: [{ ext_id: 'C', name: 'Pizze' }],
      products: [{ ext_id: 'P', category_ext_id: 'C', name: productName, price }],
    });
  await importMenu(6.5);
  const product = { uid: (await ask('menu/products')).products?.[0]?.uid };
  return {
    clientId: client.client_id ?? '',
    order: async (more = {}) => {
      const { order } = await ask('order/create', {
        client: { first_name: 'Ada', last_name: 'Lovelace', email: 'ada@example.com' },
        dmethod: '0t',
        table: '4',
        payment_method: 'external',
        details: [{ product, quantity: 2, notes: 'well done' }],
        ...more,
      });
      if (order === undefined) throw new Error('no order in the answer');
      return order;
    },
    reprice: async (price) => {
      await importMenu(price);
    },
    move: async (move, { uid, token }) => {
      await ask(`order/${move}`, { uid, token });
    },
  };
};
