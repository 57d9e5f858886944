"""What columns of a published run that is timed say about software, machines, number formats and
models, in the service's names; what its recipe sets and its page does not print; and constants that
are estimated. Rules are data: step_*.yaml.
"""

import json

from types import SimpleNamespace
from typing import NamedTuple

from cells import Row, Undescribed, load, require, required, whole
from run_request import layers_of, transformer


def holds(where: dict, row) -> bool:
    """True where each of these attributes of `row` is one of its values."""
    return all(getattr(row, attribute) in values for attribute, values in where.items())


KNOWN = load("step_sources.yaml")
RECIPES = load("step_recipes.yaml")
RECIPE_COLUMNS = {"framework": "framework", "model": "model", "hardware": "gpu_key"}
# BLOOM's trials with 14,400 features don't print their heads. 80 of 180 features are what the
# project's arguments of that size have.
LIKELY_HEADS = 80


# The constants of software stacks and devices that are estimated again for each fold.
CONSTANTS = [{"experts": False, **entry,
              "neutral": 1 / entry["efficiency"] if "efficiency" in entry else entry["neutral"]}
             for entry in load("step_constants.yaml")]


class Format(NamedTuple):
    """The number format of matrix products."""

    name: str
    type: str
    row_scaled: bool = False  # one scale a row of a matrix

    @property
    def narrow(self) -> bool:
        return self.name not in ("bf16", "fp16")


def known(kind: str, entry: dict) -> SimpleNamespace:
    """An entry of step_sources.yaml, which has the fields."""
    return SimpleNamespace(**(KNOWN[f"{kind}_defaults"] | entry))


def first_of(kind: str, cell: str, unknown: str) -> SimpleNamespace:
    for entry in KNOWN[kind]:
        if cell.startswith(entry["column"]):
            return known(kind, entry)
    raise Undescribed(unknown)


def software_of(row: Row) -> SimpleNamespace:
    column = row.get("framework", "")
    return first_of("software", column, f"no stack for its framework: {column}")


def hardware_of(row: Row) -> SimpleNamespace:
    label = row.get("hardware", "")
    require("power limited" not in label, "limit of the power not published")
    return first_of("hardware", row.get("gpu_key", ""), f"hardware not timed: {label}")


def network_of(row: Row, hardware: SimpleNamespace) -> float:
    """Bytes a second of one device between servers."""
    noted = (gigabits for note, gigabits in KNOWN["networks"].items()
             if note in row.get("hardware_note", ""))
    return next(noted, hardware.network_gigabits) * (1e9 / 8)


def format_of(row: Row) -> Format:
    text = row.get("precision", "").lower()
    for each in KNOWN["formats"]:
        if any(word in text for word in each["words"]):
            return Format(each["name"], each["type"], each["name"] == "fp8" and "rowwise" in text)
    raise Undescribed("precision not published")


def recipe_of(row: Row) -> SimpleNamespace:
    """What all rules that hold for `row` set: NVIDIA publishes the recipes of its pages, by
    release. step_recipes.yaml has the fields."""
    out = dict(RECIPES["defaults"])
    release = row.get("source_table", "").split(" ")[0]
    for rule in RECIPES["rules"]:
        if release in rule.get("releases", release).split(" ") and all(
                row.get(column, "").startswith(rule.get(name, ""))
                for name, column in RECIPE_COLUMNS.items()):
            out |= rule["set"]
    return SimpleNamespace(**out)


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
    require("deepseek" in name or name.startswith("grok1"), "shape of the layers not published")
    text = json.dumps(config_of(row, name), sort_keys=True, separators=(",", ":"))
    return Model({"hugging_face_config": text}, name, whole(row, "layers", 0), experts=True)


def family_of(row: Row, name: str) -> dict:
    """What a family of models has in all its sizes.

    Llama, InternLM: rotary positions, RMSNorm, no biases, a head of its own. Nemotron-4: the same
    with LayerNorm and a plain feed-forward. MPT: learned positions and a tied head, no biases.
    GPT-3 and BLOOM: that with biases.
    """
    gated = row.get("glu") == "True"
    out = transformer(gated)
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
    heads = whole(row, "heads")
    require(heads is not None or spec["hidden_size"] == 14400, "heads not published")
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
