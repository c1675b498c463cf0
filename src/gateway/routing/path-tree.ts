/**
 * The paths of a route table as a tree of segments. A search visits the paths that match, the most specific first: a
 * literal segment before a parameter before everything below, from the left to the right. Its cost depends on the segments
 * of the request, not on the number of routes.
 *
 * Services decode segments, remove what follows a semicolon, and often ignore the slash at the end. So `/%61dmin`, `/admin;x`
 * and `/admin/` may mean `/admin` to them, and must not reach the route of `/*` beside a route of `/admin`: such a path is
 * ambiguous, and no less specific route answers it.
 */
import { isParameter, plainName, segmentsOf } from '../model/route-path.ts';
import { areSegments, isOneSegment } from './path-segment.ts';

type Node<T> = {
  readonly literals: Map<string, Node<T>>;
  parameter: Node<T> | undefined;
  /** Of the path that ends here. */
  value: T | undefined;
  /** Of the path that ends here with everything below. */
  below: T | undefined;
};

export type PathTree<T> = {
  /** The value at a path of the table; `create` makes it when there is none. */
  at(path: string, create: () => T): T;
  /** Visits the values whose path matches until `visit` returns true. */
  find(path: string, visit: (value: T) => boolean): Found;
};

/** `ambiguous`: a service may read the path as one of the table that it is not, so the search ended there. */
type Found = 'accepted' | 'ambiguous' | 'none';

export const createPathTree = <T>(): PathTree<T> => {
  const root = createNode<T>();
  return {
    at: (path, create) => {
      const segments = segmentsOf(path);
      const isBelow = segments.at(-1) === '*';
      const node = (isBelow ? segments.slice(0, -1) : segments).reduce(childOf, root);
      if (isBelow) {
        node.below ??= create();
        return node.below;
      }
      node.value ??= create();
      return node.value;
    },
    find: (path, visit) => (path.startsWith('/') ? search(root, path, 1, visit) : 'none'),
  };
};

const createNode = <T>(): Node<T> => ({
  literals: new Map(),
  parameter: undefined,
  value: undefined,
  below: undefined,
});

const childOf = <T>(node: Node<T>, segment: string): Node<T> => {
  if (isParameter(segment)) {
    node.parameter ??= createNode();
    return node.parameter;
  }
  const known = node.literals.get(segment);
  if (known !== undefined) return known;
  const made = createNode<T>();
  node.literals.set(segment, made);
  return made;
};

/** `from`: start of the segment that the children of `node` match. */
const search = <T>(node: Node<T>, path: string, from: number, visit: (value: T) => boolean): Found => {
  const slash = path.indexOf('/', from);
  const segment = slash === -1 ? path.slice(from) : path.slice(from, slash);
  const next = slash === -1 ? undefined : slash + 1;
  const literal = node.literals.get(segment);
  if (literal !== undefined) {
    const found = enter(literal, path, next, visit);
    if (found !== 'none') return found;
  } else if (node.literals.size > 0 && node.literals.has(plainName(segment) ?? segment)) return 'ambiguous';
  const { parameter, below } = node;
  if (parameter !== undefined && isOneSegment(segment)) {
    const found = enter(parameter, path, next, visit);
    if (found !== 'none') return found;
  }
  if (below !== undefined && areSegments(path, from) && visit(below)) return 'accepted';
  return segment === '' && next === undefined && node.value !== undefined ? 'ambiguous' : 'none';
};

const enter = <T>(node: Node<T>, path: string, next: number | undefined, visit: (value: T) => boolean): Found => {
  if (next !== undefined) return search(node, path, next, visit);
  if (node.value !== undefined && visit(node.value)) return 'accepted';
  return node.below !== undefined || hasSlashAtEnd(node) ? 'ambiguous' : 'none';
};

/** The table has this path with a slash at the end. */
const hasSlashAtEnd = <T>({ literals }: Node<T>): boolean => literals.get('')?.value !== undefined;
