/**
 * Pure: makes a route table of an OpenAPI 3 document. What a route cannot say becomes a remark, and an operation that would
 * be less protected than its document wants gets no route: neither its own nor that of a wider path.
 */
import { parseRouteTable } from '../../model/route.ts';
import { patternOf } from '../../model/route-path.ts';
import { type Access, accessBySecurity, accessByTags, describedScopes, isAsStrict } from './import-access.ts';
import { answersPath, prefixOf, routePathOf, unique } from './import-path.ts';
import { isJson, type Json, openDocument, type Remark, resolve, resolvePathItem, textOf } from './open-document.ts';

type ImportOptions = { upstream: string; scopesFrom: 'security' | 'tags' };

type ImportedRoute = Access & {
  id: string;
  method: string;
  path: string;
  body?: 'any' | readonly string[];
  upstream: string;
};

type ImportedTable = {
  scopes: readonly { name: string; description: string }[];
  /** Keys get no scope of the document before an operator lists it. */
  apiKeyScopes: readonly string[];
  routes: readonly ImportedRoute[];
};

type Imported = { table: ImportedTable; remarks: readonly Remark[] } | { problems: readonly Remark[] };

const methods = ['get', 'head', 'post', 'put', 'patch', 'delete', 'options'] as const;
const routesMax = 10_000;

/** `text`: the document in JSON or YAML. Problems: the document is wrong, each with the path of its member. */
export const importRoutes = (text: string, options: ImportOptions): Imported => {
  const opened = openDocument(text);
  if ('problems' in opened) return opened;
  const { document } = opened;
  const problems = wrongMembers(document);
  if (problems.length > 0) return { problems };
  const { prefix, remarks: ofServers } = prefixOf(document);
  const state: State = {
    document,
    options,
    prefix,
    routes: [],
    ids: new Set(),
    patterns: new Map(),
    remarks: [...ofServers],
    leftOut: [],
    unprotected: new Set(),
  };
  for (const [path, item] of Object.entries(document.paths as Json)) importPath(state, path, item);
  leaveOutWider(state);
  if (state.routes.length === 0)
    return { problems: [...state.remarks, { path: 'paths', message: 'no operation can become a route' }] };
  if (state.unprotected.size > 0)
    state.remarks.push({
      path: 'security',
      message: `${state.unprotected.size} operations name none: their routes want a credential and no scope`,
    });
  if (state.routes.length > routesMax)
    return { problems: [{ path: 'paths', message: `has more than ${routesMax} operations` }] };
  const table: ImportedTable = { scopes: scopesOf(state), apiKeyScopes: [], routes: state.routes };
  // What the gateway would refuse at its start is refused here.
  const { problems: refused } = parseRouteTable(table);
  if (refused !== undefined)
    return { problems: refused.map(([path, message]) => ({ path: `table ${path.join('.')}`, message })) };
  return { table, remarks: state.remarks };
};

type State = {
  readonly document: Json;
  readonly options: ImportOptions;
  readonly prefix: string;
  readonly routes: ImportedRoute[];
  readonly ids: Set<string>;
  /** Method and path without names -> path of the document. */
  readonly patterns: Map<string, string>;
  readonly remarks: Remark[];
  readonly leftOut: Operation[];
  /** Ids of routes for whose operation the document names no security. */
  readonly unprotected: Set<string>;
};

/** An operation without a route. `access`: what it wants; undefined: no route can say it. */
type Operation = { at: string; method: string; path: string; access: Access | undefined };

/** A wider path would answer a left out operation: its route may do so only when it is as strict. */
const leaveOutWider = ({ routes, leftOut, unprotected, remarks }: State): void => {
  // The list grows while it is read, since a route that is left out has been an operation too.
  for (const { at, method, path, access } of leftOut) {
    const answers = (route: ImportedRoute): boolean =>
      (route.method === method || (method === 'HEAD' && route.method === 'GET')) && answersPath(route.path, path);
    for (const wider of routes.filter((route) => answers(route) && !isAsStrict(route, access))) {
      routes.splice(routes.indexOf(wider), 1);
      unprotected.delete(wider.id);
      leftOut.push({ ...wider, at: `${wider.method} ${wider.path}`, access: wider });
      remarks.push({
        path: `paths`,
        message: `${wider.method} ${wider.path} is left out: it would answer ${at} with less protection than that wants`,
      });
    }
  }
};

/** Members of a wrong type, all of them. A misread requirement would open an operation, so none is skipped. */
const wrongMembers = (document: Json): Remark[] => {
  const found: Remark[] = [];
  checkSecurity(document.security, 'security', found);
  for (const [path, item] of Object.entries(document.paths as Json)) {
    const { item: resolved } = resolvePathItem(document, item);
    if (path.startsWith('x-') || resolved === undefined) continue;
    if (!isJson(resolved)) {
      found.push({ path: `paths.${path}`, message: 'must be an object' });
      continue;
    }
    for (const method of methods) {
      const operation = resolved[method];
      if (operation === undefined) continue;
      const at = `paths.${path}.${method}`;
      if (isJson(operation)) checkSecurity(operation.security, `${at}.security`, found);
      else found.push({ path: at, message: 'must be an object' });
    }
  }
  return found;
};

const checkSecurity = (security: unknown, path: string, found: Remark[]): void => {
  if (security === undefined) return;
  if (!Array.isArray(security)) return void found.push({ path, message: 'must be a list of requirements' });
  for (const [index, requirement] of security.entries()) {
    if (!isJson(requirement)) found.push({ path: `${path}.${index}`, message: 'must be an object of schemes' });
    else
      for (const [scheme, scopes] of Object.entries(requirement))
        if (!Array.isArray(scopes) || scopes.some((scope) => typeof scope !== 'string'))
          found.push({ path: `${path}.${index}.${scheme}`, message: 'must be a list of scopes' });
  }
};

const importPath = (state: State, path: string, item: unknown): void => {
  if (path.startsWith('x-')) return;
  const at = `paths.${path}`;
  const { item: resolved, twice } = resolvePathItem(state.document, item);
  if (!isJson(resolved)) {
    state.remarks.push({ path: at, message: 'left out: it refers to another document, or to nothing' });
    for (const method of methods) leaveOut(state, undefined, method, `${state.prefix}${path}`, at);
    return;
  }
  const route = routePathOf(state.prefix, path);
  if ('reason' in route) {
    state.remarks.push({ path: at, message: `left out: ${route.reason}` });
    for (const method of methods) {
      const operation = resolved[method];
      if (isJson(operation) && !route.isOwn)
        leaveOut(state, twice.has(method) ? undefined : operation, method, `${state.prefix}${path}`, at);
    }
    return;
  }
  for (const [own, method] of otherMethods(resolved))
    state.remarks.push({ path: `${at}.${own}`, message: `left out: ${method} is never forwarded` });
  if (resolved.servers !== undefined)
    state.remarks.push({ path: `${at}.servers`, message: 'not used: every route goes to one upstream' });
  for (const method of methods) {
    const operation = resolved[method];
    if (twice.has(method)) {
      const message =
        'left out: it stands beside $ref and in what that leads to, and OpenAPI does not say which counts';
      state.remarks.push({ path: `${at}.${method}`, message });
      leaveOut(state, undefined, method, route.path, at);
    } else if (isJson(operation)) importOperation(state, operation, method, route.path, at);
  }
};

/** Members with operations of methods that no route has: TRACE, and since OpenAPI 3.2 QUERY and any other name. */
const otherMethods = ({ trace, query, additionalOperations }: Json): [string, string][] => [
  ...(trace === undefined ? [] : [['trace', 'TRACE'] satisfies [string, string]]),
  ...(query === undefined ? [] : [['query', 'QUERY'] satisfies [string, string]]),
  ...(isJson(additionalOperations) ? Object.keys(additionalOperations) : []).map((name): [string, string] => [
    `additionalOperations.${name}`,
    name,
  ]),
];

const importOperation = (state: State, operation: Json, method: string, path: string, at: string): void => {
  const { document, options, remarks } = state;
  const own = `${at}.${method}`;
  const pattern = `${method} ${patternOf(path)}`;
  const before = state.patterns.get(pattern);
  if (before !== undefined) {
    remarks.push({ path: own, message: `left out: ${before} matches the same requests` });
    leaveOut(state, operation, method, path, at);
    return;
  }
  if (operation.servers !== undefined)
    remarks.push({ path: `${own}.servers`, message: 'not used: every route goes to one upstream' });
  const access = accessOf(state, operation, method, own, remarks);
  if (access === undefined) {
    leaveOut(state, operation, method, path, at);
    return;
  }
  const id = unique(idOf(operation, method, path), state.ids, '-');
  if (options.scopesFrom === 'security' && (operation.security ?? document.security) === undefined)
    state.unprotected.add(id);
  state.patterns.set(pattern, own);
  const body = bodyOf(document, operation.requestBody, own, remarks);
  state.routes.push({
    id,
    method: method.toUpperCase(),
    path,
    ...access,
    ...(body === undefined ? undefined : { body }),
    upstream: options.upstream,
  });
};

const accessOf = (
  { document, options }: State,
  operation: Json,
  method: string,
  own: string,
  remarks: Remark[],
): Access | undefined =>
  options.scopesFrom === 'tags' ? accessByTags(operation, method) : accessBySecurity(document, operation, own, remarks);

/** `operation`: undefined when it cannot be read. */
const leaveOut = (state: State, operation: Json | undefined, method: string, path: string, at: string): void => {
  const own = `${at}.${method}`;
  const access = operation && accessOf(state, operation, method, own, []);
  state.leftOut.push({ at: own, method: method.toUpperCase(), path, access });
};

/** `addPet`, `pets/add` -> `add-pet`, `pets.add`; without an operationId the method and path. */
const idOf = (operation: Json, method: string, path: string): string => {
  const name = textOf(operation.operationId) ?? `${method}${path.replace(/[{}]/g, '')}`;
  const id = name
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .replaceAll('/', '.')
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[.-]|[.-]$/g, '')
    .slice(0, 58);
  return id === '' ? method : id;
};

const mediaRange = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/(?:\*|[a-z0-9][a-z0-9!#$&^_.+-]{0,126})$/;

/** Undefined: JSON alone, as a route without `body` takes it. */
const bodyOf = (document: Json, value: unknown, at: string, remarks: Remark[]): ImportedRoute['body'] => {
  if (value === undefined) return undefined;
  const body = resolve(document, value);
  const content = isJson(body) ? body.content : undefined;
  if (!isJson(content)) {
    remarks.push({ path: `${at}.requestBody`, message: 'names no content here: the route takes any body' });
    return 'any';
  }
  const types = [...new Set(Object.keys(content).map((type) => type.toLowerCase().split(';')[0]?.trim() ?? ''))];
  if (types.length === 1 && types[0] === 'application/json') return undefined;
  return types.length > 0 && types.length <= 50 && types.every((type) => mediaRange.test(type)) ? types : 'any';
};

/** Scopes that a route wants, in the sequence in which the routes name them. */
const scopesOf = ({ document, routes }: State): ImportedTable['scopes'] => {
  const described = describedScopes(document);
  const info = isJson(document.info) ? document.info : {};
  const title = textOf(info.title) ?? 'the service';
  const names = new Set(routes.flatMap(({ scopes, anyOf }) => [...(scopes ?? []), ...(anyOf ?? []).flat()]));
  return [...names].map((name) => ({ name, description: described.get(name) ?? `${name} of ${title}` }));
};
