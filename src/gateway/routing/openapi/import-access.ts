/** Pure: turns the security requirements of an operation, or its tags, into the scopes of a route. */
import { isScopeToken } from '#src/contract/scope-tokens.ts';
import { isJson, type Json, type Remark, textOf } from './open-document.ts';

export type Access = {
  /** A route with one wants nothing of a caller, so it has no scopes. */
  access?: 'public' | 'optional';
  scopes?: readonly string[];
  /** Sets of scopes of which the caller needs one. */
  anyOf?: readonly (readonly string[])[];
};

const scopesMax = 50;
const setsMax = 20;

/**
 * `security` of the operation, else of the document (OpenAPI 3.1 section 4.8.10). Only what a document says expressly is
 * public: an operation without any requirement wants a credential. Undefined, with a remark: the operation cannot be protected as the document wants, so it gets no route.
 */
export const accessBySecurity = (
  document: Json,
  operation: Json,
  path: string,
  remarks: Remark[],
): Access | undefined => {
  const security = operation.security ?? document.security;
  if (security === undefined) return { scopes: [] };
  const requirements = Array.isArray(security) && security.every(isJson) ? security : [];
  if (requirements.length === 0) return { access: 'public' };
  const isOptional = requirements.some((requirement) => Object.keys(requirement).length === 0);
  if (isOptional) {
    remarks.push({
      path: `${path}.security`,
      message: 'an empty requirement lets every request pass, so the route is optional and wants no scope',
    });
    return { access: 'optional' };
  }
  const sets = requirements.map(scopesOf);
  if (sets.flat().some((scope) => !isScopeToken(scope)) || sets.length > setsMax || sets.some(isTooLong)) {
    remarks.push({
      path: `${path}.security`,
      message: 'left out: a scope is no token of RFC 6749 of at most 64 characters, or there are too many',
    });
    return undefined;
  }
  const named = distinct(sets.filter((set) => set.length > 0));
  if (named.length > 0 && named.length < distinct(sets).length)
    remarks.push({
      path: `${path}.security`,
      message: 'alternatives without scopes are left out: the route wants the scopes of another one',
    });
  if (named.length <= 1) return { scopes: named[0] ?? [] };
  return { scopes: [], anyOf: named };
};

/** Everything that passes `access` is what `wanted` lets pass. Undefined: what is wanted cannot be said by a route. */
export const isAsStrict = (access: Access, wanted: Access | undefined): boolean => {
  if (wanted?.access === 'public') return true;
  if (wanted === undefined || access.access === 'public') return false;
  if (wanted.access === 'optional') return true;
  if (access.access === 'optional') return false;
  const ways = waysOf(wanted);
  return waysOf(access).every((held) => ways.some((way) => way.every((scope) => held.includes(scope))));
};

/** Sets of scopes of which each is enough. */
const waysOf = ({ scopes = [], anyOf = [[]] }: Access): (readonly string[])[] =>
  anyOf.map((set) => [...scopes, ...set]);

const isTooLong = (set: readonly string[]): boolean => set.length > scopesMax;

/** The schemes of one requirement are wanted together. */
const scopesOf = (requirement: Json): string[] => [
  ...new Set(
    Object.values(requirement).flatMap((names) =>
      Array.isArray(names) ? names.filter((name) => typeof name === 'string') : [],
    ),
  ),
];

const distinct = (sets: readonly (readonly string[])[]): readonly (readonly string[])[] => [
  ...new Map(sets.map((set) => [set.toSorted().join(' '), set])).values(),
];

/** `read:TAG` or `write:TAG` of the first tag. */
export const accessByTags = (operation: Json, method: string): Access => {
  const tag = Array.isArray(operation.tags) ? textOf(operation.tags[0]) : undefined;
  const name =
    (tag ?? '')
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-|-$/g, '')
      .slice(0, 50) || 'other';
  return { scopes: [`${/^(?:get|head|options)$/.test(method) ? 'read' : 'write'}:${name}`] };
};

/** Scope -> its description in the flows of the document's schemes. */
export const describedScopes = (document: Json): ReadonlyMap<string, string> => {
  const found = new Map<string, string>();
  const components = isJson(document.components) ? document.components : {};
  const schemes = isJson(components.securitySchemes) ? Object.values(components.securitySchemes) : [];
  for (const scheme of schemes) {
    const flows = isJson(scheme) && isJson(scheme.flows) ? Object.values(scheme.flows) : [];
    for (const flow of flows) {
      const scopes = isJson(flow) && isJson(flow.scopes) ? Object.entries(flow.scopes) : [];
      for (const [name, description] of scopes)
        if (typeof description === 'string' && description !== '' && !found.has(name)) found.set(name, description);
    }
  }
  return found;
};
