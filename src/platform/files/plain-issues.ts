/** Says in plain words what is wrong with a value that a zod schema refused, for files that people write. */
import type { z } from 'zod';

/** One problem: where it is, and what is expected there. `input`: what was found. */
export type PlainIssue = { path: PropertyKey[]; message: string; input: unknown };

type RawIssue = z.core.$ZodRawIssue;
type Issue = z.core.$ZodIssue;

/** For `safeParse`: texts for the issues of schemas that have none of their own, and the values that were found. */
export const plainTexts: z.core.ParseContext<Issue> = { error: (issue) => textOf(issue), reportInput: true };

/** Every problem, with the place inside a union where the value fits one of its forms best. */
export const plainIssues = (error: z.ZodError): PlainIssue[] => error.issues.flatMap((issue) => innermost(issue));

/** `, found "x"`: a value as it would stand in JSON, cut to a bounded length. Empty for lists, objects and what is missing. */
export const foundText = (value: unknown): string => {
  if (value === undefined || (typeof value === 'object' && value !== null)) return '';
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value);
  return `, found ${text.length > shownMax ? `${text.slice(0, shownMax)}…` : text}`;
};

const shownMax = 80;

const foundKind = (value: unknown): string => {
  if (typeof value !== 'object' || value === null) return '';
  return Array.isArray(value) ? ', found a list' : ', found an object';
};

const kinds: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
};

const textOf = (issue: RawIssue): string => {
  if (issue.input === undefined) return 'is required';
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${kinds[issue.expected] ?? issue.expected}${foundKind(issue.input)}`;
    case 'invalid_value':
      return `must be ${listed(issue.values.map(String))}`;
    case 'too_small':
      return issue.minimum === 1 && countables.has(issue.origin)
        ? 'must not be empty'
        : `must ${boundText(issue.origin, 'at least', issue.minimum)}`;
    case 'too_big':
      return `must ${boundText(issue.origin, 'at most', issue.maximum)}`;
    case 'unrecognized_keys':
      return `has ${issue.keys.length === 1 ? 'an unknown member' : 'unknown members'}: ${issue.keys.join(', ')}`;
    case 'invalid_key':
      return issue.issues[0]?.message ?? 'is no name that can stand here';
    case 'invalid_format':
      return issue.pattern === undefined ? `must be of the form ${issue.format}` : `must match ${issue.pattern}`;
    case 'invalid_union':
      return 'options' in issue && Array.isArray(issue.options)
        ? `must be ${listed(issue.options.map(String))}${foundText(memberOf(issue.input, issue.discriminator))}`
        : 'has a wrong value';
    default:
      return 'has a wrong value';
  }
};

/** The member that decides between the forms of a union. */
const memberOf = (value: unknown, name: string | undefined): unknown =>
  typeof value === 'object' && value !== null && name !== undefined ? Reflect.get(value, name) : undefined;

const countables: ReadonlySet<string> = new Set(['string', 'array']);

const boundText = (origin: string, bound: string, count: number | bigint): string => {
  if (origin === 'string') return `have ${bound} ${count} characters`;
  return origin === 'array' ? `have ${bound} ${count} entries` : `be ${bound} ${count}`;
};

const listed = (names: readonly string[]): string =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`;

/** The value is of another kind than this form of the union, so its other problems would say nothing. */
const isOtherForm = ({ code, path }: Issue): boolean =>
  path.length === 0 && (code === 'invalid_type' || code === 'invalid_value' || code === 'invalid_union');

const innermost = (issue: Issue): PlainIssue[] => {
  const { path, message, input } = issue;
  const fitting = issue.code === 'invalid_union' ? issue.errors.filter((form) => !form.some(isOtherForm)) : [];
  const [form] = fitting;
  // With several forms that could be meant, the text of the union says more.
  if (form === undefined || fitting.length > 1) return [{ path, message, input }];
  return form.flatMap(innermost).map((inner) => ({ ...inner, path: [...path, ...inner.path] }));
};
