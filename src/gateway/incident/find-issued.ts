/** Whether a value that somebody holds in hand was issued here: its build, its id and its checksum are no proof of that. */

import { createPublicKey, type JsonWebKey, timingSafeEqual } from 'node:crypto';
import { compactVerify, decodeProtectedHeader, errors } from 'jose';
import type { Kysely } from 'kysely';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { findIssuedKey, findIssuedSecret } from '../credentials/lookup/credential-store.ts';
import { findPublicKey } from '../oauth/signing-key-store.ts';

export type Claimed = { kind: 'api_key' | 'client_secret' | 'token'; id: string; value: string };

type Deps = { db: Kysely<unknown>; box: Pick<SecretBox, 'digest'> };

/** Live or ended. `clientId`: of a secret, as it was issued. Undefined: not ours. */
export const findIssued = async (
  { db, box }: Deps,
  { kind, id, value }: Claimed,
): Promise<{ clientId: string | null } | undefined> => {
  if (kind === 'token') return (await isSignedHere(db, value)) ? { clientId: null } : undefined;
  const row = await (kind === 'api_key' ? findIssuedKey(db, id) : findIssuedSecret(db, id));
  if (row === undefined || !timingSafeEqual(row.digest, box.digest(value))) return undefined;
  return { clientId: row.clientId };
};

/** Its time does not matter here. */
const isSignedHere = async (db: Kysely<unknown>, token: string): Promise<boolean> => {
  try {
    const { kid, typ } = decodeProtectedHeader(token);
    const jwk = kid === undefined || typ !== 'at+jwt' ? undefined : await findPublicKey(db, kid);
    if (jwk === undefined) return false;
    const key = createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' });
    await compactVerify(token, key, { algorithms: ['ES256'] });
    return true;
  } catch (error) {
    // jose throws a TypeError for a header that cannot be read, and an error of its own for everything else.
    if (error instanceof errors.JOSEError || error instanceof TypeError) return false;
    throw error;
  }
};
