/**
 * Reads a request body with a bound on bytes and time (interface 1 and 9.3). The bound holds while reading: a body without a
 * declared length is cut off at the first byte too many, so at most the limit is in memory.
 */
import type { IncomingMessage } from 'node:http';
import { Fault, validationFault } from '#src/contract/fault.ts';
import { createPace } from '../pace.ts';
import { DuplicateMember, keptCharactersMax, NumberInLongText, parseExactJson } from './exact-json.ts';
import { parseLargeJson } from './parse-large-json.ts';
import { scanJson } from './scan-json.ts';
import { pointerOf } from './validate.ts';

export type BodyBounds = {
  bytesMax: number;
  timeoutMs: number;
  /** Aborted when the body is of no use any more: a request that was refused before its end emits no close. */
  signal?: AbortSignal;
};

const levelsMax = 64;

/** A smaller body is parsed in one step, within a few milliseconds. */
const largeBytes = 256 * 1024;

/** By the head of the request; a request without a declared length may be large. */
export const mayBeLarge = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > largeBytes;

/** The raw body. Throws PAYLOAD_TOO_LARGE or REQUEST_TIMEOUT. */
export const readBody = (request: IncomingMessage, bounds: BodyBounds): Promise<Buffer> => {
  const tooLarge = (): Fault => new Fault('PAYLOAD_TOO_LARGE', `The body may have at most ${bounds.bytesMax} bytes`);
  if (Number(request.headers['content-length'] ?? 0) > bounds.bytesMax) return Promise.reject(tooLarge());
  // A server may make no stream for requests without a body; then no event ever comes (`optimizeEmptyRequests`).
  if (request.readableEnded) return Promise.resolve(Buffer.alloc(0));
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const timer = setTimeout(
      () => finish(new Fault('REQUEST_TIMEOUT', `The body did not arrive within ${bounds.timeoutMs / 1000} s`)),
      bounds.timeoutMs,
    );
    const finish = (fault?: Error): void => {
      clearTimeout(timer);
      request.off('data', onData).off('end', onEnd).off('error', onClose).off('close', onClose);
      bounds.signal?.removeEventListener('abort', onClose);
      if (fault === undefined) return resolve(Buffer.concat(chunks, bytes));
      // Without a listener the flowing stream discards the rest as it arrives.
      request.resume();
      reject(fault);
    };
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length;
      if (bytes > bounds.bytesMax) return finish(tooLarge());
      chunks.push(chunk);
    };
    const onEnd = (): void => finish();
    // Node emits an error before the close; its code is that of any lost connection, as of one to the database.
    const onClose = (): void =>
      finish(new Fault('REQUEST_TIMEOUT', 'The connection closed before the body was complete'));
    request.on('data', onData).on('end', onEnd).on('error', onClose).on('close', onClose);
    bounds.signal?.addEventListener('abort', onClose);
    if (bounds.signal?.aborted === true) onClose();
  });
};

/**
 * A JSON object from a body, undefined for an empty one (whose content type does not matter). Throws UNSUPPORTED_MEDIA_TYPE
 * for another type or an encoding, VALIDATION_ERROR with pointer "" for a body that is no clean object. `beforeLarge` is awaited
 * before a large body is parsed, which takes several times its memory.
 */
export const readJsonObject = async (
  request: IncomingMessage,
  bounds: BodyBounds,
  beforeLarge?: () => Promise<void>,
): Promise<Record<string, unknown> | undefined> => {
  assertNotEncoded(request);
  const declared = request.headers['content-length'];
  const mayHaveBody = request.headers['transfer-encoding'] !== undefined || Number(declared ?? 0) > 0;
  if (!mayHaveBody) return undefined;
  if (Number(declared ?? 0) > bounds.bytesMax) await readBody(request, bounds);
  const json = isJson(request.headers['content-type']);
  // Only a read shows that a chunked body is empty, so the type is checked after it.
  const raw = await readBody(request, bounds);
  if (raw.length === 0) return undefined;
  if (!json) throw new Fault('UNSUPPORTED_MEDIA_TYPE', 'Send the body as application/json in UTF-8');
  if (raw.length <= largeBytes) return parseJsonObject(raw);
  await beforeLarge?.();
  return parseLargeObject(raw);
};

const assertNotEncoded = (request: IncomingMessage): void => {
  const encoding = request.headers['content-encoding'];
  if (encoding === undefined || encoding === '' || encoding.toLowerCase() === 'identity') return;
  throw new Fault('UNSUPPORTED_MEDIA_TYPE', 'Send the body without Content-Encoding');
};

/** JSON is UTF-8 (RFC 8259 section 8.1); a body with another charset would be read wrongly. */
const isJson = (contentType: string | undefined): boolean => {
  const [type = '', ...parameters] = (contentType ?? '').toLowerCase().split(';');
  return type.trim() === 'application/json' && parameters.every(isUtf8OrOther);
};

const isUtf8OrOther = (parameter: string): boolean => {
  const [name = '', value = ''] = parameter.split('=', 2);
  return name.trim() !== 'charset' || ['utf-8', '"utf-8"', 'utf8', '"utf8"'].includes(value.trim());
};

const broken = (message: string, code: 'INVALID_JSON' | 'TOO_DEEP' = 'INVALID_JSON'): Fault =>
  validationFault([{ pointer: '', code, message }]);

/** The same as `parseJsonObject`, in slices. */
const parseLargeObject = async (raw: Buffer): Promise<Record<string, unknown>> => {
  const result = await parseLargeJson(raw, { levelsMax, check: refuseNul, pace: createPace() });
  switch (result.kind) {
    case 'value':
      return result.value;
    case 'not_utf8':
      throw broken('the body is not valid UTF-8');
    case 'too_deep':
      throw broken(`the body has more than ${levelsMax} levels`, 'TOO_DEEP');
    case 'duplicate':
      throw givenTwice(result.path);
    case 'long_number':
      throw longNumber();
    case 'broken':
      // A JSON text that is no object comes here too, and the full parse finds its error.
      return parseJsonObject(raw);
  }
};

const utf8 = new TextDecoder('utf-8', { fatal: true });

const givenTwice = (path: readonly string[]): Fault =>
  validationFault([{ pointer: pointerOf(path), code: 'DUPLICATE', message: 'is given twice' }]);

const longNumber = (): Fault =>
  validationFault([
    {
      pointer: '',
      code: 'FORMAT',
      message: `holds a number with an exponent or with more than 15 digits beside more than ${keptCharactersMax} other characters; write numbers with fewer digits`,
    },
  ]);

/** PostgreSQL cannot store U+0000, escaped or not. Only texts that can hold one are searched. */
const refuseNul = (value: unknown, text: string): void => {
  if ((text.includes('\\u0000') || text.includes('\0')) && holdsNul(value)) throw broken('a string holds U+0000');
};

/** Strict JSON object: UTF-8, no U+0000, at most 64 levels, no member twice; numbers as `parseExactJson` gives them. */
const parseJsonObject = (raw: Buffer): Record<string, unknown> => {
  let text: string;
  try {
    text = utf8.decode(raw);
  } catch {
    throw broken('the body is not valid UTF-8');
  }
  // Depth is counted before parsing, since a recursive parser must not see a text that is too deep.
  const found = scanJson(raw, 0, levelsMax);
  if (found.levels > levelsMax) throw broken(`the body has more than ${levelsMax} levels`, 'TOO_DEEP');
  let value: unknown;
  try {
    value = parseExactJson(text, found);
  } catch (error) {
    if (error instanceof DuplicateMember) throw givenTwice(error.path);
    throw error instanceof NumberInLongText ? longNumber() : broken('the body is not valid JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw broken('the body must be a JSON object');
  refuseNul(value, text);
  return value as Record<string, unknown>;
};

const holdsNul = (value: unknown): boolean => {
  if (typeof value === 'string') return value.includes('\0');
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([name, inner]) => name.includes('\0') || holdsNul(inner));
};
