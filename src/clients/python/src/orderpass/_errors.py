from __future__ import annotations

import copy
from typing import Any, Dict, Iterable, List, Optional, Tuple, cast

from .types import ErrorDetail


class OrderpassError(Exception):
    """Every error that this package raises itself."""


class TransportError(OrderpassError):
    """No answer came: the connection failed or the time was over. `__cause__` has the reason, or the last error where this one
    is that of an earlier attempt whose outcome is not known."""


class WebhookError(OrderpassError):
    """A delivery whose signature, time or form is not right. Answer it with 400 and use nothing of it."""


class ApiError(OrderpassError):
    """The service refused the request, or failed. `__cause__` has the last error where this one is that of an earlier attempt
    whose outcome is not known (502, 504)."""

    status: int
    code: str
    """Code of the interface (`types.ErrorCode`); a service behind the gateway may use codes of its own."""
    request_id: Optional[str]
    """Quote it when you ask for help."""
    missing_scopes: List[str]
    """Exactly the scopes that the credential lacks; empty unless `code` is INSUFFICIENT_SCOPE."""
    errors: List[ErrorDetail]
    """Every value that is not valid."""
    retry_after: Optional[float]
    """Seconds to wait before the request is sent again."""
    body: Any
    """The body as it came: parsed JSON, else text."""

    def __init__(self, status: int, retry_after: Optional[float], request_id: Optional[str], body: Any) -> None:
        members = cast(Dict[str, Any], body) if isinstance(body, dict) else {}
        self.status = status
        self.code = _text(members.get("code")) or _text(members.get("error")) or f"HTTP_{status}"
        message = _text(members.get("message")) or _text(members.get("error_description"))
        super().__init__(f"{self.code} ({status}): {message or 'the answer says no reason'}")
        self.request_id = _text(members.get("request_id")) or request_id
        self.missing_scopes = [one for one in _list(members.get("missing_scopes")) if isinstance(one, str)]
        self.errors = cast(List[ErrorDetail], _list(members.get("errors")))
        given = members.get("retry_after")
        self.retry_after = retry_after if retry_after is not None else (given if isinstance(given, int) else None)
        self.body = body

    def __reduce__(self) -> Tuple[Any, ...]:
        # A process pool copies an error by the arguments of its class, which an exception would take to be its text.
        return (type(self), (self.status, self.retry_after, self.request_id, self.body))


def again(error: OrderpassError) -> OrderpassError:
    """The same failure for another call: an exception that is raised several times keeps the frames of all of them."""
    made = copy.copy(error)
    made.__cause__ = error.__cause__
    return made


def _text(value: Any) -> Optional[str]:
    return value if isinstance(value, str) and value else None


def _list(value: Any) -> List[Any]:
    return list(cast(Iterable[Any], value)) if isinstance(value, list) else []
