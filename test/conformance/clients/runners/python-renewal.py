"""The token of the client for Python on a moved clock: `python-renewal.py sync` or `python-renewal.py async`."""

import asyncio
import json
import sys
import threading
import time
import traceback
from types import SimpleNamespace

import httpx
from orderpass import ApiError, AsyncOrderpass, CallOptions, Orderpass, TransportError, _request

# How many frames the error of each failed call has.
frames = []
is_async = sys.argv[1] == "async"
state = {"now": 0.0, "fetched": 0, "away": False, "refused": False, "sent": ""}
# The token endpoint answers while it is set.
is_open = threading.Event()
is_open.set()
_request.time = SimpleNamespace(monotonic=lambda: state["now"], time=time.time)


def answer(request: httpx.Request) -> httpx.Response:
    if request.url.path != "/api/oauth/token":
        state["sent"] = request.headers["authorization"]
        return httpx.Response(200, json={"success": True, "credential": {}, "rate": []})
    state["fetched"] += 1
    number, is_away = state["fetched"], state["away"]
    is_open.wait(30)
    if state["refused"]:
        return httpx.Response(401, json={"error": "invalid_client", "code": "INVALID_AUTH"})
    if is_away:
        return httpx.Response(503, json={"error": "temporarily_unavailable", "code": "HTTP_503"})
    return httpx.Response(200, json={"access_token": f"t{number}", "expires_in": 100})


async def answer_later(request: httpx.Request) -> httpx.Response:
    return await asyncio.to_thread(answer, request)


http = (
    httpx.AsyncClient(transport=httpx.MockTransport(answer_later))
    if is_async
    else httpx.Client(transport=httpx.MockTransport(answer))
)
client = (AsyncOrderpass if is_async else Orderpass)(
    "https://api.example", client_id="opc_1", client_secret="ops_1", retries=0, http=http
)


async def call(timeout: float = 60) -> str:
    options = CallOptions(timeout=timeout)
    try:
        if is_async:
            await client.whoami.get(options=options)
        else:
            await asyncio.to_thread(lambda: client.whoami.get(options=options))
        return state["sent"]
    except (ApiError, TransportError) as error:
        frames.append(sum(1 for _ in traceback.walk_tb(error.__traceback__)))
        return error.code if isinstance(error, ApiError) else str(error)


async def at(seconds: float) -> str:
    state["now"] = seconds
    return await call()


async def until(condition) -> None:
    ends_at = time.monotonic() + 30
    while not condition():
        if time.monotonic() > ends_at:
            raise TimeoutError(json.dumps(state))
        await asyncio.sleep(0.01)


async def main() -> None:
    first = [await at(0), await at(89), state["fetched"]]
    state["away"] = True
    is_open.clear()
    # The first of these calls is held up by the renewal for a moment with threads, the others are not.
    early = asyncio.ensure_future(at(91))
    await until(lambda: state["fetched"] == 2)
    away = [await asyncio.wait_for(call(), 10), await asyncio.wait_for(call(), 10)]
    is_open.set()
    away += [await early, state["fetched"]]
    state["away"] = False
    await asyncio.sleep(0.05)
    paused = [await at(95), state["fetched"]]
    await at(97)
    await until(lambda: state["fetched"] == 3)
    await asyncio.sleep(0.05)
    back = await at(98)
    state["away"] = True
    is_open.clear()
    state["now"] = 198
    calls = [asyncio.ensure_future(call()) for _ in range(4)]
    await until(lambda: state["fetched"] == 4)
    bounded = await call(0.05)
    await asyncio.sleep(0.05)
    is_open.set()
    ended = await asyncio.gather(*calls)
    fetched = state["fetched"]
    # Each of four calls would send one of its own if the failure were not shared.
    is_shared = fetched < 7
    state["away"], state["refused"] = False, True
    refused = [await at(200), await at(205), await at(209), state["fetched"] - fetched]
    for _ in range(10):
        await call()
    refused.append(frames[-1] - frames[-10])
    state["refused"] = False
    renewed = await at(211)
    refused.append(renewed == f"Bearer t{state['fetched']}")
    state["refused"] = True
    fetched = state["fetched"]
    # 302 is in the last tenth of the life of that token.
    still = [await at(302) == renewed, await at(302) == renewed]
    await until(lambda: state["fetched"] == fetched + 1)
    await asyncio.sleep(0.05)
    still += [await at(308) == renewed, state["fetched"] - fetched]
    print(json.dumps({"first": first, "away": away, "paused": paused, "back": back, "bounded": bounded,
                      "ended": ended, "isShared": is_shared, "refused": refused, "still": still}))


asyncio.run(main())
