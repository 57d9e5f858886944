#!/usr/bin/python3
"""Proposes golden requests: each base with each of its fields set to other values.

    tests/golden/extend_requests.py [FILE...]

Only fields that no variant sets alone. Of each field it keeps two values that change
the answer in different ways, and one that is refused. Review what it adds; then run
requests_test.py --write.
"""

import collections
import json
import sys

import golden_requests as golden
from golden_requests import api

NUMBERS = [0, 1, 2, 3, 4, 8, 16, 64, 0.25, 0.5, 0.9, 1.5, 128, 1000, 4096, 65536, 1e6, 1e8, 1e10,
           1e12, 5e14]  # fmt: skip
REFUSED = {"number": [-1, 1e30], "text": ["no-such-name"]}
TEXTS = {
    "accelerator": ["a100-sxm-80", "h200-sxm", "b200-sxm"],
    "node_type": ["hgx-h100", "dgx-h100", "dgx-a100", "dgx-b200"],
    "preset": ["llama-3.1-8b", "mixtral-8x7b", "t5-large"],
    "name": ["ib-ndr", "roce-400", "generic", "deepspeed", "megascale", "h100-sxm", "dgx-h200"],
    "pattern": ["moe", "qwen"],
}
TIMES = {
    "google.protobuf.Duration": ["3600s", "864000s", "31536000s"],
    "google.protobuf.Timestamp": ["2027-02-01T00:00:00Z", "2027-03-01T00:00:00Z"],
}
CHANGES_OF_A_FIELD = 2
BASES_OF_A_FIELD = 4


def values_of(field):
    """Values to try for a field, and values to have refused."""
    if field.type == field.TYPE_MESSAGE:
        return TIMES.get(field.message_type.full_name, []), []
    if field.type == field.TYPE_BOOL:
        return [True, False], []
    if field.type == field.TYPE_ENUM:
        return [value.name for value in field.enum_type.values if value.number], []
    if field.type == field.TYPE_STRING:
        return TEXTS.get(field.name, []), REFUSED["text"]
    if field.cpp_type not in (field.CPPTYPE_INT64, field.CPPTYPE_INT32):
        return NUMBERS, REFUSED["number"]
    largest = 2**31 if field.cpp_type == field.CPPTYPE_INT32 else 2**63
    return [int(value) for value in NUMBERS if value == int(value) and value < largest], [-1]


def is_choice(field):
    """Whether setting the field clears others; the oneof of an optional field is its own."""
    return field.containing_oneof is not None and not field.containing_oneof.name.startswith("_")


def fields_of(descriptor, request, path="", depth=0):
    """(path, field) of each field that a request has room for; of lists, the first entries."""
    for field in descriptor.fields:
        here = f"{path}.{field.name}" if path else field.name
        value = request.get(field.json_name)
        if field.label == field.LABEL_REPEATED:
            for index, entry in enumerate((value or [])[:2]):
                if isinstance(entry, dict):
                    yield from fields_of(field.message_type, entry, f"{here}[{index}]", depth + 1)
            if value is None and field.type == field.TYPE_ENUM:
                yield here, field
        elif field.type == field.TYPE_MESSAGE and field.message_type.full_name not in TIMES:
            if depth < 6 and (value is not None or not is_choice(field)):
                inner = value if isinstance(value, dict) else {}
                yield from fields_of(field.message_type, inner, here, depth + 1)
        elif value is not None or not is_choice(field):
            yield here, field


class Kept:
    """What is kept of each field: answers that it changed, and whether one value was refused."""

    def __init__(self, known):
        self.changes = {key: [""] * CHANGES_OF_A_FIELD for key in known}
        self.refused = set(known)
        self.bases = collections.Counter()

    def wants(self, key, is_refusal):
        if self.bases[key] > BASES_OF_A_FIELD:
            return False
        if is_refusal:
            return key not in self.refused
        return len(self.changes.get(key, [])) < CHANGES_OF_A_FIELD

    def keep(self, key, answer, to_refuse):
        """Whether a value of field `key` with this answer is worth keeping; counts it."""
        if "status" in answer:
            if not to_refuse or not self.wants(key, True):
                return False
            self.refused.add(key)
            return True
        text = json.dumps(answer, sort_keys=True)
        if not answer or text in self.changes.get(key, []) or not self.wants(key, False):
            return False
        self.changes.setdefault(key, []).append(text)
        return True


def proposals(base, kept):
    """(field's key, whether it is to be refused, what to set) of all to try of a base."""
    for path, field in fields_of(api.method(base["call"]).input_type, base["request"]):
        key = field.containing_type.full_name, field.name
        kept.bases[key] += 1
        for is_refusal, values in enumerate(values_of(field)):
            for value in values if kept.wants(key, is_refusal) else []:
                several = field.label == field.LABEL_REPEATED
                yield key, is_refusal, {path: [value] if several else value}


def extended(client, lines, kept):
    """Lines that change the answers of `lines`' bases, each in its own way."""
    for base in [line for line in lines if "base" in line]:
        tried = list(proposals(base, kept))
        variants = [{"of": base["base"], "set": change} for _, _, change in tried]
        answers = golden.kept(
            [base, *variants], client.answers(golden.requests_of([base, *variants]))
        )
        next(answers)
        for (key, to_refuse, _), variant in zip(tried, answers):
            if kept.keep(key, variant["answer"], to_refuse):
                yield variant


def reached(lines):
    """(message, field) names of what some variant of `lines` shows to reach an answer."""
    return set(golden.answered_otherwise(lines, list(golden.requests_of(lines))))


def main():
    with golden.server() as server, api.Client(server.address) as client:
        kept = Kept(set().union(*(reached(golden.load(file)) for file in golden.files())))
        for file in sys.argv[1:] or golden.files():
            lines = golden.load(file)
            added = list(extended(client, lines, kept))
            golden.save(file, lines + added)
            print(f"{file}: {len(added)} requests added to {len(lines)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
