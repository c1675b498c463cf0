"""Client of the Orderpass interface, for threads (`Orderpass`) and for asyncio (`AsyncOrderpass`)."""

from ._client import AsyncOrderpass, Orderpass
from ._errors import ApiError, OrderpassError, TransportError, WebhookError
from ._request import OMIT, AnswerInfo, CallOptions, Omitted
from ._webhooks import verify_webhook

__all__ = [
    "OMIT",
    "AnswerInfo",
    "ApiError",
    "AsyncOrderpass",
    "CallOptions",
    "Omitted",
    "Orderpass",
    "OrderpassError",
    "TransportError",
    "WebhookError",
    "verify_webhook",
]
