"""Sends requests from asyncio: as `_synchronous`, which has the reasons."""

from __future__ import annotations

import asyncio
from typing import Any, AsyncIterator, Dict, Mapping, Optional, Tuple

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


class AsyncTransport:
    def __init__(self, settings: Settings, http: httpx.AsyncClient) -> None:
        self._settings = settings
        self._http = http
        self._token: Optional[Token] = None
        self._fetching: Optional["asyncio.Task[Token]"] = None
        self._refusal: Optional[Refusal] = None

    async def call(
        self, operation: Operation, members: Mapping[str, Any], options: Optional[CallOptions]
    ) -> Dict[str, Any]:
        options = options or CallOptions()
        request = make_request(self._settings, operation, members, options)
        sent = 0
        is_renewed = False
        repeats = Repeats(self._settings, request)
        while True:
            try:
                token = None if self._settings.api_key is not None else await self._current_token(options.timeout)
            except OrderpassError as error:
                raise repeats.failure_of(error)
            try:
                sent += 1
                response, answer = await self._send(request, token)
            except OrderpassError as error:
                if token is not None and not is_renewed and isinstance(error, ApiError) and error.status == 401:
                    is_renewed = True
                    if self._token is token:
                        self._token = None
                    continue
                await asyncio.sleep(repeats.pause_after(error))
                continue
            if options.on_answer is not None:
                options.on_answer(answer_info(response, sent))
            return answer

    async def items(
        self, operation: Operation, members: Mapping[str, Any], member: str, options: Optional[CallOptions]
    ) -> AsyncIterator[Any]:
        request: Optional[Mapping[str, Any]] = members
        while request is not None:
            page = await self.call(operation, request, options)
            for item in page[member]:
                yield item
            request = next_page(request, page)

    async def _current_token(self, timeout: Optional[float]) -> Token:
        token = self._token
        if token is not None and token.is_fresh():
            return token
        if self._refusal is not None and self._refusal.is_recent():
            if token is not None and token.is_alive():
                return token
            raise again(self._refusal.error)
        # A task of its own: a caller that is cancelled does not end the renewal that others wait for.
        if self._fetching is None or self._fetching.done():
            self._fetching = asyncio.ensure_future(self._fetch_token())
            self._fetching.add_done_callback(self._end_fetching)
        # The old token still works, so the call does not wait for the new one.
        if token is not None and token.is_alive():
            return token
        try:
            return await asyncio.wait_for(asyncio.shield(self._fetching), timeout)
        except asyncio.TimeoutError as error:
            raise TransportError(f"no token within {timeout} s") from error
        except OrderpassError as error:
            failure = error
        # Outside of the handler, so that the error of this call does not refer to the one that others share.
        raise again(failure)

    def _end_fetching(self, task: "asyncio.Task[Token]") -> None:
        # Reading the error keeps asyncio from reporting one that no call waits for.
        if (task.cancelled() or task.exception() is not None) and self._token is not None:
            self._token.postpone_renewal()

    async def _fetch_token(self) -> Token:
        request = token_request(self._settings)
        repeats = Repeats(self._settings, request)
        while True:
            try:
                self._token = Token((await self._send(request, None))[1])
                return self._token
            except (ApiError, TransportError) as error:
                self._refusal = Refusal.of(error)
                await asyncio.sleep(repeats.pause_after(error))

    async def _send(self, request: Request, token: Optional[Token]) -> _Answer:
        try:
            response, content = await asyncio.wait_for(self._exchange(request, token), request.timeout)
        except (httpx.HTTPError, asyncio.TimeoutError) as error:
            raise TransportError(f"{request.method} {request.url}: no answer") from error
        return response, read_answer(response, content)

    async def _exchange(self, request: Request, token: Optional[Token]) -> Tuple[httpx.Response, bytearray]:
        content = bytearray()
        async with self._http.stream(
            request.method,
            request.url,
            params=request.params,
            headers={**request.headers, **credential_headers(self._settings, token)},
            content=request.body,
            timeout=request.timeout,
            follow_redirects=False,
        ) as response:
            async for chunk in response.aiter_bytes():
                add_chunk(content, chunk)
        return response, content
