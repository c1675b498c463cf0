/**
 * Pure: the ends of other chains that a signed head vouches for, so that no head can be put back and no chain can vanish
 * without another head that contradicts. Hashes are cut to 128 bits, which no writer of the tables can meet on purpose.
 */
import type { ChainEnd } from './chain.ts';

/** `hash`: the first 32 digits; undefined in heads of the first version, which named only the number. */
export type Vouch = { chain: number; seq: number; hash: string | undefined };

const hashDigits = 32;
export const shortHash = (hash: string): string => hash.slice(0, hashDigits);

type Written = { v: 2; heads: [number, number, string][] };

export const writeVouches = (vouches: readonly Vouch[]): string => {
  const heads = vouches.map(({ chain, seq, hash = '' }): [number, number, string] => [chain, seq, hash]);
  return JSON.stringify({ v: 2, heads } satisfies Written);
};

/** Only for a head whose signature is right. */
export const readVouches = (seen: string): Vouch[] => {
  const read = JSON.parse(seen) as Written | [number, number][];
  return Array.isArray(read)
    ? read.map(([chain, seq]) => ({ chain, seq, hash: undefined }))
    : read.heads.map(([chain, seq, hash]) => ({ chain, seq, hash: hash === '' ? undefined : hash }));
};

/**
 * Heads of the first version were signed each minute, so genuine events may stand behind them. Since the second each
 * statement that writes events signs them too. The signature covers `seen`, so nobody without the key can turn one into
 * the other.
 */
export const isOfFirstVersion = (seen: string): boolean => seen.startsWith('[');

export const isVouchedEnd = (vouch: Vouch, end: ChainEnd): boolean =>
  vouch.seq === end.seq && (vouch.hash === undefined || vouch.hash === shortHash(end.hash));
