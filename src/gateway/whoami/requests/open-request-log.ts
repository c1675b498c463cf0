/** Connects the log of callers' requests to the places where requests are refused, answered and ended. */
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import type { Logger } from '#src/platform/log.ts';
import type { Service } from '#src/platform/supervisor.ts';
import type { NoteDenial } from '../../answer/write-answer.ts';
import type { TokenRefusal } from '../../model/traced-fault.ts';
import { TracedFault } from '../../model/traced-fault.ts';
import type { Exchange } from '../../request/exchange.ts';
import { createRequestDays } from './request-days.ts';
import { createRequestLog, type Dropped } from './request-log.ts';

type Hooks = {
  noteDenial: NoteDenial;
  /** Called for each answer as its head is written. */
  answered: (exchange: Exchange, status: number) => void;
  /** Called when a request ends. */
  settle: (exchange: Exchange) => void;
};

export type OpenedRequestLog = Hooks & {
  /** See RequestLog. */
  probed: (exchange: Exchange, callerId: string) => void;
  tokenRefused: (refusal: TokenRefusal) => void;
  services: Service[];
};

type OpenDeps = {
  /** 0: the same hooks, and nothing is kept. */
  days: number;
  db: Kysely<unknown>;
  /** For what has time. */
  background: Kysely<unknown>;
  clock: Clock;
  log: Logger;
  dropped: Dropped;
  /** What else is called; these come first. */
  hooks: Hooks;
};

export const openRequestLog = ({ hooks, background, ...deps }: OpenDeps): OpenedRequestLog => {
  const expiry = createRequestDays({ ...deps, db: background });
  if (deps.days === 0) return { ...hooks, probed: () => undefined, tokenRefused: () => undefined, services: [expiry] };
  const nowMs = (): number => performance.now();
  const { writer, answered, ended, probed, tokenRefused } = createRequestLog({ ...deps, nowMs });
  return {
    noteDenial: (exchange, fault, by) => {
      hooks.noteDenial(exchange, fault, by);
      const callerId = fault instanceof TracedFault ? fault.trace.callerId : undefined;
      exchange.refused = { status: fault.status, callerId, atMs: nowMs() };
    },
    answered: (exchange, status) => {
      hooks.answered(exchange, status);
      answered(exchange, status);
    },
    settle: (exchange) => {
      hooks.settle(exchange);
      ended(exchange);
    },
    probed,
    tokenRefused,
    services: [writer, expiry],
  };
};
