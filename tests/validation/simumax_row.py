"""SimuMax's runs of Megatron-LM on one node of eight B200.

Source of what rows don't say: MooreThreads/SimuMax @1b8ca90bec07, the launchers
`simu_tools/megatron_scripts/scripts/run_pretrain_{llama3,deepseekv2}.sh` and
`docs/b200/b200_real_repro_guide.md`. The first of DeepSeek's layers is dense, dispatch pads experts
to equal shares, and the loss is Transformer Engine's ("cef"), which works on the logits in place.
"""

import re

from cells import Row, Undescribed, published_bytes, required, whole
from measured_case import Definition, MeasuredCase
from megatron_arguments import Arguments
from megatron_job import Machine
from megatron_row import described, traits
from run_request import data_parallel_size, set_sizes
from sextant_api import api

MEBIBYTE = 2**20  # the logs' MB
COLUMNS = {
    "layers": "num-layers",
    "hidden": "hidden-size",
    "ffn_hidden": "ffn-hidden-size",
    "heads": "num-attention-heads",
    "seq_len": "seq-length",
    # NullTokenizer's size is less its end-of-document token; the launchers give the model's own.
    "vocab": "vocab-size",
}
SIZES = {
    "micro_batch": "micro-batch-size",
    "tp": "tensor-model-parallel-size",
    "pp": "pipeline-model-parallel-size",
    "cp": "context-parallel-size",
    "ep": "expert-model-parallel-size",
}
LAUNCHED = dict.fromkeys(
    (
        "bf16",
        "swiglu",
        "disable-bias-linear",
        "untie-embeddings-and-output-weights",
        "use-distributed-optimizer",
        "sequence-parallel",
        "cross-entropy-loss-fusion",
    ),
    True,
) | {
    "tokenizer-type": "NullTokenizer",
    "normalization": "RMSNorm",
    "position-embedding-type": "rope",
    "hidden-dropout": 0.0,
    "attention-dropout": 0.0,
    "cross-entropy-fusion-impl": "te",
}


def latent_experts(row: Row) -> dict:
    """DeepSeek's attention and experts."""
    wide = "deepseek-v2" in row.get("model", "")
    return dict.fromkeys(("multi-latent-attention", "qk-layernorm", "moe-grouped-gemm"), True) | {
        "q-lora-rank": 1536,
        "kv-lora-rank": 512,
        "num-experts": whole(row, "experts", 0),
        "moe-router-topk": whole(row, "topk", 0),
        "moe-ffn-hidden-size": whole(row, "moe_ffn_hidden", 0),
        "moe-layer-freq": f"([0]*1+[1]*{whole(row, 'layers', 0) - 1})*1",
        "moe-shared-expert-intermediate-size": 3072 if wide else 2048,
    }


def arguments_of(row: Row) -> Arguments:
    out = {argument: whole(row, column, 0) for column, argument in COLUMNS.items()}
    out |= {argument: whole(row, column, 1) for column, argument in SIZES.items()}
    out |= LAUNCHED
    if row.get("attention") == "MLA":
        out |= latent_experts(row)
    else:
        out |= {"group-query-attention": True, "num-query-groups": whole(row, "kv_heads", 0)}
    return Arguments(out)


def figures(text: str) -> list[tuple[Definition, int]]:
    """ "...; max over ranks alloc 28965.36 MB reserved 29816.0 MB" """
    names = {"alloc": Definition.ALLOCATED, "reserved": Definition.RESERVED}
    out = []
    for name, size in re.findall(r"\b(alloc|reserved) ([\d.]+) MB\b", text):
        out.append((names[name], published_bytes(f"{size}MB", MEBIBYTE)))
    if len(out) != 2:
        raise Undescribed("no measured memory")
    return out


def simumax_case(row: Row) -> MeasuredCase:
    arguments = arguments_of(row)
    machine = Machine("b200-sxm", required(row, "gpus", "GPU count"))
    assumptions: list[str] = []
    request = described(arguments, machine, False, assumptions)
    request.layout.kernels.loss = api.KernelChoices.LOSS_FUSED
    set_sizes(request, data_parallel_size(request), whole(row, "grad_accum", 1))
    return MeasuredCase(
        request=request,
        measured=figures(row.get("peak_mem_as_published", "")),
        series=row.get("model", ""),
        hardware=row.get("hardware", ""),
        assumptions=assumptions,
        traits=traits(arguments, machine, False),
    )
