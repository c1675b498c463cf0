/**
 * Asks the operator's geocoder for the address of a place id (interface 11.1, "Address"): one GET, limited in time,
 * size and concurrency. It runs before the transaction of the order begins, so a slow geocoder occupies no database
 * connection.
 */
import type { Logger } from '#src/platform/log.ts';
import { type Place, readPlace } from './read-place.ts';

export type Resolved =
  | { kind: 'found'; place: Place }
  | { kind: 'unknown' }
  /** The geocoder did not answer; the same order may succeed later. */
  | { kind: 'unreachable' };

/** Never throws. `signal`: ends with the request that needs the address. */
export type AddressResolver = (placeId: string, signal: AbortSignal) => Promise<Resolved>;

/** Placeholder of the place id in the configured address. */
export const placeIdMark = '{place_id}';

const timeoutMs = 2_000;
const atOnceMax = 64;
const bytesMax = 256 * 1024;

type ResolverDeps = { readUrl: () => string | undefined; log: Logger };

/** Statuses that are about the place id, not about the geocoder. */
const ofThePlace = new Set([400, 404, 410, 422]);

/** `readUrl`: the address of the geocoder now, with the placeholder; undefined: there is none any more. */
export const createAddressResolver = ({ readUrl, log }: ResolverDeps): AddressResolver => {
  let asking = 0;
  const unreachable = (reason: string): Resolved => {
    // The log contains neither the geocoder's address, which may contain a key, nor the place, which is personal.
    log.warn({ reason }, 'the geocoder gave no usable answer');
    return { kind: 'unreachable' };
  };
  return async (placeId, signal) => {
    if (isStep(placeId)) return { kind: 'unknown' };
    const url = readUrl();
    if (url === undefined) return unreachable('no geocoder is set');
    if (asking >= atOnceMax) return unreachable(`${atOnceMax} questions are open`);
    asking += 1;
    try {
      const answer = await fetch(url.replaceAll(placeIdMark, encodeURIComponent(placeId)), {
        headers: { accept: 'application/json' },
        // A redirect to a host that was not configured would send it the key.
        redirect: 'error',
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      });
      if (!answer.ok) {
        await answer.body?.cancel();
        return ofThePlace.has(answer.status) ? { kind: 'unknown' } : unreachable(`status ${answer.status}`);
      }
      const read = readPlace(JSON.parse(await readText(answer)));
      return read.kind === 'strange' ? unreachable(read.reason) : read;
    } catch (error) {
      return unreachable(reasonOf(error));
    } finally {
      asking -= 1;
    }
  };
};

/** In a path `.` and `..` would name another path, and no encoding of the dot prevents that. */
const isStep = (placeId: string): boolean => placeId === '.' || placeId === '..';

const readText = async (answer: Response): Promise<string> => {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of answer.body ?? []) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw new RangeError('the answer is too long');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
};

/** Error messages may quote the answer or the address; error names and codes do not. */
const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return 'unknown';
  const { cause } = error;
  const code = cause instanceof Error && 'code' in cause ? ` ${String(cause.code)}` : '';
  return `${error.name}${code}`;
};
