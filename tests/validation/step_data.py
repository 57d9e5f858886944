"""Rules and constants of published runs, as data."""

import os

import yaml


def load(name: str):
    with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as file:
        return yaml.safe_load(file)


def holds(where: dict, row) -> bool:
    """True where each of these attributes of `row` is one of its values."""
    return all(getattr(row, attribute) in values for attribute, values in where.items())
