/** The load of the failover test at a bounded rate: orders, menu imports, tokens, revocations, and uses of every credential. */
import type { Random } from '../../support/random.ts';
import type { Credential, History } from './history.ts';
import { type Json, pause, type Sender } from './sender.ts';

export type LoadSettings = {
  sender: Sender;
  history: History;
  random: Random;
  client: { client_id: string; client_secret: string };
};

const producersCount = 4;
const pricePath = '/menu/products?pagesize=1';
/** A revoked credential is used for this long after its revocation was acknowledged: longer than a failover. */
const watchMs = 45_000;

/** Resolves when all that was begun is acknowledged; rejects with the first refusal that no failover explains. */
export const runLoad = async (settings: LoadSettings, isOver: () => boolean): Promise<void> => {
  await importMenu(settings, 1);
  const product = await readProduct(settings);
  const producers = Array.from({ length: producersCount }, (_, number) =>
    placeOrders(settings, { number, product, isOver }),
  );
  await Promise.all([
    ...producers,
    importMenus(settings, isOver),
    takeTokens(settings, isOver),
    useCredentials(settings, isOver),
  ]);
};

const headersOf = ({ client_id, client_secret }: LoadSettings['client']): Record<string, string> => ({
  'x-client-id': client_id,
  'x-client-secret': client_secret,
});

const insist = ({ sender, client }: LoadSettings, kind: 'order' | 'close' | 'menu', key: string, body: object) =>
  sender.insist({ kind, key, path: paths[kind], headers: { ...headersOf(client), 'idempotency-key': key }, body });

const paths = { order: '/order/create', close: '/order/close', menu: '/menu/import' };

/** The key of the call that closes an order. */
export const closeKeyOf = (orderKey: string): string => orderKey.replace('order', 'close');

/** Each order has a customer of its own, so that a second effect of a call would show as a second order of the customer. */
export const emailOf = (key: string): string => `${key}@example.com`;

type Producer = { number: number; product: string; isOver: () => boolean };

const placeOrders = async (settings: LoadSettings, { number, product, isOver }: Producer): Promise<void> => {
  for (let count = 1; !isOver(); count += 1) {
    const key = `order-${number}-${count}`;
    const { order } = (await insist(settings, 'order', key, {
      client: { first_name: 'Ada', email: emailOf(key) },
      dmethod: '0t',
      table: '7',
      payment_method: 'cash',
      payment_method_sub: 'cash',
      creator: 'restaurant',
      details: [{ product: { uid: product }, quantity: 1 }],
    })) as { order: { uid: string; token: string } };
    await pause(settings.random.between(50, 300));
    if (count % 2 === 0) continue;
    await insist(settings, 'close', closeKeyOf(key), { uid: order.uid, token: order.token });
  }
};

/** Every import changes the price, which is its number, so each has one event. */
const importMenu = (settings: LoadSettings, price: number): Promise<Json> =>
  insist(settings, 'menu', `menu-${price}`, {
    pos_uid: 'till-1',
    update_mode: 'merge',
    categories: [{ ext_id: 'C1', name: 'Panini' }],
    products: [{ ext_id: 'P1', category_ext_id: 'C1', name: 'Panino', price }],
  });

const importMenus = async (settings: LoadSettings, isOver: () => boolean): Promise<void> => {
  for (let price = 2; !isOver(); price += 1) {
    await pause(settings.random.between(1_000, 3_000));
    await importMenu(settings, price);
  }
};

const readProduct = async ({ sender, client }: LoadSettings): Promise<string> => {
  const { json } = await sender.send({ kind: 'use', key: 'client', path: pricePath, headers: headersOf(client) });
  return (json as { products: [{ uid: string }] }).products[0].uid;
};

/** Takes tokens one after the other, and revokes every second one (RFC 7009). */
const takeTokens = async ({ sender, history, random, client }: LoadSettings, isOver: () => boolean): Promise<void> => {
  for (let count = 1; !isOver(); count += 1) {
    const name = `token-${count}`;
    const form = (more: Record<string, string>): URLSearchParams => new URLSearchParams({ ...client, ...more });
    const { access_token } = await sender.insist({
      kind: 'token',
      key: name,
      path: '/oauth/token',
      headers: {},
      body: form({ grant_type: 'client_credentials' }),
    });
    const credential: Credential = { name, headers: { authorization: `Bearer ${access_token}` } };
    history.credentials.push(credential);
    await pause(random.between(200, 1_000));
    if (count % 2 === 0) continue;
    credential.revokingMs = history.now();
    const body = form({ token: String(access_token) });
    await sender.insist({ kind: 'revoke', key: name, path: '/oauth/revoke', headers: {}, body });
    credential.revokedMs = history.now();
  }
};

/** The newest ones that live, and every one that was revoked a short time ago. */
const inUse = ({ credentials, now }: History): Credential[] => {
  const revoked = credentials.filter(({ revokedMs }) => revokedMs !== undefined && now() - revokedMs < watchMs);
  return [...credentials.filter(({ revokedMs }) => revokedMs === undefined).slice(-3), ...revoked];
};

const useCredentials = async ({ sender, history }: LoadSettings, isOver: () => boolean): Promise<void> => {
  while (!isOver()) {
    for (const { name, headers } of inUse(history)) {
      await sender.send({ kind: 'use', key: name, path: pricePath, headers });
      await pause(20);
    }
    await pause(50);
  }
};
