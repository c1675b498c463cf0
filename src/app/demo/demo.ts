/**
 * The demo restaurant of a first start, a sandbox: a menu, a delivery zone, a loyalty rule, what the examples of the reference are about,
 * one API key, one API client and one webhook endpoint of this client that points at the built-in receiver. The restaurant is
 * created once, in one transaction. Key and secret are created again until a start has shown them: a crash in between would
 * otherwise leave secrets that were never shown.
 */
import type { Kysely, Transaction } from 'kysely';
import { createCredentials } from '#src/gateway/index.ts';
import { createRestaurant, hasRestaurants, importMenu, listProducts, setRestaurant } from '#src/ordering/index.ts';
import { firstItems } from '#src/platform/db/bounded-list.ts';
import { readFact, writeFact } from '#src/platform/db/facts.ts';
import { setKinds } from '#src/platform/db/outbox/outbox.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { Operation } from '#src/platform/http/operation.ts';
import { createEndpoint, moveEndpoint } from '#src/webhooks/index.ts';
import { endpointsDeps } from '../admin/admin-webhooks.ts';
import { tenantFacts } from '../admin/create-restaurant.ts';
import type { Installation } from '../installation/installation.ts';
import type { Samples } from '../reference/document/examples/sample-ids.ts';
import type { Settings } from '../settings/config.ts';
import { mayHaveDemo, receiverPath } from '../settings/demo-path.ts';
import { demoCategories, demoProducts } from './demo-menu.ts';
import { type MadeSamples, makeSamples } from './demo-samples.ts';
import { createReceiver } from './receiver.ts';

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
  /** What the examples of the reference are about; undefined for a demo that an earlier release made. */
  samples: Samples | undefined;
  endpointUid: string;
  /** Origins beside this program's own to which the demo's webhooks may go. */
  origins: readonly string[];
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
  samples?: MadeSamples;
  shown: boolean;
};

const factName = 'demo';
const sealLabel = 'demo';

export type DemoDeps = {
  installation: Installation;
  settings: Settings;
  dataDir: string;
  origin: string;
  /** Of the ordering core. Called when the demo is made. */
  operations(): readonly Operation[];
};

export const hasDemo = ({ settings, installation }: DemoDeps): boolean =>
  installation.store.embedded && mayHaveDemo(settings);

/**
 * Creates or continues the demo. Returns undefined where none belongs, and when the store was in use before a demo could be
 * created: an operator with restaurants needs no demo.
 */
export const createDemo = async (deps: DemoDeps): Promise<Demo | undefined> => {
  if (!hasDemo(deps)) return undefined;
  const { store } = deps.installation;
  let state = await readState(deps);
  if (state === undefined && (await hasRestaurants(store.db))) return undefined;
  let fresh: DemoCredentials | undefined;
  if (state?.shown !== true) {
    const made = await makeDemo(deps, state);
    state = made.state;
    fresh = made.fresh;
  }
  const current = state;
  // The port may differ from the last start; the receiver is at the address of this process. An endpoint that was removed
  // is not made again: the receiver then gets no webhooks.
  await moveEndpoint(store.db, {
    tenant: current.restuid,
    uid: current.endpointUid,
    url: `${deps.origin}${receiverPath}`,
  });
  return {
    receiver: createReceiver({ dataDir: deps.dataDir, secret: () => current.webhookSecret }),
    fresh,
    samples: current.samples && { ...current.samples, receiver: `${deps.origin}${receiverPath}` },
    endpointUid: current.endpointUid,
    origins: [],
    markShown: () => saveState(deps, { ...current, shown: true }),
  };
};

const readState = async ({ installation: { store, box } }: DemoDeps): Promise<DemoState | undefined> => {
  const kept = await readFact(store.db, factName);
  return kept === undefined ? undefined : (JSON.parse(box.open(Buffer.from(kept, 'base64'), sealLabel)) as DemoState);
};

/** True when the store has no restaurant but that of the demo. */
export const isDemoAlone = async (deps: DemoDeps): Promise<boolean> =>
  !(await hasRestaurants(deps.installation.store.db, (await readState(deps))?.restuid));

const saveState = ({ installation: { store, box } }: DemoDeps, state: DemoState): Promise<void> =>
  writeFact(store.db, factName, box.seal(JSON.stringify(state), sealLabel).toString('base64'));

/** `earlier`: a demo whose credentials were never shown; its key and the secret of its client are replaced. */
const makeDemo = async (
  deps: DemoDeps,
  earlier: DemoState | undefined,
): Promise<{ state: DemoState; fresh: DemoCredentials }> => {
  const { store, box, clock } = deps.installation;
  const credentials = createCredentials({ db: store.db, box, clock });
  return inTransaction(store.db, async (tx) => {
    const made =
      earlier === undefined ? await makeRestaurant(deps, credentials, tx) : await renew(credentials, earlier, tx);
    const { restuid, clientId, secret, endpointUid, webhookSecret } = made;
    const key = await credentials.createApiKey({ tenant: restuid, name: 'Demo key' }, tx);
    const state: DemoState = {
      restuid,
      endpointUid,
      keyId: key.keyId,
      clientId,
      webhookSecret,
      ...(made.samples !== undefined && { samples: made.samples }),
      shown: false,
    };
    await writeFact(tx, factName, box.seal(JSON.stringify(state), sealLabel).toString('base64'));
    const product = await findDemoProduct(tx, restuid);
    return {
      state,
      fresh: { restuid, restaurantName, apiKey: key.value, clientId, clientSecret: secret, webhookSecret, ...product },
    };
  });
};

type Credentials = ReturnType<typeof createCredentials>;
type Made = Omit<DemoState, 'keyId' | 'shown'> & { secret: string };

/** The client stays: it owns the endpoint, the menu and the orders. */
const renew = async (credentials: Credentials, earlier: DemoState, tx: Transaction<unknown>): Promise<Made> => {
  await credentials.revokeApiKey(earlier.keyId, tx);
  const { secret } = await credentials.rotateClientSecret(earlier.clientId, 0, tx);
  return { ...earlier, secret };
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

const countdownMinutes = 10;

/** With its client, which owns what a client can own, so that it can change all of it. */
const makeRestaurant = async (deps: DemoDeps, credentials: Credentials, tx: Transaction<unknown>): Promise<Made> => {
  const { installation, settings, origin } = deps;
  const now = installation.clock.now();
  // The orders that the examples are about wait for the reader, however long that takes.
  const terms = { zones, pointsPerUnit: 1, pointValue: 0.05, signupPoints: 1000, countdownMinutes: 0 };
  const { uid: restuid, locationUid } = await createRestaurant(tx, { ...demoRestaurant, ...terms }, now);
  await credentials.createTenant(restuid, tx, tenantFacts(demoRestaurant));
  const { clientId, secret } = await credentials.createClient(
    { name: 'Demo client', tenants: [restuid], mayIntrospect: true },
    tx,
  );
  await importMenu(tx, {
    restuid,
    owner: clientId,
    posUid: 'demo',
    mode: 'merge',
    categories: demoCategories,
    products: demoProducts,
    now,
  });
  const { endpointUid, secret: webhookSecret } = await createEndpoint(
    { ...endpointsDeps(installation, settings, [origin]), db: tx },
    { tenant: restuid, url: `${origin}${receiverPath}`, owner: { kind: 'api_client', id: clientId } },
  );
  const caller = { kind: 'api_client' as const, id: clientId, tenants: [restuid], tenants_disabled: [], scopes: [] };
  const operations = deps.operations();
  const samples = await makeSamples({ tx, operations, restuid, locationUid, endpointUid, caller, now });
  await setRestaurant(tx, restuid, { countdownMinutes });
  await setKinds(tx, restuid, { customers: true, orders: true, loyaltylog: true, menu: true });
  return { restuid, clientId, secret, endpointUid, webhookSecret, samples };
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
