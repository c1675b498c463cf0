/** Revokes a token by its text, for operators. Needs no running gateway. */
import { createPublicKey, type JsonWebKey } from 'node:crypto';
import { errors, type JWTPayload, type JWTVerifyResult, jwtVerify } from 'jose';
import type { Kysely } from 'kysely';
import { Fault } from '#src/contract/fault.ts';
import type { Clock } from '#src/platform/clock.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { createRevokeToken } from '../credentials/change/revoke-token.ts';
import { listSigningKeys } from './keys/signing-key-store.ts';

/** `revoked` false: it had expired, or was revoked before. */
export type PresentedToken = { jti: string; clientId: string; expires: Date; revoked: boolean };

/** Every gateway refuses the token within a second. VALIDATION_ERROR for a token that this installation did not issue. */
export const revokePresentedToken = async (
  deps: { db: Kysely<unknown>; box: Pick<SecretBox, 'derive'>; clock: Clock },
  text: string,
  actor: string,
): Promise<PresentedToken> => {
  const { payload, ended } = await readToken(deps, text.trim());
  const { jti, client_id: clientId, exp } = payload;
  if (typeof jti !== 'string' || typeof clientId !== 'string' || exp === undefined) throw notOurs();
  const expires = new Date(exp * 1000);
  const by = { reason: 'revoked by an operator', actor };
  const revoked = !ended && (await createRevokeToken(deps)({ jti, clientId, expiresMs: expires.getTime() }, by));
  return { jti, clientId, expires, revoked };
};

const readToken = async (
  { db, clock }: { db: Kysely<unknown>; clock: Clock },
  text: string,
): Promise<{ payload: JWTPayload; ended: boolean }> => {
  const keys = new Map((await listSigningKeys(db)).map(({ kid, publicJwk }) => [kid, publicJwk]));
  try {
    const { payload }: JWTVerifyResult = await jwtVerify(
      text,
      ({ kid }) => {
        const jwk = keys.get(kid ?? '');
        if (jwk === undefined) throw notOurs();
        return createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' });
      },
      { algorithms: ['ES256'], typ: 'at+jwt', currentDate: clock.now() },
    );
    return { payload, ended: false };
  } catch (error) {
    // Only thrown after the signature was found right.
    if (error instanceof errors.JWTExpired) return { payload: error.payload, ended: true };
    if (error instanceof errors.JOSEError) throw notOurs();
    throw error;
  }
};

const notOurs = (): Fault => new Fault('VALIDATION_ERROR', 'This is not an access token of this installation');
