/**
 * The steps of a request, and which of them run for which kind. The table is policy: its sequence is interface 6.2, and
 * the first step that fails answers. Steps run one after the other without a promise unless one needs to wait, since this
 * is the hot path.
 */
import type { WriteFault } from './answer/write-answer.ts';
import type { Exchange, Step } from './request/exchange.ts';

/**
 * `plain`: an operation, forwarded or answered here. `upgrade`: a request that becomes a WebSocket (upstream/upgrade.ts
 * forwards it). `check`: /auth/check on behalf of another proxy (access/auth-check.ts answers it). Paths of the gateway
 * itself (edge/own-paths.ts) take none of these steps; the size of the head is checked before, for every kind
 * (edge/check-request-head.ts).
 */
export type RequestKind = 'plain' | 'upgrade' | 'check';

// biome-ignore format: the columns of a table
const stepTable = {
  //                      plain upgrade check     interface 6.2
  matchRoute:             [true,  false, false], // 2, 3; answers OPTIONS
  matchRouteOnly:         [false, true,  true], //  2, 3; refuses OPTIONS, since the answer names no caller
  checkVersion:           [true,  true,  true], //  4
  identifyCaller:         [true,  true,  true], //  5, 6
  requireScopes:          [true,  true,  true], //  7
  tryScopes:              [true,  true,  true], //  counts scopes that are not required yet
  limitRate:              [true,  true,  true], //  8
  recordAllowed:          [true,  true,  true], //  the audit
  simulateFault:          [true,  true,  false], // a fault that a sandbox asks for
  chooseCell:             [true,  true,  true], //  the upstream, where that of the route has cells
  limitBody:              [true,  false, false], // 9
  rewriteTarget:          [true,  true,  false], // the path that the upstream gets
  answerSelf:             [true,  false, false], // operations of the gateway itself
  assertIdentity:         [true,  false, false], // the signed identity for the upstream
  forward:                [true,  false, false],
} as const;

type StepName = keyof typeof stepTable;
export type Steps = Readonly<Record<StepName, Step>>;

const columns: readonly RequestKind[] = ['plain', 'upgrade', 'check'];

/** The steps of one kind of request, in their sequence. */
export const stepsFor = (kind: RequestKind, steps: Steps): readonly Step[] => {
  const column = columns.indexOf(kind);
  return (Object.keys(stepTable) as StepName[]).filter((name) => stepTable[name][column]).map((name) => steps[name]);
};

export type Pipeline = (exchange: Exchange) => void;

export const createPipeline = (steps: readonly Step[], writeFault: WriteFault): Pipeline => {
  const runFrom = (exchange: Exchange, first: number): void => {
    try {
      for (let index = first; index < steps.length && !exchange.answered; index += 1) {
        const pending = steps[index]?.(exchange);
        if (pending === undefined) continue;
        pending.then(
          () => runFrom(exchange, index + 1),
          (thrown: unknown) => writeFault(exchange, thrown),
        );
        return;
      }
    } catch (thrown) {
      writeFault(exchange, thrown);
    }
  };
  return (exchange) => runFrom(exchange, 0);
};
