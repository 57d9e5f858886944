"""Published runs whose memory was read, as cases.

Rows of megatron_ci_memory.csv are tests of Megatron-LM with all their arguments and the memory that
the last rank had allocated. Those of measured_runs.csv are translated by the rules of their source.
"""

import math
import re

import measured_sources as sources
from cells import GIB, Row, Undescribed, number, published_bytes, require, whole
from measured_case import Definition, LeftOut, MeasuredCase, OpenCase
from megatron import (
    Machine,
    gpus_of_replica,
    megatron_request,
    shares_state,
    uses_transformer_engine,
)
from megatron_arguments import Arguments
from run_request import defaults_of

MEGATRON = "Megatron-LM CI"
USUAL_GPUS = 8  # of a test whose recipe is not in the table
ACCELERATORS = {"a100": "a100-sxm-80", "h100": "h100-sxm", "gb200": "gb200"}
# The request of a run, and those of a run that lacks a field.
TRANSLATORS = {
    "SimuMax B200": (sources.simumax_request, None),
    "BLOOM trials": (sources.bloom_request, sources.open_bloom),
    "Korthikanti 2022, figure 1": (sources.korthikanti_request, None),
    "torchtitan": (sources.torchtitan_request, sources.open_torchtitan),
    "litgpt": (sources.litgpt_request, sources.open_litgpt),
    "fms-acceleration": (sources.fms_request, None),
    "torchao": (sources.torchtitan_request, sources.open_torchtitan),
    "InternEvo": (None, sources.open_internevo),
    "nanotron": (None, sources.open_nanotron),
}
LOGGED = {"alloc": Definition.ALLOCATED, "reserved": Definition.RESERVED}


def bytes_of(row: Row, column: str) -> int | None:
    size = whole(row, column)
    return size if size is not None and size > 0 else None


def gpu_count(row: Row, arguments: Arguments, assumptions: list[str]) -> int:
    """As the recipe says; else 8, where that is possible at all."""
    replica = gpus_of_replica(arguments)
    nodes, per_node = whole(row, "nodes"), whole(row, "gpus_per_node")
    out = USUAL_GPUS
    if nodes is not None and per_node is not None:
        out = nodes * per_node
    elif "release" in row.get("test", "") or out % replica != 0:
        # Release tests run on several nodes; one replica stands for all where none shares state.
        if shares_state(arguments) or arguments.has("num-experts"):
            raise Undescribed("GPU count not published, and not one node's")
        out = replica
    elif shares_state(arguments):
        assumptions.append("8 GPUs")
    require(out >= 1 and out % replica == 0, "GPU count is no multiple of the parallel sizes")
    return out


def traits(arguments: Arguments, machine: Machine, bert: bool) -> set[str]:
    newest = "b200" in machine.accelerator and not arguments.flag("deterministic-mode")
    holds = {
        "experts": arguments.has("num-experts"),
        "fsdp": arguments.flag("use-megatron-fsdp"),
        "bert": bert,
        "local layers": not uses_transformer_engine(arguments),
        "workspaces of the newest PyTorch": newest,
    }
    return {trait for trait, is_held in holds.items() if is_held}


def row_id(row: Row) -> str:
    """Its test, hardware, container and variant."""
    return " ".join(row.get(c, "") for c in ("test", "hardware", "container", "golden_variant"))


def case_of(row: Row) -> MeasuredCase:
    arguments = Arguments.parsed(row.get("all_args", ""))
    test, hardware = row.get("test", ""), row.get("hardware", "")
    bert = test.startswith("bert")
    require(hardware in ACCELERATORS, f"unknown hardware {hardware}")
    assumptions: list[str] = []
    machine = Machine(ACCELERATORS[hardware], gpu_count(row, arguments, assumptions))
    request = megatron_request(arguments, machine, bert, assumptions)
    # Ranks that hold all experts take all tokens, whatever the router sends where.
    if arguments.has("num-experts") and arguments.count("expert-model-parallel-size", 1) > 1:
        assumptions.append("even shares of experts")
    peak = bytes_of(row, "max_mem_allocated_bytes")
    require(peak is not None, "no measured memory")
    return MeasuredCase(
        source=MEGATRON,
        id=row_id(row),
        series=test,
        hardware=hardware,
        request=request,
        defaults=defaults_of(request),
        measured=[(Definition.ALLOCATED, peak)],
        between_steps=bytes_of(row, "mem_allocated_bytes"),
        # The last rank writes the log.
        stage=request.layout.parallel.pipeline_parallel_size - 1,
        assumptions=assumptions,
        traits=traits(arguments, machine, bert),
    )


def translate_megatron_row(row: Row) -> MeasuredCase | LeftOut:
    try:
        return case_of(row)
    except Undescribed as reason:
        return LeftOut(str(reason), MEGATRON, row_id(row))


def says_memory(row: Row) -> bool:
    """True where a row has a figure of memory or reports a job that ran out of it."""
    columns = ("peak_mem_as_published", "peak_mem_gib")
    return any(row.get(column) for column in columns) or row.get("oom") == "True"


def ran_out(row: Row) -> bool:
    return row.get("peak_mem_as_published") == "OOM" or row.get("oom") == "True"


def figures(row: Row, source: dict) -> list[tuple[Definition, int]]:
    """Bytes by each of the source's definitions; none of a job that ran out of memory."""
    text = row.get("peak_mem_as_published", "")
    if "definitions" not in source:
        # SimuMax's "...; max over ranks alloc 28965.36 MB reserved 29816.0 MB", of 2^20 bytes.
        logged = re.findall(r"\b(alloc|reserved) ([\d.]+ MB)\b", text)
        out = [(LOGGED[name], published_bytes(size, 2**20)) for name, size in logged]
    elif exact := re.match(r"(\d+) bytes peak torch allocated", text):
        out = [(Definition.ALLOCATED, int(exact[1]))]
    else:
        definitions = [Definition[name.upper()] for name in source["definitions"]]
        size = published_bytes(re.sub("GB$", source.get("gigabyte", "GB"), text))
        if definitions == [Definition.CALCULATED]:
            size = math.floor((number(row.get("peak_mem_gib", "")) or 0) * GIB + 0.5)
        out = [(definition, size) for definition in definitions if size]
    require(out or ran_out(row), "no measured memory")
    return [] if ran_out(row) else out


def measured_case(row: Row, source: dict, translate) -> MeasuredCase:
    measured = figures(row, source)
    title = row.get("source_table", "").split(": ", 1)[-1]
    cells = {"model": "", "source_table": ""} | row
    out = MeasuredCase(translate(row), measured, source["series"].format(title=title, **cells))
    out.ran_out, out.stage = ran_out(row), source.get("stage")
    out.hardware = row.get("hardware", "")
    out.defaults = defaults_of(out.request)
    inferred = filter(None, row.get("inferred_fields", "").split("; "))
    read = source.get("read_elsewhere", [])
    out.assumptions += source.get("assumptions", [])
    out.assumptions += [field for field in inferred if field not in read]
    out.traits.update(source.get("traits", []), ["experts"] if row.get("experts") else [])
    return out


def open_case(row: Row, source: dict, translate) -> OpenCase:
    measured = figures(row, source)
    definitions = [Definition[name.upper()] for name in source["definitions"]]
    return OpenCase(*translate(row), definitions, measured[0][1] if measured else None)


def translate_measured_row(row: Row) -> MeasuredCase | OpenCase | LeftOut:
    """`row`, one that says_memory(), by the rules of its source."""
    unknown = {"name": row.get("source", ""), "reason": "no rule for its source"}
    source = sources.KNOWN["sources"].get(row.get("source_repo"), unknown)
    out, reason = None, source.get("reason")
    kinds = zip((measured_case, open_case), TRANSLATORS.get(source["name"], ()))
    for kind, translate in kinds:
        if translate and not out:
            try:
                out = kind(row, source, translate)
            except Undescribed as undescribed:
                reason = reason or str(undescribed)
    out = out or LeftOut(reason)
    out.source, out.id = source["name"], row.get("id", "")
    return out
