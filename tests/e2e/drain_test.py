#!/usr/bin/python3
"""SIGTERM, or the end of its input: health says NOT_SERVING while the server serves on; then it
exits with 0.

Neither a log that nobody reads nor an HTTP client that never ends its request keeps the server
from answering, or from going; and each call ends with its answer or with UNAVAILABLE.
"""

import json
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

from sextantd import Server
from api import grpc

# grpc.health.v1.HealthCheckResponse {status: SERVING = 1, NOT_SERVING = 2}, on the wire.
SERVING, NOT_SERVING = b"\x08\x01", b"\x08\x02"


def check_a_stalled_log():
    """More calls than the log's pipe holds lines: all are answered, the server still ends."""
    with Server("--drain_announce_seconds=0") as server:
        with grpc.insecure_channel(server.address) as channel:
            call = channel.unary_unary("/sextant.v1.PlanningService/PlanRun")
            for _ in range(2000):
                try:
                    call(b"", timeout=30)
                except grpc.RpcError as error:
                    assert error.code() == grpc.StatusCode.INVALID_ARGUMENT, error
        metrics = urllib.request.urlopen(f"http://{server.http}/metrics").read().decode()
        dropped = [line for line in metrics.splitlines()
                   if line.startswith("sextant_log_lines_dropped_total ")]
        assert len(dropped) == 1 and float(dropped[0].split()[1]) > 0, dropped
        server.terminate()
        assert server.process.wait(timeout=60) == 0


def check_a_slow_http_client():
    """A client that sends a byte now and then for longer than the test would wait."""
    with Server("--drain_announce_seconds=0") as server:
        host, port = server.http.rsplit(":", 1)
        stop = threading.Event()
        with socket.create_connection((host, int(port))) as client:
            client.sendall(b"GET / HTTP/1.1\r\n")

            def drip():
                try:
                    while not stop.wait(0.2):
                        client.sendall(b"x")
                except OSError:
                    pass  # the server has gone: what the test waits for

            dripping = threading.Thread(target=drip)
            dripping.start()
            try:
                server.terminate()
                assert server.process.wait(timeout=60) == 0
            finally:
                stop.set()
                dripping.join()


def call_until_gone(server, codes):
    """Calls as fast as it can, and adds the code of each call."""
    with grpc.insecure_channel(server.address) as channel:
        call = channel.unary_unary("/sextant.v1.AccountingService/ListModels")
        while codes.get(grpc.StatusCode.UNAVAILABLE, 0) < 100:
            try:
                call(b"", timeout=30)
                code = grpc.StatusCode.OK
            except grpc.RpcError as error:
                code = error.code()
            codes[code] = codes.get(code, 0) + 1


def check_calls_under_way():
    """gRPC's own shutdown cancels calls that come while it tells the clients."""
    for end in (Server.terminate, Server.terminate, lambda server: server.process.stdin.close()):
        with Server("--drain_announce_seconds=0", "--log_calls=none", "--stop_with_stdin",
                    stdin=subprocess.PIPE) as server:
            all_codes = [{} for _ in range(4)]
            callers = [threading.Thread(target=call_until_gone, args=(server, codes))
                       for codes in all_codes]
            for caller in callers:
                caller.start()
            while any(not codes for codes in all_codes):
                time.sleep(0.01)
            end(server)
            assert server.process.wait(timeout=60) == 0
            for caller in callers:
                caller.join()
            for codes in all_codes:
                assert set(codes) == {grpc.StatusCode.OK, grpc.StatusCode.UNAVAILABLE}, codes


def check_end_of_input():
    """With the flag it ends as its input does, and not by what is written there."""
    for flags, ends in ((["--stop_with_stdin"], True), ([], False)):
        with Server("--drain_announce_seconds=0", *flags, stdin=subprocess.PIPE) as server:
            server.process.stdin.write("stop\n")
            server.process.stdin.flush()
            with grpc.insecure_channel(server.address) as channel:
                call = channel.unary_unary("/sextant.v1.AccountingService/ListModels")
                for _ in range(5):
                    time.sleep(0.1)
                    call(b"", timeout=30)
                server.process.stdin.close()
                if ends:
                    assert server.process.wait(timeout=60) == 0
                    events = [line["event"] for line in map(json.loads, server.process.stderr)
                              if "event" in line]
                    assert events[-2:] == ["draining", "stopped"], events
                else:
                    time.sleep(0.5)
                    call(b"", timeout=30)


def main():
    check_a_stalled_log()
    check_end_of_input()
    check_a_slow_http_client()
    check_calls_under_way()
    # The announcement is longer than the test needs: it ends with the watcher, not by a clock.
    with Server("--drain_announce_seconds=5") as server:
        with grpc.insecure_channel(server.address) as channel:
            watch = channel.unary_stream("/grpc.health.v1.Health/Watch")(b"", timeout=30)
            assert next(watch) == SERVING
            assert urllib.request.urlopen(f"http://{server.http}/readyz").status == 200
            server.terminate()
            assert next(watch) == NOT_SERVING
            try:
                urllib.request.urlopen(f"http://{server.http}/readyz")
                raise AssertionError("still ready")
            except urllib.error.HTTPError as error:
                assert error.code == 503
            # An empty request is still answered: refused as bad, not as unavailable.
            try:
                channel.unary_unary("/sextant.v1.PlanningService/PlanRun")(b"", timeout=10)
                raise AssertionError("not refused")
            except grpc.RpcError as error:
                assert error.code() == grpc.StatusCode.INVALID_ARGUMENT, error
            watch.cancel()
        assert server.log_line()["event"] == "draining"
        call = server.log_line()
        assert call["code"] == "INVALID_ARGUMENT" and call["reason"] == "FIELD_INVALID", call
        assert server.log_line()["event"] == "stopped"
        assert server.process.wait() == 0
    print("drained: announced, served on, stopped with 0")
    return 0


if __name__ == "__main__":
    sys.exit(main())
