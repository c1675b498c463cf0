/**
 * The paths of a route table as a tree of segments. A search visits the paths that match, the most specific first: a
 * literal segment before a parameter before everything below, from the left to the right. Its cost depends on the segments
 * of the request, not on the number of routes.
 */
import { isParameter, segmentsOf } from '../model/route-path.ts';
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
  /** Visits the values whose path matches until `visit` returns true, which is then the result. */
  find(path: string, visit: (value: T) => boolean): boolean;
};

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
    find: (path, visit) => path.startsWith('/') && search(root, path, 1, visit),
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
const search = <T>(node: Node<T>, path: string, from: number, visit: (value: T) => boolean): boolean => {
  const slash = path.indexOf('/', from);
  const segment = slash === -1 ? path.slice(from) : path.slice(from, slash);
  const next = slash === -1 ? undefined : slash + 1;
  const literal = node.literals.get(segment);
  if (literal !== undefined && enter(literal, path, next, visit)) return true;
  const { parameter, below } = node;
  if (parameter !== undefined && isOneSegment(segment) && enter(parameter, path, next, visit)) return true;
  return below !== undefined && areSegments(path, from) && visit(below);
};

const enter = <T>(node: Node<T>, path: string, next: number | undefined, visit: (value: T) => boolean): boolean => {
  if (next !== undefined) return search(node, path, next, visit);
  return node.value !== undefined && visit(node.value);
};
