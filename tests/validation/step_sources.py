"""What columns of a published run say about software, machines and number formats, in the
service's names; what its recipe sets and its page does not print; and constants that are estimated.
Rules are data: step_*.yaml.
"""

from types import SimpleNamespace
from typing import NamedTuple

from cells import Row, Undescribed, load


def holds(where: dict, row) -> bool:
    """True where each of these attributes of `row` is one of its values."""
    return all(getattr(row, attribute) in values for attribute, values in where.items())


KNOWN = load("step_sources.yaml")
RECIPES = load("step_recipes.yaml")
RECIPE_COLUMNS = {"framework": "framework", "model": "model", "hardware": "gpu_key"}


def constant_of(entry: dict) -> dict:
    neutral = 1 / entry["efficiency"] if "efficiency" in entry else entry["neutral"]
    return {"experts": False, **entry, "neutral": neutral}


# The constants of software stacks and devices that are estimated again for each fold.
CONSTANTS = [constant_of(entry) for entry in load("step_constants.yaml")]


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


def software_of(row: Row) -> SimpleNamespace:
    column = row.get("framework", "")
    for software in KNOWN["software"]:
        if column.startswith(software["column"]):
            return known("software", software)
    raise Undescribed(f"no stack for its framework: {column}")


def hardware_of(row: Row) -> SimpleNamespace:
    if "power limited" in row.get("hardware", ""):
        return known("hardware", KNOWN["limited"])
    for hardware in KNOWN["hardware"]:
        if row.get("gpu_key", "").startswith(hardware["column"]):
            return known("hardware", hardware)
    raise Undescribed(f"hardware not timed: {row.get('hardware', '')}")


def network_of(row: Row, hardware: SimpleNamespace) -> float:
    """Bytes a second of one device between servers."""
    for note, gigabits in KNOWN["networks"].items():
        if note in row.get("hardware_note", ""):
            return gigabits * (1e9 / 8)
    return hardware.network_gigabits * (1e9 / 8)


def format_of(row: Row) -> Format:
    text = row.get("precision", "").lower()
    if "nvfp4" in text:
        return Format("nvfp4", "DATA_TYPE_NVFP4")
    if "mxfp8" in text or "fp8-mx" in text:
        return Format("mxfp8", "DATA_TYPE_MXFP8")
    if "fp8" in text or "float8" in text:
        return Format("fp8", "DATA_TYPE_FP8_E4M3", "rowwise" in text)
    # BLOOM's trials: mostly bf16 with a memory footprint as fp16's, their names printed together.
    for name in ("bf16", "fp16"):
        if name in text:
            return Format(name, f"DATA_TYPE_{name.upper()}")
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
