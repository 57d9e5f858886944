"""A row of megatron_ci_memory.csv: a test of Megatron-LM with all its arguments, and the memory
that the last rank had allocated."""

from cells import Row, Undescribed, whole
from measured_case import Definition, LeftOut, MeasuredCase
from megatron import (
    Machine,
    gpus_of_replica,
    megatron_request,
    shares_state,
    uses_transformer_engine,
)
from megatron_arguments import Arguments
from run_request import defaults_of

SOURCE = "Megatron-LM CI"
USUAL_GPUS = 8  # of a test whose recipe is not in the table
ACCELERATORS = {"a100": "a100-sxm-80", "h100": "h100-sxm", "gb200": "gb200"}


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
    if out < 1 or out % replica != 0:
        raise Undescribed("GPU count is no multiple of the parallel sizes")
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
    if hardware not in ACCELERATORS:
        raise Undescribed(f"unknown hardware {hardware}")
    assumptions: list[str] = []
    machine = Machine(ACCELERATORS[hardware], gpu_count(row, arguments, assumptions))
    request = megatron_request(arguments, machine, bert, assumptions)
    # Ranks that hold all experts take all tokens, whatever the router sends where.
    if arguments.has("num-experts") and arguments.count("expert-model-parallel-size", 1) > 1:
        assumptions.append("even shares of experts")
    peak = bytes_of(row, "max_mem_allocated_bytes")
    if peak is None:
        raise Undescribed("no measured memory")
    return MeasuredCase(
        source=SOURCE,
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
        return LeftOut(str(reason), SOURCE, row_id(row))
