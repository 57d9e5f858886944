"""The model of a published run that is timed."""

import json
import math
from typing import NamedTuple

from cells import Row, Undescribed, number, required, whole
from step_recipe import recipe_of

# BLOOM's trials with 14,400 features don't print their heads. 80 of 180 features are what the
# project's arguments of that size have.
LIKELY_HEADS = 80
# Public mixtures by the name that the table uses: preset and number of layers.
PRESETS = {"gpt-oss-120b": ("gpt-oss-120b", 36), "qwen3-30b-a3b": ("qwen3-30b-a3b", 48),
           "qwen3-235b-a22b": ("qwen3-235b-a22b", 94), "kimi-k2": ("kimi-k2", 61),
           "llama4-maverick": ("llama-4-maverick", 48), "llama4-scout": ("llama-4-scout", 48)}


class Model(NamedTuple):
    """A row's model, as a spec and as what the other translators ask of it."""

    spec: dict
    name: str  # in lower case, without sizes of cluster or notes: "llama3-70b"
    layers: int
    experts: bool = False
    dropout: bool = False  # GPT-3 as its recipes train it
    heads_open: bool = False  # the number of heads isn't published, and was assumed


def name_of(row: Row) -> str:
    """ "DeepSeekV3 [w/o MTP]" and "llama3-405b (4 layers)": "deepseek-v3", "llama3-405b"."""
    name = row.get("model", "").lower().replace("(", "[").split("[")[0].rstrip()
    for old, new in (("_", "-"), (" ", "-"), ("llama3.1", "llama3"), ("deepseekv3", "deepseek-v3")):
        name = name.replace(old, new)
    return name


def deepseek_config(row: Row, third: bool) -> dict:
    """DeepSeek's mixtures with the row's number of layers, by the configs of their presets."""
    layers = whole(row, "layers", 0)
    cut = layers < 60  # SimuMax: one dense layer, the others of experts
    two_tokens = "w/ MTP" in row.get("model", "") or recipe_of(row).predicts_two_tokens
    out = {"model_type": "deepseek_v3" if third else "deepseek_v2",
           "num_hidden_layers": layers,
           "hidden_size": whole(row, "hidden", 0),
           "intermediate_size": whole(row, "ffn_hidden", 0),
           "num_attention_heads": whole(row, "heads", 0),
           "num_key_value_heads": whole(row, "heads", 0),
           "n_routed_experts": whole(row, "experts", 0),
           "n_shared_experts": 1 if third else 2,
           "num_experts_per_tok": whole(row, "topk", 0),
           "moe_intermediate_size": whole(row, "moe_ffn_hidden", 0),
           "first_k_dense_replace": 3 if third and not cut else 1,
           "vocab_size": whole(row, "vocab", 0),
           "q_lora_rank": 1536,
           "kv_lora_rank": 512,
           "qk_nope_head_dim": 128,
           "qk_rope_head_dim": 64,
           "v_head_dim": 128,
           "n_group": 8,
           "topk_group": 4 if third else 3,
           "topk_method": "noaux_tc" if third else "group_limited_greedy"}
    if third:
        out["num_nextn_predict_layers"] = int(two_tokens)
    return out


def grok_config(row: Row) -> dict:
    """Grok-1's proxies: Mixtral's shape of layer."""
    columns = {"num_hidden_layers": "layers", "hidden_size": "hidden",
               "intermediate_size": "moe_ffn_hidden", "num_attention_heads": "heads",
               "num_key_value_heads": "kv_heads", "head_dim": "head_dim",
               "num_local_experts": "experts", "num_experts_per_tok": "topk",
               "vocab_size": "vocab"}
    return {"model_type": "mixtral", "sliding_window": None,
            **{field: whole(row, column, 0) for field, column in columns.items()}}


def experts_model(row: Row, name: str) -> Model:
    if name in PRESETS:
        preset, layers = PRESETS[name]
        return Model({"preset": preset}, name, layers, experts=True)
    if "deepseek" in name:
        config = deepseek_config(row, "v2" not in name)
    elif name.startswith("grok1"):
        config = grok_config(row)
    else:
        raise Undescribed("shape of the layers not published")
    text = json.dumps(config, sort_keys=True, separators=(",", ":"))
    return Model({"hugging_face_config": text}, name, whole(row, "layers", 0), experts=True)


def layers_of(row: Row) -> int:
    """Where the number of layers isn't published, the multiple of the stages that is nearest to the
    published size over 12 h^2."""
    given = whole(row, "layers")
    if given is not None:
        return given
    billions = number(row.get("params_note", "").split("B")[0])
    hidden, stages = whole(row, "hidden", 0), whole(row, "pp", 0)
    if billions is None or hidden < 1 or stages < 1:
        return 0
    layers = billions * 1e9 / (12.0 * hidden * hidden)
    return stages * math.floor(layers / stages + 0.5)


def family_of(row: Row, name: str) -> dict:
    """What a family of models has in all its sizes.

    Llama, InternLM: rotary positions, RMSNorm, no biases, a head of its own. Nemotron-4: the same
    with LayerNorm and a plain feed-forward. MPT: learned positions and a tied head, no biases.
    GPT-3 and BLOOM: that with biases.
    """
    gated = row.get("glu") == "True"
    out = {"feed_forward_kind": f"FEED_FORWARD_KIND_{'GATED' if gated else 'PLAIN'}",
           "norm_kind": f"NORM_KIND_{'RMS_NORM' if gated else 'LAYER_NORM'}"}
    if gated or name.startswith("nemotron"):
        return out
    out |= {"tied_embeddings": True, "learned_position_count": whole(row, "seq_len", 0)}
    if name.startswith("mpt-") and not name.startswith("mpt-nlg"):
        return out
    return out | {"query_key_value_bias": True, "attention_output_bias": True,
                  "feed_forward_bias": True}


def dense_model(row: Row, name: str) -> Model:
    spec = {"hidden_size": required(row, "hidden", "shape"),
            "feed_forward_size": required(row, "ffn_hidden", "shape"),
            "vocabulary_size": required(row, "vocab", "vocabulary"),
            "layer_count": layers_of(row)}
    if spec["layer_count"] < 1:
        raise Undescribed("number of layers not published")
    heads = whole(row, "heads")
    if heads is None and spec["hidden_size"] != 14400:
        raise Undescribed("heads not published")
    spec["attention_head_count"] = LIKELY_HEADS if heads is None else heads
    for field, column in (("key_value_head_count", "kv_heads"), ("head_size", "head_dim")):
        value = whole(row, column)
        if value is not None:
            spec[field] = value
    spec |= family_of(row, name)
    dropout = ("feed_forward_bias" in spec and name.startswith("gpt3")
               and row.get("framework", "").startswith("NeMo"))
    return Model({"transformer": spec}, name, spec["layer_count"], dropout=dropout,
                 heads_open=heads is None)


def model_of(row: Row) -> Model:
    name = name_of(row)
    if whole(row, "experts") is not None or name in PRESETS:
        return experts_model(row, name)
    return dense_model(row, name)
