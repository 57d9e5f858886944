"""The arguments of a Megatron-LM run."""

import ast
import json
import os

import yaml

from cells import ROOT, Undescribed, filled, number

MAX_ENTRIES = 100_000  # of a list

with open(os.path.join(ROOT, "tests/validation/megatron_arguments.yaml"), encoding="utf-8") as file:
    KNOWN = yaml.safe_load(file)
JUDGED = {*KNOWN["read"].split(), *KNOWN["without_effect"].split()}
OBSTACLES = [
    (argument, obstacle["reason"])
    for obstacle in KNOWN["obstacles"]
    for argument in obstacle["arguments"].split()
]


class Arguments:
    """By their names without dashes in front. A value may be written as a number or as text."""

    def __init__(self, values: dict):
        self.values = values

    @classmethod
    def parsed(cls, text: str) -> "Arguments":
        try:
            values = json.loads(text)
        except ValueError:
            values = None
        if not isinstance(values, dict):
            raise Undescribed("all_args is no JSON object")
        return cls(values)

    def has(self, name: str) -> bool:
        return name in self.values

    def flag(self, name: str) -> bool:
        return self.values.get(name, False) is not False

    def number(self, name: str, otherwise: float) -> float:
        """`otherwise` where absent or no number."""
        value = self.values.get(name)
        if isinstance(value, str):
            value = number(value)
        return otherwise if value is None or isinstance(value, bool | list | dict) else value

    def count(self, name: str, otherwise: int) -> int:
        return int(self.number(name, otherwise))

    def text(self, name: str, otherwise: str) -> str:
        value = self.values.get(name, otherwise)
        return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))

    def fields(self, name: str) -> dict:
        """A template of KNOWN["fields"] with the arguments."""

        def value(text: str) -> int | bool:
            argument, _, otherwise = text.removeprefix("not ")[1:].partition(" or ")
            if otherwise:
                return self.count(argument, int(otherwise))
            return self.flag(argument) != text.startswith("not ")

        return filled(KNOWN["fields"][name], value)

    def states_default(self, name: str) -> bool:
        value = self.values[name]
        return value is False or (name, value) in (("optimizer", "adam"), ("spec", "local"))

    def require_described(self) -> None:
        """Raises Undescribed unless every argument is read, or without effect on memory."""
        stated = {name for name in self.values if not self.states_default(name)}
        for name, reason in OBSTACLES:
            if name in stated:
                raise Undescribed(reason)
        for name in sorted(stated - JUDGED):
            raise Undescribed(f"argument --{name} is of unknown effect")


def python_list(text: str) -> list[int]:
    """Sums and repetitions of lists of whole numbers: "([1]+[0]*2)*2" is 1, 0, 0, 1, 0, 0."""

    def evaluated(node) -> list[int]:
        match node:
            case ast.List(elts):
                return [whole_number(element) for element in elts]
            case ast.BinOp(left, ast.Add(), right):
                return evaluated(left) + evaluated(right)
            case ast.BinOp(left, ast.Mult(), right):
                entries, times = evaluated(left), whole_number(right)
                if len(entries) * times <= MAX_ENTRIES:
                    return entries * times
        raise ValueError(text)

    def whole_number(node) -> int:
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return node.value
        raise ValueError(text)

    try:
        return evaluated(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError):
        raise Undescribed(f"no list of whole numbers: {text}") from None
