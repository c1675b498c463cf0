"""What both clients share: requests, answers, which failures are repeated, and when. Nothing here does I/O."""

from __future__ import annotations

import enum
import json
import re
import time
import uuid
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any, Callable, Dict, Mapping, Optional, Sequence, Tuple, Union, cast
from urllib.parse import quote, urlencode, urlsplit

import httpx

from ._errors import ApiError, OrderpassError, TransportError

_ANSWER_BYTES_MAX = 64 * 1024 * 1024


class Omitted(enum.Enum):
    """An argument that is not sent. `None` is sent as null."""

    OMIT = "OMIT"


OMIT = Omitted.OMIT


@dataclass(frozen=True)
class AnswerInfo:
    status: int
    request_id: Optional[str]
    replayed: bool
    """The answer is that of an earlier request with the same idempotency key."""
    attempts: int
    """Requests that were sent for this call."""


@dataclass(frozen=True)
class CallOptions:
    idempotency_key: Union[str, None, Omitted] = OMIT
    """By default every write gets a new one. `None` sends none; such a write is never repeated."""
    timeout: Optional[float] = None
    """Seconds of one attempt of this call, and of its wait for a token."""
    on_answer: Optional[Callable[[AnswerInfo], None]] = None


@dataclass(frozen=True)
class Operation:
    id: str
    method: str
    path: str
    in_path: Tuple[str, ...] = ()
    """Members of the request that stand in the path."""
    timeout: Optional[float] = None
    """Seconds of an attempt where no caller gives any."""


@dataclass(frozen=True)
class Settings:
    """Settings of a client; `Orderpass` describes them."""

    url: str
    client_id: Optional[str]
    client_secret: Optional[str] = field(repr=False)
    api_key: Optional[str] = field(repr=False)
    scopes: Sequence[str]
    restuid: Optional[str]
    timeout: Optional[float]
    retries: int
    backoff: float
    retry_after_max: float

    def __post_init__(self) -> None:
        url = urlsplit(self.url)
        is_local = url.hostname in ("localhost", "127.0.0.1", "::1")
        if not (url.scheme == "https" or (url.scheme == "http" and is_local)):
            raise OrderpassError("url must be https, or http for localhost")
        if url.path not in ("", "/") or url.query or url.username:
            raise OrderpassError("url must have no path, query or credential")
        if (self.api_key is None) == (self.client_id is None or self.client_secret is None):
            raise OrderpassError("give either client_id and client_secret, or api_key")

    @property
    def origin(self) -> str:
        return self.url.rstrip("/")


@dataclass(frozen=True)
class Request:
    method: str
    url: str
    headers: Dict[str, str]
    body: Optional[bytes] = field(repr=False)
    params: Optional[Dict[str, str]]
    timeout: float
    is_safe: bool
    """It has no second effect when it is sent twice. Any other one is sent once."""
    is_write: bool = False
    """It changes something: whether an attempt did so must not be reported wrongly."""


# The service answers within 30 s.
_USUAL_TIMEOUT = 35.0


def make_request(
    settings: Settings, operation: Operation, members: Mapping[str, Any], options: CallOptions
) -> Request:
    given: Dict[str, Any] = {}
    # Below whoami a restaurant is a filter, which would hide requests that were refused before theirs was known.
    if settings.restuid is not None and not operation.path.startswith("/api/whoami"):
        given["restuid"] = settings.restuid
    given.update({name: value for name, value in members.items() if value is not OMIT})
    path = operation.path
    for name in operation.in_path:
        path = path.replace("{" + name + "}", _segment(name, given.pop(name, None)))
    headers = {"accept": "application/json"}
    url = settings.origin + path
    given_times = (options.timeout, settings.timeout, operation.timeout, _USUAL_TIMEOUT)
    timeout = next(seconds for seconds in given_times if seconds is not None)
    if operation.method == "GET":
        for name, value in given.items():
            # An empty text would be taken as no value, and so as all.
            if isinstance(value, (list, tuple)) and not value:
                raise OrderpassError(f"`{name}` must have an item, or be left out")
        params = {name: _query_value(value) for name, value in given.items() if value is not None}
        return Request("GET", url, headers, None, params, timeout, True)
    key = str(uuid.uuid4()) if options.idempotency_key is OMIT else options.idempotency_key
    if isinstance(key, str):
        headers["idempotency-key"] = _checked_key(key)
    headers["content-type"] = "application/json"
    return Request("POST", url, headers, json.dumps(given).encode(), None, timeout, key is not None, True)


def _checked_key(key: str) -> str:
    # A header with another value is lost on the way, or cannot be sent.
    if not re.fullmatch(r"[\x21-\x7e]{1,255}", key):
        raise OrderpassError("idempotency_key must be 1 to 255 visible ASCII characters, or None for none")
    return key


def _segment(name: str, value: Any) -> str:
    # A segment that is empty or only dots would lead to another operation.
    if not isinstance(value, str) or re.fullmatch(r"\.{0,2}", value):
        raise OrderpassError(f"{name} must be an id")
    return quote(value, safe="")


def _query_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(_query_value(one) for one in cast(Sequence[Any], value))
    return str(value)


def add_chunk(content: bytearray, chunk: bytes) -> None:
    """Bounds the memory of one answer."""
    content += chunk
    if len(content) > _ANSWER_BYTES_MAX:
        raise TransportError(f"the answer has more than {_ANSWER_BYTES_MAX} bytes")


def read_answer(response: httpx.Response, content: bytearray) -> Dict[str, Any]:
    """The object of an answer; raises ApiError for every refusal."""
    try:
        body: Any = json.loads(content)
    except ValueError:
        body = content.decode("utf-8", "replace")
    # The operator may enable the old statuses, with which refusals are 200.
    answer = cast(Dict[str, Any], body) if isinstance(body, dict) else {"success": False}
    if response.is_success and answer.get("success") is not False:
        return answer
    retry_after = _seconds(response.headers.get("retry-after"))
    raise ApiError(response.status_code, retry_after, response.headers.get("x-request-id"), body)


def answer_info(response: httpx.Response, attempts: int) -> AnswerInfo:
    headers = response.headers
    replayed = headers.get("idempotent-replayed") == "true"
    return AnswerInfo(response.status_code, headers.get("x-request-id"), replayed, attempts)


def _seconds(value: Optional[str]) -> Optional[float]:
    """Seconds, or an HTTP date (RFC 9110 section 10.2.3)."""
    if value is None:
        return None
    if re.fullmatch(r"[0-9]{1,9}", value):
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError):
        return None


def next_page(members: Mapping[str, Any], page: Mapping[str, Any]) -> Optional[Dict[str, Any]]:
    """The request for the page after this one; None at the end. A page may be empty while `more` is true."""
    # A cursor that stays the same would never end.
    if not page["more"] or page["next_cursor"] in (None, members.get("cursor")):
        return None
    # A cursor continues the list, so neither a page number nor `after` stands beside it.
    return {**members, "cursor": page["next_cursor"], "page": OMIT, "after": OMIT}


# A token is renewed when a tenth of its life is left, at most this long before its end.
_RENEWAL_MAX = 60.0

# After a renewal that failed while the old token works.
_RENEWAL_PAUSE = 5.0


# A refused credential is not sent again for this long, since the service counts its refusals: too many of them lock the
# client at this address, for other processes too.
_REFUSED_TIME = 10.0


class Refusal:
    """A refusal of the token endpoint, which answers calls for a while."""

    def __init__(self, error: ApiError) -> None:
        self.error = error
        self._ends_at = time.monotonic() + _REFUSED_TIME

    def is_recent(self) -> bool:
        return time.monotonic() < self._ends_at

    @staticmethod
    def of(error: BaseException) -> Optional[Refusal]:
        if isinstance(error, ApiError) and 400 <= error.status < 500 and error.status not in (408, 429):
            return Refusal(error)
        return None


class Token:
    def __init__(self, answer: Mapping[str, Any]) -> None:
        access_token, life = answer.get("access_token"), answer.get("expires_in")
        if not isinstance(access_token, str) or not isinstance(life, (int, float)) or life <= 0:
            raise OrderpassError("the token endpoint answered without access_token and expires_in")
        self.headers = {"authorization": f"Bearer {access_token}"}
        self._ends_at = time.monotonic() + life
        self._renew_at = self._ends_at - min(_RENEWAL_MAX, life / 10)

    def is_fresh(self) -> bool:
        return time.monotonic() < self._renew_at

    def is_alive(self) -> bool:
        return time.monotonic() < self._ends_at

    def postpone_renewal(self) -> None:
        self._renew_at = min(time.monotonic() + _RENEWAL_PAUSE, self._ends_at)


def token_request(settings: Settings) -> Request:
    """A second token is no second effect."""
    form = {
        "grant_type": "client_credentials",
        "client_id": settings.client_id or "",
        "client_secret": settings.client_secret or "",
    }
    if settings.scopes:
        form["scope"] = " ".join(settings.scopes)
    headers = {"content-type": "application/x-www-form-urlencoded"}
    url = settings.origin + "/api/oauth/token"
    timeout = _USUAL_TIMEOUT if settings.timeout is None else settings.timeout
    return Request("POST", url, headers, urlencode(form).encode(), None, timeout, True)


def credential_headers(settings: Settings, token: Optional[Token]) -> Dict[str, str]:
    """None for the token endpoint, and for a client with an API key."""
    if token is not None:
        return token.headers
    return {} if settings.api_key is None else {"x-api-key": settings.api_key}
