/**
 * The paths and methods that a route names. A path is a list of segments: literal ones, `{name}` for any one segment, and
 * at the end `*` for everything below. It matches the raw path of a request (routing/path-segment.ts), nothing is decoded.
 */
import { z } from 'zod';

/**
 * Every method of RFC 9110 section 9 that a route may name, and PATCH (RFC 5789). CONNECT asks for a tunnel and TRACE sends
 * credentials back, so a gateway forwards neither.
 */
export const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

export type Method = (typeof methods)[number];

/** One method, a list of methods, or `*`. */
export const methodsMember = z.union(
  [z.enum(methods), z.literal('*'), z.array(z.enum(methods)).min(1).max(methods.length)],
  `one of ${methods.join(', ')}, a list of them, or "*" for all of them`,
);

/** Characters of a segment (RFC 3986 section 3.3) without percent-encoding, or `{name}`. */
const shape = /^(?:\/(?:[A-Za-z0-9._~!$&'()+,;=:@-]+|\{[a-z][a-zA-Z0-9_]{0,63}\}))*(?:\/\*|\/)?$/;
const segmentsMax = 32;

/** Undefined: the path can be used. */
const pathProblem = (path: string): string | undefined => {
  if (path.length > 1_024) return 'a path has at most 1,024 characters';
  if (path === '' || !shape.test(path))
    return 'an absolute path of literal segments and {name}, with /* or / at the end if it is wanted, such as /shops/{shop}/items/*';
  const segments = segmentsOf(path);
  if (segments.length > segmentsMax) return `a path has at most ${segmentsMax} segments`;
  if (segments.some((segment) => isDots(segment))) return 'the segments . and .. match no request';
  const names = segments.filter(isParameter);
  return new Set(names).size === names.length ? undefined : 'a {name} is given twice';
};

export const pathMember = z.string().superRefine((path, context) => {
  const message = pathProblem(path);
  if (message !== undefined) context.addIssue({ code: 'custom', message });
});

/** `/a/{b}/*` -> `a`, `{b}`, `*`; a final slash is an empty last segment. */
export const segmentsOf = (path: string): string[] => path.slice(1).split('/');

/** Percent-encoding of a segment resolved. Undefined: not UTF-8. */
export const decodedSegment = (raw: string): string | undefined => {
  try {
    return decodeURIComponent(raw);
  } catch {
    return undefined;
  }
};

/** The segment as a service may read it: decoded, without what follows a semicolon. Undefined: as it is, or not UTF-8. */
export const plainName = (segment: string): string | undefined => {
  if (!segment.includes('%') && !segment.includes(';')) return undefined;
  const text = decodedSegment(segment);
  if (text === undefined) return undefined;
  const end = text.indexOf(';');
  return end === -1 ? text : text.slice(0, end);
};

export const isParameter = (segment: string): boolean => segment.startsWith('{');

const isDots = (segment: string): boolean => segment === '.' || segment === '..';

/** Equal for two paths that match the same requests: the names of parameters do not matter. */
export const patternOf = (path: string): string => path.replace(/\{[^{}]*\}/g, '{}');

/** A host as the Host field of a request names it, without its port; `*.` in front stands for one or more labels. */
export const hostMember = z
  .string()
  .max(253)
  .regex(
    /^(?:\*\.)?[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$|^\[[0-9a-f:.]+\]$/,
    'a host name in lower case without a port, such as api.example.com or *.example.com',
  );

/** Paths that the program answers itself, on every host and before the route table, so that a route there would never answer. */
const ownPaths = ['/healthz', '/readyz', '/api/openapi.json', '/llms.txt', '/llms-full.txt'] as const;
/** The same with everything below them. */
const ownAreas = ['/api/oauth', '/.well-known', '/docs', '/panel', '/auth/check'] as const;

/** Those of them that settings turn off: then a wider path such as that of `/*` gets them. */
export const turnedOffPaths: readonly string[] = ['/panel', '/auth/check'];

/** Path of the Model Context Protocol. */
export const mcpPath = '/mcp';

/** Paths that the program answers itself where a setting turns them on, and that routes may have otherwise. */
export const turnedOnPaths = ({ mcp }: { mcp: 'on' | 'off' }): readonly string[] => (mcp === 'on' ? [mcpPath] : []);

/** For a route at a path of the program itself. */
export const takenPathText = (own: string): string =>
  `the gateway answers ${own} itself; choose another path, and let stripPrefix or addPrefix change it`;

/** Of the path of a request or of a route: the one of these that it has, or below which it lies. */
export const ownPathOf = (path: string): string | undefined =>
  ownPaths.find((own) => own === path) ?? ownAreas.find((area) => path === area || path.startsWith(`${area}/`));
