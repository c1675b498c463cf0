/** Makes a real example of an event in a sandbox, by the ordinary operations that cause it. */
import { Fault } from '#src/contract/fault.ts';
import { assertClockMoves, describedEvents, moveSandboxClock } from '#src/ordering/index.ts';
import { hourMs } from '#src/platform/clock.ts';
import { enabledKinds } from '#src/platform/db/outbox/outbox.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { Installation } from '../installation/installation.ts';
import type { Settings } from '../settings/config.ts';
import { type Core, openCore } from './call-core.ts';
import { type CoreStep, createRandom, performStep, readMenu, type Stage } from './perform-step.ts';
import { triggerableEvents } from './triggerable-events.ts';

type Did = { uid: string };

const now = { after: 0 };

const plans: Readonly<Record<string, (customer: string) => CoreStep[]>> = {
  'order.new': (customer) => [place(customer)],
  'order.countdown_started': (customer) => [place(customer)],
  'order.timeout': (customer) => [place(customer)],
  'order.confirmed': (customer) => [place(customer), { ...now, do: 'confirm', order }],
  'order.closed': (customer) => [place(customer), { ...now, do: 'confirm', order }, { ...now, do: 'close', order }],
  'order.cancelled': (customer) => [place(customer), { ...now, do: 'cancel', order }],
  'customer.changed': (customer) => [{ ...now, do: 'customer', customer }],
  'loyaltylog.created': (customer) => [
    { ...now, do: 'customer', customer },
    { ...now, do: 'points', customer, points: 10 },
  ],
};

const order = 'triggered';

/** Of the operations that a step calls (interface 5.2). */
const scopesOfStep: Readonly<Record<CoreStep['do'], readonly string[]>> = {
  order: ['write:orders', 'read:menu'],
  confirm: ['manage:orders'],
  close: ['manage:orders'],
  cancel: ['manage:orders'],
  customer: ['write:customers'],
  points: ['write:loyalty'],
};

/** The scopes without which a caller gets no further than a part of what causes the event. */
export const scopesOfCause = (event: string): string[] => {
  if (event === 'menu.changed') return ['write:menu'];
  const ofSteps = (plans[event]?.('guest') ?? []).flatMap((step) => scopesOfStep[step.do]);
  return [...new Set(ofCountdown.includes(event) ? [...ofSteps, 'manage:orders'] : ofSteps)];
};

const place = (customer: string): CoreStep => ({ ...now, do: 'order', order, customer, products: 1 });

/** Longer than every countdown. */
const beyondCountdownMs = 3 * hourMs;

/**
 * Returns the uid of the entity in the event. For order.timeout the clock of the sandbox is moved by three hours. VALIDATION_ERROR for an
 * unknown event, and where the clock cannot be moved so far; CONFLICT when its kind is switched off, and when it needs a countdown and
 * orders have none. All of these change nothing.
 */
export const triggerEvent = async (
  installation: Installation,
  settings: Settings,
  { restuid, event }: { restuid: string; event: string },
): Promise<Did> => {
  const described = describedEventOf(event);
  const { store, clock } = installation;
  const core = await openCore(installation, settings, restuid);
  try {
    if ((await enabledKinds(store.db, restuid))[described.kind] !== true)
      throw new Fault(
        'CONFLICT',
        `Events of the kind ${described.kind} are off: \`notifications set --restaurant ${restuid} --${described.kind} on\``,
      );
    if (event === 'order.timeout') await assertClockMoves(store.db, restuid, beyondCountdownMs);
    const did = await causeEvent(core, event, clock.now().getTime());
    if (event === 'order.timeout')
      await inTransaction(store.db, (tx) => moveSandboxClock(tx, restuid, { byMs: beyondCountdownMs }, clock.now()));
    return did;
  } finally {
    await core.close();
  }
};

/** VALIDATION_ERROR for an unknown event. */
export const describedEventOf = (event: string): (typeof describedEvents)[number] => {
  const described = describedEvents.find((one) => one.event === event);
  if (described === undefined)
    throw new Fault('VALIDATION_ERROR', `There is no event ${event}; there are ${triggerableEvents.join(', ')}`);
  return described;
};

/**
 * Calls the operations after which the event is recorded; order.timeout follows at the end of the countdown. `at`: now, in ms. CONFLICT
 * before any change for an event that needs a countdown, where orders have none or sandbox/clock, which shows it, is refused.
 */
export const causeEvent = async (core: Pick<Core, 'call' | 'now'>, event: string, at: number): Promise<Did> => {
  if (event === 'menu.changed') return changeMenu(core, at);
  if (ofCountdown.includes(event)) await requireCountdown(core, event);
  const stage: Stage = {
    ...{ core, orders: new Map(), random: createRandom(at), run: at.toString(36) },
    menu: event.startsWith('order.') ? await readMenu(core) : [],
  };
  let uid = '';
  // An order is confirmed at once where no confirmation is required, and its order.confirmed is recorded with it.
  let isConfirmed = false;
  for (const step of plans[event]?.('guest') ?? []) {
    if (step.do === 'confirm' && isConfirmed) continue;
    const entity = await succeeded(stage, step);
    isConfirmed = entity.confirmed === true;
    uid = entity.uid ?? uid;
  }
  return { uid };
};

/** Events that only an order with a countdown has. */
const ofCountdown = ['order.countdown_started', 'order.timeout'];

const requireCountdown = async (core: Pick<Core, 'call'>, event: string): Promise<void> => {
  const { error, json } = await core.call('/sandbox/clock', {});
  if (error !== undefined)
    throw new Fault(
      'CONFLICT',
      `The sandbox refused sandbox/clock, which shows the countdown: ${error}, ${String(json.message)}`,
    );
  if ((json.clock as { countdown_minutes: number }).countdown_minutes === 0)
    throw new Fault(
      'CONFLICT',
      `Orders of the sandbox have no countdown, so ${event} does not follow: \`restaurant set --confirmation on --countdown-minutes 10\` gives them one`,
    );
};

type Entity = { uid?: string; confirmed?: boolean };

/** What the step made. */
const succeeded = async (stage: Stage, step: CoreStep): Promise<Entity> => {
  const { error, json } = await performStep(stage, step);
  if (error !== undefined)
    throw new Fault('CONFLICT', `The sandbox refused ${step.do}: ${error}, ${String(json.message)}`);
  const { order: placed, customer, loyaltylog } = json as Record<string, Entity | undefined>;
  return placed ?? customer ?? loyaltylog ?? {};
};

/** A hidden category, which no customer sees, gets another name. */
const changeMenu = async (core: Pick<Core, 'call'>, at: number): Promise<Did> => {
  const { error, json } = await core.call('/menu/import', {
    pos_uid: 'sandbox-trigger',
    update_mode: 'merge',
    categories: [{ ext_id: 'triggered', name: `Triggered ${new Date(at).toISOString()}`, hidden: true }],
  });
  if (error !== undefined)
    throw new Fault('CONFLICT', `The sandbox refused the import: ${error}, ${String(json.message)}`);
  return { uid: 'menu' };
};
