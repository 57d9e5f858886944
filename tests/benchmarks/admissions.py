#!/usr/bin/python3
"""Times of Admit for changed lines of words, alone and beside searches: a table in Markdown.

    SEXTANT_BIN=FOLDER tests/benchmarks/admissions.py [LINES]

The budget is the default, 100 ms. Lines are those of tests/e2e/admit_test.py, and ones that ask for
a plan or a search, changed at random. Four callers at a time. Where strace may trace, a last run
lists the files that the server opens meanwhile.
"""

import concurrent.futures
import os
import random
import sys
import tempfile
import threading
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
# pylint: disable=wrong-import-position
from sextantd import Server  # noqa: E402 isort: skip (it says where the others are)
import admit_test  # noqa: E402
from http_pages import SEARCH  # noqa: E402
from api import grpc, json_format  # noqa: E402
from sextant.v1 import admit_pb2, planning_service_pb2  # noqa: E402

CALLERS = 4
BUDGET = 0.1
SEED = 50
GOOD = ("llama-3.1-8b tp=8 gbs=64 sequence-length=8192 tokens=1T",
        "deepseek-v3 --ep=8 --pp=4 --gbs=1024 --sequence-length=4096 --zero=optimizer",
        "llama-3.1-70b gbs=512 sequence-length=8192", "deepseek-v3 gbs=1024 sequence-length=4096",
        "--model=llama-3.1-405b tp=8 pp=16 --gbs 2048 --sequence-length 8192 --recompute=full")


def lines(count):
    chance = random.Random(SEED)
    admit_test.LINES = count // 2
    yield from admit_test.hostile_lines("/etc/hostname", "/etc/issue")
    for _ in range(count - count // 2):
        words = list(chance.choice(GOOD))
        for _ in range(chance.randrange(3)):
            at = chance.randrange(len(words))
            words[at] = chance.choice(("", words[at] * 2, chr(chance.randrange(32, 127)), "9", "="))
        yield "".join(words)


class Asker:
    def __init__(self, server, budget=None):
        self.channel = grpc.insecure_channel(server.address)
        self.call = self.channel.unary_unary(
            "/sextant.v1.PlanningService/Admit",
            request_serializer=admit_pb2.AdmitRequest.SerializeToString,
            response_deserializer=admit_pb2.AdmitResponse.FromString)
        self.budget = budget

    def ask(self, words):
        """(seconds, verdict)."""
        request = admit_pb2.AdmitRequest(words=words, device_count=1024, accelerator="h100-sxm")
        if self.budget:
            request.budget.FromSeconds(self.budget)
        start = time.monotonic()
        try:
            answer = self.call(request, timeout=30)
            names = answer.DESCRIPTOR.fields_by_name["verdict"].enum_type.values_by_number
            verdict = names[answer.verdict].name
        except grpc.RpcError as error:
            verdict = error.code().name
        return time.monotonic() - start, verdict


def show(name, answers):
    times = sorted(seconds for seconds, _ in answers)
    counts = {}
    for _, verdict in answers:
        counts[verdict] = counts.get(verdict, 0) + 1
    print(f"| {name} | {len(times)} | {1000 * times[len(times) // 2]:.1f} | "
          f"{1000 * times[int(0.999 * len(times))]:.1f} | {1000 * times[-1]:.1f} | "
          f"{sum(seconds > 2 * BUDGET for seconds in times)} | {counts} |", flush=True)


def search_on(server, stop):
    call = grpc.insecure_channel(server.address).unary_unary(
        "/sextant.v1.PlanningService/PlanRun",
        request_serializer=planning_service_pb2.PlanRunRequest.SerializeToString,
        response_deserializer=planning_service_pb2.PlanRunResponse.FromString)
    request = json_format.ParseDict(SEARCH, planning_service_pb2.PlanRunRequest())
    while not stop.is_set():
        try:
            call(request, timeout=120)
        except grpc.RpcError:
            pass


def asked(server, words, budget=None):
    asker = Asker(server, budget)
    with concurrent.futures.ThreadPoolExecutor(CALLERS) as pool:
        return list(pool.map(asker.ask, words))


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    print("| beside | lines | median ms | 99.9 % ms | worst ms | over 200 ms | verdicts |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | --- |")
    with Server("--role=planner", "--log_calls=none") as server:
        show("nothing", asked(server, lines(count)))
        stop = threading.Event()
        for _ in range(3):
            threading.Thread(target=search_on, args=(server, stop), daemon=True).start()
        time.sleep(1)
        show("3 searches", asked(server, lines(count // 10)))
        stop.set()
    if not admit_test.can_trace():
        print("\nstrace can't trace here")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "trace")
        starter = ("strace", "-D", "-f", "-qq", "-o", trace, "-e",
                   "trace=open,openat,openat2,creat,execve,rename,unlink")
        with Server("--role=planner", "--log_calls=none", starter=starter) as server:
            asked(server, GOOD, budget=10)
            start = os.path.getsize(trace)
            asked(server, lines(count), budget=10)
            print(f"\n{count} lines under strace: files opened: {admit_test.opened(trace, start)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
