"""The arguments of a Megatron-LM run."""

import json
import re

from cells import Undescribed, filled, load, number, require

MAX_LENGTH = 100_000  # of a list, in characters
REPEATED = re.compile(r"\[([\d,]*)\]\*(\d{1,4})(?!\d)")

KNOWN = load("megatron_arguments.yaml")
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
        require(isinstance(values, dict), "all_args is no JSON object")
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
    plain, before = re.sub(r"\s", "", text), None
    while plain != before and len(plain) <= MAX_LENGTH:
        before = plain
        plain = REPEATED.sub(lambda found: f"[{(found[1] + ',') * int(found[2])}]", plain)
        plain = re.sub(r"\((\[[\d,]*\])\)", r"\1", plain)
        plain = re.sub(r"\[([\d,]*)\]\+\[([\d,]*)\]", r"[\1,\2]", plain)
    require(re.fullmatch(r"\[[\d,]*\]", plain), f"no list of whole numbers: {text}")
    return [int(entry) for entry in plain[1:-1].split(",") if entry]
