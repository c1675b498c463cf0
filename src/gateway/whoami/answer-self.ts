/**
 * Operations that the gateway answers itself instead of forwarding: who am I, what did I call, and why was I refused
 * (interface 11.5). They pass the same checks and cost units like all operations.
 */
import type { Kysely } from 'kysely';
import { Fault } from '#src/contract/fault.ts';
import type { Clock } from '#src/platform/clock.ts';
import { jsonType } from '../answer/dialects.ts';
import type { WriteAnswer } from '../answer/write-answer.ts';
import type { InCallerTurn } from '../limits/caller-turns.ts';
import type { Principal } from '../model/principal.ts';
import { denialRoute, ownUpstream, type RouteTable } from '../model/route.ts';
import type { ownOperations } from '../model/route-file.ts';
import { tokenRoute } from '../model/traced-fault.ts';
import type { Exchange, Step } from '../request/exchange.ts';
import type { DenialLog } from './denial-log.ts';
import { describeCredential } from './describe-credential.ts';
import type { RequestLists } from './requests/list-requests.ts';
import { answerRequests, answerUsage } from './requests/request-operations.ts';

type AnswerSelfDeps = {
  db: Kysely<unknown>;
  clock: Clock;
  table: Pick<RouteTable, 'routes' | 'tenantWords'>;
  denials: Pick<DenialLog, 'find'>;
  lists: RequestLists;
  inTurn: InCallerTurn;
  write: WriteAnswer;
};

type Answerer = (exchange: Exchange, principal: Principal) => Promise<Record<string, unknown>>;

export const createAnswerSelf = (deps: AnswerSelfDeps): Step => {
  const paths = new Map<string, string>([
    [tokenRoute.id, tokenRoute.path],
    ...deps.table.routes.map(({ id, path }) => [id, path] as const),
  ]);
  const calls = { db: deps.db, clock: deps.clock, lists: deps.lists, pathOf: (route: string) => paths.get(route) };
  const answerers: Readonly<Record<(typeof ownOperations)[number], Answerer>> = {
    whoami: async (exchange, principal) => ({
      credential: await describeCredential(
        { db: deps.db, clock: deps.clock, tenantWords: deps.table.tenantWords },
        exchange,
        principal,
      ),
      rate: ratesOf(exchange),
    }),
    'whoami.requests': (exchange, principal) => answerRequests(calls, exchange, principal),
    'whoami.usage': (exchange, principal) => answerUsage(calls, exchange, principal, ratesOf(exchange)),
    [denialRoute]: async ({ path, route }, { id, tenants, narrow }) => {
      const requestId = path.slice(path.lastIndexOf('/') + 1);
      const denial = await deps.denials.find(id, requestId, narrow?.namesTenants(route) === true ? tenants : undefined);
      if (denial === undefined) throw new Fault('NOT_FOUND', 'There is no such denial');
      return { denial };
    },
  };
  return (exchange) => {
    const { route, principal } = exchange;
    if (route?.upstream !== ownUpstream || principal === undefined) return;
    // A table with another id is refused (model/route-contradictions.ts).
    const answer = answerers[route.id as keyof typeof answerers];
    exchange.answered = true;
    return deps
      .inTurn(principal.id, () => answer(exchange, principal))
      .then((members) =>
        deps.write(exchange, {
          status: 200,
          headers: ['content-type', jsonType, 'cache-control', 'no-store'],
          body: JSON.stringify({ success: true, ...members }),
        }),
      );
  };
};

/** The same figures as in the headers of this answer. */
const ratesOf = ({ rate }: Exchange): Record<string, unknown>[] =>
  (rate?.limits ?? []).map(({ policy, remaining, resetSeconds }) => ({
    policy: policy.name,
    quota: policy.quota,
    window_seconds: policy.windowSeconds,
    remaining,
    reset_seconds: resetSeconds,
  }));
