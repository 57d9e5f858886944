"""A Megatron-LM run but for its model.

Defaults are those of NVIDIA/Megatron-LM @000c4ac24f61, `megatron/training/arguments.py`.
"""

import re
from typing import NamedTuple

from cells import Undescribed
from megatron_arguments import Arguments
from run_request import mixed_precision, set_sizes
from sextant_api import api

DROPOUT = 0.1
MAX_LAYOUT = 10_000  # letters


class Machine(NamedTuple):
    accelerator: str  # a name of the catalogue
    gpus: int  # a multiple of what a replica takes


def gpus_of_replica(arguments: Arguments) -> int:
    """Tensor x pipeline x context parallel size."""
    return (
        arguments.count("tensor-model-parallel-size", 1)
        * arguments.count("pipeline-model-parallel-size", 1)
        * arguments.count("context-parallel-size", 1)
    )


def shares_state(arguments: Arguments) -> bool:
    """True where a GPU's memory depends on the number of GPUs: shards of ZeRO."""
    return arguments.flag("use-distributed-optimizer") or arguments.flag("use-megatron-fsdp")


def uses_transformer_engine(arguments: Arguments) -> bool:
    """False for Megatron-LM's own layers."""
    engine = arguments.text("transformer-impl", "transformer_engine") == "transformer_engine"
    return engine and arguments.text("spec", "") != "local"


def written_out(layout: str) -> str:
    """`layout` with each "x*3" and "(xy)*3" written out. Groups hold no groups."""
    repeated = re.compile(r"(?:\(([^()*]*)\)|([^()*]))\*(\d{1,4})(?!\d)")
    while (found := repeated.search(layout)) is not None:
        piece = found[2] or found[1]
        layout = layout[: found.start()] + piece * int(found[3]) + layout[found.end() :]
        if len(layout) > MAX_LAYOUT:
            break
    return layout


def written_chunks(layout: str) -> list[int]:
    """How many layers each chunk has.

    "Et*3|(tt|)*6mL": embedding, layers, modules of multi-token prediction and loss chunk by chunk.
    """
    plain = written_out(re.sub(r"[\s,]", "", layout))
    if len(plain) > MAX_LAYOUT or re.search(r"[^EtmL|]", plain):
        raise Undescribed(f"unreadable pipeline layout {layout}")
    return [chunk.count("t") for chunk in plain.split("|")]


def chunks_with_ends(arguments: Arguments, chunks: int) -> list[int]:
    """On request Megatron-LM counts embedding and loss as a layer each before it distributes."""
    first = int(arguments.flag("account-for-embedding-in-pipeline-split"))
    last = int(arguments.flag("account-for-loss-in-pipeline-split"))
    if first + last == 0:
        return []
    layers = arguments.count("num-layers", 0) + first + last
    if layers % chunks != 0:
        raise Undescribed("layers, embedding and loss don't divide into chunks")
    out = [layers // chunks] * chunks
    out[0] -= first
    out[-1] -= last
    return out


def chunks(arguments: Arguments, stages: int) -> dict:
    """Virtual stages, and the layers of each chunk where they are not all alike."""
    if stages < 1:
        raise Undescribed("no pipeline stage")
    layers = arguments.count("num-layers", 0)
    layout = arguments.text("pipeline-model-parallel-layout", "")
    if layout:
        written = written_chunks(layout)
        if sum(written) != layers or len(written) % stages != 0:
            raise Undescribed(f"unreadable pipeline layout {layout}")
        return {"layers_per_chunk": written, "virtual_stage_count": len(written) // stages}
    virtual = arguments.count("num-virtual-stages-per-pipeline-rank", 1)
    per_chunk = arguments.count("num-layers-per-virtual-pipeline-stage", 0)
    if per_chunk > 0 and layers % (stages * per_chunk) != 0:
        raise Undescribed("layers don't divide into virtual stages")
    if per_chunk > 0:
        virtual = layers // (stages * per_chunk)
    with_ends = chunks_with_ends(arguments, stages * virtual)
    return {"virtual_stage_count": virtual, "layers_per_chunk": with_ends}


def attention_kernel(arguments: Arguments) -> dict:
    """A run that names the kernel of attention names its copies too.

    flash-attention's output is reordered, cuDNN's is not.
    """
    backend = arguments.text("attention-backend", "auto")
    if backend in ("unfused", "local") or not uses_transformer_engine(arguments):
        return {"attention": "ATTENTION_UNFUSED"}
    out = {"attention": "ATTENTION_FLASH"}
    if backend in ("flash", "fused"):
        out["attention_output_copied"] = backend == "flash"
    return out


def kernels(arguments: Arguments) -> dict:
    hidden, attention = (
        arguments.number(name, DROPOUT) > 0 for name in ("hidden-dropout", "attention-dropout")
    )
    if hidden != attention:
        raise Undescribed("dropout of attention or of branches alone")
    out = {"dropout": hidden, **attention_kernel(arguments)}
    out["loss"] = "LOSS_VOCABULARY_PARALLEL"
    if arguments.flag("cross-entropy-loss-fusion"):
        out["loss"] = "LOSS_VOCABULARY_PARALLEL_COMPILED"
    if arguments.has("num-experts"):
        # One kernel where experts are gated, or their squared ReLU is asked to be fused.
        fused = arguments.flag("swiglu") or arguments.flag("use-fused-weighted-squared-relu")
        out["fused_expert_activation"] = fused
    return out


def set_recomputed_modules(modules: str, request) -> None:
    """ "[layernorm mla_up_proj moe_act]" """
    choices = {
        "layernorm": "recompute_norm_outputs",
        "mla_up_proj": "recompute_latent_up_projections",
        "moe_act": "recompute_activation_function",
    }
    for name in re.findall(r"[^\[\] ,]+", modules):
        if name == "core_attn":
            request.training.recompute = api.RECOMPUTE_POLICY_SELECTIVE
        elif name in choices:
            setattr(request.layout.kernels, choices[name], True)
        else:
            raise Undescribed(f"recomputation of module {name} alone is not described")


def set_recomputation(arguments: Arguments, request) -> None:
    granularity = arguments.text("recompute-granularity", "")
    request.training.recompute = api.RECOMPUTE_POLICY_NONE
    if granularity == "selective":
        set_recomputed_modules(arguments.text("recompute-modules", "core_attn"), request)
    if granularity != "full":
        return
    if arguments.text("recompute-method", "") != "uniform":
        raise Undescribed("recomputation of a stage's first layers alone")
    request.training.recompute = api.RECOMPUTE_POLICY_FULL
    layers = arguments.count("recompute-num-layers", 1)
    request.layout.kernels.recomputed_layers_per_block = layers


def set_precision(arguments: Arguments, request) -> None:
    """bf16 training adds gradients up in fp32; fp16 training in fp16."""
    compute = api.DATA_TYPE_FP32
    for name, data_type in (("fp16", api.DATA_TYPE_FP16), ("bf16", api.DATA_TYPE_BF16)):
        if arguments.flag(name):
            compute = data_type
    narrow = compute != api.DATA_TYPE_BF16 or arguments.flag("grad-reduce-in-bf16")
    mixed_precision(request, compute, compute if narrow else api.DATA_TYPE_FP32)


def sharding(arguments: Arguments, ranks: int) -> dict:
    distributed = arguments.flag("use-distributed-optimizer")
    out = {"zero_stage": api.ZERO_STAGE_OPTIMIZER if distributed else api.ZERO_STAGE_NONE}
    if arguments.flag("use-megatron-fsdp"):
        strategy = arguments.text("data-parallel-sharding-strategy", "no_shard")
        if strategy != "optim_grads_params":
            raise Undescribed(f"sharding strategy {strategy}")
        out["zero_stage"] = api.ZERO_STAGE_PARAMETERS
    instances = arguments.count("num-distributed-optimizer-instances", 1)
    if instances > 1:
        if ranks % instances != 0:
            raise Undescribed("shard groups of unequal size")
        out["shard_group_size"] = ranks // instances
    return out


def micro_batches(arguments: Arguments, replicas: int) -> int:
    if arguments.has("step-batch-size-schedule"):
        raise Undescribed("global batch changes during the run")
    micro = arguments.count("micro-batch-size", 1) * replicas
    batch = arguments.count("global-batch-size", micro)
    if micro < 1 or batch % micro != 0:
        raise Undescribed("global batch is no multiple of the micro-batches at a time")
    return batch // micro


def megatron_job(arguments: Arguments):
    """A request without model, devices and their number."""
    request = api.PlanRunRequest(**arguments.fields("request"))
    layout, parallel = request.layout, request.layout.parallel
    cut = chunks(arguments, parallel.pipeline_parallel_size)
    parallel.MergeFrom(api.ParallelLayout(**cut))
    if arguments.has("num-experts"):
        request.MergeFrom(api.PlanRunRequest(**arguments.fields("expert_request")))
        ranks = arguments.count("expert-tensor-parallel-size", 0)
        if ranks > 0:
            parallel.expert_tensor_parallel_size = ranks
    several = parallel.tensor_parallel_size > 1
    layout.sequence_parallel = arguments.flag("sequence-parallel") and several
    layout.kernels.CopyFrom(api.KernelChoices(**kernels(arguments)))
    layout.framework.transformer_engine = uses_transformer_engine(arguments)
    set_recomputation(arguments, request)
    set_precision(arguments, request)
    return request


def set_devices(arguments: Arguments, machine: Machine, request) -> None:
    request.cluster.device.accelerator = machine.accelerator
    replicas = machine.gpus // gpus_of_replica(arguments)
    ranks = replicas * request.layout.context_parallel_size
    request.layout.sharding.CopyFrom(api.StateSharding(**sharding(arguments, ranks)))
    set_sizes(request, replicas, micro_batches(arguments, replicas))
