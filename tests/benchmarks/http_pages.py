#!/usr/bin/python3
"""Pages of the HTTP port beside long calls and slow clients of that port: a table in Markdown.

    SEXTANT_BIN=FOLDER tests/benchmarks/http_pages.py [SECONDS]

Sixteen callers search for as long as it takes, one search after the other, and two hundred clients
of another address hold connections: they say nothing, or a byte now and then of heads, bodies and
answers. Meanwhile /healthz and /metrics are read by new connections, twenty times a second.
"""

import http.client
import json
import socket
import statistics
import sys
import threading
import time
import os

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from sextantd import Server  # noqa: E402

SEARCHES = 16
SLOW = 200
PERIOD = 0.05  # seconds between two reads of each page
PAGES = ("/healthz", "/metrics")
SEARCH = {
    "model": {"preset": "deepseek-v3"},
    "training": {"tokenCount": 10**12, "sequenceLength": 131072},
    "cluster": {"device": {"accelerator": "h100-sxm"}, "deviceCount": 49152,
                "nodeType": "dgx-h100"},
    "layout": {"globalBatchSize": 49152},
    "options": {"search": "LAYOUT_SEARCH_EXHAUSTIVE", "tensorAcrossNodes": True,
                "searchKernels": True},
}
PLAN = "/sextant.v1.PlanningService/PlanRun"


class Load:
    """Threads that go on until stop()."""

    def __init__(self):
        self.stopped = threading.Event()
        self.threads = []
        self.ends = {}  # of searches, by status
        self.lock = threading.Lock()

    def start(self, target, *arguments):
        self.threads.append(threading.Thread(target=target, args=arguments, daemon=True))
        self.threads[-1].start()

    def stop(self):
        self.stopped.set()

    def search(self, host, port):
        while not self.stopped.is_set():
            call = http.client.HTTPConnection(host, port, timeout=120)
            try:
                call.request("POST", PLAN, json.dumps(SEARCH), {"Content-Type": "application/json"})
                end = call.getresponse().status
            except OSError:
                end = "no answer"
            call.close()
            with self.lock:
                self.ends[end] = self.ends.get(end, 0) + 1
            if end != 200:
                time.sleep(1)

    def crawl(self, host, port, kind):
        """A client that takes its time; a new one after each end."""
        head = f"POST {PLAN} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        starts = [b"", b"GET /metr", (head + "Content-Length: 1000\r\n\r\n").encode(),
                  b"GET /metrics HTTP/1.1\r\nHost: " + host.encode() + b"\r\n\r\n"]
        while not self.stopped.is_set():
            try:
                with socket.create_connection((host, port), timeout=1,
                                              source_address=("127.0.0.2", 0)) as wire:
                    wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
                    wire.sendall(starts[kind])
                    while not self.stopped.wait(1):
                        if kind in (1, 2):
                            wire.sendall(b"x")
                        else:
                            wire.sendall(b"")
                            if kind == 3 and not wire.recv(1):
                                break
            except OSError:
                self.stopped.wait(0.2)


def read(host, port, page):
    """Seconds until the page has been read."""
    start = time.monotonic()
    call = http.client.HTTPConnection(host, port, timeout=30)
    call.request("GET", page)
    answer = call.getresponse()
    answer.read()
    call.close()
    return time.monotonic() - start if answer.status == 200 else float("inf")


def measure(host, port, seconds):
    times = {page: [] for page in PAGES}
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for page in PAGES:
            try:
                times[page].append(read(host, port, page))
            except OSError:
                times[page].append(float("inf"))
        time.sleep(PERIOD)
    return times


def show(name, times):
    for page in PAGES:
        spent = sorted(times[page])
        late = sum(each == float("inf") for each in spent)
        print(f"| {name} | {page} | {len(spent)} | {1000 * statistics.median(spent):.1f} | "
              f"{1000 * spent[int(0.99 * len(spent))]:.1f} | {1000 * spent[-1]:.1f} | {late} |",
              flush=True)


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 30.0
    print("| beside | page | reads | median ms | p99 ms | worst ms | none |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    with Server("--role=planner", "--log_calls=none") as server:
        host, _, port = server.http.rpartition(":")
        port = int(port)
        show("nothing", measure(host, port, seconds / 3))
        load = Load()
        for _ in range(SEARCHES):
            load.start(load.search, host, port)
        time.sleep(2)
        show(f"{SEARCHES} searches", measure(host, port, seconds))
        for index in range(SLOW):
            load.start(load.crawl, host, port, index % 4)
        time.sleep(2)
        show(f"and {SLOW} slow clients", measure(host, port, seconds))
        load.stop()
        print(f"\nsearches ended with {load.ends}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
