"""One HTTP/2 connection by hand: a client of gRPC that misbehaves as no library would."""

import socket
import struct

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS = 0, 1, 2, 3, 4
PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 6, 7, 8, 9
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
END_STREAM, END_HEADERS, ACK = 1, 4, 1
MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE = 3, 4
SERVER_WINDOW = 65_535


def frame_bytes(kind, flags, stream, payload=b""):
    """A frame as it is sent. Source: RFC 9113, section 4.1."""
    return struct.pack(">HBBBI", len(payload) >> 8, len(payload) & 255, kind, flags,
                       stream) + payload


def literal(name, value, start=b"\0"):
    """A header field without indexing. Source: RFC 7541, section 6.2.2.

    With b"\\x40" as its `start` it gets an index (section 6.2.1).
    """
    def text(content):
        data = content.encode()
        assert len(data) < 127
        return bytes([len(data)]) + data
    return start + text(name) + text(value)


def request_fields(path, authority, scheme="http"):
    """The header fields of a gRPC call, but for its metadata."""
    return [(":method", "POST"), (":scheme", scheme), (":path", path), (":authority", authority),
            ("te", "trailers"), ("content-type", "application/grpc")]


class Connection:
    """Speaks to `address`, "host:port". `window` is what it takes of an answer, for each call;
    `source` is its own address, "" for any."""

    def __init__(self, address, window=SERVER_WINDOW, source=""):
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=10,
                                               source_address=(source, 0))
        self.authority = address
        self.next_stream = 1
        self.may_send = SERVER_WINDOW
        self.stream_window = SERVER_WINDOW
        self.stream_sent = {}
        self.ended = None
        self.read = b""
        self.socket.sendall(PREFACE)
        self.send(SETTINGS, 0, 0, struct.pack(">HI", INITIAL_WINDOW_SIZE, window))

    def send(self, kind, flags, stream, payload=b""):
        """Sends one frame."""
        self.socket.sendall(frame_bytes(kind, flags, stream, payload))

    def frame(self):
        """The next frame: (kind, flags, stream, payload); None where the server closed."""
        while len(self.read) < 9 or len(self.read) < 9 + int.from_bytes(self.read[:3], "big"):
            data = self.socket.recv(65_536)
            if not data:
                return None
            self.read += data
        size = int.from_bytes(self.read[:3], "big")
        kind, flags = self.read[3], self.read[4]
        stream = int.from_bytes(self.read[5:9], "big")
        payload, self.read = self.read[9:9 + size], self.read[9 + size:]
        return kind, flags, stream, payload

    def take(self):
        """Reads one frame and does what it asks for; False where the server closed."""
        frame = self.frame()
        if frame is None:
            return False
        kind, flags, stream, payload = frame
        if kind == SETTINGS and not flags & ACK:
            for i in range(0, len(payload), 6):
                name, value = struct.unpack(">HI", payload[i:i + 6])
                if name == INITIAL_WINDOW_SIZE:
                    self.stream_window = value
            self.send(SETTINGS, ACK, 0)
        elif kind == PING and not flags & ACK:
            self.send(PING, ACK, 0, payload)
        elif kind == WINDOW_UPDATE:
            more = struct.unpack(">I", payload)[0]
            if stream == 0:
                self.may_send += more
            else:
                self.stream_sent[stream] = self.stream_sent.get(stream, 0) - more
        elif kind == GOAWAY:
            self.ended = payload[8:].decode(errors="replace") or "without a reason"
        return True

    def start(self, method, message, before_wait=lambda: None):
        """Begins a call of `method` with the bytes of its message; returns the stream's number."""
        stream, self.next_stream = self.next_stream, self.next_stream + 2
        fields = request_fields("/sextant.v1." + method, self.authority)
        self.send(HEADERS, END_HEADERS, stream, b"".join(literal(*field) for field in fields))
        body = b"\0" + struct.pack(">I", len(message)) + message
        self.stream_sent.setdefault(stream, 0)
        at = 0
        while at < len(body):
            left = min(self.may_send, self.stream_window - self.stream_sent[stream], 16_384)
            if left <= 0:
                before_wait()
                if not self.take():
                    raise ConnectionError("the server closed")
                continue
            part = body[at:at + left]
            at += len(part)
            self.may_send -= len(part)
            self.stream_sent[stream] += len(part)
            self.send(DATA, END_STREAM if at == len(body) else 0, stream, part)
        return stream

    def wait(self, stream):
        """Takes all that comes until `stream` ends; returns the bytes of its answer."""
        answer = b""
        while True:
            frame = self.frame()
            if frame is None:
                raise ConnectionError("the server closed")
            kind, flags, of, payload = frame
            if kind == DATA:
                for each in {0, of}:
                    if payload:
                        self.send(WINDOW_UPDATE, 0, each, struct.pack(">I", len(payload)))
                answer += payload if of == stream else b""
            elif kind == PING and not flags & ACK:
                self.send(PING, ACK, 0, payload)
            elif kind == WINDOW_UPDATE and of == 0:
                self.may_send += struct.unpack(">I", payload)[0]
            elif kind == SETTINGS and not flags & ACK:
                self.send(SETTINGS, ACK, 0)
            if of == stream and (kind == RST_STREAM or
                                 (kind in (DATA, HEADERS) and flags & END_STREAM)):
                return answer[5:]

    def close(self):
        self.socket.close()
