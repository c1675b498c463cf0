"""Sends requests from threads: credential, bounded time, and repeats where they have no second effect."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import Any, Dict, Iterator, Mapping, Optional, Tuple

import httpx

from ._errors import ApiError, OrderpassError, TransportError, again
from ._repeats import Repeats
from ._request import (
    CallOptions,
    Operation,
    Refusal,
    Request,
    Settings,
    Token,
    add_chunk,
    answer_info,
    credential_headers,
    make_request,
    next_page,
    read_answer,
    token_request,
)

_Answer = Tuple[httpx.Response, Dict[str, Any]]

# A renewal while the old token works holds up one call for at most these seconds.
_EARLY_RENEWAL_TIMEOUT = 3.0


# For each address of the host.
_CONNECT_TIMEOUT = 10.0


class _Fetching:
    """A request for a token, and its repeats. Threads that wait for it share the token, or the error."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.token: Optional[Token] = None
        self.error: Optional[OrderpassError] = None
        self.refusal: Optional[Refusal] = None


class Transport:
    def __init__(self, settings: Settings, http: httpx.Client) -> None:
        self._settings = settings
        self._http = http
        self._token: Optional[Token] = None
        self._fetching: Optional[_Fetching] = None
        self._refusal: Optional[Refusal] = None
        # Of all three; no request is sent within it.
        self._lock = threading.Lock()

    def call(self, operation: Operation, members: Mapping[str, Any], options: Optional[CallOptions]) -> Dict[str, Any]:
        options = options or CallOptions()
        request = make_request(self._settings, operation, members, options)
        sent = 0
        is_renewed = False
        repeats = Repeats(self._settings, request)
        while True:
            try:
                token = None if self._settings.api_key is not None else self._current_token(options.timeout)
            except OrderpassError as error:
                raise repeats.failure_of(error)
            try:
                sent += 1
                response, answer = self._send(request, token)
            except OrderpassError as error:
                # A token may be revoked before its end. A refused request had no effect, so every one may be sent again.
                if token is not None and not is_renewed and isinstance(error, ApiError) and error.status == 401:
                    is_renewed = True
                    self._forget(token)
                    continue
                time.sleep(repeats.pause_after(error))
                continue
            if options.on_answer is not None:
                options.on_answer(answer_info(response, sent))
            return answer

    def items(
        self, operation: Operation, members: Mapping[str, Any], member: str, options: Optional[CallOptions]
    ) -> Iterator[Any]:
        request: Optional[Mapping[str, Any]] = members
        while request is not None:
            page = self.call(operation, request, options)
            yield from page[member]
            request = next_page(request, page)

    def _current_token(self, timeout: Optional[float]) -> Token:
        ends_at = None if timeout is None else time.monotonic() + timeout
        while True:
            with self._lock:
                old = self._token
                if old is not None and old.is_fresh():
                    return old
                if self._refusal is not None and self._refusal.is_recent():
                    if old is not None and old.is_alive():
                        return old
                    raise again(self._refusal.error)
                others = self._fetching
                own = _Fetching() if others is None else None
                self._fetching = own or others
            if own is not None and old is not None and old.is_alive():
                self._renew_early(own, ends_at)
                if own.token is not None:
                    return own.token
            elif own is not None:
                return self._fetch_token(own, ends_at)
            # The old token still works, so the call does not wait for the new one.
            if old is not None and old.is_alive():
                return old
            if others is not None:
                if not others.done.wait(None if ends_at is None else ends_at - time.monotonic()):
                    raise TransportError(f"no token within {timeout} s")
                if others.token is not None:
                    return others.token
                if others.error is not None:
                    raise again(others.error)

    def _renew_early(self, fetching: _Fetching, ends_at: Optional[float]) -> None:
        """One attempt, whose failure ends no call."""
        bound = time.monotonic() + _EARLY_RENEWAL_TIMEOUT
        try:
            fetching.token = Token(self._send_within(bound if ends_at is None else min(bound, ends_at)))
        except OrderpassError as error:
            fetching.refusal = Refusal.of(error)
        finally:
            self._end_fetching(fetching)

    def _fetch_token(self, fetching: _Fetching, ends_at: Optional[float]) -> Token:
        repeats = Repeats(self._settings, token_request(self._settings))
        try:
            while True:
                try:
                    fetching.token = Token(self._send_within(ends_at))
                    return fetching.token
                except (ApiError, TransportError) as error:
                    pause = repeats.pause_after(error)
                    if ends_at is not None and time.monotonic() + pause >= ends_at:
                        raise
                    time.sleep(pause)
        except OrderpassError as error:
            fetching.refusal = Refusal.of(error)
            # A call that waits longer than this one asks again.
            if ends_at is None or isinstance(error, ApiError):
                fetching.error = error
            raise
        finally:
            self._end_fetching(fetching)

    def _send_within(self, ends_at: Optional[float]) -> Dict[str, Any]:
        """The answer of the token endpoint."""
        request = token_request(self._settings)
        if ends_at is not None:
            request = replace(request, timeout=max(0.001, min(request.timeout, ends_at - time.monotonic())))
        return self._send(request, None)[1]

    def _end_fetching(self, fetching: _Fetching) -> None:
        with self._lock:
            self._refusal = fetching.refusal
            if fetching.token is not None:
                self._token = fetching.token
            elif self._token is not None:
                self._token.postpone_renewal()
            self._fetching = None
        fetching.done.set()

    def _forget(self, refused: Token) -> None:
        with self._lock:
            # Another call may have renewed it meanwhile.
            if self._token is refused:
                self._token = None

    def _send(self, request: Request, token: Optional[Token]) -> _Answer:
        headers = {**request.headers, **credential_headers(self._settings, token)}
        deadline = time.monotonic() + request.timeout
        content = bytearray()
        try:
            with self._http.stream(
                request.method,
                request.url,
                params=request.params,
                headers=headers,
                content=request.body,
                # It bounds each step by itself. A connection that is not made after ten seconds is not made later either.
                timeout=httpx.Timeout(request.timeout, connect=min(_CONNECT_TIMEOUT, request.timeout)),
                # An own httpx client may follow redirects, which would send the credential to another host.
                follow_redirects=False,
            ) as response:
                for chunk in response.iter_bytes():
                    add_chunk(content, chunk)
                    if time.monotonic() > deadline:
                        raise TransportError(f"{request.method} {request.url}: no answer within {request.timeout} s")
        except httpx.HTTPError as error:
            raise TransportError(f"{request.method} {request.url}: no answer") from error
        return response, read_answer(response, content)
