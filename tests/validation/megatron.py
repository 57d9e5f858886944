"""A Megatron-LM run as a request.

Defaults are those of NVIDIA/Megatron-LM @000c4ac24f61, `megatron/training/arguments.py`.
"""

import itertools
import math
import re
from typing import NamedTuple

from cells import Undescribed, api, number, require
from megatron_arguments import KNOWN, Arguments, python_list
from run_request import TOKENS, mixed_precision, set_sizes, stages_with_ends

DROPOUT = 0.1
MAX_LAYOUT = 10_000  # letters
# "x*3" and "(xy)*3" of a written layout. Groups hold no groups.
REPEATED = re.compile(r"(?:\(([^()*]*)\)|([^()*]))\*(\d{1,4})(?!\d)")


class Machine(NamedTuple):
    accelerator: str  # a name of the catalogue
    gpus: int  # a multiple of what a replica takes


def gpus_of_replica(arguments: Arguments) -> int:
    kinds = ("tensor-model", "pipeline-model", "context")
    return math.prod(arguments.count(f"{kind}-parallel-size", 1) for kind in kinds)


def shares_state(arguments: Arguments) -> bool:
    """True where a GPU's memory depends on the number of GPUs: shards of ZeRO."""
    return arguments.flag("use-distributed-optimizer") or arguments.flag("use-megatron-fsdp")


def uses_transformer_engine(arguments: Arguments) -> bool:
    """False for Megatron-LM's own layers."""
    engine = arguments.text("transformer-impl", "transformer_engine") == "transformer_engine"
    return engine and arguments.text("spec", "") != "local"


def vocabulary(arguments: Arguments, bert: bool, assumptions: list[str]) -> int:
    tokenizer, known = arguments.text("tokenizer-type", ""), KNOWN["vocabularies"]
    if arguments.has("vocab-size"):
        # NullTokenizer adds an end-of-document token.
        return arguments.count("vocab-size", 0) + (tokenizer == "NullTokenizer")
    if "256k" in arguments.text("tokenizer-model", ""):
        tokenizer += " 256k"
    require(tokenizer in known, "vocabulary not published")
    if not tokenizer and not arguments.has("vocab-file"):
        assumptions.append("vocabulary of GPT-2")
    return known["BERT" if bert and not tokenizer else tokenizer]


def feed_forward_size(arguments: Arguments) -> int:
    """Two thirds of 4 h, rounded down to a multiple of 64, where the feed-forward is gated."""
    hidden = arguments.count("hidden-size", 0)
    gated = 8 * hidden // 3 // 64 * 64
    return arguments.count("ffn-hidden-size", gated if arguments.flag("swiglu") else 4 * hidden)


def feed_forward(arguments: Arguments, size: int) -> dict:
    kind = "KIND_GATED" if arguments.flag("swiglu") else "KIND_PLAIN"
    return {"kind": kind, "size": size, **arguments.fields("feed_forward")}


def attention(arguments: Arguments, bert: bool) -> dict:
    if arguments.flag("multi-latent-attention"):
        out = arguments.fields("latent_attention")
        out["query_key_head_size"] += out["latent"]["rotary_size"]
        if arguments.has("q-lora-rank"):
            out["latent"]["query_rank"] = arguments.count("q-lora-rank", 0)
        return out
    out = arguments.fields("attention")
    size = arguments.count("hidden-size", 0) // max(1, out["head_count"])
    out["query_key_head_size"] = arguments.count("kv-channels", size)
    out["mask"] = "ATTENTION_MASK_FULL" if bert else "ATTENTION_MASK_CAUSAL"
    if arguments.flag("group-query-attention"):
        out["key_value_head_count"] = arguments.count("num-query-groups", 1)
    if arguments.flag("qk-layernorm"):
        out["query_key_norm"] = "QUERY_KEY_NORM_PER_HEAD"
    return out


def mlp(arguments: Arguments, kind: str) -> dict:
    """Fields of a layer of a kind, "dense" or "experts"."""
    size = feed_forward_size(arguments)
    if kind == "dense":
        return {"feed_forward": feed_forward(arguments, size)}
    out = arguments.fields("experts")
    out["expert"] = feed_forward(arguments, arguments.count("moe-ffn-hidden-size", size))
    shared = arguments.count("moe-shared-expert-intermediate-size", 0)
    if shared > 0:
        out |= {"shared_expert_count": 1, "shared_expert": feed_forward(arguments, shared)}
    return {"experts": out}


def layer_runs(arguments: Arguments) -> list[dict]:
    """Layers of each kind, one after the other.

    "moe-layer-freq" is a number n (experts in layers 0, n, 2n, ...) or a Python list expression
    such as "([0]*3+[1]*12)".
    """
    layers = arguments.count("num-layers", 0)
    frequency = arguments.text("moe-layer-freq", "1")
    every = number(frequency)
    experts = [0] * layers
    if arguments.has("num-experts"):
        with_experts = [layer % int(every) == 0 for layer in range(layers)] if every else None
        experts = with_experts or python_list(frequency)
    require(len(experts) == layers, f"moe-layer-freq has {len(experts)} layers, not {layers}")
    kinds = itertools.groupby("experts" if has else "dense" for has in experts)
    return [{"layer_kind": kind, "count": len(list(group))} for kind, group in kinds]


def megatron_model(arguments: Arguments, bert: bool, assumptions: list[str]):
    """An Architecture, its vocabulary padded to make-vocab-size-divisible-by times the tensor
    parallel ranks. `assumptions` gets what is neither given nor a default."""
    entries = vocabulary(arguments, bert, assumptions)
    ranks = arguments.count("tensor-model-parallel-size", 1)
    multiple = max(1, ranks * arguments.count("make-vocab-size-divisible-by", 128))
    rms = arguments.text("normalization", "LayerNorm") == "RMSNorm"
    norm = "NORM_VARIANT_RMS_NORM" if rms else "NORM_VARIANT_LAYER_NORM"
    stack: dict = {"layers": layer_runs(arguments)}
    positions = arguments.text("position-embedding-type", "learned_absolute")
    rotary = arguments.flag("use-rotary-position-embeddings")
    if positions == "learned_absolute" and not rotary:
        stack["learned_position_count"] = arguments.count("max-position-embeddings", 0)
    head = {"norm": norm, "attention": attention(arguments, bert)}
    kinds = dict.fromkeys(run["layer_kind"] for run in stack["layers"])
    untied = arguments.flag("untie-embeddings-and-output-weights")
    output = {"head": "OUTPUT_HEAD_UNTIED" if untied else "OUTPUT_HEAD_TIED"}
    rows = -(-entries // multiple) * multiple
    embedding = {"vocabulary_size": entries, "padded_vocabulary_size": rows}
    if bert:
        output |= {"head_bias": True, "transform": True}
    if bert and not arguments.flag("bert-no-binary-head"):
        output |= {"pooler": True, "pooled_class_count": 2}
        embedding["token_type_count"] = 2
    out = api.Architecture(
        hidden_size=arguments.count("hidden-size", 0),
        norm=norm,
        layer_kinds=[{"name": kind, **head, **mlp(arguments, kind)} for kind in kinds],
        embedding=embedding,
        output=output,
        **{"encoder" if bert else "decoder": stack},
    )
    modules = arguments.count("mtp-num-layers", 0)
    if modules > 0 and kinds:
        out.multi_token_prediction.module_count = modules
        out.multi_token_prediction.layer_kind = out.layer_kinds[-1].name
    return out


def written_chunks(layout: str) -> list[int]:
    """How many layers each chunk has.

    "Et*3|(tt|)*6mL": embedding, layers, modules of multi-token prediction and loss chunk by chunk.
    """
    plain = re.sub(r"[\s,]", "", layout)
    while REPEATED.search(plain) and len(plain) <= MAX_LAYOUT:
        plain = REPEATED.sub(lambda found: (found[2] or found[1]) * int(found[3]), plain, count=1)
    require(re.fullmatch(r"[EtmL|]*", plain), f"unreadable pipeline layout {layout}")
    return [chunk.count("t") for chunk in plain.split("|")]


def chunks_with_ends(arguments: Arguments, count: int) -> list[int]:
    """On request Megatron-LM counts embedding and loss as a layer each before it distributes."""
    first = arguments.flag("account-for-embedding-in-pipeline-split")
    last = arguments.flag("account-for-loss-in-pipeline-split")
    if not first and not last:
        return []
    out = stages_with_ends(arguments.count("num-layers", 0), count, first, last)
    require(out, "layers, embedding and loss don't divide into chunks")
    return out


def chunks(arguments: Arguments, stages: int) -> dict:
    """Virtual stages, and the layers of each chunk where they are not all alike."""
    require(stages >= 1, "no pipeline stage")
    layers = arguments.count("num-layers", 0)
    layout = arguments.text("pipeline-model-parallel-layout", "")
    if layout:
        written = written_chunks(layout)
        if sum(written) != layers or len(written) % stages != 0:
            raise Undescribed(f"unreadable pipeline layout {layout}")
        return {"layers_per_chunk": written, "virtual_stage_count": len(written) // stages}
    virtual = arguments.count("num-virtual-stages-per-pipeline-rank", 1)
    per_chunk = arguments.count("num-layers-per-virtual-pipeline-stage", 0)
    if per_chunk > 0:
        virtual, rest = divmod(layers, stages * per_chunk)
        require(rest == 0, "layers don't divide into virtual stages")
    with_ends = chunks_with_ends(arguments, stages * virtual)
    return {"virtual_stage_count": virtual, "layers_per_chunk": with_ends}


def kernels(arguments: Arguments) -> dict:
    hidden = arguments.number("hidden-dropout", DROPOUT) > 0
    if hidden != (arguments.number("attention-dropout", DROPOUT) > 0):
        raise Undescribed("dropout of attention or of branches alone")
    compiled = "_COMPILED" if arguments.flag("cross-entropy-loss-fusion") else ""
    backend = arguments.text("attention-backend", "auto")
    unfused = backend in ("unfused", "local") or not uses_transformer_engine(arguments)
    out = {
        "dropout": hidden,
        "loss": f"LOSS_VOCABULARY_PARALLEL{compiled}",
        "attention": "ATTENTION_UNFUSED" if unfused else "ATTENTION_FLASH",
    }
    if backend in ("flash", "fused") and not unfused:
        # flash-attention's output is reordered, cuDNN's is not.
        out["attention_output_copied"] = backend == "flash"
    if arguments.has("num-experts"):
        # One kernel where experts are gated, or their squared ReLU is asked to be fused.
        fused = arguments.flag("swiglu") or arguments.flag("use-fused-weighted-squared-relu")
        out["fused_expert_activation"] = fused
    return out


def set_recomputation(arguments: Arguments, request) -> None:
    granularity = arguments.text("recompute-granularity", "")
    request.training.recompute = api.RECOMPUTE_POLICY_NONE
    if granularity == "full":
        if arguments.text("recompute-method", "") != "uniform":
            raise Undescribed("recomputation of a stage's first layers alone")
        request.training.recompute = api.RECOMPUTE_POLICY_FULL
        layers = arguments.count("recompute-num-layers", 1)
        request.layout.kernels.recomputed_layers_per_block = layers
    elif granularity == "selective":
        # "[layernorm mla_up_proj moe_act]"
        modules = arguments.text("recompute-modules", "core_attn")
        for name in re.findall(r"[^\[\] ,]+", modules):
            if name == "core_attn":
                request.training.recompute = api.RECOMPUTE_POLICY_SELECTIVE
            elif name in KNOWN["recomputed_modules"]:
                setattr(request.layout.kernels, KNOWN["recomputed_modules"][name], True)
            else:
                raise Undescribed(f"recomputation of module {name} alone is not described")


def set_precision(arguments: Arguments, request) -> None:
    """bf16 training adds gradients up in fp32; fp16 training in fp16."""
    compute = api.DATA_TYPE_FP16 if arguments.flag("fp16") else api.DATA_TYPE_FP32
    if arguments.flag("bf16"):
        compute = api.DATA_TYPE_BF16
    narrow = compute != api.DATA_TYPE_BF16 or arguments.flag("grad-reduce-in-bf16")
    mixed_precision(request, compute, compute if narrow else api.DATA_TYPE_FP32)


def set_sharding(arguments: Arguments, ranks: int, out) -> None:
    distributed = arguments.flag("use-distributed-optimizer")
    out.zero_stage = api.ZERO_STAGE_OPTIMIZER if distributed else api.ZERO_STAGE_NONE
    if arguments.flag("use-megatron-fsdp"):
        strategy = arguments.text("data-parallel-sharding-strategy", "no_shard")
        require(strategy == "optim_grads_params", f"sharding strategy {strategy}")
        out.zero_stage = api.ZERO_STAGE_PARAMETERS
    instances = arguments.count("num-distributed-optimizer-instances", 1)
    if instances > 1:
        require(ranks % instances == 0, "shard groups of unequal size")
        out.shard_group_size = ranks // instances


def micro_batches(arguments: Arguments, replicas: int) -> int:
    require(not arguments.has("step-batch-size-schedule"), "global batch changes during the run")
    micro = arguments.count("micro-batch-size", 1) * replicas
    batch = arguments.count("global-batch-size", micro)
    if micro < 1 or batch % micro != 0:
        raise Undescribed("global batch is no multiple of the micro-batches at a time")
    return batch // micro


def megatron_request(arguments: Arguments, machine: Machine, bert: bool, assumptions: list[str]):
    arguments.require_described()
    model = megatron_model(arguments, bert, assumptions)
    request = api.PlanRunRequest(model={"architecture": model}, **arguments.fields("request"))
    request.training.token_count = TOKENS
    request.cluster.device.accelerator = machine.accelerator
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
    replicas = machine.gpus // gpus_of_replica(arguments)
    set_sharding(arguments, replicas * layout.context_parallel_size, layout.sharding)
    set_sizes(request, replicas, micro_batches(arguments, replicas))
    return request
