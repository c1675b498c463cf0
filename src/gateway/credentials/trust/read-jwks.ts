/** Pure: the keys of an issuer (RFC 7517), those that can verify signatures of assertions. */
import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { z } from 'zod';

export type IssuerKey = {
  kid: string | undefined;
  /** Fixed by the key, so that a token cannot choose the algorithm of a key (RFC 8725 section 3.1). */
  algorithms: readonly string[];
  key: KeyObject;
};

/** All are asymmetric. */
export const workloadAlgorithms: readonly string[] = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];

const rsaAlgorithms = workloadAlgorithms.slice(0, 6);
const algorithmsOfCurve: ReadonlyMap<unknown, readonly string[]> = new Map([
  ['P-256', ['ES256']],
  ['P-384', ['ES384']],
  ['P-521', ['ES512']],
  // RFC 9864 gave EdDSA on this curve its own name.
  ['Ed25519', ['EdDSA', 'Ed25519']],
]);

const keysMax = 100;
const rsaBitsMin = 2_048;
/** SPIFFE bundles name the use of keys of JWT-SVIDs so. */
const uses: readonly unknown[] = [undefined, 'sig', 'jwt-svid'];

const setSchema = z.object({ keys: z.array(z.record(z.string(), z.unknown())).max(keysMax) });

/** Keys of other kinds and uses are left out. Throws when the text is no key set, or one of more than 100 keys. */
export const readJwks = (text: string): readonly IssuerKey[] =>
  setSchema.parse(JSON.parse(text)).keys.flatMap((jwk) => {
    const key = readKey(jwk);
    return key === undefined ? [] : [key];
  });

const readKey = (jwk: Readonly<Record<string, unknown>>): IssuerKey | undefined => {
  const { kid, kty, crv, alg, use, key_ops: operations } = jwk;
  if (!uses.includes(use) || (Array.isArray(operations) && !operations.includes('verify'))) return undefined;
  const possible = kty === 'RSA' ? rsaAlgorithms : (algorithmsOfCurve.get(crv) ?? []);
  const algorithms = alg === undefined ? possible : possible.filter((one) => one === alg);
  if (algorithms.length === 0) return undefined;
  const key = publicKeyOf(jwk);
  if (key === undefined) return undefined;
  if (kty === 'RSA' && (key.asymmetricKeyDetails?.modulusLength ?? 0) < rsaBitsMin) return undefined;
  return { kid: typeof kid === 'string' ? kid : undefined, algorithms, key };
};

const publicKeyOf = (jwk: Readonly<Record<string, unknown>>): KeyObject | undefined => {
  try {
    return createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' });
  } catch {
    return undefined;
  }
};
