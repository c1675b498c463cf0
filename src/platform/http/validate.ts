/** Turns the values of a request into typed parameters, and names every fault at once (interface 1, 6.1, 6.2 step 12). */
import type { z } from 'zod';
import { tenantMember } from '#src/contract/event.ts';
import type { DetailCode, FaultDetail } from '#src/contract/fault.ts';
import { validationFault } from '#src/contract/fault.ts';

/** Issues as `errors[]`: a nested path becomes a JSON pointer, a top-level one the bare name. */
export const detailsOf = (error: z.ZodError): FaultDetail[] =>
  error.issues.map((issue) => ({
    pointer: pointerOf(issue.path),
    code: codeOf(issue),
    message: messageOf(issue),
  }));

/** RFC 6901 below the top level, the parameter's name on it. */
export const pointerOf = (path: readonly PropertyKey[]): string =>
  path.length <= 1
    ? String(path[0] ?? '')
    : `/${path.map((part) => String(part).replaceAll('~', '~0').replaceAll('/', '~1')).join('/')}`;

type Issue = z.ZodError['issues'][number];

const codeOf = (issue: Issue): DetailCode => {
  switch (issue.code) {
    case 'custom': {
      const code: unknown = issue.params?.code;
      return typeof code === 'string' ? (code as DetailCode) : 'FORMAT';
    }
    case 'invalid_type':
      // zod drops the input of an issue, but its message still describes it. null means "not given", as everywhere else.
      return /received (undefined|null)$/.test(issue.message) ? 'REQUIRED' : 'TYPE';
    case 'too_small':
    case 'too_big':
      return issue.origin === 'string' || issue.origin === 'array' ? 'LENGTH' : 'RANGE';
    case 'invalid_value':
      return 'ENUM';
    default:
      return 'FORMAT';
  }
};

const messageOf = (issue: Issue): string => {
  if (issue.code === 'invalid_type') {
    return codeOf(issue) === 'REQUIRED' ? 'is required' : `must be ${article(issue.expected)}`;
  }
  return issue.message;
};

const article = (type: string): string => (/^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`);

/** Names in a query; a name given twice and a value that holds U+0000 are faults, an empty value is absent. */
export const readQuery = (search: string): { values: Record<string, string>; errors: FaultDetail[] } => {
  const values: Record<string, string> = Object.create(null);
  const errors: FaultDetail[] = [];
  if (search === '') return { values, errors };
  const seen = new Set<string>();
  for (const [name, value] of new URLSearchParams(search)) {
    if (seen.has(name)) {
      if (!errors.some((error) => error.pointer === name))
        errors.push({ pointer: name, code: 'DUPLICATE', message: 'is given twice' });
      continue;
    }
    seen.add(name);
    if (value.includes('\0') || name.includes('\0'))
      errors.push({ pointer: name.replaceAll('\0', ''), code: 'FORMAT', message: 'must not hold U+0000' });
    else if (value !== '') values[name] = value;
  }
  return { values, errors };
};

/** One set of parameters from query and body; the same name in both must mean the same value after conversion. */
export const mergeParameters = (
  shape: Readonly<Record<string, z.ZodType>>,
  query: Readonly<Record<string, string>>,
  body: Readonly<Record<string, unknown>> | undefined,
): { values: Record<string, unknown>; errors: FaultDetail[] } => {
  if (body === undefined) return { values: { ...query }, errors: [] };
  const errors: FaultDetail[] = [];
  for (const [name, inQuery] of Object.entries(query)) {
    // Unknown names are ignored, so they cannot contradict each other either. No shape holds the name of the tenant.
    if (!Object.hasOwn(body, name) || !(Object.hasOwn(shape, name) || name === tenantMember)) continue;
    if (!sameValue(shape[name], inQuery, body[name])) {
      errors.push({ pointer: name, code: 'CONFLICTING_VALUES', message: 'differs between query and body' });
    }
  }
  return { values: { ...query, ...body }, errors };
};

const sameValue = (type: z.ZodType | undefined, left: string, right: unknown): boolean => {
  if (type === undefined) return left === right;
  const parsedLeft = type.safeParse(left);
  const parsedRight = type.safeParse(right);
  if (parsedLeft.success && parsedRight.success)
    return JSON.stringify(parsedLeft.data) === JSON.stringify(parsedRight.data);
  // Anything else is not converted to text, which throws for an object such as {"toString":0}.
  return left === (typeof right === 'number' ? String(right) : right);
};

/** Parses merged values; `earlier` faults (duplicates, conflicts) join the schema's own in one answer. */
export const parseParameters = <T>(
  type: z.ZodType<T>,
  values: Record<string, unknown>,
  earlier: readonly FaultDetail[],
): T => {
  const parsed = type.safeParse(values);
  if (parsed.success && earlier.length === 0) return parsed.data;
  const named = new Set(earlier.map((error) => error.pointer));
  const own = parsed.success ? [] : detailsSent(parsed.error, values).filter((error) => !named.has(error.pointer));
  throw validationFault([...earlier, ...own]);
};

/** A null that was sent is reported as null: "is required" would make the sender look for a member that is present. */
const detailsSent = (error: z.ZodError, values: unknown): FaultDetail[] =>
  detailsOf(error).map((detail, index) => {
    if (detail.code !== 'REQUIRED' || sentAt(values, error.issues[index]?.path ?? []) !== null) return detail;
    const message = detail.message === 'is required' ? 'must not be null' : `${detail.message}, and null is no value`;
    return { ...detail, message };
  });

const sentAt = (values: unknown, path: readonly PropertyKey[]): unknown => {
  let value = values;
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = Reflect.get(value, name);
  }
  return value;
};
