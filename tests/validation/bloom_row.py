"""The trials before BLOOM's training: Megatron-DeepSpeed on nodes of eight A100.

Source of the fields that rows lack: bigscience-workshop/bigscience @9e64edec2ad1,
`train/tr11-176B-ml/chronicles-prequel.md`: ZeRO stage 1 with buckets of DeepSpeed's default 5e8
numbers, each layer recomputed, tied embeddings on first and last stage.
"""

import math

from cells import Row, Undescribed, number, published_bytes, required, whole
from dense_model import dense_architecture, gpt_shape
from measured_case import Definition, MeasuredCase, OpenCase
from run_request import mixed_precision, padded, request_on, set_sizes
from sextant_api import api

# From here on an embedding at either end counts as a layer.
REBALANCED = "Rebalancing layers"

# The context and all kernels of PyTorch 1.10.2 on an A100 with 80 GB, loaded eagerly: 1.78 GiB
# (stas00/ml-engineering @744d01e, `training/performance/README.md`). The trials of February 2022
# ran nightly builds of PyTorch 1.11 and 1.12 on CUDA 11.3, which can't load kernels on demand.
CONTEXT_BYTES = 1_911_260_447

# The fewest and the most heads of trials that don't publish theirs: of 300 and of 90 elements.
OPEN_HEADS = (48, 160)


def model_of(row: Row):
    shape = gpt_shape(row)
    shape.positions = required(row, "seq_len", "sequence length")
    shape.attention_bias = shape.feed_forward_bias = True
    out = dense_architecture(shape)
    multiple = 128 * max(1, whole(row, "tp", 1))
    out.embedding.padded_vocabulary_size = padded(shape.vocabulary, multiple)
    return out


def parallel_of(row: Row) -> dict:
    tensor, stages = required(row, "tp", "layout"), required(row, "pp", "layout")
    layers = required(row, "layers", "number of layers")
    ends = 2 if REBALANCED in row.get("source_table", "") else 0
    if stages < 1 or (layers + ends) % stages != 0:
        raise Undescribed("layers of each stage not published")
    out = {"tensor_parallel_size": tensor, "pipeline_parallel_size": stages}
    if ends:
        per_stage = [(layers + ends) // stages] * stages
        per_stage[0] -= 1
        per_stage[-1] -= 1
        out["layers_per_chunk"] = per_stage
    return out


def bloom_request(row: Row):
    model, parallel = model_of(row), parallel_of(row)
    wide = "fp32 grad accumulation" in row.get("precision", "")
    data_type = api.DATA_TYPE_BF16 if wide else api.DATA_TYPE_FP16
    whole_state = whole(row, "zero_stage") == 0
    length = required(row, "seq_len", "sequence length")
    micro = required(row, "micro_batch", "micro-batch")
    batch = required(row, "global_batch", "batch")
    replicas = required(row, "dp", "layout")
    if micro < 1 or replicas < 1:
        raise Undescribed("no batch")
    out = request_on(
        "a100-sxm-80",
        model={"architecture": model},
        training={
            "sequence_length": length,
            "recompute": api.RECOMPUTE_POLICY_FULL,
            "precision": mixed_precision(data_type, api.DATA_TYPE_FP32 if wide else data_type),
        },
        layout={
            "parallel": parallel,
            "micro_batch_size": micro,
            "sequence_parallel": False,
            "sharding": {
                "zero_stage": api.ZERO_STAGE_NONE if whole_state else api.ZERO_STAGE_OPTIMIZER
            },
            "kernels": {
                "attention": api.KernelChoices.ATTENTION_UNFUSED,
                "loss": api.KernelChoices.LOSS_VOCABULARY_PARALLEL,
                "dropout": True,
            },
            "framework": {
                "kind": api.FrameworkMemory.KIND_DEEPSPEED,
                "context_bytes": CONTEXT_BYTES,
            },
        },
    )
    set_sizes(out, replicas, batch // (micro * replicas))
    return out


def layers_by_size(row: Row) -> int:
    """The multiple of the stages that is nearest to the published size over 12 h^2.

    78 for "194B as published" on 6 stages.
    """
    billions = number(row.get("params_note", "").split("B")[0])
    hidden, stages = whole(row, "hidden", 0), whole(row, "pp", 0)
    if billions is None or hidden < 1 or stages < 1:
        raise Undescribed("number of layers not published")
    return stages * math.floor(billions * 1e9 / (12 * hidden * hidden) / stages + 0.5)


def bloom_case(row: Row) -> MeasuredCase:
    text = row.get("peak_mem_as_published", "")
    ran_out = text == "OOM" or row.get("oom") == "True"
    size = published_bytes(text)
    if size is None and not ran_out:
        raise Undescribed("no measured memory")
    return MeasuredCase(
        request=bloom_request(row),
        measured=[] if ran_out else [(Definition.PROCESS, size)],
        ran_out=ran_out,
        hardware=row.get("hardware", ""),
        series=row.get("source_table", "").split(": ", 1)[-1],
    )


def open_bloom_case(row: Row) -> OpenCase:
    """A trial of which the number of heads isn't published, and maybe not that of layers either."""
    measured = published_bytes(row.get("peak_mem_as_published", ""))
    if measured is None or row.get("heads"):
        raise Undescribed("no open field with a measured figure")
    words = f"heads: {OPEN_HEADS[0]} to {OPEN_HEADS[1]}"
    closed = dict(row)
    if not row.get("layers"):
        layers = layers_by_size(row)
        closed["layers"] = str(layers)
        words += f"; {layers} layers, by the published size"
    requests = [bloom_request({**closed, "heads": str(heads)}) for heads in OPEN_HEADS]
    return OpenCase(words, requests, [Definition.PROCESS], measured)
