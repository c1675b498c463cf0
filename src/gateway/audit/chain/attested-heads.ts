/** `hash`: the first 32 digits; undefined in heads of the first version, which attested only the number. */
export type AttestedHead = { chain: number; seq: number; hash: string | undefined };

const hashDigits = 32;
export const shortHash = (hash: string): string => hash.slice(0, hashDigits);

type Written = { v: 2; heads: [number, number, string][] };

export const writeAttestedHeads = (attested: readonly AttestedHead[]): string => {
  const heads = attested.map(({ chain, seq, hash = '' }): [number, number, string] => [chain, seq, hash]);
  return JSON.stringify({ v: 2, heads } satisfies Written);
};

/** Only for a head whose signature is right. */
export const readAttestedHeads = (seen: string): AttestedHead[] => {
  const read = JSON.parse(seen) as Written | [number, number][];
  return Array.isArray(read)
    ? read.map(([chain, seq]) => ({ chain, seq, hash: undefined }))
    : read.heads.map(([chain, seq, hash]) => ({ chain, seq, hash: hash === '' ? undefined : hash }));
};

/**
 * Heads of the first version were signed once a minute, so genuine events may follow them. Since the second version
 * every statement that writes events also signs the head. The signature covers `seen`, so the version cannot be changed
 * without the key.
 */
export const isOfFirstVersion = (seen: string): boolean => seen.startsWith('[');
