/**
 * The demo of a start with `--demo-data`: the demo restaurant with a week of life behind it. The week is filled in before the
 * program serves, on an empty store only. It continues at the next start when a start did not finish it, and a finished week
 * is never added to.
 */
import { Fault } from '#src/contract/fault.ts';
import { loadScopeNames, routesFileOf } from '#src/gateway/config.ts';
import { createCredentials } from '#src/gateway/index.ts';
import { hasRestaurants } from '#src/ordering/index.ts';
import { hourMs, minuteMs } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { createEndpoint, moveEndpoint } from '#src/webhooks/index.ts';
import { endpointsDeps } from '../../admin/admin-webhooks.ts';
import { receiverPath } from '../../settings/demo-path.ts';
import { createDemo, type Demo, type DemoCredentials, type DemoDeps, hasDemo, isDemoAlone } from '../demo.ts';
import { createMovedClock, type MovedClock, openPast, type PastDeps, refusingOrigin } from './past-program.ts';
import { outageOf, type PlannedStep, planWeek, weekOf } from './plan-week.ts';
import { openStage, playStep, poll, type Stage, type WeekCredentials } from './play-week.ts';
import { readWeek, type WeekState, writeWeek } from './week-state.ts';

/** What the terminal shows of it. */
export type WeekProgress = { begin(note: string): void; show(percent: number): void; end(note: string): void };

type WeekDeps = DemoDeps &
  Pick<PastDeps, 'secrets'> & {
    /** The start was asked for demo data. */
    wanted: boolean;
    progress: WeekProgress;
  };

/** Throws CONFLICT when demo data is wanted where it may not be. A begun week that cannot be finished is left as it is. */
export const createDemoWithWeek = async (deps: WeekDeps): Promise<Demo | undefined> => {
  const { db } = deps.installation.store;
  const kept = await readWeek(db);
  if (kept === undefined && !deps.wanted) return createDemo(deps);
  if (kept?.finished === true && hasDemo(deps)) {
    if (deps.wanted) deps.progress.end('The demo data is complete: this start adds nothing to it.');
    return withOrigin(await createDemo(deps));
  }
  const problem = await weekProblem(deps, kept);
  if (problem !== undefined) {
    if (deps.wanted) throw new Fault('CONFLICT', `--demo-data adds nothing: ${problem}`);
    return createDemo(deps);
  }
  const state: WeekState = kept ?? weekOf(deps.installation.clock.now().getTime());
  if (kept === undefined) await writeWeek(db, state);
  const clock = createMovedClock(state.done ?? state.from);
  const demo = await createDemo({ ...deps, installation: { ...deps.installation, clock } });
  if (demo?.fresh === undefined) {
    // A start that could not finish the week has shown them, and they are stored nowhere else.
    if (deps.wanted) deps.progress.end(`The demo data stays incomplete: an earlier start has shown the credentials.`);
    return demo;
  }
  await fillWeek(deps, demo, demo.fresh, state, clock);
  return withOrigin(demo);
};

/** Why no week is filled in; undefined when nothing is against it. */
const weekProblem = async (deps: WeekDeps, kept: WeekState | undefined): Promise<string | undefined> => {
  if (!hasDemo(deps)) return 'it belongs to role all with the embedded store, outside production and without TLS';
  if (!loadScopeNames(routesFileOf(deps.settings.gateway)).includes('write:orders'))
    return 'the route table of ORDERPASS_ROUTES_FILE has no operations for orders';
  if (kept === undefined && (await hasRestaurants(deps.installation.store.db)))
    return 'this store is not empty. Start with another ORDERPASS_DATA_DIR, or without --demo-data';
  return (await isDemoAlone(deps)) ? undefined : 'this store has other restaurants';
};

/** The engine of the program may try this address: otherwise the failure would be another one. */
const withOrigin = (demo: Demo | undefined): Demo | undefined => demo && { ...demo, origins: [refusingOrigin] };

const fillWeek = async (
  deps: WeekDeps,
  demo: Demo,
  fresh: DemoCredentials,
  first: WeekState,
  clock: MovedClock,
): Promise<void> => {
  const { installation, progress } = deps;
  const { db } = installation.store;
  const moveTo = (url: string) => moveEndpoint(db, { tenant: fresh.restuid, uid: demo.endpointUid, url });
  progress.begin(
    'The demo restaurant gets a week of orders, customers, webhooks and refusals. This takes some seconds.',
  );
  const past = await openPast(deps, clock);
  try {
    await moveTo(past.receiverUrl);
    past.answerWith(answersOf(clock, first));
    const week = { ...deps, clock, restuid: fresh.restuid };
    const { state, courier } = await openCourier(week, first);
    const till = { id: fresh.clientId, secret: fresh.clientSecret };
    const stage = await openStage(past, clock, { apiKey: fresh.apiKey, till, courier });
    const ended = await playAll(week, stage, state, progress);
    await fillLimits(week, stage, ended);
    clock.moveTo(state.to);
    await past.settle();
    await moveTo(`${deps.origin}${receiverPath}`);
    await writeWeek(db, { ...ended, done: state.to, finished: true });
    progress.end('The demo data is complete.');
  } finally {
    await past.close();
  }
};

type Week = WeekDeps & { clock: MovedClock; restuid: string };

/** A customer whose events the receiver never takes. */
const neverTaken = 'sara.conti@example.com';

const answersOf = (clock: MovedClock, week: WeekState): ((body: string) => number) => {
  const outage = outageOf(week);
  return (body) => {
    const nowMs = clock.now().getTime();
    if (nowMs >= outage.from && nowMs < outage.to) return 503;
    return body.includes('customer.changed') && body.includes(neverTaken) ? 500 : 204;
  };
};

const dayUnits = 120;

/** The second client. A week that is continued gives it a new secret, since the first one is stored nowhere. */
const openCourier = async (
  { installation: { store, box }, clock, restuid }: Week,
  state: WeekState,
): Promise<{ state: WeekState; courier: WeekCredentials['courier'] }> => {
  const credentials = createCredentials({ db: store.db, box, clock });
  if (state.courier !== undefined) {
    const { secret } = await credentials.rotateClientSecret(state.courier, 0);
    return { state, courier: { id: state.courier, secret } };
  }
  const scopes = ['read:orders', 'read:menu'];
  return inTransaction(store.db, async (tx) => {
    const limits = { day: dayUnits, month: 25 * dayUnits };
    const made = await credentials.createClient({ name: 'Corriere Veloce', tenants: [restuid], scopes, limits }, tx);
    const next = { ...state, courier: made.clientId };
    await writeWeek(tx, next);
    return { state: next, courier: { id: made.clientId, secret: made.secret } };
  });
};

/** Deliveries are waited for once in this time of the week, so that they are not late by more. */
const settleEveryMs = minuteMs;

const playAll = async (
  week: Week,
  stage: Stage,
  first: WeekState,
  progress: WeekDeps['progress'],
): Promise<WeekState> => {
  const { clock, installation } = week;
  const steps = planWeek(first);
  let state = first;
  let settledMs = 0;
  for (const [index, step] of steps.entries()) {
    if (isDone(step, first)) continue;
    if (step.at - settledMs > settleEveryMs) {
      await stage.past.settle();
      settledMs = step.at;
    }
    clock.moveTo(step.at);
    state = await playOne(week, stage, step, state);
    if (step.do === 'wait') {
      state = { ...state, done: step.at };
      await writeWeek(installation.store.db, state);
    }
    progress.show(Math.floor((100 * index) / steps.length));
  }
  return state;
};

/** Longer than an order is open. */
const openMsMax = 3 * hourMs;

/** Orders that were placed shortly before a crash are asked for again: the answer is the first one, by which they are moved. */
const isDone = (step: PlannedStep, { done }: WeekState): boolean =>
  done !== undefined && step.at <= (step.do === 'order' ? done - openMsMax : done);

const playOne = async (week: Week, stage: Stage, step: PlannedStep, state: WeekState): Promise<WeekState> => {
  if (step.do !== 'endpoint') {
    await playStep(stage, step);
    return state;
  }
  if (state.failing !== undefined || state.courier === undefined) return state;
  const { installation, settings, clock, restuid } = week;
  const { courier } = state;
  return inTransaction(installation.store.db, async (tx) => {
    const made = await createEndpoint(
      { ...endpointsDeps({ ...installation, clock }, settings, [refusingOrigin]), db: tx },
      {
        ...{ tenant: restuid, url: `${refusingOrigin}/orders`, kinds: ['orders'], description: 'Corriere Veloce' },
        owner: { kind: 'api_client', id: courier },
      },
    );
    const next = { ...state, failing: made.endpointUid };
    await writeWeek(tx, next);
    return next;
  });
};

const minuteUnits = 12;
const refusalsMax = 3;
/** Of the day's units: what is left is little. */
const usedOfDay = 0.92;

/** Brings the second client near its limits, and beyond that of a minute. */
const fillLimits = async (week: Week, stage: Stage, state: WeekState): Promise<void> => {
  const { installation, clock } = week;
  const { store, box } = installation;
  const { courier } = state;
  if (courier === undefined) return;
  const day = Math.floor(clock.now().getTime() / (24 * hourMs)) * 24 * hourMs;
  const polls = planWeek(state).reduce(
    (sum, step) => sum + (step.do === 'polls' && step.at >= day ? step.count : 0),
    0,
  );
  const left = Math.max(0, Math.floor(dayUnits * usedOfDay) - polls);
  for (let n = 0; n < left; n += 1) await poll(stage, n);
  await createCredentials({ db: store.db, box, clock }).setLimits('client', courier, { minute: minuteUnits });
  // A gateway follows a change within a second, and the first calls may come before that.
  for (let refusals = 0, n = 0; refusals < refusalsMax && n < 4 * minuteUnits; n += 1)
    if ((await poll(stage, 0)).status === 429) refusals += 1;
};
