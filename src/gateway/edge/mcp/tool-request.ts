/** The request of the API that a tool call is. */
import type { FaultDetail } from '#src/contract/fault.ts';
import { inexactTextOf } from '#src/platform/http/exact-json.ts';
import { pointerOf } from '#src/platform/http/validate.ts';
import type { Tool } from './describe-tools.ts';

export type ToolRequest = {
  method: string;
  /** Path and query. */
  target: string;
  headers: Readonly<Record<string, string>>;
  body: string | undefined;
};

type Made = { request: ToolRequest; errors?: never } | { request?: never; errors: readonly FaultDetail[] };

/**
 * Values are not compared with their schemas here: the operation checks them, and its refusal names what is wrong. `errors`: the
 * arguments cannot be written as a request.
 */
export const toolRequest = ({ route, places, hasBody }: Tool, given: Readonly<Record<string, unknown>>): Made => {
  const errors: FaultDetail[] = [];
  const query: string[] = [];
  const headers: Record<string, string> = { accept: 'application/json' };
  const body: Record<string, unknown> = {};
  let path: string = route.path;
  const plain = (argument: string, value: unknown): string | undefined => {
    const text = plainText(value);
    if (text === undefined) errors.push(notPlain(argument));
    return text;
  };
  for (const [argument, value] of Object.entries(given)) {
    const place = places.get(argument);
    if (place === undefined) errors.push(unknownArgument(argument, places));
    else if (place.in === 'body') body[place.name] = value;
    else if (value === null && place.in !== 'path') continue;
    else {
      const text = plain(argument, value);
      if (text === undefined) continue;
      if (place.in === 'query') query.push(`${encodeURIComponent(place.name)}=${encodeURIComponent(text)}`);
      else if (place.in === 'header') headers[place.name.toLowerCase()] = text;
      else path = path.replace(`{${place.name}}`, encodeURIComponent(text));
    }
  }
  for (const [argument, place] of places)
    if (place.in === 'path' && (given[argument] === undefined || given[argument] === ''))
      errors.push({ pointer: argument, code: 'REQUIRED', message: 'is required' });
  if (headers['idempotency-key'] !== undefined && !/^[\x21-\x7e]{1,255}$/.test(headers['idempotency-key']))
    errors.push({ pointer: 'idempotency_key', code: 'FORMAT', message: 'must be 1 to 255 visible ASCII characters' });
  errors.push(...inexactNumbers(given, []));
  if (errors.length > 0) return { errors };
  const target = query.length === 0 ? path : `${path}?${query.join('&')}`;
  if (!hasBody) return { request: { method: route.method, target, headers, body: undefined } };
  headers['content-type'] = 'application/json';
  return { request: { method: route.method, target, headers, body: JSON.stringify(body) } };
};

/** Text of a parameter outside the body; a list is joined by commas (OpenAPI `style: form`, `explode: false`). */
const plainText = (value: unknown): string | undefined => {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (!Array.isArray(value)) return undefined;
  const texts = value.map((item) => (Array.isArray(item) ? undefined : plainText(item)));
  return texts.includes(undefined) ? undefined : texts.join(',');
};

const notPlain = (argument: string): FaultDetail => ({
  pointer: argument,
  code: 'TYPE',
  message: 'must be a text, a number, true, false, or a list of them',
});

const unknownArgument = (argument: string, places: Tool['places']): FaultDetail => ({
  pointer: argument.slice(0, 64),
  code: 'ENUM',
  message: `is no argument of this tool; it takes ${[...places.keys()].join(', ') || 'none'}`,
});

/** A number whose digits no double holds would reach the operation as another number. */
const inexactNumbers = (value: unknown, path: readonly string[]): FaultDetail[] => {
  const text = inexactTextOf(value);
  if (text !== undefined)
    return [
      { pointer: pointerOf(path), code: 'FORMAT', message: 'has more digits than can be kept; write it with fewer' },
    ];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => inexactNumbers(inner, [...path, name]));
};
