"""Calls of the API over HTTP (docs/http.md), on connections that are kept."""
from __future__ import annotations

import asyncio
import collections
import http.client
import json
import os
import socket
import ssl
import struct
import threading
import time
from typing import (Any, AsyncIterator, Deque, Dict, Generator, Mapping, NoReturn,
                    Optional, Tuple, cast)

from .errors import DeadlineExceeded, Unavailable, error_of

DEFAULT_ADDRESS = "127.0.0.1:9464"
_END = 2  # the flag of a stream's last message
_MOST_IDLE = 16


class _Deadline:
    def __init__(self, seconds: Optional[float]) -> None:
        self.ends = None if seconds is None else time.monotonic() + seconds

    def left(self) -> Optional[float]:
        """Seconds that are left; None: no end."""
        if self.ends is None:
            return None
        left = self.ends - time.monotonic()
        if left <= 0:
            raise socket.timeout()
        return left


class Calls:
    """Sends requests to one planner. Threads may share it: each call has a connection of its own,
    which the next one takes over.

    `address` is HOST:PORT, http://HOST:PORT or https://HOST:PORT; by default $SEXTANT_HTTP_ADDRESS,
    else 127.0.0.1:9464. `timeout` is that of calls which give none, in seconds; None waits for
    ever. The files are PEM; a certificate or authority is for https.
    """

    def __init__(self, address: Optional[str] = None, *, token: Optional[str] = None,
                 ca_file: Optional[str] = None, certificate_file: Optional[str] = None,
                 key_file: Optional[str] = None, timeout: Optional[float] = 120) -> None:
        if address is None:
            address = os.environ.get("SEXTANT_HTTP_ADDRESS") or DEFAULT_ADDRESS
        scheme, _, self.address = address.rpartition("://")
        port = self.address.rpartition(":")[2]
        if scheme not in ("", "http", "https") or not port.isdigit():
            raise ValueError(f"address {address!r}: write HOST:PORT or https://HOST:PORT; "
                             "Unix sockets have no HTTP")
        self.timeout = timeout
        self._tls: Optional[ssl.SSLContext] = None
        if scheme == "https":
            self._tls = ssl.create_default_context(cafile=ca_file)
            if certificate_file:
                self._tls.load_cert_chain(certificate_file, key_file)
        elif ca_file or certificate_file:
            raise ValueError("certificates are for https://HOST:PORT")
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._idle: Deque[http.client.HTTPConnection] = collections.deque()
        self._owner = os.getpid()
        self._lock = threading.Lock()

    def close(self) -> None:
        """Closes the connections that are kept."""
        with self._lock:
            idle, self._idle = self._idle, collections.deque()
        for connection in idle:
            connection.close()

    def unary(self, method: str, request: Mapping[str, Any],
              timeout: Optional[float] = None) -> Dict[str, Any]:
        """The answer of a call."""
        seconds = self.timeout if timeout is None else timeout
        deadline = _Deadline(seconds)
        body = json.dumps(request).encode()
        try:
            connection, response, wire = self._send(method, body, "application/json", deadline)
            text = self._read_all(connection, response, wire, deadline)
        except (OSError, http.client.HTTPException) as error:
            self._fail(error, seconds)
        answer = _json_of(text)
        if response.status == 200 and answer is not None:
            return answer
        self._refuse(response, answer)

    def stream(self, method: str, request: Mapping[str, Any],
               timeout: Optional[float] = None) -> Generator[Dict[str, Any], None, None]:
        """The messages of a call as they come; closing the iterator ends the call."""
        seconds = self.timeout if timeout is None else timeout
        deadline = _Deadline(seconds)
        body = json.dumps(request).encode()
        body = struct.pack(">BI", 0, len(body)) + body
        connection = None
        try:
            connection, response, wire = self._send(method, body, "application/connect+json",
                                                    deadline)
            if response.status != 200:
                self._refuse(response,
                             _json_of(self._read_all(connection, response, wire, deadline)))
            while True:
                flags, size = struct.unpack(">BI", _read(response, 5, wire, deadline))
                message = json.loads(_read(response, size, wire, deadline))
                if flags & _END:
                    if "error" in message:
                        raise error_of(0, message["error"], None)
                    return
                yield message
        except (OSError, http.client.HTTPException, json.JSONDecodeError) as error:
            self._fail(error, seconds)
        finally:
            if connection is not None:
                connection.close()

    def _send(self, method: str, body: bytes, content_type: str, deadline: _Deadline
              ) -> Tuple[http.client.HTTPConnection, http.client.HTTPResponse, socket.socket]:
        """Sends a request, once more where the server had closed a connection that was kept."""
        while True:
            connection, is_kept = self._take()
            try:
                connection.timeout = deadline.left()
                if connection.sock is None:
                    connection.connect()
                wire = cast(socket.socket, connection.sock)
                headers = {**self._headers, "Content-Type": content_type}
                left = deadline.left()
                wire.settimeout(left)
                if left is not None:
                    headers["Connect-Timeout-Ms"] = str(max(1, int(1000 * left)))
                connection.request("POST", f"/{method}", body, headers)
                wire.settimeout(deadline.left())
                return connection, connection.getresponse(), wire
            except (ConnectionError, http.client.BadStatusLine):
                connection.close()
                if not is_kept:
                    raise
            except BaseException:
                connection.close()
                raise

    def _take(self) -> Tuple[http.client.HTTPConnection, bool]:
        with self._lock:
            if self._owner != os.getpid():  # after a fork they are the parent's
                self._idle, self._owner = collections.deque(), os.getpid()
            if self._idle:
                return self._idle.pop(), True
        if self._tls is None:
            return http.client.HTTPConnection(self.address), False
        return http.client.HTTPSConnection(self.address, context=self._tls), False

    def _read_all(self, connection: http.client.HTTPConnection,
                  response: http.client.HTTPResponse, wire: socket.socket,
                  deadline: _Deadline) -> bytes:
        """Reads the body, and keeps the connection for the next call."""
        parts = []
        try:
            while True:
                wire.settimeout(deadline.left())
                part = response.read1(1 << 16)
                if not part:
                    break
                parts.append(part)
            if response.length:
                raise http.client.IncompleteRead(b"".join(parts), response.length)
            response.read()  # tells the connection that it is free
        except BaseException:
            connection.close()
            raise
        with self._lock:
            is_kept = connection.sock is not None and len(self._idle) < _MOST_IDLE
            if is_kept:
                self._idle.append(connection)
        if not is_kept:
            connection.close()
        return b"".join(parts)

    def _fail(self, error: Exception, seconds: Optional[float]) -> NoReturn:
        if isinstance(error, socket.timeout):
            raise DeadlineExceeded("deadline_exceeded",
                                   f"{self.address} did not answer in {seconds} s") from error
        raise Unavailable("unavailable", f"{self.address}: {error or type(error).__name__}"
                          ) from error

    def _refuse(self, response: http.client.HTTPResponse,
                answer: Optional[Dict[str, Any]]) -> NoReturn:
        if answer is None:
            answer = {"message": f"{self.address} is no planner: HTTP {response.status} without "
                                 "JSON"}
        raise error_of(response.status, answer, response.headers.get("Retry-After"))


class AsyncCalls:
    """The same for asyncio, by its threads: a call waits for the planner, not for this process."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def unary(self, method: str, request: Mapping[str, Any],
                    timeout: Optional[float] = None) -> Dict[str, Any]:
        """The answer of a call."""
        return await asyncio.to_thread(self._calls.unary, method, request, timeout)

    async def stream(self, method: str, request: Mapping[str, Any],
                     timeout: Optional[float] = None) -> AsyncIterator[Dict[str, Any]]:
        """The messages of a call as they come."""
        messages = self._calls.stream(method, request, timeout)
        try:
            while True:
                message = await asyncio.to_thread(lambda: next(messages, None))
                if message is None:
                    return
                yield message
        finally:
            await asyncio.to_thread(messages.close)


def _json_of(text: bytes) -> Optional[Dict[str, Any]]:
    try:
        answer = json.loads(text)
    except ValueError:
        return None
    return answer if isinstance(answer, dict) else None


def _read(response: http.client.HTTPResponse, size: int, wire: socket.socket,
          deadline: _Deadline) -> bytes:
    """Exactly `size` bytes."""
    text = b""
    while len(text) < size:
        wire.settimeout(deadline.left())
        part = response.read1(size - len(text))
        if not part:
            raise http.client.IncompleteRead(text, size - len(text))
        text += part
    return text
