/** The operations of the gateway that list what their caller called, and count what it used (interface 11.5). */
import { z } from 'zod';
import { tenantMember } from '#src/contract/event.ts';
import { cursorParams } from '#src/platform/http/paging.ts';
import { parseParameters, readQuery } from '#src/platform/http/validate.ts';
import { dateTime, integer, oneOf, optional, text, withDefault } from '#src/platform/http/values.ts';
import { type CallerUsage, reportCallerUsage } from '../../access/quotas/report-usage.ts';
import { limitNames } from '../../model/own-limits.ts';
import type { Principal } from '../../model/principal.ts';
import { isoSeconds } from '../../model/traced-fault.ts';
import type { Exchange } from '../../request/exchange.ts';
import type { RequestLists } from './list-requests.ts';
import type { FoundRequest } from './request-store.ts';
import { statusClasses } from './status-class.ts';

type OperationDeps = Parameters<typeof reportCallerUsage>[0] & {
  lists: RequestLists;
  /** Id of a route -> its path in the table that is served. */
  pathOf: (route: string) => string | undefined;
};

const pagesizeUsual = 100;
const { pagesize, cursor } = cursorParams;
const routeParam = optional(text({ max: 128 })).describe('Id of an operation');

export const requestParams = z.object({
  status: optional(oneOf(statusClasses)).describe('Class of the status; `none`: without one'),
  route: routeParam,
  code: optional(text({ max: 64 })).describe('Error code'),
  request_id: optional(text({ max: 64 })).describe('Id of a request'),
  since: optional(dateTime()).describe('From then on'),
  until: optional(dateTime()).describe('Before then'),
  [tenantMember]: optional(text({ max: 128 })).describe('What it was for'),
  pagesize,
  cursor,
});

export const usageParams = z.object({
  days: withDefault(integer({ min: 1, max: 400 }), 30).describe('Length of `days`'),
  route: routeParam,
  pagesize,
  cursor,
});

type Answered = Promise<Record<string, unknown>>;

const read = <T>(type: z.ZodType<T>, { search }: Exchange): T => {
  const { values, errors } = readQuery(search);
  return parseParameters(type, values, errors);
};

/** Members of the answer of whoami.requests. */
export const answerRequests = async (
  { lists, pathOf }: OperationDeps,
  exchange: Exchange,
  { id }: Principal,
): Answered => {
  const params = read(requestParams, exchange);
  const { status, route, code, since, until, request_id: requestId, [tenantMember]: tenant } = params;
  const size = params.pagesize ?? pagesizeUsual;
  const filter = { status, route, code, since, until, requestId, tenant: tenant as string | undefined };
  const { items, next } = await lists.requests(id, filter, { pagesize: size, cursor: params.cursor });
  return {
    requests: items.map((request) => shown(request, pathOf)),
    ...endOf(lists, size, next),
  };
};

const shown = (request: FoundRequest, pathOf: OperationDeps['pathOf']): Record<string, unknown> => ({
  request_id: request.requestId,
  at_iso: isoSeconds(request.at),
  method: request.method,
  route: request.route,
  path: (request.route === null ? undefined : pathOf(request.route)) ?? null,
  status: request.status,
  code: request.code,
  duration_ms: request.durationMs,
  [tenantMember]: request.tenant,
  idempotency_key: request.idempotencyKey,
});

const endOf = ({ days }: RequestLists, size: number, next: string | null) => ({
  kept_days: days,
  pagesize: size,
  more: next !== null,
  next_cursor: next,
});

/** Members of the answer of whoami.usage. `rate`: the limits that this request met. */
export const answerUsage = async (
  deps: OperationDeps,
  exchange: Exchange,
  { id, kind }: Principal,
  rate: readonly unknown[],
): Answered => {
  const { lists } = deps;
  const params = read(usageParams, exchange);
  const size = params.pagesize ?? pagesizeUsual;
  const [used, { items, next }] = await Promise.all([
    reportCallerUsage(deps, { kind: kind === 'api_key' ? 'key' : 'client', id, days: params.days }),
    lists.hours(id, { route: params.route }, { pagesize: size, cursor: params.cursor }),
  ]);
  return {
    usage: { ...usedOf(used), rate },
    hours: items.map(({ hour, route, reads, writes, refused, failed }) => ({
      hour_iso: isoSeconds(hour),
      ...{ route, reads, writes, refused, failed },
    })),
    ...endOf(lists, size, next),
  };
};

const usedOf = ({ limits, dayUnits, monthUnits, days }: CallerUsage): Record<string, unknown> => ({
  limits: Object.fromEntries(limitNames.map((name) => [name, limits[name] ?? null])),
  day_units: dayUnits,
  month_units: monthUnits,
  days: days.map(({ day, requests, units, limited, elsewhere }) => ({
    date: isoSeconds(day).slice(0, 10),
    ...{ requests, units, limited, refused_elsewhere: elsewhere },
  })),
});
