/**
 * The upstream of a request whose route names a group of cells: that of the cell that has the rows of its tenant. The cells of
 * a caller's tenants are remembered with its credential, so a request costs no look-up.
 */
import { Fault } from '#src/contract/fault.ts';
import { namedTenant } from '../limits/counted-tenant.ts';
import type { Principal } from '../model/principal.ts';
import type { RouteTable } from '../model/route.ts';
import { defaultCell } from '../model/upstream-policy.ts';
import type { Exchange, Step } from '../request/exchange.ts';

/** Sets `cellUpstream` where the upstream of the route has cells. Needs the caller; routes to cells refuse requests without one before. */
export const createChooseCell = ({ upstreams }: Pick<RouteTable, 'upstreams'>): Step => {
  const groups = new Map(
    Object.entries(upstreams).flatMap(([name, { cells }]) =>
      cells === undefined ? [] : [[name, new Map(Object.entries(cells))] as const],
    ),
  );
  if (groups.size === 0) return () => undefined;
  return (exchange) => {
    const group = groups.get(exchange.route?.upstream ?? '');
    if (group === undefined) return;
    const { principal } = exchange;
    if (principal === undefined) throw new Error('cannot choose a cell without a caller');
    const cell = cellOf(principal, exchange);
    const upstream = group.get(cell);
    if (upstream === undefined) throw withoutUpstream(cell);
    principal.narrow?.requireUpstream(upstream);
    exchange.cellUpstream = upstream;
  };
};

const cellOf = (principal: Principal, { route, path, search }: Exchange): string => {
  const { tenants, cells } = principal;
  if (cells === undefined) return defaultCell;
  const first = cells.get(tenants[0] ?? '') ?? defaultCell;
  if (route === undefined || tenants.every((tenant) => (cells.get(tenant) ?? defaultCell) === first)) return first;
  const named = namedTenant({ route, path, search });
  if (named === undefined) throw tenantNeeded(route.tenant ?? '');
  // Every cell refuses a tenant that the identity of the caller does not list, each with the same answer.
  return tenants.includes(named) ? (cells.get(named) ?? defaultCell) : first;
};

/** `tenant`: as in the file of routes, `?shop` or `{shop}`. */
const tenantNeeded = (tenant: string): Fault => {
  const pointer = tenant.replace(/^\?/, '').replace(/^\{(.*)\}$/, '$1');
  return new Fault(
    'MISSING_PARAMETER',
    `Name the tenant in ${tenant.startsWith('?') ? 'the query' : 'the path'}: ${pointer}`,
    {
      errors: [
        {
          pointer,
          code: 'REQUIRED',
          message: 'is needed in the address, since the tenants of this caller are in several cells',
        },
      ],
    },
  );
};

/** The directory names a cell that the table does not have: a move that the operator has not finished. */
const withoutUpstream = (cell: string): Fault =>
  new Fault('OVERLOADED', 'The service behind this address is not available right now; try again shortly', {
    headers: { 'retry-after': '5' },
    internalText: `the route table has no upstream for the cell ${cell}`,
  });
