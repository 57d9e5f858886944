"""Golden requests: about 2,000 requests of all kinds, and a digest of each answer.

tests/golden/requests/NAME.jsonl holds one request a line. A base is whole:

    {"base": "dense", "call": "PlanningService/PlanRun", "request": {...}, "answer": {...}}

A variant is a base with some fields set (null: cleared), and keeps what its answer changes:

    {"of": "dense", "set": {"layout.micro_batch_size": 2}, "answer": {"plan.memory": "81d4c0f1"}}

{"@config": NAME} stands for the text of a config.json of tests/golden/config_json.jsonl.

An answer maps top-level fields to digests of their serialised bytes, one level deeper in
messages, and key figures to their values. Of a refusal it is the status and, for each field that
the refusal names, a digest of what it says. engine_version is left out.
"""

import copy
import functools
import hashlib
import json
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
import api  # noqa: E402
from api import grpc, json_format  # noqa: E402
from sextantd import Server  # noqa: E402

FOLDER = os.path.join(ROOT, "tests", "golden", "requests")

# A dozen figures of a plan, and those of other answers, where they are set.
FIGURES = [
    "plan.parameters.total", "plan.memory.peak_bytes.expected", "plan.memory.peak_bytes.high",
    "plan.fit_chance", "plan.step_time.seconds.expected", "plan.step_time.seconds.high",
    "plan.estimates.0.duration_seconds.expected", "plan.estimates.1.duration_seconds.expected",
    "plan.estimates.1.cost_usd", "plan.estimates.1.energy_joules", "plan.flops.counts.0.flops",
    "plan.search.evaluated_count", "clusters.0.device_count", "parameter_count", "count.total",
    "forward.flops", "time.seconds.expected", "allocations.0.optimum.parameter_count",
    "allocated_bytes", "peak_bytes",
]  # fmt: skip


# A libm picks its code by the processor; this has all x86-64 processors run the same.
SAME_ARITHMETIC = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-AVX2_Usable,-FMA,-FMA_Usable,-FMA4"}


def server(*flags):
    """A sextantd whose answers depend on nothing but requests; use it as a context."""
    os.environ.update(SAME_ARITHMETIC)
    return Server("--log_calls=none", "--search_niceness=0", *flags)


def files():
    return sorted(name for name in os.listdir(FOLDER) if name.endswith(".jsonl"))


def load(name):
    """The lines of a file, as dicts."""
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def save(name, lines):
    with open(os.path.join(FOLDER, name), "w", encoding="utf-8") as file:
        for line in lines:
            file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")


def set_field(message, path, value):
    """Sets the field `path` ("a.b_c[0].d") of a message as JSON; None clears it."""
    keys = [int(key) if key.isdigit() else re.sub(r"_(\w)", lambda m: m.group(1).upper(), key)
            for key in re.findall(r"[^.\[\]]+", path)]
    for key in keys[:-1]:
        message = message[key] if isinstance(key, int) else message.setdefault(key, {})
    if value is None:
        message.pop(keys[-1], None)
    else:
        message[keys[-1]] = value


@functools.lru_cache
def config_texts():
    with open(os.path.join(ROOT, "tests", "golden", "config_json.jsonl"), encoding="utf-8") as file:
        return {json.loads(line)["name"]: line.split('"config": ')[1][:-2] for line in file}


def config_text(name):
    """A model's config.json."""
    return config_texts()[name]


def expand(value):
    """`value` with "@config" replaced."""
    if isinstance(value, list):
        return [expand(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    if "@config" in value:
        return config_text(value["@config"])
    return {key: expand(entry) for key, entry in value.items()}


def requests_of(lines):
    """The call and the message of each line of one file."""
    bases = {}
    for line in lines:
        if "base" in line:
            bases[line["base"]] = line
            call, request = line["call"], line["request"]
        else:
            call, request = bases[line["of"]]["call"], copy.deepcopy(bases[line["of"]]["request"])
            for path, value in line["set"].items():
                set_field(request, path, value)
        message = api.message_class(api.method(call).input_type)()
        yield call, json_format.ParseDict(expand(request), message)


def digest(data):
    return hashlib.sha256(data).hexdigest()[:8]


def figure(message, path):
    """The number at `path`, as text; None where it is not set."""
    for key in path.split("."):
        if key.isdigit():
            if len(message) <= int(key):
                return None
            message = message[int(key)]
            continue
        field = message.DESCRIPTOR.fields_by_name.get(key)
        if field is None or (field.has_presence and not message.HasField(key)):
            return None
        message = getattr(message, key)
    return f"{message:.10g}" if isinstance(message, (int, float)) else None


def parts(message, deeper=True):
    """The set fields of a message and their serialised bytes; messages one level deeper."""
    for field, value in message.ListFields():
        if field.name == "engine_version":
            continue
        if deeper and field.type == field.TYPE_MESSAGE and field.label != field.LABEL_REPEATED:
            for name, data in parts(value, deeper=False):
                yield f"{field.name}.{name}", data
            continue
        alone = type(message)()
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            for key in value:  # of texts
                getattr(alone, field.name)[key] = value[key]
        elif field.label == field.LABEL_REPEATED:
            getattr(alone, field.name).MergeFrom(value)
        elif field.type == field.TYPE_MESSAGE:
            getattr(alone, field.name).CopyFrom(value)
        else:
            setattr(alone, field.name, value)
        yield field.name, alone.SerializeToString(deterministic=True)


def refusal(error):
    """The status of a refused call, and what it says of each field."""
    from google.rpc import error_details_pb2, status_pb2

    answer = {"status": error.code().name}
    trailers = dict(error.trailing_metadata() or ())
    status = status_pb2.Status.FromString(trailers.get("grpc-status-details-bin", b""))
    bad = error_details_pb2.BadRequest()
    for detail in status.details:
        if detail.Unpack(bad):
            for violation in bad.field_violations:
                answer[violation.field or "."] = digest(violation.description.encode())
    return answer if len(answer) > 1 else {**answer, ".": digest(error.details().encode())}


def answer_of(response):
    """What is kept of a response or grpc.RpcError: see the top of this file."""
    if isinstance(response, grpc.RpcError):
        return refusal(response)
    answer = {name: digest(data) for name, data in parts(response)}
    figures = {path: figure(response, path) for path in FIGURES}
    return {**answer, **{f"={path}": text for path, text in figures.items() if text is not None}}


def change(base, answer):
    """What `answer` changes of the base's; fields that it lacks are None. A refusal is whole."""
    if "status" in answer or "status" in base:
        return answer
    lost = {name: None for name in base if name not in answer}
    return {name: value for name, value in answer.items() if base.get(name) != value} | lost


def kept(lines, responses):
    """`lines` with the answers that `responses` are."""
    bases = {}
    for line, response in zip(lines, responses):
        answer = answer_of(response)
        if "base" in line:
            bases[line["base"]] = answer
        else:
            answer = change(bases[line["of"]], answer)
        yield {**line, "answer": answer}


def set_leaves(message):
    """(message, field) names of what a request says."""
    for field, value in message.ListFields():
        inner = field.message_type
        if inner is None or inner.full_name.startswith("google."):
            yield message.DESCRIPTOR.full_name, field.name
        else:
            for entry in value if field.label == field.LABEL_REPEATED else [value]:
                yield from set_leaves(entry)


def is_refused(answer):
    return "status" in answer


def answered_otherwise(lines, messages):
    """Leaves of variants that set nothing else and whose answer differs from their base's."""
    said = {}
    for line, (_, message) in zip(lines, messages):
        if "base" in line:
            said[line["base"]] = (line["answer"], message)
            continue
        answer, base = said[line["of"]]
        if len(line["set"]) == 1 and line["answer"] and not is_refused(answer | line["answer"]):
            yield from set(set_leaves(message)) - set(set_leaves(base)) or changed_leaf(line, base)


def changed_leaf(line, base):
    """The leaf of a variant that gives another value to one that its base sets."""
    message = base
    *way, name = next(iter(line["set"])).split(".")
    for key in way:
        field, _, index = key.rstrip("]").partition("[")
        message = getattr(message, field)
        message = message[int(index)] if index else message
    return {(message.DESCRIPTOR.full_name, name.partition("[")[0])}
