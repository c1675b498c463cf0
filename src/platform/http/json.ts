/** JSON with its members in one canonical sequence, so two texts of the same value compare equal. */
import { inexactTextOf } from './exact-json.ts';

/** Members sorted by name at every level; inexact numbers as they were sent. Depth is bounded by the body reader. */
export const canonicalJson = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const record = value as Record<string, unknown>;
    const members = Object.keys(record)
      .sort()
      .filter((name) => record[name] !== undefined)
      .map((name) => `${JSON.stringify(name)}:${canonicalJson(record[name])}`);
    return `{${members.join(',')}}`;
  }
  return JSON.stringify(value) ?? inexactTextOf(value) ?? 'null';
};

/** The text of `canonicalJson` in pieces: the elements of top-level arrays are separate pieces. */
export function* canonicalPieces(record: Readonly<Record<string, unknown>>): Generator<string> {
  let before = '{';
  for (const name of Object.keys(record).sort()) {
    const value = record[name];
    if (value === undefined) continue;
    yield `${before}${JSON.stringify(name)}:`;
    before = ',';
    if (Array.isArray(value)) yield* piecesOfArray(value);
    else yield canonicalJson(value);
  }
  yield before === '{' ? '{}' : '}';
}

function* piecesOfArray(values: readonly unknown[]): Generator<string> {
  let before = '[';
  for (const value of values) {
    yield `${before}${canonicalJson(value)}`;
    before = ',';
  }
  yield before === '[' ? '[]' : ']';
}

/** Path to the first difference between two JSON values, in the member order of `right`; undefined when they are equal. */
export const firstDifference = (left: unknown, right: unknown): string[] | undefined => {
  if (left === right) return undefined;
  if (inexactTextOf(left) !== undefined && inexactTextOf(left) === inexactTextOf(right)) return undefined;
  if (Array.isArray(left) && Array.isArray(right)) {
    const length = Math.max(left.length, right.length);
    for (let i = 0; i < length; i += 1) {
      const inner = i < left.length && i < right.length ? firstDifference(left[i], right[i]) : [];
      if (inner !== undefined) return [String(i), ...inner];
    }
    return undefined;
  }
  if (isRecord(left) && isRecord(right)) {
    for (const name of Object.keys(right)) {
      const inner = Object.hasOwn(left, name) ? firstDifference(left[name], right[name]) : [];
      if (inner !== undefined) return [name, ...inner];
    }
    const gone = Object.keys(left).find((name) => !Object.hasOwn(right, name));
    return gone === undefined ? undefined : [gone];
  }
  return [];
};

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
