/** Plays a script in a sandbox. The clock of the sandbox follows the times of the script, however fast it is played. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import { moveSandboxClock } from '#src/ordering/index.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { failNextDeliveries } from '#src/webhooks/index.ts';
import type { Installation } from '../installation/installation.ts';
import type { Settings } from '../settings/config.ts';
import { openCore } from './call-core.ts';
import { type CoreStep, createRandom, performStep, readMenu, type Stage } from './perform-step.ts';
import type { Script, Step } from './script.ts';

export type PlayedStep = {
  /** From 1. */
  step: number;
  /** The time of the sandbox. */
  at: string;
  do: Step['do'];
  /** Name of the order or customer in the script, or how many endpoints. */
  name: string;
  status: number;
  error: string | null;
  /** What the step changed; null when it was refused. */
  uid: string | null;
  /** The answer is the one that the script expects. */
  expected: boolean;
};

export type Played = { steps: PlayedStep[]; unexpected: number; stopped: boolean };

export type PlayOptions = {
  restuid: string;
  script: Script;
  seed: number;
  /** How many times as fast as the script says. */
  speed: number;
  signal: AbortSignal;
  /** Called after each step. */
  onStep(step: PlayedStep, count: number): void;
  /** Called before the first step, so that the audit has a play that ends half-way. */
  onBegin(): Promise<void>;
  /** Called after the last step, also when the play throws. `steps`: that were played. */
  onEnd(steps: number): Promise<void>;
};

/**
 * Throws NOT_FOUND, and VALIDATION_ERROR for a restaurant that is no sandbox or has no products; VALIDATION_ERROR half-way when the
 * script moves the clock beyond its bound.
 */
export const playScript = async (
  installation: Installation,
  settings: Settings,
  options: PlayOptions,
): Promise<Played> => {
  const { restuid, script, seed } = options;
  const core = await openCore(installation, settings, restuid);
  const steps: PlayedStep[] = [];
  try {
    const stage: Stage = {
      ...{ core, menu: await readMenu(core), random: createRandom(seed), orders: new Map() },
      run: installation.clock.now().getTime().toString(36),
    };
    await options.onBegin();
    try {
      await playSteps(installation, stage, options, steps);
    } finally {
      await options.onEnd(steps.length);
    }
  } finally {
    await core.close();
  }
  const unexpected = steps.filter(({ expected }) => !expected).length;
  return { steps, unexpected, stopped: steps.length < script.steps.length };
};

/** Adds each step to `steps` once it is played. */
const playSteps = async (
  { store, clock }: Installation,
  stage: Stage,
  { restuid, script, speed, signal, onStep }: PlayOptions,
  steps: PlayedStep[],
): Promise<void> => {
  for (const step of script.steps) {
    const waitMs = step.after / speed;
    if (!(await waited(waitMs, signal))) break;
    const byMs = Math.round(step.after - waitMs);
    if (byMs > 0) await inTransaction(store.db, (tx) => moveSandboxClock(tx, restuid, { byMs }, clock.now()));
    const at = (await stage.core.now()).toISOString();
    const place = { step: steps.length + 1, at, do: step.do };
    const played: PlayedStep =
      step.do === 'break-endpoints'
        ? { ...place, ...(await breakEndpoints(store.db, restuid, step.deliveries)) }
        : { ...place, ...(await playStep(stage, step)) };
    steps.push(played);
    onStep(played, script.steps.length);
  }
};

type Outcome = Omit<PlayedStep, 'step' | 'at' | 'do'>;

const playStep = async (stage: Stage, step: CoreStep): Promise<Outcome> => {
  const { status, error, json } = await performStep(stage, step);
  const changed = (json.order ?? json.customer ?? json.loyaltylog) as { uid?: string } | undefined;
  return {
    name: 'order' in step ? step.order : step.customer,
    status,
    error: error ?? null,
    uid: error === undefined ? (changed?.uid ?? null) : null,
    expected: error === step.expect,
  };
};

/** A sandbox without endpoints has nothing to break, which is no fault of the script. */
const breakEndpoints = async (db: Kysely<unknown>, restuid: string, deliveries: number): Promise<Outcome> => {
  const endpoints = await failNextDeliveries(db, restuid, deliveries);
  return { name: `${endpoints} endpoints`, status: 200, error: null, uid: null, expected: true };
};

/** A timer of Node that is longer ends at once. */
const timerMsMax = 2 ** 31 - 1;

/** False: the signal ended the wait. */
const waited = async (ms: number, signal: AbortSignal): Promise<boolean> => {
  if (signal.aborted) return false;
  try {
    for (let restMs = ms; restMs > 0; restMs -= timerMsMax)
      await wait(Math.min(restMs, timerMsMax), undefined, { signal });
    return true;
  } catch {
    return false;
  }
};
