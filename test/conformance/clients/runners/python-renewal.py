"""The token of the client for Python on a moved clock: `python-renewal.py sync` or `python-renewal.py async`."""

import asyncio
import json
import sys
import time
from types import SimpleNamespace

import httpx
from orderpass import ApiError, AsyncOrderpass, Orderpass, _request

is_async = sys.argv[1] == "async"
state = {"now": 0.0, "fetched": 0, "away": False, "sent": ""}
_request.time = SimpleNamespace(monotonic=lambda: state["now"], time=time.time)


def answer(request: httpx.Request) -> httpx.Response:
    if request.url.path != "/api/oauth/token":
        state["sent"] = request.headers["authorization"]
        return httpx.Response(200, json={"success": True, "credential": {}, "rate": []})
    state["fetched"] += 1
    if state["away"]:
        return httpx.Response(503, json={"error": "temporarily_unavailable", "code": "HTTP_503"})
    return httpx.Response(200, json={"access_token": f"t{state['fetched']}", "expires_in": 100})


transport = httpx.MockTransport(answer)
http = httpx.AsyncClient(transport=transport) if is_async else httpx.Client(transport=transport)
client = (AsyncOrderpass if is_async else Orderpass)(
    "https://api.example", client_id="opc_1", client_secret="ops_1", retries=0, http=http
)


async def at(seconds: float) -> str:
    state["now"] = seconds
    try:
        result = client.whoami.get()
        if is_async:
            await result
        return state["sent"]
    except ApiError as error:
        return error.code


async def main() -> None:
    first = [await at(0), await at(89), state["fetched"]]
    state["away"] = True
    away = [await at(91), state["fetched"]]
    state["away"] = False
    back = await at(92)
    state["away"] = True
    ended = await at(193)
    print(json.dumps({"first": first, "away": away, "back": back, "ended": ended}))


asyncio.run(main())
