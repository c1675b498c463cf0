/** RFC 9701: an introspection answer as a JWT, so that who receives it can show later what the server said. */
import { signJwt } from '#src/contract/es256.ts';
import { namesType } from '../../answer/dialects.ts';
import type { SigningKey } from '../keys/signing-keys.ts';

const typ = 'token-introspection+jwt';
export const introspectionJwtType = `application/${typ}`;

/** True when the caller asks for the signed form by its name; a wildcard means JSON. */
export const wantsJwt = (accept: string | undefined): boolean => namesType(accept, introspectionJwtType);

type Signed = {
  issuer: string;
  /** Client id of the caller, which alone the answer is for. */
  audience: string;
  answer: Record<string, unknown>;
  nowMs: number;
};

/** It has no `sub` and no `exp` of its own, so that it cannot be taken for an access token (RFC 9701 section 5). */
export const signIntrospection = ({ issuer, audience, answer, nowMs }: Signed, key: SigningKey): string => {
  const claims = { iss: issuer, aud: audience, iat: Math.floor(nowMs / 1000), token_introspection: answer };
  return signJwt(typ, claims, key);
};
