/**
 * Pure: the objects of `authorization_details` (RFC 9396) of the one type that this server knows. Each allows the requests
 * that fit all of its members; a request needs one object that allows it.
 */
import type { Route } from '../../model/route.ts';
import { type Method, methods } from '../../model/route-path.ts';

export const detailType = 'orderpass_access';

/** A missing member allows everything. None is empty. */
export type AccessDetail = {
  tenants?: readonly string[] | undefined;
  /** Ids of routes. */
  operations?: readonly string[] | undefined;
  /** `read`, `write` or methods. */
  actions?: readonly string[] | undefined;
};

/** GET comes with HEAD, as in the route table. */
const methodsOfAction: Readonly<Record<string, readonly Method[]>> = {
  ...Object.fromEntries(methods.map((method) => [method, [method]])),
  GET: ['GET', 'HEAD'],
  read: ['GET', 'HEAD', 'OPTIONS'],
  write: ['POST', 'PUT', 'PATCH', 'DELETE'],
};

export const actions: readonly string[] = ['read', 'write', ...methods];

const methodsOf = (names: readonly string[]): Set<Method> =>
  new Set(names.flatMap((name) => methodsOfAction[name] ?? []));

/** The object allows the operation, for its tenants. */
export const allowsRoute = (
  { operations, actions: allowed }: AccessDetail,
  { id, method }: Pick<Route, 'id' | 'method'>,
): boolean =>
  (operations === undefined || operations.includes(id)) && (allowed === undefined || methodsOf(allowed).has(method));

/** What `wanted` leaves of `held`: a member that it does not have stays as held. Undefined: it wants more than is held. */
const narrowDetail = (held: AccessDetail, wanted: AccessDetail): AccessDetail | undefined => {
  const tenants = narrowList(held.tenants, wanted.tenants);
  const operations = narrowList(held.operations, wanted.operations);
  const allowed = narrowActions(held.actions, wanted.actions);
  return tenants === 'more' || operations === 'more' || allowed === 'more'
    ? undefined
    : { tenants, operations, actions: allowed };
};

type List = readonly string[] | undefined;

const narrowList = (held: List, wanted: List): List | 'more' => {
  if (held === undefined || wanted === undefined) return wanted ?? held;
  return wanted.every((name) => held.includes(name)) ? wanted : 'more';
};

const narrowActions = (held: List, wanted: List): List | 'more' => {
  if (held === undefined || wanted === undefined) return wanted ?? held;
  const allowed = methodsOf(held);
  return [...methodsOf(wanted)].every((method) => allowed.has(method)) ? wanted : 'more';
};

/**
 * The objects of a token that was exchanged: each wanted object within each held one that has all of it. Every object of the
 * result lies within one held object, so it allows nothing that was not held, whatever the route table is later. `refused`:
 * position of the first wanted object that no held one has.
 */
export const narrowDetails = (
  held: readonly AccessDetail[],
  wanted: readonly AccessDetail[],
): { details: AccessDetail[]; refused?: undefined } | { details?: undefined; refused: number } => {
  const details: AccessDetail[] = [];
  for (const [position, one] of wanted.entries()) {
    const within = held.flatMap((parent) => narrowDetail(parent, one) ?? []);
    if (within.length === 0) return { refused: position };
    details.push(...within);
  }
  return { details };
};

/** As tokens and answers hold it. `list`: the member for tenants. */
export const toClaim = ({ tenants, operations, actions: allowed }: AccessDetail, list: string): object => ({
  type: detailType,
  ...(tenants !== undefined && { [list]: tenants }),
  ...(operations !== undefined && { operations }),
  ...(allowed !== undefined && { actions: allowed }),
});

/** The reverse, of a token that was issued here. Undefined: another release wrote more than this one understands. */
export const fromClaim = (claim: unknown, list: string): AccessDetail | undefined => {
  if (typeof claim !== 'object' || claim === null || !('type' in claim) || claim.type !== detailType) return undefined;
  const members = Object.entries(claim).filter(([name]) => name !== 'type');
  const isKnown = members.every(([name, value]) => [list, 'operations', 'actions'].includes(name) && isNames(value));
  const { [list]: tenants, operations, actions: allowed } = Object.fromEntries(members) as Record<string, string[]>;
  if (!isKnown || (allowed ?? []).some((action) => !actions.includes(action))) return undefined;
  return { tenants, operations, actions: allowed };
};

const isNames = (value: unknown): value is string[] =>
  Array.isArray(value) && value.length > 0 && value.every((name) => typeof name === 'string');

const shownMax = 10;

/** The objects as a sentence, for refusals. */
export const detailsText = (details: readonly AccessDetail[], list: string): string =>
  details
    .map(({ tenants, operations, actions: allowed }) =>
      [
        operations && `the operations ${shownNames(operations)}`,
        allowed && `the actions ${shownNames(allowed)}`,
        tenants && `the ${list} ${shownNames(tenants)}`,
      ]
        .filter((part) => part !== undefined)
        .join(' and '),
    )
    .map((text) => (text === '' ? 'everything that its client may do' : text))
    .join('; or to ');

const shownNames = (names: readonly string[]): string =>
  names.slice(0, shownMax).join(', ') + (names.length > shownMax ? ` and ${names.length - shownMax} more` : '');
