/**
 * The demo restaurant of a first start, a sandbox: a menu, a delivery zone, a loyalty rule, one API key, one API client and one webhook
 * endpoint that points at the built-in receiver. The restaurant is created once, in one transaction. Credentials are created
 * again until a start has shown them: a crash in between would otherwise leave secrets that were never shown.
 */
import type { Kysely } from 'kysely';
import { createCredentials } from '#src/gateway/index.ts';
import { createRestaurant, hasRestaurants, importMenu, listProducts } from '#src/ordering/index.ts';
import { firstItems } from '#src/platform/db/bounded-list.ts';
import { readFact, writeFact } from '#src/platform/db/facts.ts';
import { setKinds } from '#src/platform/db/outbox/outbox.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { createEndpoint, moveEndpoint } from '#src/webhooks/index.ts';
import { endpointsDeps } from '../admin/admin-webhooks.ts';
import { tenantFacts } from '../admin/create-restaurant.ts';
import type { Installation } from '../installation/installation.ts';
import type { Settings } from '../settings/config.ts';
import { demoCategories, demoProducts } from './demo-menu.ts';
import { createReceiver, receiverPath } from './receiver.ts';

export type DemoCredentials = {
  restuid: string;
  restaurantName: string;
  apiKey: string;
  clientId: string;
  clientSecret: string;
  webhookSecret: string;
  productUid: string;
  sizeOption: { uid: string; valueUid: string };
};

export type Demo = {
  receiver: ReturnType<typeof createReceiver>;
  /** Credentials to print; undefined once they were shown. */
  fresh: DemoCredentials | undefined;
  /** The route table has the operation that inserts an order; that of an operator may not. */
  takesOrders: boolean;
  /** Call after printing. */
  markShown(): Promise<void>;
};

const restaurantName = 'Trattoria da Ada';
const demoRestaurant = { name: restaurantName, timeZone: 'Europe/Rome', currency: 'EUR', sandbox: true };

type DemoState = {
  restuid: string;
  endpointUid: string;
  keyId: string;
  clientId: string;
  webhookSecret: string;
  shown: boolean;
};

const factName = 'demo';
const sealLabel = 'demo';

type DemoDeps = {
  installation: Installation;
  settings: Settings;
  dataDir: string;
  origin: string;
  routes: readonly { path: string }[];
};

/**
 * Creates or continues the demo. Returns undefined when the store was in use before a demo could be created: an operator
 * with restaurants needs no demo.
 */
export const createDemo = async (deps: DemoDeps): Promise<Demo | undefined> => {
  const { store, box } = deps.installation;
  const kept = await readFact(store.db, factName);
  if (kept === undefined && (await hasRestaurants(store.db))) return undefined;
  let state =
    kept === undefined ? undefined : (JSON.parse(box.open(Buffer.from(kept, 'base64'), sealLabel)) as DemoState);
  let fresh: DemoCredentials | undefined;
  if (state?.shown !== true) {
    const made = await makeDemo(deps, state);
    state = made.state;
    fresh = made.fresh;
  }
  const current = state;
  // The port may differ from the last start; the receiver is at the address of this process.
  await moveEndpoint(store.db, {
    tenant: current.restuid,
    uid: current.endpointUid,
    url: `${deps.origin}${receiverPath}`,
  });
  return {
    receiver: createReceiver({ dataDir: deps.dataDir, secret: () => current.webhookSecret }),
    fresh,
    takesOrders: deps.routes.some(({ path }) => path === '/api/order/create'),
    markShown: () => saveState(deps, { ...current, shown: true }),
  };
};

const saveState = ({ installation: { store, box } }: DemoDeps, state: DemoState): Promise<void> =>
  writeFact(store.db, factName, box.seal(JSON.stringify(state), sealLabel).toString('base64'));

/** `earlier`: a demo whose credentials were never shown; they are revoked and created again. */
const makeDemo = async (
  deps: DemoDeps,
  earlier: DemoState | undefined,
): Promise<{ state: DemoState; fresh: DemoCredentials }> => {
  const { store, box, clock } = deps.installation;
  const credentials = createCredentials({ db: store.db, box, clock });
  return inTransaction(store.db, async (tx) => {
    const restuid = earlier?.restuid ?? (await makeRestaurant(deps, tx));
    if (earlier === undefined) await credentials.createTenant(restuid, tx, tenantFacts(demoRestaurant));
    else {
      await credentials.revokeApiKey(earlier.keyId, tx);
      await credentials.disableClient(earlier.clientId, tx);
    }
    const key = await credentials.createApiKey({ tenant: restuid, name: 'Demo key' }, tx);
    const client = await credentials.createClient({ name: 'Demo client', tenants: [restuid] }, tx);
    const endpoint =
      earlier === undefined
        ? await createEndpoint(
            { ...endpointsDeps(deps.installation, deps.settings, [deps.origin]), db: tx },
            { tenant: restuid, url: `${deps.origin}${receiverPath}`, owner: { kind: 'panel', id: 'demo' } },
          )
        : { endpointUid: earlier.endpointUid, secret: earlier.webhookSecret };
    const state: DemoState = {
      restuid,
      endpointUid: endpoint.endpointUid,
      keyId: key.keyId,
      clientId: client.clientId,
      webhookSecret: endpoint.secret,
      shown: false,
    };
    await writeFact(tx, factName, box.seal(JSON.stringify(state), sealLabel).toString('base64'));
    const product = await findDemoProduct(tx, restuid);
    return {
      state,
      fresh: {
        restuid,
        restaurantName,
        apiKey: key.value,
        clientId: client.clientId,
        clientSecret: client.secret,
        webhookSecret: endpoint.secret,
        ...product,
      },
    };
  });
};

/** The polygon is for callers that send coordinates, postal codes are for callers that send an address. */
const zones = [
  {
    name: 'Centro',
    fee: 250,
    orderMin: 1000,
    polygon: [
      [43.79, 11.22],
      [43.79, 11.29],
      [43.75, 11.29],
      [43.75, 11.22],
    ],
  },
  {
    name: 'Firenze',
    fee: 350,
    orderMin: 1500,
    zips: ['50121', '50122', '50123', '50124', '50125', '50126', '50127', '50129'],
  },
] as const;

const makeRestaurant = async ({ installation }: DemoDeps, tx: Kysely<unknown>): Promise<string> => {
  const now = installation.clock.now();
  const { uid } = await createRestaurant(
    tx,
    {
      ...demoRestaurant,
      zones,
      pointsPerUnit: 1,
      pointValue: 0.05,
      signupPoints: 1000,
    },
    now,
  );
  await importMenu(tx, {
    restuid: uid,
    owner: null,
    posUid: 'demo',
    mode: 'merge',
    categories: demoCategories,
    products: demoProducts,
    now,
  });
  await setKinds(tx, uid, { customers: true, orders: true, loyaltylog: true, menu: true });
  return uid;
};

/** The product of the printed example order: a pizza and its size. */
const findDemoProduct = async (
  tx: Kysely<unknown>,
  restuid: string,
): Promise<Pick<DemoCredentials, 'productUid' | 'sizeOption'>> => {
  const { rows: items } = await listProducts(tx, restuid, { visibleOnly: true, part: 'Margherita' }, firstItems(1));
  const [sale] = items;
  const size = sale?.options.find((option) => option.primary);
  const value = size?.option_values[0];
  if (sale === undefined || size === undefined || value === undefined)
    throw new Error('the demo menu has no Margherita');
  return { productUid: sale.product.uid, sizeOption: { uid: size.uid, valueUid: value.uid } };
};
