"""Requests for published runs: what all translators set, and what a framework decides."""

import math

from cells import Row, api, number, require, whole

TOKENS = 10**9  # any: memory doesn't depend on it
DECIDED_KERNELS = (
    "loss",
    "loss_chunk_tokens",
    "attention_output_copied",
    "fused_expert_activation",
)
# The fewest and the most heads of BLOOM's trials that don't publish theirs: of 300 and of 90
# elements.
OPEN_HEADS = (48, 160)


def layers_of(row: Row) -> int:
    """As published; else the multiple of the stages that is nearest to the published size over
    12 h^2: 78 for "194B as published" on 6 stages."""
    out = whole(row, "layers")
    if out is None:
        billions = number(row.get("params_note", "").split("B")[0])
        hidden, stages = whole(row, "hidden", 0), whole(row, "pp", 0)
        known = billions is not None and hidden > 0 and stages > 0
        out = known and stages * math.floor(billions * 1e9 / (12 * hidden * hidden) / stages + 0.5)
    require(out >= 1, "number of layers not published")
    return out


def request_on(accelerator: str, **fields):
    """A request for a run on `accelerator`, a name of the catalogue."""
    training = {"token_count": TOKENS, **fields.pop("training", {})}
    cluster = {"device": {"accelerator": accelerator}, **fields.pop("cluster", {})}
    return api.PlanRunRequest(cluster=cluster, training=training, **fields)


def given(message, field: str, otherwise: int = 1) -> int:
    return getattr(message, field) if message.HasField(field) else otherwise


def replica_size(layout) -> int:
    """Tensor x pipeline x context parallel size."""
    return (
        given(layout.parallel, "tensor_parallel_size")
        * given(layout.parallel, "pipeline_parallel_size")
        * given(layout, "context_parallel_size")
    )


def set_sizes(request, data_parallel: int = 1, micro_batches: int = 1) -> None:
    """Sets the number of devices and the global batch, by these and the sizes of `request`."""
    layout = request.layout
    request.cluster.device_count = data_parallel * replica_size(layout)
    layout.global_batch_size = layout.micro_batch_size * data_parallel * micro_batches


def data_parallel_size(request) -> int:
    """The number of devices over the product of the other parallel sizes."""
    return request.cluster.device_count // replica_size(request.layout)


def uneven_stages(layers: int, stages: int) -> list[int]:
    """Layers of each stage, the first ones one larger; none where stages divide the layers."""
    if stages < 1 or stages > layers or layers % stages == 0:
        return []
    return [layers // stages + (i < layers % stages) for i in range(stages)]


def stages_with_ends(layers: int, stages: int, first: int, last: int) -> list[int]:
    """Layers of each stage, alike but for so many fewer in the first and the last one; none where
    that doesn't come out even."""
    if stages < 1 or (layers + first + last) % stages != 0:
        return []
    out = [(layers + first + last) // stages] * stages
    out[0] -= first
    out[-1] -= last
    return out


def mixed_precision(request, compute: int, gradient: int) -> None:
    """Sets `compute` for weights too; their copies and Adam's moments are in fp32."""
    out = request.training.precision
    out.compute_data_type = out.weight_data_type = compute
    out.gradient_data_type = gradient
    out.master_weights = compute != api.DATA_TYPE_FP32
    out.optimizer_data_type = api.DATA_TYPE_FP32


def transformer(gated: bool, **fields) -> dict:
    """A dense decoder. Gated ones have norms by the root mean square, else a GPT's."""
    kind, norm = ("GATED", "RMS_NORM") if gated else ("PLAIN", "LAYER_NORM")
    return {"feed_forward_kind": f"FEED_FORWARD_KIND_{kind}", "norm_kind": f"NORM_KIND_{norm}",
            **fields}


def defaults_of(request):
    """`request` without the fields that a framework decides where a caller doesn't.

    They are number formats of weights, gradients and optimizer, padding of the vocabulary, the
    loss, copies of attention's output, fusion of experts' activations, gathered weights after the
    forward pass, and all settings of the framework but its kind and determinism, of which no
    framework has a default.
    """
    out = api.PlanRunRequest()
    out.CopyFrom(request)
    precision = {"compute_data_type": request.training.precision.compute_data_type}
    out.training.precision.CopyFrom(api.PrecisionPolicy(**precision))
    if out.model.HasField("architecture"):
        out.model.architecture.embedding.ClearField("padded_vocabulary_size")
    out.model.changes.ClearField("vocabulary_multiple")
    out.layout.sharding.ClearField("reshard_after_forward")
    for field in DECIDED_KERNELS:
        out.layout.kernels.ClearField(field)
    kept = request.layout.framework
    framework = api.FrameworkMemory(kind=kept.kind, deterministic=kept.deterministic)
    out.layout.framework.CopyFrom(framework)
    return out
