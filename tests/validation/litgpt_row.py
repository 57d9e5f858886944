"""litgpt's table of finetuning runs on A10G.

Finetuning of all weights in bf16: weights, gradients and both of Adam's moments, 2 bytes each,
divided among the GPUs by FSDP. Samples have different lengths, of which the row says only the
longest. A prediction is therefore an upper bound. Source: Lightning-AI/litgpt,
`config_hub/finetune/README.md`, and `litgpt/finetune/full.py` from memory.
"""

import measured_case
from cells import Row, Undescribed, published_bytes, required
from measured_case import Definition, MeasuredCase, OpenCase
from run_request import request_on, set_sizes
from sextant_api import api

SEVERAL_MICRO_BATCHES = 2  # gradients stay from one to the next
NF4_BLOCK = 64  # bitsandbytes' default
UNGATED = "phi-2"
# The catalogue's names of the table's models.
PRESETS = {"tiny-llama": "tinyllama-1.1b"} | {
    name: name
    for name in (
        "gemma-2b",
        "gemma-7b",
        "llama-3-8b",
        "llama-3.1-8b",
        "llama-3.2-1b",
        UNGATED,
    )
}


def require_consistent(row: Row) -> None:
    """ "gemma2-2b/lora.yaml" next to the model gemma-2b: one of the two is wrong."""
    table = row.get("source_table", "")
    if row.get("model") == "gemma-2b" and table and not table.startswith("gemma-2b/"):
        raise Undescribed(measured_case.SELF_CONTRADICTING)


def set_state(request, several: bool) -> None:
    sharding, framework = request.layout.sharding, request.layout.framework
    if several:
        sharding.zero_stage = api.ZERO_STAGE_PARAMETERS
        framework.kind = api.FrameworkMemory.KIND_PYTORCH_FSDP
    else:
        sharding.zero_stage = api.ZERO_STAGE_NONE
        framework.kind = api.FrameworkMemory.KIND_PYTORCH_DDP


def litgpt_request(row: Row):
    require_consistent(row)
    preset = PRESETS.get(row.get("model", ""))
    if preset is None:
        raise Undescribed("shape of the layers not published")
    length = required(row, "seq_len", "sequence length")
    micro = required(row, "micro_batch", "micro-batch")
    gpus = required(row, "gpus", "GPU count")
    types = ("compute", "weight", "gradient", "optimizer")
    precision = {f"{name}_data_type": api.DATA_TYPE_BF16 for name in types}
    out = request_on(
        "a10g",
        model={"preset": preset},
        training={
            "sequence_length": length,
            "precision": {**precision, "master_weights": False},
        },
        layout={"micro_batch_size": micro, "kernels": {"loss": api.KernelChoices.LOSS_PLAIN}},
    )
    set_state(out, gpus > 1)
    set_sizes(out, gpus, SEVERAL_MICRO_BATCHES)
    return out


def litgpt_case(row: Row) -> MeasuredCase:
    task = row.get("task", "")
    if task == "pretrain":
        raise Undescribed("sequence length not published")
    require_consistent(row)
    if task != "sft":
        raise Undescribed("rank and targets of adapters not published with the row")
    request = litgpt_request(row)
    text = row.get("peak_mem_as_published", "")
    size = published_bytes(text)
    if size is None and text != "OOM":
        raise Undescribed("no measured memory")
    return MeasuredCase(
        request=request,
        measured=[] if size is None else [(Definition.ALLOCATED, size)],
        ran_out=text == "OOM",
        hardware=row.get("hardware", ""),
        series=row.get("model", ""),
        traits={measured_case.SHORTER_SAMPLES},
        assumptions=["samples as long as the longest"],
    )


def with_adapters(request, rank: int, everywhere: bool):
    """`request` with adapters on queries and values, or on every matrix of the layers."""
    targets = ["attention.query", "attention.value"]
    if everywhere:
        targets += ["attention.key", "attention.output", "feed_forward.up", "feed_forward.down"]
    if everywhere and request.model.preset != UNGATED:
        targets.append("feed_forward.gate")
    out = api.PlanRunRequest()
    out.CopyFrom(request)
    changes = api.ModelChanges(adapters={"rank": rank, "targets": targets}, base_frozen=True)
    out.model.changes.CopyFrom(changes)
    return out


def open_litgpt_case(row: Row) -> OpenCase:
    """Finetuning of adapters, whose rank and places the row doesn't say."""
    task = row.get("task")
    if task not in ("lora", "qlora"):
        raise Undescribed("not of adapters")
    request = litgpt_request(row)
    if task == "qlora":
        request.layout.storage.frozen_data_type = api.DATA_TYPE_FP4
        request.layout.storage.frozen_block_size = NF4_BLOCK
    least = with_adapters(request, 8, everywhere=False)
    least.training.sequence_length = 128
    most = with_adapters(request, 32, everywhere=True)
    words = (
        "rank: 8 to 32; adapters: on queries and values, or on all matrices; samples: 128 to 512 "
        "tokens"
    )
    if request.cluster.device_count > 1:
        # The figures of several GPUs are those of one.
        words += "; weights: sharded or whole"
        set_state(most, several=False)
    measured = published_bytes(row.get("peak_mem_as_published", ""))
    return OpenCase(words, [least, most], [Definition.ALLOCATED], measured)
