/** A client of a new restaurant that imports a menu of one product and orders it. */
import { expect } from 'vitest';
import { importsAnswer } from '../../support/orders/imports-answer.ts';
import { type RunningProgram, runJson } from '../../support/program.ts';

const menu = {
  pos_uid: 'till',
  update_mode: 'merge',
  categories: [{ ext_id: 'C', name: 'Pizze' }],
  products: [{ ext_id: 'P', category_ext_id: 'C', name: 'Marinara', price: 6 }],
};

export type Till = { headers: Record<string, string>; order: () => Promise<Response> };

/** `prepare`: what the restaurant has before its client is made. */
export const openTill = async (
  program: Pick<RunningProgram, 'url'>,
  env: Record<string, string>,
  prepare: (of: readonly string[]) => Promise<void> = async () => undefined,
): Promise<Till> => {
  const { restuid = '' } = await runJson(['restaurant', 'create', '--name', 'Osteria'], env);
  const of = ['--restaurant', restuid];
  await prepare(of);
  const made = await runJson(['client', 'create', '--name', 'Till', ...of], env);
  const headers = {
    'x-client-id': String(made.client_id),
    'x-client-secret': String(made.client_secret),
    'content-type': 'application/json',
  };
  const post = (path: string, body: unknown): Promise<Response> =>
    fetch(`${program.url}/api${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  await importsAnswer(program.url, headers);
  expect((await post('/menu/import', menu)).status).toBe(200);
  const found = await (await fetch(`${program.url}/api/menu/products`, { headers })).json();
  const [product] = (found as { products: { uid: string }[] }).products;
  const order = {
    client: { first_name: 'Ada', email: 'ada@example.com' },
    dmethod: '0t',
    table: '4',
    payment_method: 'external',
    details: [{ product: { uid: product?.uid }, quantity: 1 }],
  };
  return { headers, order: () => post('/order/create', order) };
};
