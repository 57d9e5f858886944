#!/usr/bin/python3
"""What a sextantd does under clients that no library would be: some minutes, run by hand.

    tests/soak/faults.py [NAME...]

Each fault prints what it found, and fails where the server does not answer afterwards.
docs/running.md, "Memory, connections and pings, measured", has the figures.
"""

import os
import resource
import socket
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from sextantd import Server  # noqa: E402 isort: skip (it says where http2 is)
from http2 import ACK, PING, Connection  # noqa: E402
from under_flood import status  # noqa: E402

MIB = 1 << 20


def field(number, content):
    """A field of bytes of a protobuf message."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


PLAN_OF_A_PRESET = (field(1, field(1, b"llama-3.1-70b")) + field(2, b"\x08" + varint(10 ** 13)) +
                    field(3, field(1, field(1, b"h100-sxm")) + b"\x10" + varint(1024)))


def megabyte_of_tensors():
    """A graph of as many tensors as are decoded, with names of 8 bytes and one without end."""
    tensors = b"".join(field(1, field(1, b"%08d" % i)) for i in range(32_000))
    return field(1, tensors + field(3, b"x" * (MIB - len(tensors) - 64)))


def mib(size):
    return f"{size / MIB:.0f} MiB"


def reset_peak(server):
    with open(f"/proc/{server.process.pid}/clear_refs", "w", encoding="utf-8") as file:
        file.write("5")


def get(server, path):
    """The status code of a page."""
    host, port = server.http.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=10) as client:
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n"
                       "Connection: close\r\n\r\n".encode())
        return int(client.recv(4096).split()[1])


def check_answers(server):
    connection = Connection(server.address)
    stream = connection.start("PlanningService/PlanRun", PLAN_OF_A_PRESET)
    assert len(connection.wait(stream)) > 100
    connection.close()
    assert get(server, "/healthz") == 200


def burst_of_requests():
    """Four callers of requests of 1 MB: refused ones of many elements, and graphs."""
    messages = [megabyte_of_tensors(), large_graph()]
    with Server("--log_calls=none") as server:
        for _ in range(100):
            check_answers(server)
        before = status(server.process, "VmRSS")
        reset_peak(server)

        def call():
            connection = Connection(server.address)
            for i in range(20):
                connection.wait(
                    connection.start("AccountingService/AnalyzeGraph", messages[i % 2]))
            connection.close()

        callers = [threading.Thread(target=call) for _ in range(4)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
        peak = status(server.process, "VmHWM")
        at_once = status(server.process, "VmRSS")
        time.sleep(30)
        print(f"4 callers, 80 requests of {' and '.join(str(len(m)) for m in messages)} bytes: "
              f"resident {mib(before)} before, "
              f"{mib(peak)} at most, {mib(at_once)} after, "
              f"{mib(status(server.process, 'VmRSS'))} 30 s later")
        check_answers(server)


def burst_of_headers():
    """20 MB of header lines over HTTP, on connections that the server ends."""
    with Server("--log_calls=none") as server:
        check_answers(server)
        before = status(server.process, "VmRSS")
        reset_peak(server)
        host, port = server.http.rsplit(":", 1)
        lines = b"X-Filler: " + b"y" * 100 + b"\r\n"
        sent = 0
        while sent < 20_000_000:
            with socket.create_connection((host, int(port)), timeout=10) as client:
                try:
                    client.sendall(b"GET / HTTP/1.1\r\n")
                    for _ in range(1000):
                        client.sendall(lines * 10)
                        sent += 10 * len(lines)
                except OSError:
                    pass
        peak = status(server.process, "VmHWM")
        time.sleep(30)
        print(f"{sent / 1e6:.0f} MB of header lines: resident {mib(before)} before, {mib(peak)} at "
              f"most, {mib(status(server.process, 'VmRSS'))} 30 s later")
        check_answers(server)


def client_that_never_reads():
    """Clients that take nothing of 800 answers of a megabyte, on 8 connections."""
    with Server("--log_calls=none") as server:
        check_answers(server)
        before = status(server.process, "VmRSS")
        reset_peak(server)
        message = large_graph()
        reader = Connection(server.address)
        size = len(reader.wait(reader.start("AccountingService/AnalyzeGraph", message)))
        reader.close()
        connections = [Connection(server.address, window=0) for _ in range(8)]
        started = 0
        for connection in connections:
            for _ in range(100):
                connection.start("AccountingService/AnalyzeGraph", message)
                started += 1
                time.sleep(0.05)  # else most are refused: they come faster than they are answered
        print(f"{started} answers of {size} bytes that nobody reads: resident {mib(before)} "
              f"before, {mib(status(server.process, 'VmHWM'))} at most")
        check_answers(server)
        time.sleep(40)
        print(f"  {mib(status(server.process, 'VmRSS'))} 40 s later, their connections open")
        check_answers(server)


def large_graph():
    """A graph whose answer has some megabytes: a chain of sums with long names."""
    def operation(i):
        inputs = ["x" if i == 0 else name(i - 1), "x"]
        return field(2, field(1, name(i).encode()) + field(2, field(4, b"\x18\x02")) +
                     b"".join(field(4, each.encode()) for each in inputs))

    def name(i):
        return f"{i:060d}"
    tensor = field(1, field(1, b"x") + field(2, b"\x04\x04") + b"\x18\x05" + b"\x38\x01")
    return field(1, tensor + b"".join(operation(i) for i in range(4000)) + b"\x30\x05")


def idle_connections():
    """As many connections as are taken, of three hosts, none of which speaks; twice more."""
    most = 10_000
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 2 * most), hard))
    with Server("--log_calls=none") as server:
        check_answers(server)
        host, port = server.address.rsplit(":", 1)
        for _ in range(3):
            before = status(server.process, "VmRSS")
            clients = [Connection(server.address, source=f"127.0.0.{2 + i % 3}")
                       for i in range(most)]
            taken = 0
            for client in clients:
                client.socket.settimeout(0.5)
                try:
                    taken += client.take()
                except OSError:
                    pass
            held = status(server.process, "VmRSS")
            print(f"{len(clients)} connections, {taken} taken: resident {mib(before)} before, "
                  f"{mib(held)} then; /readyz {get(server, '/readyz')}, /healthz "
                  f"{get(server, '/healthz')}")
            for client in clients:
                client.close()
            while get(server, "/readyz") != 200:
                time.sleep(0.01)
            check_answers(server)
            time.sleep(30)
            print(f"  answers again; resident {mib(status(server.process, 'VmRSS'))} 30 s later")
            socket.create_connection((host, int(port)), timeout=10).close()


def half_open_http():
    """Clients of HTTP that begin a request and say no more: as many as are taken, and more."""
    with Server("--log_calls=none") as server:
        host, port = server.http.rsplit(":", 1)
        clients = []
        for _ in range(200):
            clients.append(socket.create_connection((host, int(port)), timeout=60))
            clients[-1].sendall(b"GET /metrics HTTP/1.1\r\nX")
        assert get(server, "/healthz") == 200 and get(server, "/metrics") == 200
        start = time.monotonic()
        for client in clients:
            while True:
                try:
                    if not client.recv(4096):
                        break
                except ConnectionError:
                    break
        print(f"200 half requests: pages answered meanwhile, all ended after "
              f"{time.monotonic() - start:.1f} s")


def pings_without_calls():
    """A channel that is kept alive by a ping every 11 s, and no call, for two minutes."""
    with Server("--log_calls=none") as server:
        connection = Connection(server.address)
        connection.socket.settimeout(11)
        answered = 0
        for i in range(11):
            connection.send(PING, 0, 0, b"%08d" % i)
            end = time.monotonic() + 11
            while time.monotonic() < end and connection.ended is None:
                connection.socket.settimeout(max(0.01, end - time.monotonic()))
                try:
                    frame = connection.frame()
                except TimeoutError:
                    break
                assert frame is not None, "the server closed"
                kind, flags, _, payload = frame
                answered += kind == PING and flags & ACK
                assert kind != 7, payload
                if kind == PING and not flags & ACK:
                    connection.send(PING, ACK, 0, payload)
        stream = connection.start("PlanningService/PlanRun", PLAN_OF_A_PRESET)
        connection.wait(stream)
        print(f"11 pings in 2 minutes without a call: {answered} answered, then a call")


FAULTS = [burst_of_requests, burst_of_headers, client_that_never_reads, idle_connections,
          half_open_http, pings_without_calls]


def main():
    asked = sys.argv[1:]
    for fault in FAULTS:
        if not asked or fault.__name__ in asked:
            print(f"{fault.__name__}: {fault.__doc__}", flush=True)
            fault()
            sys.stdout.flush()


if __name__ == "__main__":
    main()
