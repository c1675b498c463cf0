/**
 * The way of a request to an upstream. The list is policy: its sequence is interface 6.2, and the first step that fails
 * answers. Steps run one after the other without a promise unless one needs to wait, since this is the hot path.
 */
import { type CountAuthentication, countAuthentications } from './access/count-authentications.ts';
import { createIdentifyCaller, type IdentifyCallerDeps } from './access/identify-caller.ts';
import { createLimitRate } from './access/limit-rate.ts';
import { createRequireScopes } from './access/require-scopes.ts';
import type { WriteAnswer, WriteFault } from './answer/write-answer.ts';
import { createCheckVersion } from './edge/check-version.ts';
import type { RateLimits } from './limits/rate-limits.ts';
import { createTryScopes, type NoteDryRun } from './policy/try-scopes.ts';
import type { Exchange, Step } from './request/exchange.ts';
import { createLimitBody } from './request/limit-body.ts';
import { createMatchRoute } from './routing/match-route.ts';
import type { CompiledRoutes } from './routing/route-table.ts';

export type PipelineDeps = IdentifyCallerDeps & {
  routes: CompiledRoutes;
  limits: Pick<RateLimits, 'charge'>;
  /** For the audit. */
  noteAllowed: Step;
  /** Operations of the gateway itself end here. */
  answerSelf: Step;
  assertIdentity: Step;
  forward: Step;
  noteDryRun: NoteDryRun;
  countAuthentication: CountAuthentication;
  write: WriteAnswer;
  writeFault: WriteFault;
};

export type Pipeline = (exchange: Exchange) => void;

export type DecisionDeps = IdentifyCallerDeps & {
  routes: CompiledRoutes;
  limits: Pick<RateLimits, 'charge'>;
  noteAllowed: Step;
  answerOptions: (exchange: Exchange, allow: string) => void;
  /** Hears of callers without the scopes that a route only tries out. */
  noteDryRun: NoteDryRun;
  countAuthentication: CountAuthentication;
};

/** May this caller do that? One list for the pipeline, for upgrades and for the check on behalf of another proxy. */
export const createDecisionSteps = (deps: DecisionDeps): readonly Step[] => [
  createMatchRoute(deps), // 2, 3
  createCheckVersion(), // 4
  countAuthentications(createIdentifyCaller(deps), deps.countAuthentication), // 5, 6
  createRequireScopes(), // 7
  createTryScopes(deps),
  createLimitRate(deps), // 8
  deps.noteAllowed,
];

/** Step 1 (size of the head) is taken before, for every path of the listener. */
export const createPipeline = (deps: PipelineDeps): Pipeline => {
  const answerOptions = (exchange: Exchange, allow: string): void =>
    deps.write(exchange, { status: 204, headers: ['allow', allow], body: undefined });
  const steps: readonly Step[] = [
    ...createDecisionSteps({ ...deps, answerOptions }), // 2 to 8
    createLimitBody(), // 9
    deps.answerSelf,
    deps.assertIdentity,
    deps.forward,
  ];
  const runFrom = (exchange: Exchange, first: number): void => {
    try {
      for (let index = first; index < steps.length && !exchange.answered; index += 1) {
        const pending = steps[index]?.(exchange);
        if (pending === undefined) continue;
        pending.then(
          () => runFrom(exchange, index + 1),
          (thrown: unknown) => deps.writeFault(exchange, thrown),
        );
        return;
      }
    } catch (thrown) {
      deps.writeFault(exchange, thrown);
    }
  };
  return (exchange) => runFrom(exchange, 0);
};
