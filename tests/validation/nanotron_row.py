"""nanotron's best configurations on 8 to 512 H100, and InternEvo's memory test on A800."""

from cells import Row, Undescribed, published_bytes, required
from dense_model import DenseShape, dense_architecture, gpt_shape
from measured_case import Definition, OpenCase
from run_request import mixed_precision, request_on, set_sizes, uneven_stages
from sextant_api import api

# The chart prints sizes alone. Of each size one shape of Llama 3's layers, with as many heads of
# keys as of queries and a vocabulary of 131,072, has exactly as many parameters: 1.34, 3.57, 8.86
# and 80.0 billion. Layers, hidden size, heads, feed-forward size.
SHAPES = {
    "nanotron-1.34B": (16, 2048, 32, 8192),
    "nanotron-3.57B": (28, 3072, 24, 8192),
    "nanotron-8.86B": (32, 4096, 32, 14336),
    "nanotron-80.0B": (80, 8192, 64, 28672),
}
VOCABULARY = 131_072


def copies_of(request, field: str, values: list[int]) -> list:
    """Requests of other values of a field of `training`."""
    out = []
    for value in values:
        copy = api.PlanRunRequest()
        copy.CopyFrom(request)
        setattr(copy.training, field, value)
        out.append(copy)
    return out


def known_request(row: Row, accelerator: str, shape: DenseShape):
    """All that is known of a run, without sequence length and recomputation."""
    tensor, stages = required(row, "tp", "layout"), required(row, "pp", "layout")
    micro = required(row, "micro_batch", "micro-batch")
    zero = required(row, "zero_stage", "ZeRO stage")
    if not 0 <= zero <= 3:
        raise Undescribed("unknown ZeRO stage")
    layout = {
        "parallel": {
            "tensor_parallel_size": tensor,
            "pipeline_parallel_size": stages,
            "layers_per_chunk": uneven_stages(shape.layers, stages),
        },
        "sequence_parallel": tensor > 1,
        "micro_batch_size": micro,
        "sharding": {"zero_stage": zero + 1},
    }
    model = {"architecture": dense_architecture(shape)}
    out = request_on(accelerator, model=model, layout=layout)
    set_sizes(out, required(row, "dp", "layout"), required(row, "grad_accum", "batch"))
    return out


def open_nanotron_case(row: Row) -> OpenCase:
    """Neither recomputation nor the kind of memory is published."""
    if row.get("model") not in SHAPES:
        raise Undescribed("shape of the layers not published")
    layers, hidden, heads, feed_forward = SHAPES[row["model"]]
    shape = DenseShape(layers, hidden, heads, VOCABULARY, feed_forward)
    shape.gated = shape.root_mean_square = True
    shape.tied = hidden < 4096
    request = known_request(row, "h100-sxm", shape)
    request.training.sequence_length = required(row, "seq_len", "sequence length")
    precision = mixed_precision(api.DATA_TYPE_BF16, api.DATA_TYPE_FP32)
    request.training.precision.CopyFrom(api.PrecisionPolicy(**precision))
    # Its loss is computed on logits cast to fp32.
    request.layout.kernels.loss = api.KernelChoices.LOSS_PLAIN
    framework = request.layout.framework
    framework.kind = api.FrameworkMemory.KIND_MEGATRON_LM
    framework.transformer_engine = framework.fused_weight_gradient = False
    policies = [api.RECOMPUTE_POLICY_FULL, api.RECOMPUTE_POLICY_NONE]
    published = row.get("peak_mem_as_published", "").removesuffix("GB")
    return OpenCase(
        open="recomputation: none or full; allocated or reserved",
        requests=copies_of(request, "recompute", policies),
        definitions=[Definition.ALLOCATED, Definition.RESERVED],
        measured=published_bytes(published + "GiB"),  # its GB are GiB
    )


def open_internevo_case(row: Row) -> OpenCase:
    """InternEvo's page doesn't say how long a sequence is."""
    shape = gpt_shape(row)
    shape.feed_forward = required(row, "ffn_hidden", "feed-forward size")
    shape.gated = shape.root_mean_square = True
    shape.tied = False
    shape.attention_bias = shape.hidden == 4096  # of the 7B model alone
    request = known_request(row, "a800-sxm-80", shape)
    sharded = request.layout.sharding.zero_stage == api.ZERO_STAGE_PARAMETERS
    gradient = api.DATA_TYPE_BF16 if sharded else api.DATA_TYPE_FP32
    precision = mixed_precision(api.DATA_TYPE_BF16, gradient)
    request.training.precision.CopyFrom(api.PrecisionPolicy(**precision))
    kinds = api.FrameworkMemory
    request.layout.framework.kind = kinds.KIND_PYTORCH_FSDP if sharded else kinds.KIND_DEEPSPEED
    request.training.recompute = api.RECOMPUTE_POLICY_FULL
    return OpenCase(
        open="sequence length: 2,048 or 4,096",
        requests=copies_of(request, "sequence_length", [2048, 4096]),
        definitions=[Definition.PROCESS],
        measured=published_bytes(row.get("peak_mem_as_published", "")),
    )
