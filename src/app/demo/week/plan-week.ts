/**
 * Pure: what happens in the demo's week, in the order of time. A restaurant has its lunch and its dinner, fuller evenings at the
 * weekend, and the same plan for the same times, so that a start after a crash continues the plan.
 */
import { startOfDay } from '#src/ordering/index.ts';
import { dayMs, hourMs, minuteMs } from '#src/platform/clock.ts';
import { createRandom, type Random } from '../../sandbox/perform-step.ts';
import { cancelReasons, guests, orderNotes } from './guests.ts';

export type PlannedOrder = {
  do: 'order';
  /** Its number in the plan: what is random about it follows from it. */
  order: number;
  /** Index of the guest. */
  guest: number;
  dmethod: '0' | '1' | '0t';
  table: string;
  lines: number;
  notes: string | null;
  hasCoupon: boolean;
  redeems: boolean;
};

/** `refused`: a call that the gateway refuses. `polls`: calls of the courier, which looks for orders. */
type Step =
  | PlannedOrder
  | { do: 'confirm' | 'close'; order: number }
  | { do: 'cancel'; order: number; reason: string }
  | { do: 'time-out' }
  | { do: 'sign-up'; guest: number }
  | { do: 'points'; guest: number; points: number; notes: string }
  | { do: 'token' }
  | { do: 'polls'; count: number }
  | { do: 'refused'; cause: 'scope' | 'secret' | 'key' }
  | { do: 'endpoint' }
  /** Nothing but time, in which repeated deliveries become due. */
  | { do: 'wait' };

export type PlannedStep = Step & { at: number };

export type WeekTimes = { from: number; to: number };

const timeZone = 'Europe/Rome';
const days = 7;

/** Orders by the day of the week, from Sunday on. */
const ordersOfDay = [22, 11, 13, 14, 17, 27, 31] as const;
/** Minutes after midnight: first and last of a meal, with the share of a day's orders. */
const lunch = { first: 12 * 60 + 5, last: 14 * 60 + 20, share: 0.38 };
const dinner = { first: 19 * 60, last: 22 * 60 + 15, share: 0.62 };
/** How long the restaurant may take to confirm: the countdown of the demo. */
const countdownMs = 10 * minuteMs;
const hoursWithPolls = [11, 12, 13, 14, 17, 18, 19, 20, 21, 22] as const;
const pollsAtOnce = 8;
/** Before the end: long enough for many failed attempts, and less than the time after which an endpoint is disabled. */
const failingForMs = 30 * hourMs;

/** The first guests sign up before the first order. */
export const signedUpMax = 14;

const outageDaysAgo = 3;
const outageMinute = 19 * 60 + 40;
const outageMinutes = 60;

export const weekOf = (to: number): WeekTimes => ({ from: to - days * dayMs, to });

export const planWeek = ({ from, to }: WeekTimes): PlannedStep[] => {
  const random = createRandom(20_260_301);
  const counter = { orders: 0 };
  const signUps = guests.slice(0, signedUpMax).map(
    (_, guest): PlannedStep => ({
      ...{ do: 'sign-up', guest },
      at: from + (guest + 1) * 3 * minuteMs,
    }),
  );
  const opened = from + (signedUpMax + 1) * 3 * minuteMs;
  const steps: PlannedStep[] = [...signUps];
  for (let day = 0; day <= days; day += 1) steps.push(...planDay(from + day * dayMs, opened, random, counter));
  steps.push(
    { do: 'endpoint', at: to - failingForMs },
    { do: 'token', at: to - 4 * minuteMs },
    ...liveOrders(to, random, counter),
  );
  for (let at = from; at < to; at += hourMs) steps.push({ do: 'wait', at });
  return steps.filter(({ at }) => at < to).sort((one, other) => one.at - other.at);
};

type Counter = { orders: number };

/** Midnight of the restaurant before a moment, with the day as `YYYY-MM-DD`. */
const dayOf = (moment: number): { isoDay: string; midnight: number } => {
  const isoDay = new Intl.DateTimeFormat('en-CA', { timeZone, dateStyle: 'short' }).format(moment);
  return { isoDay, midnight: startOfDay(isoDay, timeZone).getTime() };
};

/** The receiver of the restaurant is away for a part of one dinner. */
export const outageOf = ({ to }: WeekTimes): WeekTimes => {
  const from = dayOf(to - outageDaysAgo * dayMs).midnight + outageMinute * minuteMs;
  return { from, to: from + outageMinutes * minuteMs };
};

/** `opened`: before it nothing happens, so that every guest has signed up, and no order is moved that was placed earlier. */
const planDay = (moment: number, opened: number, random: Random, counter: Counter): PlannedStep[] => {
  const { isoDay, midnight } = dayOf(moment);
  const at = (minutes: number): number => midnight + minutes * minuteMs;
  const count = ordersOfDay[new Date(`${isoDay}T12:00:00Z`).getUTCDay()] ?? 0;
  const steps: PlannedStep[] = [];
  for (const meal of [lunch, dinner])
    for (let n = 0; n < Math.round(count * meal.share); n += 1) {
      // The middle of a meal is fuller than its ends.
      const part = (random() + random()) / 2;
      const placed = at(meal.first + part * (meal.last - meal.first));
      const order = planOrder(placed, random, counter);
      if (placed >= opened) steps.push(...order);
    }
  for (const hour of hoursWithPolls) steps.push({ do: 'polls', count: pollsAtOnce, at: at(hour * 60 + 20) });
  for (const hour of [9, 18]) steps.push({ do: 'token', at: at(hour * 60) });
  const guest = Math.floor(random() * signedUpMax);
  steps.push(
    { do: 'points', guest, points: 25, notes: 'Birthday', at: at(10 * 60) },
    { do: 'refused', cause: 'scope', at: at(13 * 60 + 7) },
    { do: 'refused', cause: random() < 0.5 ? 'secret' : 'key', at: at(16 * 60 + 40) },
    { do: 'refused', cause: random() < 0.5 ? 'scope' : 'key', at: at(20 * 60 + 33) },
  );
  return steps.filter((step) => step.at >= opened);
};

const newOrder = (random: Random, counter: Counter): PlannedOrder => {
  const kind = random();
  counter.orders += 1;
  return {
    do: 'order',
    order: counter.orders,
    guest: Math.floor(random() ** 1.6 * guests.length),
    dmethod: kind < 0.42 ? '0t' : kind < 0.72 ? '0' : '1',
    table: String(1 + Math.floor(random() * 16)),
    lines: 1 + Math.floor(random() * 4),
    notes: random() < 0.12 ? (orderNotes[Math.floor(random() * orderNotes.length)] ?? null) : null,
    hasCoupon: random() < 0.06,
    redeems: random() < 0.08,
  };
};

/** An order and what becomes of it: most are closed, some are cancelled, and a few are not confirmed in time. */
const planOrder = (placed: number, random: Random, counter: Counter): PlannedStep[] => {
  const order = newOrder(random, counter);
  const first: PlannedStep = { ...order, at: placed };
  const end = random();
  if (order.dmethod !== '0t' && end < 0.07) return [first, { do: 'time-out', at: placed + countdownMs + 1_000 }];
  // The restaurant enters the orders of its tables itself, so they need no confirmation.
  const confirmed: PlannedStep[] =
    order.dmethod === '0t' ? [] : [{ do: 'confirm', order: order.order, at: placed + (1 + random() * 3) * minuteMs }];
  if (end > 0.93) {
    const reason = cancelReasons[Math.floor(random() * cancelReasons.length)] ?? cancelReasons[0];
    return [
      first,
      ...confirmed,
      { do: 'cancel', order: order.order, reason, at: placed + (5 + random() * 5) * minuteMs },
    ];
  }
  const minutes = order.dmethod === '0t' ? 55 + random() * 30 : 25 + random() * 25;
  return [first, ...confirmed, { do: 'close', order: order.order, at: placed + minutes * minuteMs }];
};

/** What the restaurant sees when the panel is opened, at whatever time of the day that is. */
const liveOrders = (to: number, random: Random, counter: Counter): PlannedStep[] => {
  const live = (minutes: number, dmethod: PlannedOrder['dmethod']): PlannedStep => ({
    ...newOrder(random, counter),
    ...{ dmethod, hasCoupon: false, redeems: false },
    at: to - minutes * minuteMs,
  });
  const [preparing, waiting] = [
    [live(24, '1'), live(19, '0'), live(12, '0t')],
    [live(6, '0'), live(3, '1'), live(1, '0')],
  ];
  const confirmed = preparing.flatMap((one): PlannedStep[] =>
    one.do === 'order' && one.dmethod !== '0t' ? [{ do: 'confirm', order: one.order, at: one.at + 2 * minuteMs }] : [],
  );
  return [...preparing, ...confirmed, ...waiting];
};
