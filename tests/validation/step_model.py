"""The model of a published run that is timed."""

import json
import math
from typing import NamedTuple

from cells import Row, Undescribed, number, required, whole
from step_sources import KNOWN, recipe_of

# BLOOM's trials with 14,400 features don't print their heads. 80 of 180 features are what the
# project's arguments of that size have.
LIKELY_HEADS = 80


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


def config_of(row: Row, name: str) -> dict:
    kind = ("mixtral" if name.startswith("grok1") else "deepseek_v2" if "v2" in name
            else "deepseek_v3")
    known = KNOWN["configs"][kind]
    out = known["fixed"] | {field: whole(row, column, 0)
                            for field, column in known["columns"].items()}
    if kind == "deepseek_v3":
        # SimuMax cuts layers: one dense layer, the others of experts.
        out["first_k_dense_replace"] = 1 if out["num_hidden_layers"] < 60 else 3
        two_tokens = "w/ MTP" in row.get("model", "") or recipe_of(row).predicts_two_tokens
        out["num_nextn_predict_layers"] = int(two_tokens)
    return out


def experts_model(row: Row, name: str) -> Model:
    if name in KNOWN["presets"]:
        known = KNOWN["presets"][name]
        return Model({"preset": known["preset"]}, name, known["layers"], experts=True)
    if "deepseek" not in name and not name.startswith("grok1"):
        raise Undescribed("shape of the layers not published")
    text = json.dumps(config_of(row, name), sort_keys=True, separators=(",", ":"))
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
    if whole(row, "experts") is not None or name in KNOWN["presets"]:
        return experts_model(row, name)
    return dense_model(row, name)
