/** RFC 9396: reads the parameter `authorization_details` of a token request, and refuses what this server does not know. */
import type { DetailCode } from '#src/contract/fault.ts';
import { DuplicateMember, NumberInLongText, parseExactJson } from '#src/platform/http/exact-json.ts';
import { scanJson } from '#src/platform/http/scan-json.ts';
import { type AccessDetail, actions, allowsRoute, detailType, toClaim } from '../../access/rights/access-details.ts';
import type { ClientRecord } from '../../credentials/lookup/records.ts';
import type { RouteTable } from '../../model/route.ts';
import { methods } from '../../model/route-path.ts';
import { NarrowRefusal } from './narrow-refusal.ts';

export type DetailsTable = Pick<RouteTable, 'routes' | 'tenantWords'>;

const charactersMax = 8_000;
const levelsMax = 5;
const objectsMax = 10;
const namesMax = 100;
const nameLengthMax = 1_024;
/** Of the claim. A token with more would be longer than headers and caches should hold. */
const claimBytesMax = 2_000;
const parameter = 'authorization_details';

const refuse = (pointer: string, code: DetailCode, text: string): NarrowRefusal =>
  new NarrowRefusal('invalid_authorization_details', text, { pointer, code });

/** Throws NarrowRefusal. The objects name operations by id and no paths, and only tenants of the client. */
export const readDetails = (text: string, table: DetailsTable, { tenants }: ClientRecord): AccessDetail[] => {
  const { list } = table.tenantWords;
  const details = parse(text).flatMap((value, position) =>
    readObject(value, `${parameter}/${position}`, { table, granted: tenants, list }),
  );
  requireBounds(details, list);
  return details;
};

/** Throws NarrowRefusal for objects that make a token too long. */
export const requireBounds = (details: readonly AccessDetail[], list: string): void => {
  if (details.length > objectsMax) throw refuse(parameter, 'LENGTH', `grants more than ${objectsMax} objects`);
  const bytes = Buffer.byteLength(JSON.stringify(details.map((detail) => toClaim(detail, list))));
  if (bytes > claimBytesMax) throw refuse(parameter, 'LENGTH', `grants more than ${claimBytesMax} bytes of details`);
};

/** Throws NarrowRefusal. `position`: of the object that asks for more than the subject token has. */
export const widerDetails = (position: number): NarrowRefusal =>
  refuse(`${parameter}/${position}`, 'ENUM', 'is not within one object of the subject token');

const parse = (text: string): unknown[] => {
  if (text.length > charactersMax) throw refuse(parameter, 'LENGTH', `has more than ${charactersMax} characters`);
  const scan = /^\s*\[/.test(text) ? scanJson(Buffer.from(text), 0, levelsMax) : undefined;
  const value = scan?.isClosed === true ? parseText(text, scan) : undefined;
  if (!Array.isArray(value)) throw refuse(parameter, 'INVALID_JSON', 'must be a JSON array of objects');
  if (value.length === 0 || value.length > objectsMax)
    throw refuse(parameter, 'LENGTH', `must have 1 to ${objectsMax} objects`);
  return value;
};

const parseText = (text: string, scan: ReturnType<typeof scanJson>): unknown => {
  try {
    return parseExactJson(text, scan);
  } catch (error) {
    if (error instanceof DuplicateMember) throw refuse(parameter, 'DUPLICATE', 'has a member that is given twice');
    if (error instanceof SyntaxError || error instanceof NumberInLongText) return undefined;
    throw error;
  }
};

type Known = { table: DetailsTable; granted: readonly string[]; list: string };

/** Routes of an object may have other methods each, and then become objects of their own. */
const readObject = (value: unknown, pointer: string, known: Known): AccessDetail[] => {
  const { list, table } = known;
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw refuse(pointer, 'TYPE', 'must be an object');
  const { type, ...members } = value as Record<string, unknown>;
  if (type === undefined) throw refuse(`${pointer}/type`, 'REQUIRED', 'is missing');
  if (type !== detailType) throw refuse(`${pointer}/type`, 'ENUM', `must be ${detailType}`);
  const names = [list, 'operations', 'routes', 'actions'];
  const unknown = Object.keys(members).find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw refuse(`${pointer}/${unknown.slice(0, 64)}`, 'ENUM', `is unknown: ${detailType} has ${names.join(', ')}`);
  const ids = new Set(table.routes.map(({ id }) => id));
  const tenants = readNames(members[list], `${pointer}/${list}`, (name) => known.granted.includes(name));
  const operations = readNames(members.operations, `${pointer}/operations`, (name) => ids.has(name));
  const allowed = readNames(members.actions, `${pointer}/actions`, (name) => actions.includes(name));
  const details = withRoutes({ tenants, operations, actions: allowed }, members.routes, `${pointer}/routes`, table);
  if (details.some((detail) => !table.routes.some((route) => allowsRoute(detail, route))))
    throw refuse(pointer, 'ENUM', 'allows no operation');
  return details;
};

/** Undefined: the object does not have the member. */
const readNames = (value: unknown, pointer: string, isKnown: (name: string) => boolean): string[] | undefined => {
  if (value === undefined) return undefined;
  if (!Array.isArray(value)) throw refuse(pointer, 'TYPE', 'must be a list of texts');
  if (value.length === 0 || value.length > namesMax)
    throw refuse(pointer, 'LENGTH', `must have 1 to ${namesMax} texts`);
  const known = value.filter((name) => typeof name === 'string' && name.length <= nameLengthMax && isKnown(name));
  if (known.length < value.length)
    throw refuse(pointer, 'ENUM', 'names something that does not exist or is not granted to the client');
  return [...new Set(known)];
};

const withRoutes = (
  detail: AccessDetail,
  value: unknown,
  pointer: string,
  { routes }: DetailsTable,
): AccessDetail[] => {
  if (value === undefined) return [detail];
  if (!Array.isArray(value) || value.length === 0 || value.length > namesMax)
    throw refuse(pointer, 'TYPE', 'must be a list of objects with path and methods');
  /** Methods of `routes`, separated by blanks -> ids of operations. '': those of the object. */
  const byMethods = new Map<string, Set<string>>();
  if (detail.operations !== undefined) byMethods.set('', new Set(detail.operations));
  for (const [position, one] of value.entries()) {
    const { path, wanted } = readRoute(one, `${pointer}/${position}`);
    const found = routes.filter((route) => route.path === path);
    const isServed = (method: string): boolean => found.some((route) => allowsRoute({ actions: [method] }, route));
    if (found.length === 0 || wanted?.every(isServed) === false)
      throw refuse(`${pointer}/${position}`, 'ENUM', 'is no path of the route table, or one without such a method');
    const key = wanted === undefined ? '' : wanted.join(' ');
    const ids = byMethods.get(key) ?? new Set();
    for (const route of found) if (wanted === undefined || allowsRoute({ actions: wanted }, route)) ids.add(route.id);
    byMethods.set(key, ids);
  }
  return [...byMethods].map(([key, ids]) => ({
    ...detail,
    operations: [...ids],
    actions: key === '' ? detail.actions : bothActions(detail.actions, key.split(' '), pointer),
  }));
};

const readRoute = (value: unknown, pointer: string): { path: string; wanted: string[] | undefined } => {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw refuse(pointer, 'TYPE', 'must be an object with path and methods');
  const { path, methods: wanted, ...others } = value as Record<string, unknown>;
  if (typeof path !== 'string' || Object.keys(others).length > 0)
    throw refuse(pointer, 'TYPE', 'must have a path of the route table, and may have methods');
  const isMethod = (name: string): boolean => methods.some((method) => method === name);
  return { path, wanted: readNames(wanted, `${pointer}/methods`, isMethod)?.toSorted() };
};

/** Of the methods those that the actions of the object allow too. */
const bothActions = (allowed: readonly string[] | undefined, wanted: string[], pointer: string): string[] => {
  if (allowed === undefined) return wanted;
  const both = wanted.filter((method) =>
    methods.some((one) => one === method && allowsRoute({ actions: allowed }, { id: '', method: one })),
  );
  if (both.length === 0) throw refuse(pointer, 'ENUM', 'has methods that the actions of the object do not allow');
  return both;
};
