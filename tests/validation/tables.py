"""Tables as cells of text."""

from typing import NamedTuple


class Table(NamedTuple):
    """Columns whose names end in ":" are aligned to the right."""

    columns: list[str]
    rows: list[list[str]]


def line(cells: list[str]) -> str:
    return "|" + "".join(f" {cell} |" if cell else " |" for cell in cells) + "\n"


def markdown(table: Table) -> str:
    head = line([column.removesuffix(":") for column in table.columns])
    rule = line(["---:" if column.endswith(":") else "---" for column in table.columns])
    return head + rule + "".join(map(line, table.rows))
