"""The model that a Megatron-LM run trains.

Defaults are those of NVIDIA/Megatron-LM @000c4ac24f61, `megatron/training/arguments.py`.
"""

from cells import Undescribed, number
from megatron_arguments import Arguments, python_list
from run_request import padded
from sextant_api import api

# Entries of the vocabularies that Megatron-LM's tests use where no size is given: GPT-2's
# byte-pair vocabulary and BERT's uncased one with the two tokens that the tokenizer adds; Llama
# 2's, and the 256,000 pieces that the file's name says.
GPT_VOCABULARY = 50257
BERT_VOCABULARY = 30522 + 2
LLAMA_VOCABULARY = 32000
NEMOTRON_VOCABULARY = 256000

# Kinds of layers.
DENSE = "dense"
EXPERTS = "experts"


def vocabulary(arguments: Arguments, bert: bool, assumptions: list[str]) -> int:
    tokenizer = arguments.text("tokenizer-type", "")
    if arguments.has("vocab-size"):
        # NullTokenizer adds an end-of-document token.
        return arguments.count("vocab-size", 0) + (tokenizer == "NullTokenizer")
    if tokenizer == "Llama2Tokenizer":
        return LLAMA_VOCABULARY
    if tokenizer == "GPTSentencePieceTokenizer" and "256k" in arguments.text("tokenizer-model", ""):
        return NEMOTRON_VOCABULARY
    if tokenizer:
        raise Undescribed("vocabulary not published")
    if not arguments.has("vocab-file"):
        assumptions.append("vocabulary of GPT-2")
    return BERT_VOCABULARY if bert else GPT_VOCABULARY


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


def experts(arguments: Arguments) -> dict:
    size = arguments.count("moe-ffn-hidden-size", feed_forward_size(arguments))
    out = {**arguments.fields("experts"), "expert": feed_forward(arguments, size)}
    shared = arguments.count("moe-shared-expert-intermediate-size", 0)
    if shared > 0:
        out |= {"shared_expert_count": 1, "shared_expert": feed_forward(arguments, shared)}
    return out


def norm(arguments: Arguments) -> int:
    rms = arguments.text("normalization", "LayerNorm") == "RMSNorm"
    return api.NORM_VARIANT_RMS_NORM if rms else api.NORM_VARIANT_LAYER_NORM


def layer_kind(arguments: Arguments, bert: bool, name: str) -> dict:
    out = {"name": name, "norm": norm(arguments), "attention": attention(arguments, bert)}
    if name == EXPERTS:
        return out | {"experts": experts(arguments)}
    return out | {"feed_forward": feed_forward(arguments, feed_forward_size(arguments))}


def expert_layers(frequency: str, layers: int) -> list[bool]:
    """Whether each layer has experts, by "moe-layer-freq".

    It is a number n (experts in layers 0, n, 2n, ...) or a Python list expression such as
    "([0]*3+[1]*12)".
    """
    every = number(frequency)
    if every is not None and every >= 1:
        return [layer % int(every) == 0 for layer in range(layers)]
    entries = python_list(frequency)
    if len(entries) != layers:
        raise Undescribed(f"moe-layer-freq has {len(entries)} layers, not {layers}")
    return [entry != 0 for entry in entries]


def layer_runs(arguments: Arguments) -> list[dict]:
    layers = arguments.count("num-layers", 0)
    kinds = [False] * layers
    if arguments.has("num-experts"):
        kinds = expert_layers(arguments.text("moe-layer-freq", "1"), layers)
    out: list[dict] = []
    for with_experts in kinds:
        name = EXPERTS if with_experts else DENSE
        if not out or out[-1]["layer_kind"] != name:
            out.append({"layer_kind": name, "count": 0})
        out[-1]["count"] += 1
    return out


def output(arguments: Arguments, bert: bool) -> dict:
    untied = arguments.flag("untie-embeddings-and-output-weights")
    out = {"head": api.OUTPUT_HEAD_UNTIED if untied else api.OUTPUT_HEAD_TIED}
    if bert:
        out |= {"head_bias": True, "transform": True}
    if bert and not arguments.flag("bert-no-binary-head"):
        out |= {"pooler": True, "pooled_class_count": 2}
    return out


def learns_positions(arguments: Arguments) -> bool:
    kind = arguments.text("position-embedding-type", "learned_absolute")
    return kind == "learned_absolute" and not arguments.flag("use-rotary-position-embeddings")


def megatron_model(arguments: Arguments, bert: bool, assumptions: list[str]):
    """An Architecture, its vocabulary padded to make-vocab-size-divisible-by times the tensor
    parallel ranks.

    Absent arguments have Megatron-LM's defaults; `assumptions` gets what is neither given nor a
    default.
    """
    entries = vocabulary(arguments, bert, assumptions)
    runs = layer_runs(arguments)
    names = list(dict.fromkeys(run["layer_kind"] for run in runs))
    ranks = arguments.count("tensor-model-parallel-size", 1)
    multiple = arguments.count("make-vocab-size-divisible-by", 128) * ranks
    stack: dict = {"layers": runs}
    if learns_positions(arguments):
        stack["learned_position_count"] = arguments.count("max-position-embeddings", 0)
    out = api.Architecture(
        hidden_size=arguments.count("hidden-size", 0),
        norm=norm(arguments),
        layer_kinds=[layer_kind(arguments, bert, name) for name in names],
        embedding={
            "vocabulary_size": entries,
            "padded_vocabulary_size": padded(entries, max(1, multiple)),
        },
        output=output(arguments, bert),
        **{"encoder" if bert else "decoder": stack},
    )
    if out.output.pooler:
        out.embedding.token_type_count = 2
    modules = arguments.count("mtp-num-layers", 0)
    if modules > 0 and names:
        out.multi_token_prediction.module_count = modules
        out.multi_token_prediction.layer_kind = names[-1]
    return out
