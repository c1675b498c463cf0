"""The clients of an installation. Each has one method for each operation, such as `client.orders.get(uid=...)`."""

from __future__ import annotations

from types import TracebackType
from typing import Optional, Sequence, Type

import httpx

from ._async_operations import AsyncOperations
from ._asynchronous import AsyncTransport
from ._operations import Operations
from ._request import Settings
from ._synchronous import Transport


class Orderpass(Operations):
    """A client for threads; one can be shared by all of them. An iterator over a list is for one thread.

    url: address of the installation, without a path: `https://api.example`
    client_id, client_secret: of an API client; or api_key alone
    scopes: a subset of the client's scopes; by default the token has all of them
    restuid: the restaurant of calls that name none, except those of `whoami`; needed when the client may use several
    timeout: seconds of one attempt, the upload included; by default 35, and 155 for `menu.import_menu`.
        It bounds each connecting, write and read, and the whole only from the first byte of the body on
    retries: repeats of one call
    backoff: the first pause in seconds; each one after it is twice as long, at most 8 s, less a random part
    retry_after_max: a longer Retry-After is not waited for; the error has it as `retry_after`. As long a call waits for a write
        of its own that still runs
    http: an own httpx client, which stays open when this one is closed
    """

    def __init__(
        self,
        url: str,
        *,
        client_id: Optional[str] = None,
        client_secret: Optional[str] = None,
        api_key: Optional[str] = None,
        scopes: Sequence[str] = (),
        restuid: Optional[str] = None,
        timeout: Optional[float] = None,
        retries: int = 3,
        backoff: float = 0.5,
        retry_after_max: float = 60,
        http: Optional[httpx.Client] = None,
    ) -> None:
        settings = Settings(
            url, client_id, client_secret, api_key, scopes, restuid, timeout, retries, backoff, retry_after_max
        )
        used = httpx.Client() if http is None else http
        self._own = used if http is None else None
        super().__init__(Transport(settings, used))

    def close(self) -> None:
        if self._own is not None:
            self._own.close()

    def __enter__(self) -> Orderpass:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()


class AsyncOrderpass(AsyncOperations):
    """A client for one event loop of asyncio. Its arguments are those of `Orderpass`."""

    def __init__(
        self,
        url: str,
        *,
        client_id: Optional[str] = None,
        client_secret: Optional[str] = None,
        api_key: Optional[str] = None,
        scopes: Sequence[str] = (),
        restuid: Optional[str] = None,
        timeout: Optional[float] = None,
        retries: int = 3,
        backoff: float = 0.5,
        retry_after_max: float = 60,
        http: Optional[httpx.AsyncClient] = None,
    ) -> None:
        settings = Settings(
            url, client_id, client_secret, api_key, scopes, restuid, timeout, retries, backoff, retry_after_max
        )
        used = httpx.AsyncClient() if http is None else http
        self._own = used if http is None else None
        super().__init__(AsyncTransport(settings, used))

    async def close(self) -> None:
        if self._own is not None:
            await self._own.aclose()

    async def __aenter__(self) -> AsyncOrderpass:
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        await self.close()
