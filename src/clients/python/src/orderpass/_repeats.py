"""Which failures of a call are repeated, and when. Nothing here does I/O."""

from __future__ import annotations

import random
from typing import Optional

from ._errors import ApiError, OrderpassError, TransportError
from ._request import Request, Settings

_BACKOFF_MAX = 8.0


def _growth(number: int) -> float:
    # A pause is bounded long before; a larger exponent is one that no float holds.
    return 2.0 ** min(number, 10)


class Repeats:
    """Which failures of one call are repeated."""

    def __init__(self, settings: Settings, request: Request) -> None:
        self._settings = settings
        self._is_safe = request.is_safe
        self._is_write = request.is_write
        self._number = 0
        self._waits = 0
        self._running = 0.0
        self._lost: Optional[OrderpassError] = None

    def pause_after(self, error: OrderpassError) -> float:
        """Seconds until the call is repeated. Raises the failure of the call when it is not."""
        settings = self._settings
        if self._lost is None and _is_unknown(error):
            self._lost = error
        asked = error.retry_after or 0.0 if isinstance(error, ApiError) else 0.0
        is_too_long = asked > settings.retry_after_max
        # Waiting for the end of the own request is no repeat that `retries` counts.
        is_own_running = _is_running(error) and settings.retries > 0
        number = self._waits if is_own_running else self._number
        if is_own_running:
            # Each request costs units, so those that only wait for the first one come at growing distances.
            asked = max(asked, min(_BACKOFF_MAX, asked * _growth(number)))
        own = min(_BACKOFF_MAX, settings.backoff * _growth(number)) * random.uniform(0.5, 1)
        # Callers that were refused together come again at different times.
        pause = asked + own / 4 if asked else own
        if is_own_running:
            self._waits += 1
            self._running += pause
            is_over = self._running > settings.retry_after_max
        else:
            self._number += 1
            is_over = number >= settings.retries
        if not self._is_safe or is_over or is_too_long or not _is_passing(error):
            raise self.failure_of(error) if _is_silent(error) else error
        return pause

    def failure_of(self, error: OrderpassError) -> OrderpassError:
        """The failure of a call that ends with an error which says nothing about its earlier attempts."""
        lost = self._lost
        # A refusal would say that the write was not carried out, while the outcome of an earlier attempt is not known.
        if not self._is_write or lost is None or lost is error:
            return error
        # The reason goes into the text, since the last error takes its place.
        earlier = TransportError(f"{lost} ({lost.__cause__!r})") if lost.__cause__ is not None else lost
        earlier.__cause__ = error
        return earlier


def _is_running(error: OrderpassError) -> bool:
    """The request with this idempotency key still runs."""
    return isinstance(error, ApiError) and error.status == 409 and error.retry_after is not None


def _is_unknown(error: OrderpassError) -> bool:
    """The service may have got the request, and may do it yet."""
    return isinstance(error, TransportError) or (isinstance(error, ApiError) and error.status in (502, 504))


def _is_silent(error: OrderpassError) -> bool:
    """The refusal says nothing about an earlier attempt: the service gives it before it looks for the idempotency key, or
    something on the way gives it in place of the service."""
    return isinstance(error, ApiError) and (_is_passing(error) or error.status in (401, 403) or error.status >= 500)


def _is_passing(error: OrderpassError) -> bool:
    """The service could not answer now. 409 counts only with Retry-After: the same request still runs."""
    if isinstance(error, ApiError):
        if error.status == 409:
            return error.retry_after is not None
        # The operator may enable the old statuses, with which 429 and 500 are 200.
        if error.status == 200:
            return error.code in ("RATE_LIMIT_EXCEEDED", "INTERNAL_ERROR")
        return error.status in (408, 429, 500, 502, 503, 504)
    return isinstance(error, TransportError)
