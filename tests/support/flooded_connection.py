"""One connection that floods a server with frames made before, and what becomes of it."""

import dataclasses
import select
import socket
import ssl
import struct
import time

from http2 import (ACK, END_STREAM, GOAWAY, HEADERS, MAX_CONCURRENT_STREAMS, PING, RST_STREAM,
                   SETTINGS, frame_bytes)

CONNECTS = 60.0    # seconds that a busy machine may take for it
PACED_FRAMES = 16  # sent at a time where calls wait for answers


@dataclasses.dataclass
class Ended:
    """What became of a flood: of all its connections together."""

    frames: int = 0       # that the kernel took; a header block counts as one
    bytes: int = 0
    seconds: float = 0.0  # until the last connection was closed, or all was sent
    connections: int = 0
    refused: int = 0      # connections that were not let in, or spoke no HTTP/2
    closed: int = 0       # and those that the server closed
    resets: int = 0       # RST_STREAM that came
    answers: int = 0      # HEADERS that came
    goaway: str = ""      # the last that came: its code and text

    def __str__(self):
        return (f"{self.frames} frames, {self.bytes / 1e6:.1f} MB in {self.seconds:.1f} s; "
                f"{self.closed} of {self.connections} connections closed, {self.refused} not let "
                f"in; {self.answers} HEADERS and {self.resets} RST_STREAM came" +
                (f"; GOAWAY {self.goaway}" if self.goaway else ""))

    def add(self, other):
        for field in dataclasses.fields(self):
            mine, its = getattr(self, field.name), getattr(other, field.name)
            if field.name == "seconds":
                self.seconds = max(mine, its)
            elif field.name == "goaway":
                self.goaway = its or mine
            else:
                setattr(self, field.name, mine + its)


@dataclasses.dataclass
class Target:
    """Where a flood goes, and how it gets there."""

    address: str  # HOST:PORT, or unix:PATH
    tls: bool = False
    certificate: str = ""  # and key, of the client: one PEM file
    source: str = ""       # an address of this host

    def connect(self):
        """A connected socket, after the handshake."""
        if self.address.startswith("unix:"):
            out = socket.socket(socket.AF_UNIX)
            out.settimeout(CONNECTS)
            out.connect(self.address.removeprefix("unix:"))
            return out
        host, _, port = self.address.rpartition(":")
        out = socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECTS,
                                       source_address=(self.source, 0) if self.source else None)
        if not self.tls:
            return out
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE  # whom it floods is the caller's concern
        context.set_alpn_protocols(["h2"])
        if self.certificate:
            context.load_cert_chain(self.certificate)
        out = context.wrap_socket(out, server_hostname=host)
        if out.selected_alpn_protocol() != "h2":
            raise ssl.SSLError("no HTTP/2")
        return out


class FloodedConnection:
    """One connection that sends what it is given as fast as it goes; `end` is how it went."""

    def __init__(self, target, kind):
        self.end = Ended(connections=1)
        self.reads = kind.reads
        self.acknowledges = kind.acknowledges
        self.open_at_most = kind.open_at_most
        self.over = set()  # streams that the server has ended
        self.read = b""
        self.replies = b""  # what has to go before the next chunk
        self.greeted = False
        self.socket = None
        try:
            self.socket = target.connect()
        except OSError:
            self.end.refused = 1
            return
        self.socket.setblocking(False)
        self.poll = select.poll()

    def take(self, data):
        """Counts the frames that came, and answers those that ask for it."""
        self.read += data
        at = 0
        while len(self.read) - at >= 9:
            size = int.from_bytes(self.read[at:at + 3], "big")
            kind, flags = self.read[at + 3], self.read[at + 4]
            stream = int.from_bytes(self.read[at + 5:at + 9], "big")
            if len(self.read) - at < 9 + size:
                break
            payload = self.read[at + 9:at + 9 + size]
            at += 9 + size
            if kind == RST_STREAM or (kind == HEADERS and flags & END_STREAM):
                self.over.add(stream)
            self.end.resets += kind == RST_STREAM
            self.end.answers += kind == HEADERS
            if kind == SETTINGS:
                self.obey(payload)
            if kind == GOAWAY:
                code = int.from_bytes(payload[4:8], "big")
                self.end.goaway = f"{code} {payload[8:].decode(errors='replace')}".strip()
            elif kind in (SETTINGS, PING) and not flags & ACK and self.acknowledges:
                self.replies += frame_bytes(kind, ACK, 0, payload if kind == PING else b"")
            self.greeted |= kind == SETTINGS and not flags & ACK
        self.read = self.read[at:]

    def obey(self, settings):
        """Opens no more calls at a time than the server takes, if it counts them at all."""
        for i in range(0, len(settings), 6):
            name, value = struct.unpack(">HI", settings[i:i + 6])
            if name == MAX_CONCURRENT_STREAMS:
                self.open_at_most = min(self.open_at_most, value)

    def drain(self):
        """Reads all that is there; False once the server has closed."""
        while True:
            try:
                data = self.socket.recv(1 << 18)
            except (BlockingIOError, ssl.SSLWantReadError):
                return True
            except OSError:
                return False
            if not data:
                return False
            self.take(data)

    def wait(self, wants_to_send, seconds):
        """Waits until it can send or read, and reads; False once the server has closed."""
        hang_up = select.POLLERR | select.POLLHUP | (0 if self.reads else select.POLLRDHUP)
        self.poll.register(self.socket, hang_up | (select.POLLIN if self.reads else 0) |
                           (select.POLLOUT if wants_to_send else 0))
        events = self.poll.poll(max(0, seconds) * 1000)
        if not events:
            return True
        if self.reads and not self.drain():
            return False
        return not events[0][1] & hang_up

    def send(self, data, stop):
        """Sends all of `data` before the time `stop`; the bytes that were taken."""
        view = memoryview(data)
        sent = 0
        while sent < len(data) and time.monotonic() < stop:
            try:
                sent += self.socket.send(view[sent:])
                continue
            except (BlockingIOError, ssl.SSLWantWriteError, ssl.SSLWantReadError):
                pass
            except OSError:
                if self.reads:
                    self.drain()  # for what the server said last
                self.end.closed = 1
                return sent
            if not self.wait(True, stop - time.monotonic()):
                self.end.closed = 1
                return sent
        return sent

    def reply(self, stop):
        """Sends what the server's frames ask for."""
        replies, self.replies = self.replies, b""
        self.send(replies, stop)

    def look(self, seconds):
        """Waits, and notes where the server has closed."""
        if not self.wait(False, seconds):
            self.end.closed = 1

    def must_wait(self):
        """True where a client that keeps the rules sends no more for now."""
        if self.acknowledges and not self.greeted:
            return True
        if not self.open_at_most:
            return False
        return self.end.frames - len(self.over) + PACED_FRAMES > self.open_at_most

    def flood(self, chunks, seconds, linger):
        """Sends `chunks`, pairs of bytes and their number of frames, and waits for the end."""
        start = time.monotonic()
        stop = start + seconds
        for data, frames in chunks:
            if self.end.closed or time.monotonic() >= stop:
                break
            sent = self.send(data, stop)
            self.end.bytes += sent
            self.end.frames += frames * sent // len(data)
            while self.must_wait() and not self.end.closed and time.monotonic() < stop:
                self.look(stop - time.monotonic())
                self.reply(stop)
            if self.reads and not self.end.closed:
                self.look(0)
                self.reply(stop)
        self.end.seconds = time.monotonic() - start
        stop = time.monotonic() + linger
        while not self.end.closed and time.monotonic() < stop:
            self.look(stop - time.monotonic())
            self.reply(stop)
            if self.end.closed:
                self.end.seconds = time.monotonic() - start
        self.socket.close()
