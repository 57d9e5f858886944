#!/usr/bin/python3
"""The house's include rules (CONTRIBUTING.md, "Arrows"): who may include whom.

  server -> engine, proto        client -> proto        gpu_probe -> proto, engine/base
  proto/check and proto/text, of all programs about the messages: those and Abseil alone
  engine: Abseil and the standard library alone, and its own folders only downwards
  tests: anything

The engine speaks in types and fields: it names no command, flag or call of the programs above it.

Also checks itself: each rule has to catch a planted violation.
"""

import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)

# Bottom first: a folder may include itself and those before it.
ENGINE_FLOORS = ["base", "tensor", "operation", "model", "hardware", "framework", "memory", "time",
                 "run", "search"]

# What each house may include beside the standard library, by the start of the path.
ALLOWED = {
    "engine": ["absl/", "engine/"],
    "proto": ["absl/", "google/protobuf/", "proto/", "sextant/v1/"],
    "server": ["absl/", "engine/", "proto/check/", "proto/matmul_kind.h",
               "proto/stable_points.h", "server/", "sextant/v1/", "google/rpc/",
               "google/protobuf/", "grpc/", "grpcpp/", "prometheus/", "CLI/", "nlohmann/",
               "httplib.h", "openssl/", "netdb.h", "netinet/", "unistd.h", "limits.h", "dlfcn.h",
               "poll.h", "fcntl.h", "malloc.h", "spawn.h", "sys/"],
    "client": ["absl/", "client/", "proto/stable_points.h", "proto/text/", "sextant/v1/",
               "google/rpc/", "google/protobuf/", "grpc/", "grpcpp/", "CLI/", "nlohmann/",
               "toml++/", "unistd.h", "sys/", "arpa/inet.h", "fcntl.h", "netinet/in.h", "poll.h",
               "signal.h"],
    # Of the API the messages that it speaks of; its libraries are linked into one static file.
    "gpu_probe": ["absl/", "engine/base/", "gpu_probe/", "proto/check/", "proto/matmul_kind.h",
                  "proto/text/", "google/protobuf/", "CLI/",
                  *(f"sextant/v1/{name}.pb.h" for name in (
                      "calibration", "data_type", "device", "probe", "probe_event")),
                  "cpuid.h", "emmintrin.h", "immintrin.h", "xmmintrin.h",
                  "dlfcn.h", "fcntl.h", "link.h", "poll.h", "pthread.h", "sched.h", "stdlib.h",
                  "sys/", "unistd.h"],
}

# The engine has no file, clock, thread or log.
ENGINE_FORBIDS = {"thread", "mutex", "shared_mutex", "condition_variable", "future", "atomic",
                  "chrono", "ctime", "fstream", "iostream", "filesystem", "cstdio", "random",
                  "absl/synchronization/mutex.h", "absl/time/clock.h", "absl/time/time.h"}


def names_above():
    """What finds a command of `sextant`, one of its flags in a text, or a call of the API that is
    not also a function of the engine."""
    end = "_command.cc"
    commands = [name[:-len(end)] for name in os.listdir(os.path.join(ROOT, "client/command"))
                if name.endswith(end)]
    calls = set()
    folder = os.path.join(ROOT, "proto/sextant/v1")
    for name in os.listdir(folder):
        if name.endswith("_service.proto"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                calls.update(re.findall(r"^  rpc (\w+)\(", file.read(), re.MULTILINE))
    calls -= {"AllocateCompute", "AnalyzeGraph", "AnalyzeOperation", "AnalyzeTensor", "CountModel",
              "PlanRun"}
    assert len(commands) > 10 and len(calls) > 5
    return re.compile(r"\bsextant (?:" + "|".join(sorted(commands)) + r"|op|dtype)\b"
                      r"|\b\w+Service\b|\b(?:" + "|".join(sorted(calls)) + r")\b"
                      r'|"[^"\n]*--[a-z][^"\n]*"')


NAMES_ABOVE = names_above()


def is_standard(path):
    return re.fullmatch(r"[a-z_0-9]+", path) is not None


def floor_of(path):
    parts = path.split("/")
    return ENGINE_FLOORS.index(parts[1]) if parts[1] in ENGINE_FLOORS else None


def problems_of(file, text):
    """What is wrong with the includes of `text`, the content of `file` (a path in the tree)."""
    house = file.split("/")[0]
    found = []
    if house == "engine":
        found += [f"{file}: the engine names no command, flag or call: {name}"
                  for name in NAMES_ABOVE.findall(text)]
    for _, path in INCLUDE.findall(text):
        if not is_standard(path) and not any(path.startswith(a) for a in ALLOWED[house]):
            found.append(f"{file}: may not include {path}")
        if house == "engine" and path in ENGINE_FORBIDS:
            found.append(f"{file}: the engine is pure: no {path}")
        if house == "engine" and path.startswith("engine/"):
            here, there = floor_of(file), floor_of(path)
            if here is None or there is None:
                found.append(f"{file}: {path}: not a folder of the engine's list")
            elif there > here:
                found.append(f"{file}: upwards: {path}")
    return found


def check_itself():
    planted = {
        "engine/base/x.h": '#include "engine/model/presets.h"',
        "engine/run/x.cc": "#include <thread>",
        "engine/run/y.cc": '#include "sextant/v1/plan.pb.h"',
        "engine/misc/z.cc": '#include "engine/base/units.h"',
        "engine/run/a.cc": '"measure it with sextant probe"',
        "engine/run/b.cc": '"leave out --matmul"',
        "engine/run/c.h": "// As HardwareService answers it.",
        "engine/run/d.h": "// See ListNodeTypes.",
        "client/x.cc": '#include "engine/run/plan.h"',
        "server/x.cc": '#include "client/flags/number.h"',
        "gpu_probe/x.cc": "#include <grpcpp/grpcpp.h>",
        "gpu_probe/host/y.cc": '#include "engine/hardware/catalogue.h"',
        "gpu_probe/z.cc": '#include "sextant/v1/plan.pb.h"',
        "proto/check/x.cc": '#include "engine/base/text.h"',
        "client/y.cc": '#include "proto/check/calibration.h"',
        "proto/text/x.cc": '#include "client/flags/number.h"',
        "proto/text/y.cc": "#include <grpcpp/grpcpp.h>",
    }
    for file, text in planted.items():
        assert problems_of(file, text), f"not caught: {file}: {text}"
    fine = '#include <vector>\n#include "absl/status/status.h"\n#include "engine/base/units.h"'
    assert not problems_of("engine/run/x.cc", fine)


def main():
    check_itself()
    problems = []
    count = 0
    for house in ALLOWED:
        for folder, _, files in os.walk(os.path.join(ROOT, house)):
            for name in sorted(files):
                if not name.endswith((".h", ".cc")):
                    continue
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as source:
                    problems += problems_of(os.path.relpath(path, ROOT), source.read())
                count += 1
    print("\n".join(problems) or f"{count} files keep the include rules")
    return 1 if problems or count < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
