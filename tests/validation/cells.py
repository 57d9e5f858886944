"""Tables of published runs, the cells of their rows, and the API for requests made of them."""

import csv
import json
import math
import os
import re
import shlex
import subprocess
import sys

import yaml

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(ROOT, "tests", "support"))

import api  # noqa: E402, F401

SHARED = os.environ.get("SEXTANT_SHARED_DIR", os.path.join(ROOT, "..", "shared"))

Row = dict[str, str]

GIB = 2**30


class Undescribed(Exception):
    """The reason why a row can't become a request."""


def require(holds, reason: str) -> None:
    """Raises Undescribed where this doesn't hold."""
    if not holds:
        raise Undescribed(reason)


def shared(path: str) -> str | None:
    """The path of a shared table; None where it is absent."""
    found = os.path.join(SHARED, path)
    return found if os.path.exists(found) else None


def load(name: str):
    """A file of rules or cases in this folder."""
    with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as file:
        return yaml.safe_load(file)


def sextant_plan(server, words: list[str], text: str | None = None) -> dict:
    """What `sextant plan` says with these words, and `text` as its input."""
    said = subprocess.run(
        [os.path.join(api.BIN, "sextant"), f"--address={server.address}", "--output=json", "plan",
         *words], input=text, capture_output=True, text=True, check=False)
    if not said.stdout:  # a plan that does not fit fails, with its answer
        sys.exit(f"{shlex.join(words)}: {said.stderr}")
    return json.loads(said.stdout)


def read_csv(path: str) -> list[Row]:
    with open(path, newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file, strict=True)
        rows = list(reader)
    for line, row in enumerate(rows, 2):
        if None in row or None in row.values():
            raise ValueError(f"{path}: row {line} has another number of cells than the heading")
    return rows


def number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def whole(row: Row, column: str, otherwise: int | None = None) -> int | None:
    """`otherwise` where the cell is absent, empty or no whole number; "4" and "4.0" are both 4."""
    value = number(row.get(column, ""))
    return int(value) if value is not None and value.is_integer() else otherwise


def required(row: Row, column: str, what: str) -> int:
    value = whole(row, column)
    require(value is not None, f"{what} not published")
    return value


def published_bytes(text: str, megabyte: float = 1e6) -> int | None:
    """ "17.43 GB" is 17.43e9 bytes, "47.96 GiB" 47.96 x 2^30, "28965.4 MB" 28965.4 x `megabyte`."""
    match = re.fullmatch(r"([\d.]+)\s*(GB|GiB|MB)", text)
    amount = number(match[1]) if match else None
    if not amount:
        return None
    return math.floor(amount * {"GB": 1e9, "GiB": GIB, "MB": megabyte}[match[2]] + 0.5)


def filled(template, value_of):
    """`template`, a map, with value_of() each text that names a cell or an argument: "$x"."""
    if isinstance(template, dict):
        return {name: filled(value, value_of) for name, value in template.items()}
    return value_of(template) if isinstance(template, str) and "$" in template else template
