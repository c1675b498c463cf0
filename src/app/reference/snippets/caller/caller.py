import os

import jwt  # PyJWT with cryptography

GATEWAY = os.environ.get("GATEWAY", "https://api.example.com")
KEYS = jwt.PyJWKClient(GATEWAY + "/api/oauth/jwks")


def read_caller(token, audience):
    """The claims of the caller. Raises for everything that is not a fresh token of the gateway for this service."""
    if jwt.get_unverified_header(token).get("typ") != "orderpass-identity+jwt":
        raise jwt.InvalidTokenError("not a token of a caller")
    key = KEYS.get_signing_key_from_jwt(token).key
    return jwt.decode(
        token,
        key,
        algorithms=["ES256"],
        audience=audience,
        issuer=os.environ.get("ISSUER", GATEWAY),
        options={"require": ["sub", "exp"]},
    )
