#!/usr/bin/python3
"""Each request of docs/examples/README.md is what its command would send, and has an answer.

The answer has the same bytes from another server, from one with a single processor, and so with
fewer threads, and after a restart.

With --write, puts what the commands would send into the files.
"""

import os
import re
import shlex
import subprocess
import sys

from sextantd import BIN, ROOT, Server
from api import grpc

FOLDER = os.path.join(ROOT, "docs", "examples")
ROW = re.compile(r"^\| \[.*?\]\((?P<file>.*?)\) \| `(?P<service>\w+)/(?P<method>\w+)` \| "
                 r"(?:`sextant (?P<command>[^`]*)` \|$)?", re.M)
SECONDS = 120

# What each answer has to say; figures are computed by hand.
CHECKS = {
    "plan_run.json": lambda a: a.plan.parameters.total == 70553706496
                               and a.plan.step_time.seconds.expected > 0,
    "plan_run_search.json": lambda a: a.plan.search.evaluated_count > 1,
    "batch_plan_runs.json": lambda a: [run.HasField("plan") for run in a.runs] == 6 * [True],
    "size_cluster.json": lambda a: [c.accelerator for c in a.clusters] == ["h100-sxm", "h200-sxm"]
                                   and all(c.met for c in a.clusters),
    "size_model.json": lambda a: a.met and a.parameter_count > 0,
    # 8 GPUs of 989.4e12 FLOP/s by the datasheet, half of that, for 604,800 s.
    "allocate_compute.json": lambda a: a.budget.flops == 8 * 989.4e12 / 2 * 604800,
    "count_model.json": lambda a: a.parameters.total == 70553706496,
    "matmul.json": lambda a: a.forward.sum.matrix_flops == 2 * 16384 * 8192 * 32768,
    # 32 heads of 8192 x 8193 / 2 pairs of 128 numbers, once with keys and once with values.
    "attention.json": lambda a: a.forward.sum.matrix_flops == 2 * 2 * 32 * 128 * 8192 * 8193 // 2,
    "one_layer.json": lambda a: a.plan.parameters.embedding == 2 * 128256 * 4096,
    "two_layers.json": lambda a: a.totals.trainable_parameters == 32768 * (32768 + 8192),
}


def check_command(row):
    """What is wrong with the file of a command; with --write, nothing is any more."""
    ran = subprocess.run([os.path.join(BIN, "sextant"), "--print-request",
                          *shlex.split(row["command"])], capture_output=True, text=True,
                         timeout=SECONDS, check=False)
    if ran.returncode != 0:
        return [f"{row['file']}: {ran.stderr}"]
    path = os.path.join(FOLDER, row["file"])
    if "--write" in sys.argv:
        with open(path, "w", encoding="utf-8") as file:
            file.write(ran.stdout)
    with open(path, encoding="utf-8") as file:
        same = file.read() == ran.stdout
    return [] if same else [f"{row['file']} is not what its command sends: run this with --write"]


def send(channel, row):
    """The bytes of the answer to the request in the row's file, and their type."""
    from google.protobuf import descriptor_pool, json_format
    from google.protobuf.message_factory import MessageFactory
    pool = descriptor_pool.Default()
    service = f"sextant.v1.{row['service']}"
    method = pool.FindServiceByName(service).methods_by_name[row["method"]]
    request, response = (MessageFactory(pool).GetPrototype(message)
                         for message in (method.input_type, method.output_type))
    with open(os.path.join(FOLDER, row["file"]), encoding="utf-8") as file:
        message = json_format.Parse(file.read(), request())
    if row["file"] == "plan_run_search.json":
        message.options.search = 3  # exhaustive: with all threads
    call = channel.unary_unary(f"/{service}/{row['method']}",
                               request_serializer=request.SerializeToString)
    return call(message, timeout=SECONDS), response


def check_answer(channel, row):
    content, response = send(channel, row)
    answer = response.FromString(content)
    good = CHECKS.get(row["file"], lambda a: a.ByteSize() > 0)(answer)
    return [] if good else [f"{row['file']}: not the answer that was worked out: {answer}"[:2000]]


def answers(rows, starter=()):
    """The bytes of all answers of a server of its own."""
    with Server("--log_calls=none", starter=starter) as server:
        with grpc.insecure_channel(server.address) as channel:
            return {row["file"]: send(channel, row)[0] for row in rows}


def check_alike(rows):
    first = answers(rows)
    others = {"on one processor": answers(rows, ("taskset", "-c", "0")), "again": answers(rows)}
    return [f"{name}: another answer {how}" for how, other in others.items()
            for name, content in other.items() if content != first[name]]


def main():
    with open(os.path.join(FOLDER, "README.md"), encoding="utf-8") as file:
        text = file.read()
    rows = list(ROW.finditer(text))
    problems = [f"{name} is not in docs/examples/README.md" for name in os.listdir(FOLDER)
                if name.endswith(".json") and f"]({name})" not in text]
    sent = {row["file"] for row in rows}
    problems += [f"{name} is checked, and not sent" for name in CHECKS if name not in sent]
    for row in rows:
        problems += check_command(row) if row["command"] else []
    with Server("--log_calls=none") as server:
        from sextant.v1 import accounting_service_pb2, planning_service_pb2  # noqa: F401
        with grpc.insecure_channel(server.address) as channel:
            for row in rows:
                problems += check_answer(channel, row)
        problems += check_alike(rows)
    print("\n".join(problems) or f"{len(rows)} examples are as their commands send them, and "
          "have answers")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
