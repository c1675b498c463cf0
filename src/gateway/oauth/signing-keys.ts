/**
 * The keys of access tokens: ES256 (an RS256 signature takes over a millisecond), private part sealed under the master
 * key. The newest usable key signs, every key that is not retired verifies and is published, so that keys can be changed
 * without a break.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type JsonWebKey, type KeyObject } from 'node:crypto';
import { calculateJwkThumbprint, type JWK } from 'jose';
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { insertSigningKey, listSigningKeys, lockSigningKeys, type SigningKeyRow } from './signing-key-store.ts';

export type SigningKey = { kid: string; privateKey: KeyObject; publicKey: KeyObject };

export type SigningKeys = {
  /** Signs new tokens. */
  current(): SigningKey;
  /** Public key that may have signed a live token. */
  find(kid: string): KeyObject | undefined;
  /** The published set, the same object until a key comes or goes. */
  jwks(): { keys: JWK[] };
  /** Reads the keys again. */
  reload(): Promise<void>;
};

type SigningKeysDeps = { db: Kysely<unknown>; box: Pick<SecretBox, 'seal' | 'open'>; clock: Clock };

const sealLabel = (kid: string): string => `signing-key/${kid}`;

/** Makes the first key when there is none. */
export const openSigningKeys = async (deps: SigningKeysDeps): Promise<SigningKeys> => {
  await inTransaction(deps.db, async (tx) => {
    await lockSigningKeys(tx);
    if ((await listSigningKeys(tx)).length > 0) return;
    const now = deps.clock.now();
    await insertSigningKey(tx, await generateKey(deps.box, now), now);
  });
  let loaded = await loadKeys(deps, undefined);
  return {
    current: () => loaded.current(deps.clock.now()),
    find: (kid) => loaded.byKid.get(kid)?.publicKey,
    jwks: () => loaded.jwks,
    reload: async () => {
      loaded = await loadKeys(deps, loaded);
    },
  };
};

const generateKey = async (box: Pick<SecretBox, 'seal'>, now: Date): Promise<SigningKeyRow> => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const publicJwk = publicKey.export({ format: 'jwk' }) as JWK;
  const kid = await calculateJwkThumbprint(publicJwk);
  const privateText = JSON.stringify(privateKey.export({ format: 'jwk' }));
  return { kid, publicJwk, privateSealed: box.seal(privateText, sealLabel(kid)), notBefore: now };
};

type Loaded = {
  byKid: ReadonlyMap<string, SigningKey>;
  jwks: { keys: JWK[] };
  current: (now: Date) => SigningKey;
};

const loadKeys = async (deps: SigningKeysDeps, before: Loaded | undefined): Promise<Loaded> => {
  const rows = await listSigningKeys(deps.db);
  const isSame = before?.byKid.size === rows.length && rows.every(({ kid }) => before.byKid.has(kid));
  // Everything made from a key set compares by identity, so an unchanged set stays the same object.
  if (before !== undefined && isSame) return before;
  const keys = rows.map((row) => ({ notBefore: row.notBefore, key: openKey(deps.box, row) }));
  return {
    byKid: new Map(keys.map(({ key }) => [key.kid, key])),
    jwks: { keys: rows.map(({ kid, publicJwk }) => publishedJwk(kid, publicJwk)) },
    current: (now) => {
      const usable = keys.find(({ notBefore }) => notBefore.getTime() <= now.getTime()) ?? keys.at(-1);
      if (usable === undefined) throw new Error('no signing key is left');
      return usable.key;
    },
  };
};

const openKey = (box: Pick<SecretBox, 'open'>, row: SigningKeyRow): SigningKey => {
  const key: unknown = JSON.parse(box.open(row.privateSealed, sealLabel(row.kid)));
  const privateKey = createPrivateKey({ key: key as JsonWebKey, format: 'jwk' });
  return { kid: row.kid, privateKey, publicKey: createPublicKey(privateKey) };
};

/** Public members by name, so that nothing else can ever get into the document. */
const publishedJwk = (kid: string, { crv, x, y }: JWK): JWK =>
  ({ kty: 'EC', crv, x, y, kid, use: 'sig', alg: 'ES256' }) as JWK;
