"""Checks of the client for Python that need its own types. Prints what it found as JSON."""

import asyncio
import json
import pickle

import httpx
from orderpass import ApiError, AsyncOrderpass, CallOptions, Orderpass, OrderpassError

URL = "https://api.example"
MENU = {"pos_uid": "till", "update_mode": "merge", "categories": [], "products": []}
timeouts = []
hosts = set()


def answer(request: httpx.Request) -> httpx.Response:
    timeouts.append(request.extensions["timeout"])
    return httpx.Response(200, json={"success": True, "credential": {}, "import": {}})


def redirect(request: httpx.Request) -> httpx.Response:
    hosts.add(request.url.host)
    return httpx.Response(307, headers={"location": "https://stolen.example/api/oauth/token"}, json={})


def times():
    usual = Orderpass(URL, api_key="opk_1", http=httpx.Client(transport=httpx.MockTransport(answer)))
    own = Orderpass(URL, api_key="opk_1", timeout=9, http=httpx.Client(transport=httpx.MockTransport(answer)))
    usual.whoami.get()
    usual.menu.import_menu(**MENU)
    usual.menu.import_menu(**MENU, options=CallOptions(timeout=7))
    own.menu.import_menu(**MENU)
    return [one["read"] for one in timeouts]


async def redirected():
    transport = httpx.MockTransport(redirect)
    credential = {"client_id": "opc_1", "client_secret": "ops_1"}
    found = []
    try:
        Orderpass(URL, **credential, http=httpx.Client(transport=transport, follow_redirects=True)).whoami.get()
    except ApiError as error:
        found.append(error.code)
    http = httpx.AsyncClient(transport=transport, follow_redirects=True)
    try:
        await AsyncOrderpass(URL, **credential, http=http).whoami.get()
    except ApiError as error:
        found.append(error.code)
    return found


def copied():
    error = ApiError(404, None, "req_1", {"error": "NOT_FOUND", "message": "no"})
    copy = pickle.loads(pickle.dumps(error))
    return [copy.code, copy.status, copy.request_id, str(copy)]


def keys():
    sent = []

    def note(request):
        sent.append(request.headers["idempotency-key"])
        return httpx.Response(200, json={"success": True, "import": {}})

    client = Orderpass(URL, api_key="opk_1", http=httpx.Client(transport=httpx.MockTransport(note)))
    for key in ["", "a b", "a\n", "schl\u00fcssel", "a" * 256, "a" * 255]:
        try:
            client.menu.import_menu(**MENU, options=CallOptions(idempotency_key=key))
        except OrderpassError:
            pass
    return [len(key) for key in sent]


def endless():
    requests = []

    def same(request):
        requests.append(request)
        return httpx.Response(200, json={"success": True, "orders": [], "more": True, "next_cursor": "c", "total_count": 0})

    client = Orderpass(URL, api_key="opk_1", http=httpx.Client(transport=httpx.MockTransport(same)))
    return [len(list(client.orders.list())), len(requests)]


def lasting():
    requests = []

    def lost(request):
        requests.append(request)
        raise httpx.ConnectError("no connection")

    http = httpx.Client(transport=httpx.MockTransport(lost))
    client = Orderpass(URL, api_key="opk_1", retries=1100, backoff=0, http=http)
    try:
        client.whoami.get()
    except Exception as error:
        return [type(error).__name__, len(requests)]


print(json.dumps({
    "lasting": lasting(),
    "keys": keys(),
    "endless": endless(),
    "times": times(),
    "connect": max(one["connect"] for one in timeouts),
    "redirected": asyncio.run(redirected()),
    "hosts": sorted(hosts),
    "copied": copied(),
}))
