"""The layout, batch and kernels of a published run that is timed."""

from types import SimpleNamespace
from typing import NamedTuple

from cells import Row, Undescribed, api, require, required, whole
from run_request import stages_with_ends
from step_sources import RECIPES, Format, Model

MOST_CHUNKS = 12
NODE_SIZE = 8
PAX_SHARD = 128  # MaxText's group on the same pages

class Parts(NamedTuple):
    """A row, and what its columns say."""

    row: Row
    software: SimpleNamespace
    hardware: SimpleNamespace
    format: Format
    model: Model
    recipe: SimpleNamespace

    @property
    def expert_host(self) -> str:
        """How the host starts a layer of experts."""
        if self.recipe.overlaps_experts:
            return "overlap"
        return "graphs" if self.recipe.partial_graphs else "eager"


class Layout(NamedTuple):
    """How a row spreads its model over its devices."""

    devices: int = 1
    data: int = 1
    tensor: int = 1
    stages: int = 1
    chunks: int = 1  # of layers on a stage
    context: int = 1
    experts: int = 1
    expert_tensor: int = 1
    micro_batch: int = 1
    micro_batches: int = 1


def shard_group(strategy: str) -> int:
    """ "FSDP group 128", "ZeRO-1, shard group 8", "FSDP 256"; 0 of others."""
    if strategy in ("HSDP", "FSDP+DP"):
        return NODE_SIZE if strategy == "HSDP" else PAX_SHARD
    group = strategy.rpartition(" ")[2]
    named = "group" in strategy or strategy.startswith("FSDP ")
    return int(group) if named and group.isdecimal() else 0


def set_sharding(parts: Parts, layout: Layout, out) -> None:
    strategy = parts.row.get("dp_strategy", "")
    stage = whole(parts.row, "zero_stage")
    if stage == 3 or "FSDP" in strategy:
        out.zero_stage = api.ZERO_STAGE_PARAMETERS
    elif stage == 0 or strategy == "DDP" or parts.software.stack == "pytorch_ddp":
        out.zero_stage = api.ZERO_STAGE_NONE
    else:
        out.zero_stage = api.ZERO_STAGE_OPTIMIZER
    if "SHARD_GRAD_OP" in strategy:
        out.reshard_after_forward = False
    ranks, group = layout.data * layout.context, shard_group(strategy)
    if 0 < group < ranks and ranks % group == 0:
        out.shard_group_size = group


def set_kernels(parts: Parts, out) -> None:
    software = parts.software
    if software.unfused_attention:
        out.kernels.attention = api.KernelChoices.ATTENTION_UNFUSED
    out.kernels.dropout = software.dropout or parts.model.dropout
    out.kernels.loss = api.KernelChoices.Loss.Value(parts.recipe.loss)
    out.framework.kind = api.FrameworkMemory.Kind.Value(software.kind)
    out.framework.model_code = api.FrameworkMemory.ModelCode.Value(software.code)
    if parts.model.experts:
        out.framework.grouped_experts = True
    out.software.name = software.stack
    if software.name == "Megatron-Bridge" and parts.model.experts:
        out.software.expert_layer_host_seconds = RECIPES["expert_host_seconds"][parts.expert_host]
    for name, fields in RECIPES["layouts"].items():
        if getattr(parts.recipe, name):
            out.MergeFrom(type(out)(**fields))


def blank_chunks(layers: int, stages: int) -> int:
    """Chunks of layers on a stage where a page leaves them blank: as many as divide the layers,
    else the layers and an embedding at either end; at most 12."""
    for total in (layers, layers + 2):
        for chunks in range(MOST_CHUNKS, 1, -1):
            if stages > 1 and total % (stages * chunks) == 0:
                return chunks
    return 1


def layers_per_chunk(layers: int, chunks: int, first: int = 0, last: int = 0) -> list[int]:
    """So many fewer in the first and the last; else even, or an embedding at either end counts as
    one, or the first chunks have one more."""
    for ends in ((first, last), (1, 1)):
        out = stages_with_ends(layers, chunks, *ends)
        if out and sum(ends) > 0 and min(out) > 0:
            return out
    return [layers // chunks + (index < layers % chunks) for index in range(chunks)]


def set_chunks(parts: Parts, layout: Layout, out) -> None:
    layers, chunks = parts.model.layers, layout.stages * layout.chunks
    out.pipeline_parallel_size = layout.stages
    if layout.chunks > 1:
        out.virtual_stage_count = layout.chunks
    if chunks == 1 or layers % chunks == 0:
        return
    out.layers_per_chunk.extend(layers_per_chunk(
        layers, chunks, parts.recipe.fewer_first, parts.recipe.fewer_last))


def with_batch(parts: Parts, layout: Layout, opened: list[str]) -> Layout:
    """Micro-batches of a rank; a remainder below 1 % is dropped, as BLOOM's trials have it."""
    batch = required(parts.row, "global_batch", "batch")
    framework = parts.row.get("framework", "")
    micro = whole(parts.row, "micro_batch")
    size = 1 if micro is None else micro
    # Megatron-LM of 2020 had no accumulation without a pipeline.
    if framework == "Megatron-LM 2020":
        size = max(1, batch // layout.data)
    elif micro is None and framework not in ("MegaScale", "DeepSpeed+Megatron"):
        opened.append("micro-batch")
    count = batch // (size * layout.data)
    used = count * size * layout.data
    require(used >= max(1, 0.99 * batch), "the batch is no multiple of the micro-batches")
    return layout._replace(micro_batch=size, micro_batches=count)


def layout_of(parts: Parts, opened: list[str]) -> Layout:
    """The sizes by the columns; of blank ones the data parallel size follows from the others, and a
    micro-batch is one sequence. Adds what the row doesn't publish to `opened`."""
    row, recipe = parts.row, parts.recipe
    devices = required(row, "gpus", "number of GPUs")
    replicas = devices == whole(row, "dp", 1 if devices == 1 else 0)
    require(replicas or (row.get("tp") and row.get("pp")), "layout not published")
    tensor, stages, context = (whole(row, column, 1) for column in ("tp", "pp", "cp"))
    data = devices // max(1, tensor * stages * context)
    if data * tensor * stages * context != devices or data < 1:
        raise Undescribed("GPUs are not the product of the layout's sizes")
    chunks = whole(row, "vpp") if recipe.chunks is None else recipe.chunks
    if chunks is None and stages > 1 and (parts.software.stack == "megatron_bridge"
                                          or row.get("framework", "").startswith("Megatron-Core")):
        chunks = blank_chunks(parts.model.layers, stages)
        opened.append("interleaving")
    out = Layout(devices, data, tensor, stages, 1 if stages == 1 or chunks is None else chunks,
                 context)
    if parts.model.experts:
        # NeMo's Grok-1 proxies share an expert among the tensor parallel ranks unless a page says
        # otherwise; Megatron-Bridge's recipes do not.
        shared = tensor if parts.software.name == "NeMo" else 1
        out = out._replace(experts=whole(row, "ep", 1), expert_tensor=whole(row, "etp", shared))
    return with_batch(parts, out, opened)


def set_layout(parts: Parts, layout: Layout, out) -> None:
    """Sets the layout of a PlanRunRequest, and the batch."""
    run = out.layout
    run.parallel.tensor_parallel_size = layout.tensor
    set_chunks(parts, layout, run.parallel)
    if parts.model.experts:
        run.parallel.expert_parallel_size = layout.experts
        run.parallel.expert_tensor_parallel_size = layout.expert_tensor
    run.context_parallel_size = layout.context
    given = parts.row.get("sequence_parallel", "")
    run.sequence_parallel = layout.tensor > 1 and (
        given == "True" if given else parts.software.sequence_parallel)
    run.micro_batch_size = layout.micro_batch
    run.global_batch_size = layout.micro_batch * layout.micro_batches * layout.data
    set_sharding(parts, layout, run.sharding)
    set_kernels(parts, run)
    out.cluster.device_count = layout.devices
