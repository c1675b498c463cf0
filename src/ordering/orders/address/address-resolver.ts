/**
 * Asks the operator's geocoder which address a place id means (interface 11.1, "Address"): one GET, bounded in time, size
 * and number. It is asked before the transaction of the order is open, so a slow geocoder holds no connection of the store.
 */
import type { Logger } from '#src/platform/log.ts';
import { type Place, readPlace } from './read-place.ts';

export type Resolved =
  | { kind: 'found'; place: Place }
  | { kind: 'unknown' }
  /** Nobody could say: the same order may succeed later. */
  | { kind: 'unreachable' };

/** Never throws. `signal`: of the request that asks. */
export type AddressResolver = (placeId: string, signal: AbortSignal) => Promise<Resolved>;

/** Stands in the configured address where the place id belongs. */
export const placeIdMark = '{place_id}';

const timeoutMs = 2_000;
const atOnceMax = 64;
const bytesMax = 256 * 1024;

/** Statuses that say something of the place id and nothing of the geocoder. */
const ofThePlace = new Set([400, 404, 410, 422]);

export const createAddressResolver = ({ url, log }: { url: string; log: Logger }): AddressResolver => {
  let asking = 0;
  const unreachable = (reason: string): Resolved => {
    // Neither the address, which may hold a key, nor the place, which says where somebody lives.
    log.warn({ reason }, 'the address resolver does not answer as it should');
    return { kind: 'unreachable' };
  };
  return async (placeId, signal) => {
    if (isStep(placeId)) return { kind: 'unknown' };
    if (asking >= atOnceMax) return unreachable(`${atOnceMax} questions are open`);
    asking += 1;
    try {
      const answer = await fetch(url.replaceAll(placeIdMark, encodeURIComponent(placeId)), {
        headers: { accept: 'application/json' },
        // Another host was not configured, and would be given the key.
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

/** In a path it would mean another path, however it is written: no encoding of a dot keeps it from that. */
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

/** Messages may quote the answer or the address; names and codes do not. */
const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return 'unknown';
  const { cause } = error;
  const code = cause instanceof Error && 'code' in cause ? ` ${String(cause.code)}` : '';
  return `${error.name}${code}`;
};
