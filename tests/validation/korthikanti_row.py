"""Figure 1 of arXiv 2205.05198: memory that the paper calculated, by its formulas.

The figure counts 18 bytes for each of 12 L h^2 parameters, and activations of layers with as many
micro-batches in flight as the first stage of the schedule holds; no embedding, no bias. Source of
the figures: calculon-ai/calculon @caa4b11f8fe1, `calculon/llm/validation.py`.
"""

import math

from cells import GIB, Row, Undescribed, number, required, whole
from dense_model import dense_architecture, gpt_shape
from measured_case import Definition, MeasuredCase
from run_request import mixed_precision, request_on, set_sizes
from sextant_api import api

MICRO_BATCHES_A_STAGE = 8  # enough to fill the pipeline


def korthikanti_case(row: Row) -> MeasuredCase:
    model = dense_architecture(gpt_shape(row))
    length = required(row, "seq_len", "sequence length")
    recompute = row.get("recompute", "")
    if recompute not in ("selective", "none"):
        raise Undescribed(f"recompute {recompute}")
    # Weights 2, gradients 4, fp32 weights and both moments 12.
    training = {
        "sequence_length": length,
        "precision": mixed_precision(api.DATA_TYPE_FP16, api.DATA_TYPE_FP32),
    }
    if recompute == "selective":
        training["recompute"] = api.RECOMPUTE_POLICY_SELECTIVE
    tensor, stages = required(row, "tp", "layout"), required(row, "pp", "layout")
    layout = {
        "parallel": {
            "tensor_parallel_size": tensor,
            "pipeline_parallel_size": stages,
            "virtual_stage_count": whole(row, "vpp", 1),
        },
        "micro_batch_size": required(row, "micro_batch", "micro-batch"),
        "sequence_parallel": row.get("sequence_parallel") == "True",
        "sharding": {"zero_stage": api.ZERO_STAGE_NONE},
        "kernels": {
            "attention": api.KernelChoices.ATTENTION_UNFUSED,
            "loss": api.KernelChoices.LOSS_VOCABULARY_PARALLEL,
            "dropout": True,
        },
        "framework": {
            "kind": api.FrameworkMemory.KIND_MEGATRON_LM,
            "transformer_engine": False,
        },
    }
    model_field = {"architecture": model}
    request = request_on("a100-sxm-80", model=model_field, training=training, layout=layout)
    set_sizes(request, micro_batches=MICRO_BATCHES_A_STAGE * stages)
    gibibytes = number(row.get("peak_mem_gib", ""))
    if gibibytes is None:
        raise Undescribed("no calculated memory")
    size = math.floor(gibibytes * GIB + 0.5)
    measured = [(Definition.CALCULATED, size)]
    return MeasuredCase(request, measured, series=row.get("model", ""), stage=0)
