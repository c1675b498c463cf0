/** The Ed25519 key of `v1a` signatures: made on the first use, sealed, one for all workers. */
import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { calculateJwkThumbprint, type JWK } from 'jose';
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { findSigningKey, insertSigningKeyOnce, type SigningKeyRow } from './signing-key-store.ts';

type SigningKeysDeps = { db: Kysely<unknown>; box: SecretBox; clock: Clock };

export type SigningKeys = { privateKey(): Promise<KeyObject>; publicJwks(): Promise<{ keys: JWK[] }> };

const sealLabel = (kid: string): string => `webhook-signing-key/${kid}`;

export const createSigningKeys = (deps: SigningKeysDeps): SigningKeys => {
  let loading: Promise<SigningKeyRow> | undefined;
  const load = (): Promise<SigningKeyRow> => {
    loading ??= findOrMake(deps).catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    return loading;
  };
  let opened: KeyObject | undefined;
  return {
    privateKey: async () => {
      const row = await load();
      opened ??= createPrivateKey(deps.box.open(row.privateKey, sealLabel(row.kid)));
      return opened;
    },
    publicJwks: async () => ({ keys: [(await load()).publicJwk as JWK] }),
  };
};

const findOrMake = async ({ db, box, clock }: SigningKeysDeps): Promise<SigningKeyRow> => {
  const known = await findSigningKey(db);
  if (known !== undefined) return known;
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const bare = publicKey.export({ format: 'jwk' }) as JWK;
  const kid = await calculateJwkThumbprint(bare);
  const pem = String(privateKey.export({ format: 'pem', type: 'pkcs8' }));
  return insertSigningKeyOnce(db, {
    kid,
    publicJwk: { ...bare, kid, use: 'sig', alg: 'EdDSA' },
    privateKey: box.seal(pem, sealLabel(kid)),
    created: clock.now(),
  });
};
