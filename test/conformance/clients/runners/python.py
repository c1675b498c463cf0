"""Runs the steps of a scenario with the client for Python: `python.py sync` or `python.py async`."""

import asyncio
import json
import re
import sys
from concurrent.futures import ThreadPoolExecutor

from orderpass import (
    ApiError,
    AsyncOrderpass,
    CallOptions,
    Orderpass,
    OrderpassError,
    TransportError,
    WebhookError,
    verify_webhook,
)
from orderpass.types import WebhookEvent

is_async = sys.argv[1] == "async"
clients = {}
names = {
    "url": "url",
    "clientId": "client_id",
    "clientSecret": "client_secret",
    "scopes": "scopes",
    "apiKey": "api_key",
    "restuid": "restuid",
    "retries": "retries",
    "backoffSeconds": "backoff",
    "retryAfterMaxSeconds": "retry_after_max",
    "timeoutSeconds": "timeout",
}


def snake(name: str) -> str:
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()


def method_of(step):
    group, name = step["operation"].split(".")
    return getattr(getattr(clients[step["client"]], snake(group)), snake(name))


def entity_of(event: WebhookEvent) -> str:
    if event["event"] == "customer.changed":
        return event["customer"]["uid"]
    if event["event"] == "loyaltylog.created":
        return event["loyaltylog"]["uid"]
    if event["event"] == "menu.changed":
        return str(event["menu"]["version"])
    if event["event"] == "webhook.test" or event["event"] == "webhook.digest":
        return ""
    return event["order"]["uid"]


def lines_of(event: WebhookEvent):
    """Of a new order; None in a body that was too long."""
    details = event["order"]["details"] if event["event"] == "order.new" else None
    return None if details is None else len(details)


async def call(step, options=None):
    result = method_of(step)(**step["arguments"], options=options)
    return await result if is_async else result


async def run(step):
    if step["do"] == "open":
        options = {names[name]: value for name, value in step["options"].items()}
        clients[step["client"]] = (AsyncOrderpass if is_async else Orderpass)(**options)
        return {}
    if step["do"] == "call":
        infos = []
        given = step.get("options", {})
        chosen = {"idempotency_key": given["idempotencyKey"]} if "idempotencyKey" in given else {}
        options = CallOptions(timeout=given.get("timeoutSeconds"), on_answer=infos.append, **chosen)
        value = await call(step, options)
        info = infos[0]
        return {
            "value": value,
            "info": {
                "status": info.status,
                "requestId": info.request_id,
                "replayed": info.replayed,
                "attempts": info.attempts,
            },
        }
    if step["do"] == "iterate":
        found = []
        items = method_of(step)(**step["arguments"])
        if is_async:
            async for item in items:
                found.append(item)
                if len(found) == step["limit"]:
                    break
        else:
            for item in items:
                found.append(item)
                if len(found) == step["limit"]:
                    break
        return {"value": found}
    if step["do"] == "parallel":
        if is_async:
            return {"value": await asyncio.gather(*(call(step) for _ in range(step["times"])))}
        with ThreadPoolExecutor(step["times"]) as pool:
            return {"value": list(pool.map(lambda _: method_of(step)(**step["arguments"]), range(step["times"])))}
    if step["do"] == "verify":
        event = verify_webhook(step["secrets"], step["headers"], step["body"], now=step.get("now"))
        is_test = event.get("test", False)
        return {
            "value": {
                "event": event["event"],
                "entity": entity_of(event),
                "lines": lines_of(event),
                "isTest": is_test,
            }
        }
    raise ValueError(f"no step {step['do']}")


def describe(error):
    last = describe(error.__cause__) if isinstance(error.__cause__, OrderpassError) else None
    if isinstance(error, ApiError):
        return {
            "kind": "api",
            "code": error.code,
            "status": error.status,
            "requestId": error.request_id,
            "missingScopes": error.missing_scopes,
            "errors": error.errors,
            "retryAfter": error.retry_after,
            "last": last,
        }
    kind = "transport" if isinstance(error, TransportError) else "webhook" if isinstance(error, WebhookError) else "other"
    return {"kind": kind, "message": repr(error), "last": last}


async def main():
    while line := await asyncio.to_thread(sys.stdin.readline):
        step = json.loads(line)
        try:
            answer = await run(step)
        except Exception as error:  # Every failure is an answer.
            answer = {"error": describe(error)}
        print(json.dumps({**answer, "id": step["id"]}), flush=True)


asyncio.run(main())
