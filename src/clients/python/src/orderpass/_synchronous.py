"""Sends requests from threads: credential, bounded time, and repeats where they have no second effect."""

from __future__ import annotations

import threading
import time
from typing import Any, Dict, Iterator, Mapping, Optional, Tuple

import httpx

from ._errors import ApiError, OrderpassError, TransportError
from ._request import (
    CallOptions,
    Operation,
    Request,
    Settings,
    Token,
    answer_info,
    credential_headers,
    make_request,
    next_page,
    pause_before_repeat,
    read_answer,
    token_request,
)

_Answer = Tuple[httpx.Response, Dict[str, Any]]


class Transport:
    def __init__(self, settings: Settings, http: httpx.Client) -> None:
        self._settings = settings
        self._http = http
        self._token: Optional[Token] = None
        self._lock = threading.Lock()

    def call(self, operation: Operation, members: Mapping[str, Any], options: Optional[CallOptions]) -> Dict[str, Any]:
        options = options or CallOptions()
        request = make_request(self._settings, operation, members, options)
        sent = 0
        is_renewed = False
        number = 0
        while True:
            token = None if self._settings.api_key is not None else self._current_token()
            try:
                sent += 1
                response, answer = self._send(request, token)
            except OrderpassError as error:
                # A token may be revoked before its end. A refused request had no effect, so every one may be sent again.
                if token is not None and not is_renewed and isinstance(error, ApiError) and error.status == 401:
                    is_renewed = True
                    self._forget(token)
                    continue
                self._pause(request, number, error)
                number += 1
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
            request = next_page(members, page)

    def _pause(self, request: Request, number: int, error: OrderpassError) -> None:
        """Raises the error when the request is not repeated."""
        pause = pause_before_repeat(self._settings, request.is_safe, number, error)
        if pause is None:
            raise error
        time.sleep(pause)

    def _current_token(self) -> Token:
        token = self._token
        if token is not None and token.is_fresh():
            return token
        # Parallel calls wait for one renewal.
        with self._lock:
            old = self._token
            if old is not None and old.is_fresh():
                return old
            try:
                self._token = self._fetch_token()
            except OrderpassError:
                # The old token still works, so a token endpoint that is away for a moment stops no call.
                if old is not None and old.is_alive():
                    return old
                raise
            return self._token

    def _fetch_token(self) -> Token:
        request = token_request(self._settings)
        number = 0
        while True:
            try:
                return Token(self._send(request, None)[1])
            except (ApiError, TransportError) as error:
                self._pause(request, number, error)
                number += 1

    def _forget(self, refused: Token) -> None:
        with self._lock:
            # Another call may have renewed it meanwhile.
            if self._token is refused:
                self._token = None

    def _send(self, request: Request, token: Optional[Token]) -> _Answer:
        headers = {**request.headers, **credential_headers(self._settings, token)}
        deadline = time.monotonic() + request.timeout
        content = b""
        try:
            with self._http.stream(
                request.method,
                request.url,
                params=request.params,
                headers=headers,
                content=request.body,
                timeout=request.timeout,
            ) as response:
                # The timeout of httpx is one of each read.
                for chunk in response.iter_bytes():
                    content += chunk
                    if time.monotonic() > deadline:
                        raise TransportError(f"{request.method} {request.url}: no answer within {request.timeout} s")
        except httpx.HTTPError as error:
            raise TransportError(f"{request.method} {request.url}: no answer") from error
        return response, read_answer(response, content)
