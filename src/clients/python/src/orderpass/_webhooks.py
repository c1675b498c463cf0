"""Verification of deliveries (Standard Webhooks; section 12.3 of the interface)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
import time
from typing import Any, Iterable, List, Mapping, Optional, Sequence, Union, cast

from ._errors import OrderpassError, WebhookError
from .types import WebhookEvent

_SIGNATURES_MAX = 20
_SECRET_PREFIX = "whsec_"


def verify_webhook(
    secret: Union[str, Sequence[str]],
    headers: Mapping[str, str],
    body: Union[bytes, str],
    *,
    tolerance: float = 300,
    now: Optional[float] = None,
) -> WebhookEvent:
    """The event of a delivery whose signature and time are right; otherwise raises WebhookError.

    secret: of the endpoint; during a rotation the old one and the new one
    headers: of the request, in any case
    body: exactly as it came, before anything parses it
    tolerance: age of a delivery in seconds, in both directions

    Remember `id` of the event: a delivery may come twice. Versions 1.x may add events.
    """
    secrets = [secret] if isinstance(secret, str) else list(secret)
    if not secrets:
        raise OrderpassError("secret is missing")
    keys = [_key(one) for one in secrets]
    event_id = _header(headers, "webhook-id")
    timestamp = _header(headers, "webhook-timestamp")
    if not re.fullmatch(r"[0-9]{1,12}", timestamp):
        raise WebhookError("webhook-timestamp is not a time")
    if not abs((time.time() if now is None else now) - int(timestamp)) <= tolerance:
        raise WebhookError("webhook-timestamp is too old or too far ahead")
    raw = body.encode() if isinstance(body, str) else bytes(body)
    signed = f"{event_id}.{timestamp}.".encode() + raw
    given = _signatures(_header(headers, "webhook-signature"))
    if not _any_fits((hmac.new(key, signed, hashlib.sha256).digest() for key in keys), given):
        raise WebhookError("no signature fits the secret")
    return _event(raw)


def _any_fits(expected: Iterable[bytes], given: List[bytes]) -> bool:
    fits = False
    for one in expected:
        for signature in given:
            fits = hmac.compare_digest(one, signature) or fits
    return fits


def _signatures(header: str) -> List[bytes]:
    found: List[bytes] = []
    for one in header.split(" ")[:_SIGNATURES_MAX]:
        if one.startswith("v1,"):
            try:
                found.append(base64.b64decode(one[3:], validate=True))
            except (binascii.Error, ValueError):
                continue
    return found


def _key(secret: str) -> bytes:
    try:
        is_encoded = secret.startswith(_SECRET_PREFIX)
        key = base64.b64decode(secret[len(_SECRET_PREFIX) :], validate=True) if is_encoded else secret.encode()
    except (binascii.Error, ValueError):
        key = b""
    if not key:
        raise OrderpassError("secret is empty or not base64")
    return key


def _header(headers: Mapping[str, str], name: str) -> str:
    """A header that is missing or given twice is refused."""
    values = [value for key, value in headers.items() if key.lower() == name]
    if len(values) != 1 or not values[0]:
        raise WebhookError(f"{name} is missing")
    return values[0]


def _event(body: bytes) -> WebhookEvent:
    try:
        event: Any = json.loads(body.decode("utf-8"))
    except ValueError:
        event = None
    if isinstance(event, dict) and isinstance(cast(Mapping[str, Any], event).get("event"), str):
        return cast(WebhookEvent, event)
    raise WebhookError("the body is not an event")
