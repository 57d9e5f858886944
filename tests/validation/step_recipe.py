"""What the recipe of a published run sets and its page does not print: NVIDIA publishes the recipes
of its pages, by release."""

from typing import NamedTuple

from cells import Row
from step_data import load


class Recipe(NamedTuple):
    chunks: int | None = None  # of layers on a stage
    recompute: str | None = None  # of RecomputePolicy
    loss: str = "LOSS_UNSPECIFIED"  # of KernelChoices
    recomputes_activations: bool = False  # of feed-forwards and experts
    recomputes_norms: bool = False
    recomputes_latent: bool = False  # the up projections of latent attention
    flash_attention_2: bool = False  # in place of cuDNN's fused attention
    unfused_attention: bool = False  # the device has no fused kernel for the heads' sizes
    predicts_two_tokens: bool = False  # with one module of multi-token prediction
    all_to_all: bool = False  # a copy of a token for each expert, not for each server
    overlaps_experts: bool = False  # their exchange with another micro-batch's passes
    # Graphs of the whole step, and of the router alone, mostly with attention.
    captured_graphs: bool = False
    partial_graphs: bool = False
    # Layers that the first and the last stage have fewer than the others.
    fewer_first: int = 0
    fewer_last: int = 0


RULES = load("step_recipes.yaml")["rules"]


def recipe_of(row: Row) -> Recipe:
    """What all rules that hold for `row` set; a default where none does."""
    out = Recipe()
    release = row.get("source_table", "").split(" ")[0]
    columns = {"framework": "framework", "model": "model", "hardware": "gpu_key"}
    for rule in RULES:
        if release in rule.get("releases", release).split(" ") and all(
                row.get(column, "").startswith(rule.get(name, ""))
                for name, column in columns.items()):
            out = out._replace(**rule["set"])
    return out
