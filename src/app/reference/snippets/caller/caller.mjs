import { createRemoteJWKSet, jwtVerify } from 'jose';

/** `issuer`: the public address of the gateway. `audience`: the one of this service in the route table. */
export const createReadCaller = ({ issuer, audience, jwks = `${issuer}/api/oauth/jwks` }) => {
  const keys = createRemoteJWKSet(new URL(jwks));
  /** The claims of the caller. Throws for everything that is not a fresh token of the gateway for this service. */
  return async (token) => {
    const { payload } = await jwtVerify(token, keys, {
      issuer,
      audience,
      algorithms: ['ES256'],
      typ: 'orderpass-identity+jwt',
      requiredClaims: ['sub', 'exp'],
    });
    return payload;
  };
};
