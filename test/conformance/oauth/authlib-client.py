"""What Authlib gets from a gateway, as one line of JSON for each mode. Arguments: the mode, and a file of JSON."""

import json
import ssl
import sys
import time

import httpx
import requests
from authlib.integrations.base_client import OAuthError
from authlib.integrations.httpx_client import OAuth2Client
from authlib.integrations.requests_client import OAuth2Session
from authlib.oauth2.rfc7523 import PrivateKeyJWT
from joserfc.jwk import import_key
from short_assertions import ShortPrivateKeyJWT

mode, file = sys.argv[1:]
with open(file) as opened:
    given = json.load(opened)
read = given["url"] + given["read"]
meta = requests.get(given["url"] + "/.well-known/oauth-authorization-server", verify=given["ca"]).json()


def context(pair=None):
    made = ssl.create_default_context(cafile=given["ca"])
    if pair:
        made.load_cert_chain(*pair)
    return made


def session(library, client, secret, method, pair=None):
    options = {"token_endpoint_auth_method": method}
    if library == "httpx":
        return OAuth2Client(client, secret, verify=context(pair), trust_env=False, **options)
    made = OAuth2Session(client, secret, **options)
    made.verify, made.cert, made.trust_env = given["ca"], pair, False
    return made


def refusal(made, endpoint=meta["token_endpoint"]):
    try:
        made.fetch_token(endpoint, grant_type="client_credentials")
    except OAuthError as error:
        return error.error
    return None


def secrets():
    for library in ("requests", "httpx"):
        for method in ("client_secret_basic", "client_secret_post"):
            wrong = session(library, given["id"], "ops_wrong", method)
            made = session(library, given["id"], given["secret"], method)
            token = made.fetch_token(meta["token_endpoint"], grant_type="client_credentials", scope="read:orders")
            statuses = [made.get(read).status_code]
            statuses.append(made.revoke_token(meta["revocation_endpoint"], token=token["access_token"]).status_code)
            # Every gateway refuses a revoked token within a second.
            until = time.monotonic() + 10
            while made.get(read).status_code != 401 and time.monotonic() < until:
                time.sleep(0.05)
            statuses.append(made.get(read).status_code)
            yield [library, method, token["token_type"], token["scope"], *statuses, refusal(wrong)]


def assertions():
    for client, pem, kind, alg in given["keys"]:
        key = import_key(pem, kind)
        made = session("requests", client, key, "private_key_jwt")
        made.register_client_auth_method(ShortPrivateKeyJWT(given["url"], alg=alg))
        tokens = [made.fetch_token(meta["token_endpoint"], grant_type="client_credentials") for _ in range(2)]
        by_default = session("requests", client, key, "private_key_jwt")
        by_default.register_client_auth_method(PrivateKeyJWT(alg=alg))
        fixed = session("requests", client, key, "private_key_jwt")
        claims = {"aud": given["url"], "exp": int(time.time()) + 60}
        fixed.register_client_auth_method(PrivateKeyJWT(alg=alg, claims=claims))
        refusals = [refusal(by_default), refusal(fixed), refusal(fixed)]
        yield [alg, len({token["access_token"] for token in tokens}), made.get(read).status_code, refusals]


def certificates():
    endpoint = meta["mtls_endpoint_aliases"]["token_endpoint"]
    pair, other = [(one["cert"], one["key"]) for one in (given["bound"], given["other"])]
    client = given["bound"]["id"]
    for library in ("requests", "httpx"):
        made = session(library, client, None, "none", pair)
        token = made.fetch_token(endpoint, grant_type="client_credentials")
        headers = {"authorization": "Bearer " + token["access_token"]}
        statuses = []
        for pair_used in (None, other):
            if library == "httpx":
                answer = httpx.get(read, headers=headers, verify=context(pair_used), trust_env=False)
            else:
                answer = requests.get(read, headers=headers, verify=given["ca"], cert=pair_used)
            statuses.append(answer.status_code)
        wrong = session(library, client, None, "none", other)
        yield [library, made.get(read).status_code, *statuses, refusal(wrong, endpoint)]


print(json.dumps(list({"secrets": secrets, "assertions": assertions, "certificates": certificates}[mode]())))
