"""Runs of measured_runs.csv that measured memory, as requests, by measured_sources.yaml."""

import math
import re

from cells import Row, Undescribed, api, filled, load, require, required, whole
from measured_case import SELF_CONTRADICTING
from megatron import Machine, megatron_request
from megatron_arguments import Arguments
from run_request import (
    OPEN_HEADS,
    TOKENS,
    data_parallel_size,
    layers_of,
    mixed_precision,
    set_sizes,
    stages_with_ends,
    transformer,
    uneven_stages,
)

KNOWN = load("measured_sources.yaml")

# Words on what is open, and a request for each choice, or for the least and the most.
Choices = tuple[str, list]
KINDS = api.FrameworkMemory
# From here on BLOOM's embedding at either end counts as a layer.
REBALANCED = "Rebalancing layers"


def of_row(template: dict, row: Row) -> dict:
    """`template` with the row's cells."""

    def cell(text: str) -> int:
        column, _, otherwise = text[1:].partition(" or ")
        if otherwise:
            return whole(row, column, int(otherwise))
        return required(row, column, KNOWN["names"][column])

    return filled(template, cell)


def request_of(source: str, row: Row):
    out = api.PlanRunRequest(**of_row(KNOWN["requests"][source], row))
    out.training.token_count = TOKENS
    return out


def gpt_shape(row: Row) -> dict:
    """Of a feed-forward of four times the hidden size."""
    out = of_row(KNOWN["gpt_shape"], row)
    return out | {"feed_forward_size": 4 * out["hidden_size"], "tied_embeddings": True}


def variants(request, field: str, values: list) -> list:
    """Requests of other values of a field of `training`."""
    out = []
    for value in values:
        out.append(api.PlanRunRequest())
        out[-1].CopyFrom(request)
        setattr(out[-1].training, field, value)
    return out


def bloom_request(row: Row):
    shape = gpt_shape(row)
    request = request_of("bloom", row)
    shape |= KNOWN["bloom_biases"] | {"learned_position_count": request.training.sequence_length}
    request.model.transformer.CopyFrom(api.TransformerSpec(**transformer(False, **shape)))
    request.model.changes.vocabulary_multiple = 128 * max(1, whole(row, "tp", 1))
    parallel, sharding = request.layout.parallel, request.layout.sharding
    stages, ends = parallel.pipeline_parallel_size, REBALANCED in row.get("source_table", "")
    chunks = stages_with_ends(shape["layer_count"], stages, ends, ends)
    require(chunks, "layers of each stage not published")
    parallel.layers_per_chunk.extend(chunks if ends else [])
    wide = "fp32 grad accumulation" in row.get("precision", "")
    compute = api.DATA_TYPE_BF16 if wide else api.DATA_TYPE_FP16
    mixed_precision(request, compute, api.DATA_TYPE_FP32 if wide else compute)
    unsharded = whole(row, "zero_stage") == 0
    sharding.zero_stage = api.ZERO_STAGE_NONE if unsharded else api.ZERO_STAGE_OPTIMIZER
    micro, replicas = request.layout.micro_batch_size, required(row, "dp", "layout")
    require(micro >= 1 and replicas >= 1, "no batch")
    set_sizes(request, replicas, request.layout.global_batch_size // (micro * replicas))
    return request


def open_bloom(row: Row) -> Choices:
    """A trial of which the number of heads isn't published, and maybe not that of layers either."""
    require(not row.get("heads"), "no open field")
    words = f"heads: {OPEN_HEADS[0]} to {OPEN_HEADS[1]}"
    closed = dict(row)
    if not row.get("layers"):
        closed["layers"] = str(layers_of(row))
        words += f"; {closed['layers']} layers, by the published size"
    return words, [bloom_request({**closed, "heads": str(heads)}) for heads in OPEN_HEADS]


def korthikanti_request(row: Row):
    request = request_of("korthikanti", row)
    request.model.transformer.CopyFrom(api.TransformerSpec(**transformer(False, **gpt_shape(row))))
    recompute = row.get("recompute", "")
    require(recompute in ("selective", "none"), f"recompute {recompute}")
    if recompute == "selective":
        request.training.recompute = api.RECOMPUTE_POLICY_SELECTIVE
    request.layout.sequence_parallel = row.get("sequence_parallel") == "True"
    mixed_precision(request, api.DATA_TYPE_FP16, api.DATA_TYPE_FP32)
    # Enough micro-batches to fill the pipeline.
    set_sizes(request, micro_batches=8 * request.layout.parallel.pipeline_parallel_size)
    return request


def set_litgpt_state(request, several: bool) -> None:
    layout = request.layout
    layout.sharding.zero_stage = api.ZERO_STAGE_PARAMETERS if several else api.ZERO_STAGE_NONE
    layout.framework.kind = KINDS.KIND_PYTORCH_FSDP if several else KINDS.KIND_PYTORCH_DDP


def litgpt_request(row: Row):
    table, task = row.get("source_table", ""), row.get("task")
    preset = KNOWN["litgpt_presets"].get(row.get("model"))
    require(task != "pretrain", "sequence length not published")
    if preset == "gemma-2b" and table and not table.startswith("gemma-2b/"):
        # "gemma2-2b/lora.yaml" next to the model gemma-2b: one of the two is wrong.
        raise Undescribed(SELF_CONTRADICTING)
    require(task == "sft", "rank and targets of adapters not published with the row")
    require(preset is not None, "shape of the layers not published")
    request = request_of("litgpt", row)
    request.model.preset = preset
    gpus = required(row, "gpus", "GPU count")
    set_litgpt_state(request, gpus > 1)
    set_sizes(request, gpus, micro_batches=2)  # gradients stay from one to the next
    return request


def open_litgpt(row: Row) -> Choices:
    """Finetuning of adapters, whose rank and places the row doesn't say."""
    require(row.get("task") in ("lora", "qlora"), "not of adapters")
    request = litgpt_request({**row, "task": "sft"})
    if row.get("task") == "qlora":  # bitsandbytes' default of a block
        storage = api.WeightStorage(frozen_data_type="DATA_TYPE_FP4", frozen_block_size=64)
        request.layout.storage.CopyFrom(storage)
    least, most = variants(request, "sequence_length", [128, request.training.sequence_length])
    for choice, of in ((least, "least"), (most, "most")):
        choice.model.changes.CopyFrom(api.ModelChanges(**KNOWN["litgpt_changes"][of]))
    if request.model.preset != "phi-2":
        most.model.changes.adapters.targets.append("feed_forward.gate")
    words = (
        "rank: 8 to 32; adapters: on queries and values, or on all matrices; samples: 128 to 512 "
        "tokens"
    )
    if request.cluster.device_count > 1:
        # The figures of several GPUs are those of one.
        words += "; weights: sharded or whole"
        set_litgpt_state(most, several=False)
    return words, [least, most]


def loss_of_fms(request, row: Row) -> None:
    """Kernels that replace the loss: Liger's, by chunks of Liger's own size, or one that overwrites
    the logits."""
    kernels, notes = request.layout.kernels, row.get("notes", "")
    if "Liger" in notes:
        # The vocabulary of 128,256 over the hidden size of 4,096, rounded up.
        tokens = request.layout.micro_batch_size * request.training.sequence_length / 32
        kernels.loss = api.KernelChoices.LOSS_CHUNKED
        kernels.loss_chunk_tokens = 2 ** math.ceil(math.log2(tokens))
    elif "fused RoPE" in notes:
        kernels.loss = api.KernelChoices.LOSS_FUSED


def fms_request(row: Row):
    require("plugin" not in row.get("notes", ""), "a plugin's kernels of quantised bases")
    request = request_of("fms", row)
    gpus = required(row, "gpus", "GPU count")
    if row["model"] in KNOWN["fms_presets"]:
        request.model.preset = KNOWN["fms_presets"][row["model"]]
    else:
        shape = gpt_shape(row)
        request.model.transformer.CopyFrom(api.TransformerSpec(**transformer(True, **shape)))
    # Accelerate has FSDP keep fp32 copies of what a run with mixed precision trains.
    full = row.get("task") == "sft"
    if not full or gpus == 1 or "autocast" not in row.get("precision", ""):
        bf16 = dict.fromkeys(("weight", "gradient", "optimizer"), api.DATA_TYPE_BF16)
        types = {f"{of}_data_type": each for of, each in bf16.items()}
        types |= {"compute_data_type": api.DATA_TYPE_BF16, "master_weights": False}
        request.training.precision.CopyFrom(api.PrecisionPolicy(**types))
    if not full:
        request.model.changes.CopyFrom(api.ModelChanges(**KNOWN["fms_adapters"]))
        request.layout.kernels.adapter_dropout = True
    if row.get("task") == "qlora":
        storage = api.WeightStorage(frozen_data_type="DATA_TYPE_FP4", frozen_block_size=64)
        request.layout.storage.CopyFrom(storage)
    if gpus > 1:
        request.layout.sharding.zero_stage = api.ZERO_STAGE_PARAMETERS
    release = re.search(r"transformers (\S+)$", row.get("framework", ""))
    if release is not None:
        request.layout.framework.model_code_release = release[1]
    loss_of_fms(request, row)
    set_sizes(request, gpus)
    return request


def local_batch(row: Row) -> int:
    """Sequences of a step on a rank: "torch.compile+AsyncTP+1F1B; local batch size 8"."""
    found = re.search(r"local batch size (\d+)$", row.get("notes", ""))
    out = whole(row, "micro_batch", int(found[1]) if found else None)
    require(out is not None, "micro-batch not published")
    return out


def torchtitan_request(row: Row):
    require(row.get("model") in KNOWN["torchtitan_presets"], "shape of the layers not published")
    # Its commit corrects it: absolute values of whole weights were saved.
    require("saves abs()" not in row.get("notes", ""), "a fault of the framework")
    request = request_of("torchtitan", row)
    layout, parallel = request.layout, request.layout.parallel
    request.model.preset, layers = KNOWN["torchtitan_presets"][row["model"]]
    policies = {"full": api.RECOMPUTE_POLICY_FULL, "selective": api.RECOMPUTE_POLICY_OPERATORS}
    require(row.get("recompute") in policies, "recomputation not published")
    request.training.recompute = policies[row["recompute"]]
    page = row.get("source_path", "").rsplit("/")[-1]
    if (page, row.get("gpu_key")) in map(tuple, KNOWN["torchtitan_compiled_losses"]):
        request.layout.kernels.loss = api.KernelChoices.LOSS_FUSED
    key = row.get("gpu_key", "")
    plain = not key or key.startswith("h100-sxm")
    request.cluster.device.accelerator = "h100-sxm" if plain else key
    # torchtitan's own split may differ by a layer.
    stages = parallel.pipeline_parallel_size
    parallel.layers_per_chunk.extend(uneven_stages(layers, stages))
    layout.sequence_parallel = parallel.tensor_parallel_size > 1
    stays = "reshard_after_forward never" in row.get("notes", "")
    layout.sharding.reshard_after_forward = stages == 1 and not stays
    layout.framework.deferred_reduction = stages > 1
    local = local_batch(row)
    layout.micro_batch_size = 1 if stages > 1 else local
    set_sizes(request, required(row, "dp", "layout"), local if stages > 1 else 1)
    return request


def open_torchtitan(row: Row) -> Choices:
    """One of torchao's of torchtitan."""
    require(not row.get("micro_batch"), "nothing open")
    sizes = [torchtitan_request({**row, "micro_batch": size}) for size in "12"]
    return "micro-batch: 1 or 2", sizes


def set_shape(request, row: Row, gradient: int, **shape) -> None:
    """Sets what nanotron's and InternEvo's runs have in common."""
    layout, parallel = request.layout, request.layout.parallel
    require(0 <= layout.sharding.zero_stage <= 3, "unknown ZeRO stage")
    layout.sharding.zero_stage += 1
    request.model.transformer.CopyFrom(api.TransformerSpec(**transformer(True, **shape)))
    stages = uneven_stages(shape["layer_count"], parallel.pipeline_parallel_size)
    parallel.layers_per_chunk.extend(stages)
    layout.sequence_parallel = parallel.tensor_parallel_size > 1
    mixed_precision(request, api.DATA_TYPE_BF16, gradient)
    set_sizes(request, required(row, "dp", "layout"), required(row, "grad_accum", "batch"))


def open_nanotron(row: Row) -> Choices:
    """Neither recomputation nor the kind of memory is published."""
    shape = KNOWN["nanotron_shapes"].get(row.get("model"))
    require(shape is not None, "shape of the layers not published")
    request = request_of("nanotron", row)
    tied = shape["hidden_size"] < 4096
    set_shape(request, row, api.DATA_TYPE_FP32, **shape, tied_embeddings=tied)
    policies = [api.RECOMPUTE_POLICY_FULL, api.RECOMPUTE_POLICY_NONE]
    words = "recomputation: none or full; allocated or reserved"
    return words, variants(request, "recompute", policies)


def open_internevo(row: Row) -> Choices:
    """InternEvo's page doesn't say how long a sequence is."""
    shape = gpt_shape(row)
    shape["feed_forward_size"] = required(row, "ffn_hidden", "feed-forward size")
    request = request_of("internevo", row)
    sharded = request.layout.sharding.zero_stage == 3
    gradient = api.DATA_TYPE_BF16 if sharded else api.DATA_TYPE_FP32
    bias = shape["hidden_size"] == 4096  # of the 7B model alone
    shape |= {"tied_embeddings": False, "query_key_value_bias": bias, "attention_output_bias": bias}
    set_shape(request, row, gradient, **shape)
    request.layout.framework.kind = KINDS.KIND_PYTORCH_FSDP if sharded else KINDS.KIND_DEEPSPEED
    lengths = variants(request, "sequence_length", [2048, 4096])
    return "sequence length: 2,048 or 4,096", lengths


def simumax_request(row: Row):
    values = of_row(KNOWN["simumax_arguments"], row)
    if row.get("attention") == "MLA":
        values |= of_row(KNOWN["simumax_deepseek"], row)
        values["moe-layer-freq"] = f"([0]*1+[1]*{values['num-layers'] - 1})*1"
        wide = "deepseek-v2" in row.get("model", "")
        values["moe-shared-expert-intermediate-size"] = 3072 if wide else 2048
    else:
        values |= of_row(KNOWN["simumax_llama"], row)
    machine = Machine("b200-sxm", required(row, "gpus", "GPU count"))
    request = megatron_request(Arguments(values), machine, False, [])
    request.layout.kernels.loss = api.KernelChoices.LOSS_FUSED
    set_sizes(request, data_parallel_size(request), whole(row, "grad_accum", 1))
    return request
