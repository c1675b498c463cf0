/**
 * Plays the steps of the week through the public door of the program of the past. Every write has an idempotency key, so a
 * step that is played again after a crash changes nothing: the till has the same id then, while the API key is a new one. A
 * customer signs up by the key, once for each `signup_uid`.
 */
import { minuteMs } from '#src/platform/clock.ts';
import { createRandom, lineOf, type Product } from '../../sandbox/perform-step.ts';
import { guests } from './guests.ts';
import type { MovedClock, PastProgram } from './past-program.ts';
import { type PlannedOrder, type PlannedStep, signedUpMax } from './plan-week.ts';

type Identity = { id: string; secret: string };

export type WeekCredentials = {
  apiKey: string;
  /** The till of the restaurant: it may do everything. */
  till: Identity;
  /** May read orders and the menu. */
  courier: Identity;
};

type Offered = Product & { price: number };
type Placed = { uid: string; token: string };
type Answer = { status: number; json: Record<string, unknown> };
type Sent = { headers: Record<string, string>; body?: Readonly<Record<string, unknown>>; key?: string };

export type Stage = {
  past: PastProgram;
  clock: MovedClock;
  credentials: WeekCredentials;
  menu: readonly Offered[];
  /** By their number in the plan. */
  placed: Map<number, Placed>;
};

export const openStage = async (past: PastProgram, clock: MovedClock, credentials: WeekCredentials): Promise<Stage> => {
  const stage: Stage = { past, clock, credentials, menu: [], placed: new Map() };
  const { json } = await succeed(stage, 'menu/products?pagesize=100', { headers: clientHeaders(credentials.till) });
  return { ...stage, menu: json.products as Offered[] };
};

/** Everything but what changes the credentials and endpoints of the restaurant. */
export const playStep = async (stage: Stage, step: PlannedStep): Promise<void> => {
  switch (step.do) {
    case 'order':
      return placeOrder(stage, step);
    case 'confirm':
    case 'close':
    case 'cancel':
      return moveOrder(stage, step);
    case 'time-out':
      return stage.past.timeOut();
    case 'sign-up':
      return signUp(stage, step.guest);
    case 'points': {
      const { points: diff_points, notes } = step;
      const body = {
        client_email: guests[step.guest]?.email,
        input_type: 'points',
        diff_op: 'add',
        diff_points,
        notes,
      };
      await succeed(stage, 'loyaltylog/create', {
        headers: clientHeaders(stage.credentials.till),
        body,
        key: `points-${step.at}`,
      });
      return;
    }
    case 'token':
      return getToken(stage);
    case 'polls': {
      for (let n = 0; n < step.count; n += 1) {
        stage.clock.moveTo(step.at + n * pollGapMs);
        await poll(stage, n);
      }
      return;
    }
    case 'refused':
      return refuse(stage, step.cause);
    default:
  }
};

const clientHeaders = ({ id, secret }: Identity): Record<string, string> => ({
  'x-client-id': id,
  'x-client-secret': secret,
});

const call = async ({ past }: Stage, path: string, { headers, body, key }: Sent): Promise<Answer> => {
  const answer = await fetch(`${past.url}/api/${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      ...headers,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(key !== undefined && { 'idempotency-key': `demo-week-${key}` }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: answer.status, json: (await answer.json()) as Record<string, unknown> };
};

const succeed = async (stage: Stage, path: string, sent: Sent): Promise<Answer> => {
  const answer = await call(stage, path, sent);
  if (answer.status !== 200)
    throw new Error(`the demo data was refused: ${path} got ${answer.status} ${JSON.stringify(answer.json)}`);
  return answer;
};

const placeOrder = async (stage: Stage, planned: PlannedOrder & { at: number }): Promise<void> => {
  const { credentials } = stage;
  const { order, guest, dmethod, table, notes } = planned;
  const random = createRandom(order);
  const headers = clientHeaders(credentials.till);
  const person = guests[guest] ?? guests[0];
  if (person === undefined) throw new Error('the demo has no guests');
  const { street, zip, ...client } = person;
  const ready = { date: new Date(planned.at + 40 * minuteMs).toISOString() };
  const address = { street, zip, number: String(1 + Math.floor(random() * 90)), city: 'Firenze', country: 'IT' };
  const coupon = planned.hasCoupon ? await takeCoupon(stage, order) : undefined;
  const body = {
    client,
    dmethod,
    details: linesOf(stage, planned, random),
    ...(dmethod === '0t'
      ? { table, creator: 'restaurant' }
      : dmethod === '0'
        ? { pickup: ready }
        : { delivery: { ...ready, address } }),
    ...(random() < 0.5
      ? { payment_method: 'external' }
      : { payment_method: 'cash', payment_method_sub: random() < 0.5 ? 'pos' : 'cash' }),
    ...(notes !== null && { notes }),
    ...(coupon !== undefined && { coupon: { code: coupon } }),
    // What each of the first guests got for signing up.
    ...(planned.redeems && guest < signedUpMax && { redeem_points: 2 }),
    external_id: `week-${order}`,
  };
  const { json } = await succeed(stage, 'order/create', { headers, body, key: `order-${order}` });
  stage.placed.set(order, json.order as Placed);
};

/** A delivery has a least value, which three dishes reach. */
const dishPriceMin = 7;

const linesOf = ({ menu }: Stage, { dmethod, lines }: PlannedOrder, random: () => number) => {
  const dishes = menu.filter(({ price }) => price >= dishPriceMin);
  const offered = dmethod === '1' ? dishes : menu;
  return Array.from({ length: dmethod === '1' ? Math.max(3, lines) : lines }, () => {
    const product = offered[Math.floor(random() * offered.length)];
    if (product === undefined) throw new Error('the demo menu has no such products');
    return lineOf(product, random);
  });
};

const takeCoupon = async (stage: Stage, order: number): Promise<string> => {
  const headers = clientHeaders(stage.credentials.till);
  const body = { gencode: 'SPRING' };
  const { json } = await succeed(stage, 'coupon/generate', { headers, body, key: `coupon-${order}` });
  return (json.coupon as { code: string }).code;
};

const moveOrder = async (
  stage: Stage,
  { do: move, order, ...more }: { do: string; order: number; reason?: string; at: number },
): Promise<void> => {
  const { uid, token } = stage.placed.get(order) ?? {};
  const headers = clientHeaders(stage.credentials.till);
  const body = { uid, token, ...(more.reason !== undefined && { reason: more.reason }) };
  await succeed(stage, `order/${move}`, { headers, body, key: `${move}-${order}` });
};

const signUp = async (stage: Stage, guest: number): Promise<void> => {
  const { street: address, ...person } = guests[guest] ?? {};
  const body = {
    ...person,
    address,
    city: 'Firenze',
    country: 'IT',
    signup_uid: `app-2${String(guest).padStart(3, '0')}`,
  };
  const headers = { 'x-api-key': stage.credentials.apiKey };
  await succeed(stage, 'customer/create', { headers, body, key: `guest-${guest}` });
};

const getToken = async ({ past, credentials: { till } }: Stage): Promise<void> => {
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: till.id,
    client_secret: till.secret,
    scope: 'read:orders write:orders',
  });
  await (await fetch(`${past.url}/api/oauth/token`, { method: 'POST', body })).arrayBuffer();
};

const pollGapMs = 1_000;

export const poll = (stage: Stage, n: number): Promise<Answer> => {
  const path = n % 4 === 3 ? 'menu/categories' : 'orders/list?pagesize=20';
  return call(stage, path, { headers: clientHeaders(stage.credentials.courier) });
};

const refuse = async (stage: Stage, cause: 'scope' | 'secret' | 'key'): Promise<void> => {
  const { courier } = stage.credentials;
  if (cause === 'key')
    await call(stage, 'orders/list', { headers: { 'x-api-key': `${stage.credentials.apiKey.slice(0, -4)}0000` } });
  else if (cause === 'secret')
    await call(stage, 'orders/list', {
      headers: clientHeaders({ ...courier, secret: `${courier.secret.slice(0, -4)}0000` }),
    });
  else await call(stage, 'customerstats/customers', { headers: clientHeaders(courier) });
};
