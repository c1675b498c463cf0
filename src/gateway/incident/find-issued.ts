/** Checks that a credential value was issued here. Its format, its id and its checksum do not prove that. */
import { createPublicKey, type JsonWebKey } from 'node:crypto';
import { compactVerify, decodeProtectedHeader, errors } from 'jose';
import type { Kysely } from 'kysely';
import { equalInConstantTime } from '#src/contract/equal-in-constant-time.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { findIssuedKey, findIssuedSecret } from '../credentials/lookup/credential-store.ts';
import { findPublicKey } from '../oauth/keys/signing-key-store.ts';

export type Claimed = { kind: 'api_key' | 'client_secret' | 'token'; id: string; value: string };

type Deps = { db: Kysely<unknown>; box: Pick<SecretBox, 'digest'> };

/** Finds live and ended credentials. `clientId`: client of a secret. Undefined: the value was not issued here. */
export const findIssued = async (
  { db, box }: Deps,
  { kind, id, value }: Claimed,
): Promise<{ clientId: string | null } | undefined> => {
  if (kind === 'token') return (await isSignedHere(db, value)) ? { clientId: null } : undefined;
  const row = await (kind === 'api_key' ? findIssuedKey(db, id) : findIssuedSecret(db, id));
  if (row === undefined || !equalInConstantTime(row.digest, box.digest(value))) return undefined;
  return { clientId: row.clientId };
};

/** Checks the signature alone; expired tokens count too. */
const isSignedHere = async (db: Kysely<unknown>, token: string): Promise<boolean> => {
  try {
    const { kid, typ } = decodeProtectedHeader(token);
    const jwk = kid === undefined || typ !== 'at+jwt' ? undefined : await findPublicKey(db, kid);
    if (jwk === undefined) return false;
    const key = createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' });
    await compactVerify(token, key, { algorithms: ['ES256'] });
    return true;
  } catch (error) {
    // jose throws a TypeError for an unreadable header, and a JOSEError for everything else.
    if (error instanceof errors.JOSEError || error instanceof TypeError) return false;
    throw error;
  }
};
