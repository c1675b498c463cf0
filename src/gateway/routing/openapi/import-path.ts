/** Pure: turns the path of an OpenAPI operation into the path of a route, and the URL of a server into its prefix. */
import { ownPathOf, turnedOffPaths } from '../../model/route-path.ts';
import { isJson, type Json, type Remark, textOf } from './open-document.ts';

const literal = /^[A-Za-z0-9._~!$&'()+,;=:@-]+$/;

/** `isOwn`: the gateway always answers the path itself, so no route does. */
type Refused = { reason: string; isOwn?: boolean };

/** The route's path, or why no route can have it. Names of parameters are changed to those that a route may have. */
export const routePathOf = (prefix: string, path: string): { path: string } | Refused => {
  if (!path.startsWith('/')) return { reason: 'a path begins with /' };
  const names = new Set<string>();
  const segments: string[] = [];
  const given = `${prefix}${path}`.slice(1).split('/');
  for (const [index, segment] of given.entries()) {
    const parameter = /^\{([^{}]+)\}$/.exec(segment)?.[1];
    if (parameter !== undefined) segments.push(`{${unique(parameterName(parameter), names)}}`);
    else if (literal.test(segment) && segment !== '.' && segment !== '..') segments.push(segment);
    else if (segment === '' && index === given.length - 1) segments.push('');
    else return { reason: reasonFor(segment) };
  }
  const found = `/${segments.join('/')}`;
  const own = ownPathOf(found);
  if (own === undefined) return { path: found };
  return turnedOffPaths.includes(own)
    ? { reason: `the gateway may answer ${own} itself` }
    : { reason: `the gateway answers ${own} itself`, isOwn: true };
};

/**
 * A request of the document's path may match the route. A literal segment of a route is no match for a parameter, since OpenAPI
 * lets the literal path win.
 */
export const answersPath = (route: string, path: string): boolean => {
  const given = path.split('/');
  const segments = route.split('/');
  return (
    segments.length === given.length &&
    segments.every((segment, index) => segment === given[index] || (segment.startsWith('{') && given[index] !== ''))
  );
};

const reasonFor = (segment: string): string => {
  if (segment.includes('{'))
    return `the segment ${segment} mixes a parameter with text; a parameter of a route is a whole segment`;
  return segment === '' ? 'it has an empty segment' : `the segment ${segment} is not literal text of a path`;
};

/** `pet-id`, `PetId` -> `pet_id`, `petId`. */
const parameterName = (name: string): string => {
  const clean = name.replace(/[^A-Za-z0-9_]+/g, '_').slice(0, 60);
  const first = clean.charAt(0).toLowerCase();
  return /[a-z]/.test(first) ? first + clean.slice(1) : `p${clean}`;
};

/** Adds 2, 3, … until the name is new, and remembers it. */
export const unique = (name: string, taken: Set<string>, separator = ''): string => {
  let found = name;
  for (let count = 2; taken.has(found); count += 1) found = `${name}${separator}${count}`;
  taken.add(found);
  return found;
};

/** The path of the first server, with the defaults of its variables. */
export const prefixOf = (document: Json): { prefix: string; remarks: readonly Remark[] } => {
  const servers = Array.isArray(document.servers) ? document.servers.filter(isJson) : [];
  const prefixes = servers.map(pathOf);
  const first = prefixes[0] ?? '';
  const others = [...new Set(prefixes.filter((path) => path !== first))];
  const remarks = others.map((other) => ({
    path: 'servers',
    message: `the paths begin with that of the first server, ${first || '/'}; another server has ${other || '/'}`,
  }));
  return { prefix: first, remarks };
};

const pathOf = (server: Json): string => {
  const variables = isJson(server.variables) ? server.variables : {};
  const url = (textOf(server.url) ?? '/').replace(/\{([^{}]{1,100})\}/g, (whole, name: string) => {
    const variable = Object.hasOwn(variables, name) ? variables[name] : undefined;
    return isJson(variable) && typeof variable.default === 'string' ? variable.default : whole;
  });
  const path = url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/]*/i, '').replace(/[?#].*$/s, '');
  return (path.startsWith('/') ? path : `/${path}`).replace(/\/{1,8}$/, '');
};
