#!/usr/bin/python3
"""Every field of the API's requests reaches an answer.

A field passes if some golden request that sets it is answered otherwise, or refused, without it
or with another value. A field that nothing reads, or a new one, fails: extend_requests.py proposes
requests for it. The requests' answers themselves are requests_test.py's.
"""

import copy
import json
import os
import sys

import golden_requests as golden
from golden_requests import ROOT, api, grpc

# What the host decides, or what reports from jobs change: tests/server has their tests.
NOT_ASKED = {"ListDevices", "GetCalibration", "RunProbe", "WatchPlanRun", "ReportProgress"}
TRIES = 60


def request_types():
    for service in ("AccountingService", "HardwareService", "PlanningService"):
        found = api.descriptor_pool.Default().FindServiceByName(f"sextant.v1.{service}")
        for method in found.methods:
            if method.name not in NOT_ASKED:
                yield method.input_type


def leaves_of(descriptor, seen):
    """(message, field) names of all that a request of this type can say."""
    if descriptor.full_name in seen:
        return
    seen.add(descriptor.full_name)
    for field in descriptor.fields:
        inner = field.message_type
        if inner is None or inner.full_name.startswith("google."):
            yield descriptor.full_name, field.name
        else:
            yield from leaves_of(inner, seen)


def clear_first(message, leaf):
    """Clears the first place of a request that says `leaf`; whether there was one."""
    for field, value in message.ListFields():
        if (message.DESCRIPTOR.full_name, field.name) == leaf:
            message.ClearField(field.name)
            return True
        kind = field.message_type
        if kind is not None and not kind.full_name.startswith("google."):
            for entry in value if field.label == field.LABEL_REPEATED else [value]:
                if clear_first(entry, leaf):
                    return True
    return False


def without(client, leaf, requests):
    """Whether one of `requests`, which say `leaf`, is answered otherwise without it."""
    for call, message in requests[-TRIES:]:
        cleared = copy.deepcopy(message)
        clear_first(cleared, leaf)
        with_it, without_it = client.answers([(call, message), (call, cleared)])
        if not isinstance(with_it, grpc.RpcError) and with_it != without_it:
            return True
    return False


def main():
    with open(os.path.join(ROOT, "tests/golden/unread_fields.json"), encoding="utf-8") as file:
        excuses = json.load(file)
    with golden.server() as server, api.Client(server.address) as client:
        seen = set()
        wanted = [leaf for kind in request_types() for leaf in leaves_of(kind, seen)]
        reached, saying = set(), {}
        for file in golden.files():
            lines = golden.load(file)
            messages = list(golden.requests_of(lines))
            reached.update(golden.answered_otherwise(lines, messages))
            for line, request in zip(lines, messages):
                if not golden.is_refused(line["answer"]):
                    for leaf in golden.set_leaves(request[1]):
                        saying.setdefault(leaf, []).append(request)
        missing = [
            leaf
            for leaf in wanted
            if leaf not in reached and not without(client, leaf, saying.get(leaf, []))
        ]
    used = {name for leaf in missing for name in (leaf[0], ".".join(leaf)) if name in excuses}
    names = [".".join(leaf) for leaf in missing if not used & {leaf[0], ".".join(leaf)}]
    needless = [name for name in excuses if name not in used]
    for name in names:
        print(f"no answer depends on {name}: see extend_requests.py")
    for name in needless:
        print(f"unread_fields.json excuses {name}, which answers depend on")
    print(f"{len(wanted)} fields of requests, {len(missing)} of them without an answer of their "
          "own")
    return 1 if names or needless else 0


if __name__ == "__main__":
    sys.exit(main())
