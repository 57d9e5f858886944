#!/usr/bin/python3
"""The house's include rules (CONTRIBUTING.md, "The house"): who may include whom.

  server -> engine, proto        client -> proto        gpu_probe -> proto, engine/base
  proto/check, proto/text and proto/words, of all programs about the messages: those and Abseil
  alone; proto/http of the programs that call others
  engine: Abseil and the standard library alone
  tests: anything

Within a room, each folder is one library, and its FROM in CMakeLists.txt lists the folders that it
may include, with all that those may. No circle of them; the floors in CONTRIBUTING.md are theirs.

The engine speaks in types and fields: it names no command, flag or call of the programs above it.

Also checks itself: each rule has to catch a planted violation.
"""

import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)

LIBRARY = re.compile(r"^ *sextant_(?:probe_)?library\((\w+)\s([^)]*)\)", re.MULTILINE)

# What each room may include beside the standard library, by the start of the path.
ALLOWED = {
    "engine": ["absl/", "engine/"],
    "proto": ["absl/", "google/protobuf/", "nlohmann/", "proto/", "sextant/v1/", "openssl/",
              "poll.h"],
    "server": ["absl/", "engine/", "proto/calibration_json.h", "proto/check/",
               "proto/http/", "proto/matmul_kind.h", "proto/openapi/", "proto/stable_points.h",
               "proto/words/", "server/", "sextant/v1/", "google/rpc/", "google/protobuf/",
               "grpc/", "grpcpp/", "prometheus/", "CLI/", "nlohmann/", "toml++/", "yaml-cpp/",
               "openssl/", "netdb.h", "netinet/", "unistd.h", "limits.h", "dlfcn.h",
               "poll.h", "fcntl.h", "malloc.h", "spawn.h", "sys/", "arpa/inet.h"],
    "client": ["absl/", "client/", "proto/calibration_json.h", "proto/stable_points.h",
               "proto/http/", "proto/text/", "proto/words/", "sextant/v1/", "openssl/",
               "google/rpc/", "google/protobuf/", "grpc/", "grpcpp/", "CLI/", "nlohmann/",
               "unistd.h", "sys/", "arpa/inet.h", "fcntl.h", "netinet/in.h", "poll.h",
               "signal.h"],
    # Of the API the messages that it speaks of; its libraries are linked into one static file.
    "gpu_probe": ["absl/", "engine/base/", "gpu_probe/", "proto/calibration_json.h",
                  "proto/check/", "proto/matmul_kind.h", "proto/text/", "google/protobuf/", "CLI/",
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


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def folder_of(path):
    """`path`'s folder on a floor: "server/call", "server" for a file of the room itself."""
    parts = path.split("/")
    return "/".join(parts[:2]) if len(parts) > 2 else parts[0]


def libraries_of(text, folder):
    """The sextant_library() calls of `text`, a CMakeLists.txt in `folder`: each name with the
    names in its FROM and the folders of its sources."""
    out = {}
    for name, words in LIBRARY.findall(text):
        words = words.split()
        split = words.index("SOURCES")
        sources = [os.path.join(folder, word) for word in words[split + 1:]]
        out[name] = (words[:split], {folder_of(source) for source in sources})
    return out


def libraries_of_rooms():
    out = {}
    for room in ALLOWED:
        for folder, _, files in os.walk(os.path.join(ROOT, room)):
            if "CMakeLists.txt" in files:
                folder = os.path.relpath(folder, ROOT)
                out.update(libraries_of(read(os.path.join(folder, "CMakeLists.txt")), folder))
    return out


def reach_of(name, libraries):
    """The libraries that `name` may include, by one FROM or several."""
    out, left = set(), [name]
    while left:
        for other in libraries[left.pop()][0]:
            if other in libraries and other not in out:
                out.add(other)
                left.append(other)
    return out


def arrows_of(libraries):
    """Each folder with the folders that it may include, and what is wrong with the libraries."""
    arrows, problems = {}, []
    for name, (_, folders) in libraries.items():
        reach = reach_of(name, libraries)
        if name in reach:
            problems.append(f"{name}: its FROM leads back to it")
        if len(folders) > 1:
            problems.append(f"{name}: has sources of {', '.join(sorted(folders))}: one library a "
                            "folder")
        for folder in folders:
            arrows.setdefault(folder, set()).update(
                folders, *(libraries[other][1] for other in reach))
    return arrows, problems


def floors_of(page):
    """The folders that each row of "The house" puts in order, bottom first, by room."""
    out = {}
    for room, row in re.findall(r"^\| `(\w+)/` (.*)$", page, re.MULTILINE):
        order = re.search(r"(?:`\w+`(?: <|,) )+`\w+`(?= *[|;.]| \|)", row)
        if order and "<" in order[0]:
            out[room] = [f"{room}/{name}" for name in re.findall(r"`(\w+)`", order[0])]
    return out


def floor_problems(floors, arrows):
    found = []
    for room, order in floors.items():
        for folder in sorted(set(order) ^ {each for each in arrows if each.startswith(room + "/")}):
            found.append(f"CONTRIBUTING.md: {folder} is " +
                         ("no library" if folder in order else "on no floor"))
        for i, folder in enumerate(order):
            for above in sorted(arrows.get(folder, set()) & set(order[i + 1:])):
                found.append(f"CONTRIBUTING.md: {folder} may include {above}, which is above it")
    return found


def problems_of(file, text, arrows):
    """What is wrong with the includes of `text`, the content of `file` (a path in the tree), where
    `arrows` lead from folder to folder."""
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
        if path.split("/")[0] == house and os.path.basename(file) != "main.cc":
            here, there = folder_of(file), folder_of(path)
            if here != there and there not in arrows.get(here, set()) and there in arrows:
                found.append(f"{file}: {path}: {here} has no {there} in its FROM")
            elif here != there and here not in arrows:
                found.append(f"{file}: {path}: {here} is no library")
    return found


def check_itself(arrows):
    planted = {
        "engine/base/x.h": '#include "engine/model/presets.h"',
        "engine/run/x.cc": "#include <thread>",
        "engine/run/y.cc": '#include "sextant/v1/plan.pb.h"',
        "engine/misc/z.cc": '#include "engine/base/units.h"',
        "engine/run/a.cc": '"measure it with sextant probe"',
        "engine/run/b.cc": '"leave out --matmul"',
        "engine/run/c.h": "// As HardwareService answers it.",
        "engine/run/d.h": "// See ListNodeTypes.",
        "client/text/x.cc": '#include "client/report/plan_text.h"',
        "client/plot/x.cc": '#include "client/report/plan_text.h"',
        "client/x.cc": '#include "engine/run/plan.h"',
        "server/x.cc": '#include "client/flags/number.h"',
        "server/convert/x.cc": '#include "server/store/calibration_store.h"',
        "server/call/x.cc": '#include "server/handler/plan_answer.h"',
        "server/listen/x.h": '#include "server/options.h"',
        "gpu_probe/x.cc": "#include <grpcpp/grpcpp.h>",
        "gpu_probe/y.cc": '#include "gpu_probe/health/report.h"',
        "gpu_probe/host/y.cc": '#include "engine/hardware/catalogue.h"',
        "gpu_probe/z.cc": '#include "sextant/v1/plan.pb.h"',
        "proto/check/x.cc": '#include "engine/base/text.h"',
        "client/y.cc": '#include "proto/check/calibration.h"',
        "proto/text/x.cc": '#include "client/flags/number.h"',
        "proto/text/y.cc": "#include <grpcpp/grpcpp.h>",
    }
    for file, text in planted.items():
        assert problems_of(file, text, arrows), f"not caught: {file}: {text}"
    fine = '#include <vector>\n#include "absl/status/status.h"\n#include "engine/base/units.h"'
    assert not problems_of("engine/run/x.cc", fine, arrows)

    cmake = """
sextant_library(low
  SOURCES low/x.cc)
sextant_library(high
  FROM low absl::strings
  SOURCES high/x.cc high/part/y.cc)"""
    two, problems = arrows_of(libraries_of(cmake, "server"))
    assert two == {"server/low": {"server/low"}, "server/high": {"server/low", "server/high"}}, two
    assert not problems
    circle = libraries_of(cmake.replace("(low\n", "(low FROM high\n"), "server")
    assert len(arrows_of(circle)[1]) == 2
    assert arrows_of(libraries_of(cmake.replace("high/part/", "part/"), "server"))[1]
    page = "| `server/` | `low` < `high` | engine |\n| `proto/` | `x`, `y` | Abseil |\n"
    assert floors_of(page) == {"server": ["server/low", "server/high"]}, floors_of(page)
    assert not floor_problems(floors_of(page), two)
    assert floor_problems(floors_of(page.replace("low", "new")), two)
    assert floor_problems({"server": ["server/high", "server/low"]}, two)


def main():
    arrows, problems = arrows_of(libraries_of_rooms())
    if problems:
        print("\n".join(problems))
        return 1
    check_itself(arrows)
    floors = floors_of(read("CONTRIBUTING.md"))
    assert set(floors) >= {"engine", "server"}, "CONTRIBUTING.md lacks the floors of a room"
    problems = floor_problems(floors, arrows)
    count = 0
    for house in ALLOWED:
        for folder, _, files in os.walk(os.path.join(ROOT, house)):
            for name in sorted(files):
                if not name.endswith((".h", ".cc")):
                    continue
                path = os.path.relpath(os.path.join(folder, name), ROOT)
                problems += problems_of(path, read(path), arrows)
                count += 1
    print("\n".join(problems) or f"{count} files keep the include rules")
    return 1 if problems or count < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
