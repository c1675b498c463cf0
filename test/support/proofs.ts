/** DPoP proofs (RFC 9449), right ones and wrong ones. */
import { createHash, generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto';
import { type JWK, SignJWT } from 'jose';

export type ProofKey = { alg: string; privateKey: KeyObject; jwk: JWK };

export const newProofKey = (alg = 'ES256'): ProofKey => {
  const { privateKey, publicKey } =
    alg === 'ES256'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : alg === 'EdDSA' || alg === 'Ed25519'
        ? generateKeyPairSync('ed25519')
        : generateKeyPairSync('rsa', { modulusLength: 2048 });
  return { alg, privateKey, jwk: publicKey.export({ format: 'jwk' }) as JWK };
};

export type ProofChange = {
  /** A claim that is undefined is left out. */
  claims?: Record<string, unknown>;
  header?: Record<string, unknown>;
  signedBy?: ProofKey;
};

export const athOf = (token: string): string => createHash('sha256').update(token).digest('base64url');

export const makeProof = (
  key: ProofKey,
  about: { method: string; url: string; now: Date; token?: string },
  { claims = {}, header = {}, signedBy = key }: ProofChange = {},
): Promise<string> =>
  new SignJWT({
    jti: randomUUID(),
    htm: about.method,
    htu: about.url,
    iat: Math.floor(about.now.getTime() / 1000),
    ...(about.token === undefined ? undefined : { ath: athOf(about.token) }),
    ...claims,
  })
    .setProtectedHeader({ alg: signedBy.alg, typ: 'dpop+jwt', jwk: key.jwk, ...header })
    .sign(signedBy.privateKey);
