/** Restaurants with menus and known customers on a running program, and orders that it takes. */

import type { SocketConnection } from '#src/platform/db/driver/socket-connection.ts';
import { embeddedConnection } from '#src/platform/db/embedded/embedded.ts';
import { type RunningProgram, runJson } from '../../../support/program.ts';

const restaurantsCount = 4;
const customersOfRestaurant = 16;
/** Each waits up to 20 s for the import process. */
const importRepeatsMax = 6;

export type Shops = {
  connection: SocketConnection;
  clientId: string;
  restaurants: { restuid: string; bodies: string[] }[];
  /** For the load: each body in turn is the order of another customer. */
  request: { headers: Record<string, string>; bodies: string[] };
};

const menu = {
  pos_uid: 'bench',
  update_mode: 'replace',
  categories: [{ ext_id: 'C', name: 'Pizza' }],
  products: ['Margherita', 'Napoli', 'Diavola'].map((name, index) => ({
    ...{ ext_id: `P${index}`, category_ext_id: 'C', name, price: 8.5 },
    options: [
      {
        ...{ ext_id: 'extras', name: 'Extras', type: 'multiple' },
        option_values: ['Ham', 'Egg', 'Olives'].map((value) => ({ ext_id: value, name: value, price_operand: 1.2 })),
      },
    ],
  })),
};

export const openShops = async (program: RunningProgram, env: Record<string, string>): Promise<Shops> => {
  const restuids: string[] = [];
  for (let index = 0; index < restaurantsCount; index += 1) {
    const { restuid } = await runJson(['restaurant', 'create', '--name', `Bench ${index}`], env);
    restuids.push(String(restuid));
  }
  const grants = restuids.flatMap((restuid) => ['--restaurant', restuid]);
  const client = await runJson(['client', 'create', '--name', 'Bench', ...grants], env);
  const [clientId, clientSecret] = [String(client.client_id), String(client.client_secret)];
  const token = await fetch(`${program.url}/api/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
    }),
  });
  const { access_token: accessToken } = (await token.json()) as { access_token: string };
  const headers = { authorization: `Bearer ${accessToken}`, 'content-type': 'application/json' };
  const call = async (method: string, path: string, body?: object) => {
    const ask = () =>
      fetch(`${program.url}/api${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    let answer = await ask();
    // The import process has a low priority, so on a busy machine it starts late.
    for (let repeats = 0; answer.status === 503 && repeats < importRepeatsMax; repeats += 1) answer = await ask();
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text.slice(0, 500)}`);
    return JSON.parse(text) as {
      products: { uid: string; options: { uid: string; option_values: { uid: string }[] }[] }[];
    };
  };
  const restaurants: Shops['restaurants'] = [];
  for (const restuid of restuids) {
    await call('POST', '/menu/import', { ...menu, restuid });
    const { products } = await call('GET', `/menu/products?restuid=${restuid}`);
    const details = products.slice(0, 2).map((product) => ({
      product: { uid: product.uid },
      quantity: 2,
      options: product.options.map(({ uid, option_values }) => ({
        uid,
        values: option_values.slice(0, 2).map((value) => ({ uid: value.uid })),
      })),
    }));
    const bodies: string[] = [];
    for (let customer = 0; customer < customersOfRestaurant; customer += 1) {
      const person = { first_name: 'Ada', last_name: 'Bianchi', email: `ada-${customer}@example.com` };
      const order = { restuid, client: person, dmethod: '0t', table: '7', payment_method: 'cash', details };
      bodies.push(JSON.stringify({ ...order, payment_method_sub: 'pos' }));
      // From now on a known one.
      await call('POST', '/order/create', JSON.parse(bodies.at(-1) ?? '') as object);
    }
    restaurants.push({ restuid, bodies });
  }
  const found = await embeddedConnection(env.ORDERPASS_DATA_DIR ?? '');
  if (found === undefined) throw new Error('the program has no PostgreSQL of its own');
  const { connection } = found;
  const bodies = Array.from({ length: customersOfRestaurant }, (_, i) =>
    restaurants.map((shop) => shop.bodies[i] ?? ''),
  );
  return { connection, clientId, restaurants, request: { headers, bodies: bodies.flat() } };
};
