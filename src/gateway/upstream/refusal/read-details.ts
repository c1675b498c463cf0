/**
 * Pure: reads which values of a request an upstream found wrong, in the forms that interface 6.3 lists. The
 * number, depth and length of what is read are bounded, since a body of 4 MB may hold anything.
 */
import type { DetailCode, FaultDetail } from '#src/contract/fault.ts';
import { publicSentence, revealsInternals } from './public-sentence.ts';

type Json = Readonly<Record<string, unknown>>;

const detailsMax = 100;
const depthMax = 8;
const pointerCharactersMax = 1_024;
const messageCharactersMax = 2_048;
const codePattern = /^[A-Za-z0-9_.:-]{1,64}$/;

export const isCode = (value: unknown): value is string => typeof value === 'string' && codePattern.test(value);

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** `errors` of an envelope of this interface. Entries of another shape are left out; so are their other members. */
export const readEnvelopeDetails = (value: unknown): FaultDetail[] =>
  Array.isArray(value) ? value.filter(isDetail).map(({ pointer, code, message }) => ({ pointer, code, message })) : [];

const isDetail = (entry: unknown): entry is FaultDetail =>
  isObject(entry) &&
  typeof entry.pointer === 'string' &&
  entry.pointer.length <= pointerCharactersMax &&
  isCode(entry.code) &&
  typeof entry.message === 'string' &&
  entry.message.length <= messageCharactersMax;

/** Any other JSON body. For 400 and 422 the body itself may be the list. */
export const readForeignDetails = (json: unknown, status: number): FaultDetail[] => {
  const found: FaultDetail[] = [];
  const isInvalid = status === 400 || status === 422;
  if (Array.isArray(json) && isInvalid) readMap(json, [], found);
  if (!isObject(json)) return found;
  for (const list of [json.errors, json.detail, json.message]) {
    if (Array.isArray(list)) readList(list, found);
    else if (list === json.errors && isObject(list)) readMap(list, [], found);
    if (found.length > 0) return found;
  }
  if (isInvalid && isNested(json, 0)) readMap(json, [], found);
  return found;
};

/** Django REST: lists of sentences, also in objects by the name of a field. */
const isNested = (value: unknown, depth: number): boolean => {
  if (depth > depthMax) return false;
  if (Array.isArray(value)) return value.every((entry) => typeof entry === 'string' || isNested(entry, depth + 1));
  return isObject(value) && Object.values(value).every((entry) => isNested(entry, depth + 1));
};

/** Characters that names of fields consist of. */
const pointerPattern = /^[\p{L}\p{N}_.~/$@ -]*$/u;

const add = (found: FaultDetail[], pointer: string, code: unknown, message: string): void => {
  if (found.length === detailsMax || pointer.length > pointerCharactersMax) return;
  // The interface passes on the code of an upstream, which is none of its own.
  const known = isCode(code) && !revealsInternals(code) ? (code as DetailCode) : 'FORMAT';
  found.push({
    pointer: pointerPattern.test(pointer) ? pointer : '',
    code: known,
    message: publicSentence(message) ?? 'is not valid',
  });
};

/** Sentences, or objects that name a value. */
const readList = (list: readonly unknown[], found: FaultDetail[]): void => {
  const areSentences = list.every((entry) => typeof entry === 'string');
  for (const entry of list.slice(0, detailsMax)) {
    if (areSentences) add(found, '', undefined, String(entry));
    else if (isObject(entry)) readEntry(entry, found);
  }
};

const readEntry = (entry: Json, found: FaultDetail[]): void => {
  const message = [entry.message, entry.msg, entry.defaultMessage, entry.detail, entry.title].find(
    (value) => typeof value === 'string' && value !== '',
  );
  if (typeof message !== 'string' || message.length > messageCharactersMax) return;
  const isCoded = entry.code !== undefined;
  if (isCoded && typeof entry.code === 'string' && !isCode(entry.code)) return;
  add(found, pointerOf(entry), isCoded ? entry.code : Array.isArray(entry.loc) ? entry.type : undefined, message);
};

/** Parts of a request that frameworks put before the name of a value. */
const places: ReadonlySet<unknown> = new Set([
  ...['body', 'json', 'form', 'files', 'query', 'path', 'header', 'headers', 'cookie', 'cookies'],
]);

const pointerOf = (entry: Json): string => {
  const { pointer, loc, source } = entry;
  if (typeof pointer === 'string') return pointer.replace(/^#/, '');
  if (Array.isArray(loc)) return joinLocation(loc);
  if (isObject(source) && typeof source.pointer === 'string') return source.pointer;
  if (isObject(source) && typeof source.parameter === 'string') return source.parameter;
  const path = [entry.field, entry.path, entry.param].find((value) => value !== undefined);
  if (Array.isArray(path)) return joinSegments(path);
  return typeof path === 'string' ? joinSegments(segmentsOf(path)) : '';
};

/** FastAPI: the part of the request, then the way to the value. The position of a syntax error names no value. */
const joinLocation = (loc: readonly unknown[]): string => {
  const segments = places.has(loc[0]) ? loc.slice(1) : loc;
  return segments.length === 1 && typeof segments[0] === 'number' ? '' : joinSegments(segments);
};

/** `items[0].quantity`, `$.items[0].quantity` and `items.0.quantity` are one way. */
const segmentsOf = (path: string): string[] =>
  path
    .slice(0, pointerCharactersMax)
    .split(/[.[\]]/)
    .filter((segment) => segment !== '' && segment !== '$');

/** A value of the request itself by its name, one inside it as a JSON pointer (RFC 6901). */
const joinSegments = (segments: readonly unknown[]): string => {
  const names = segments
    .filter((segment) => typeof segment === 'string' || typeof segment === 'number')
    .map((segment) => String(segment));
  if (names.length === 0) return '';
  if (names.length === 1) return names[0] ?? '';
  return names.map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
};

/** Names under which frameworks list what is wrong with the whole body. */
const wholeBody: ReadonlySet<string> = new Set(['non_field_errors', '__all__', '_schema', '$', '']);

/** Sentences by the name of a field, to any depth within the bound: ASP.NET, Django REST, marshmallow. */
const readMap = (value: unknown, way: readonly string[], found: FaultDetail[]): void => {
  if (found.length === detailsMax || way.length > depthMax) return;
  if (typeof value === 'string') return add(found, joinSegments(way), undefined, value);
  if (Array.isArray(value)) {
    for (const [index, entry] of value.slice(0, detailsMax).entries())
      readMap(entry, typeof entry === 'string' ? way : [...way, String(index)], found);
    return;
  }
  if (!isObject(value)) return;
  if (way.length > 0 && typeof value.message === 'string')
    return add(found, joinSegments(way), undefined, value.message);
  for (const [name, entry] of Object.entries(value).slice(0, detailsMax)) {
    const isPlace = way.length === 0 && places.has(name) && isObject(entry);
    readMap(entry, isPlace || wholeBody.has(name) ? way : [...way, ...segmentsOf(name)], found);
  }
};
