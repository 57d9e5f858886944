#!/usr/bin/python3
"""How well the time of a step is predicted, by published runs: tables and totals.

  step_time_accuracy.py FILE.csv OUTPUT

FILE has the columns of measured_runs.csv. Writes the tables of docs/accuracy_step_time into OUTPUT,
and prints the totals. Estimates constants again in each fold: minutes.
"""

import os
import re
import sys

from cells import read_csv
from fits import Fits
from sextant_api import Sextantd
from step_study import Results, results_of
from step_sweeps import sweeps_of
from step_tables import (band_table, choice_table, constant_table, group_table, left_out_table,
                         low_sweep_table, open_table, summary_table, sweep_table, transfer_table,
                         tuned_rows_table, tuning_table, ways_table, worst_table)
from step_transfer import set_near_steps
from tables import Table, chosen, csv_text, markdown, stale

WORST = 20
WAYS_OF = ("dense, nothing open", "dense, all", "experts")  # rows on the page
PAIR = re.compile(r"[\d.]+ / [\d.]+")
GROUPS = ("source", "hardware", "framework", "format", "strategy")
ROW_COLUMNS = ["id", "source", "family", "hardware", "class", "open", "devices", "measured",
               "predicted", "low", "high", "span_low", "span_high", "left_out", "generic",
               "constant_mfu", "roofline"]


def results_for(path):
    with Fits() as fits, Sextantd() as server:
        out = results_of(read_csv(path), fits, server)
    set_near_steps(out.cases)
    return out


def rows_table(results: Results) -> Table:
    """A line for each case, in seconds."""
    rows = []
    for case in results.cases:
        row, predicted = case.row, case.predicted
        seconds = (row.measured, predicted.expected, predicted.low, predicted.high,
                   predicted.span_low, predicted.span_high,
                   case.left_out.expected if case.left_out else 0,
                   case.generic.expected if case.generic else 0, case.constant_mfu, case.roofline)
        rows.append([row.id, row.source, row.family, row.hardware, row.step_class,
                     "; ".join(row.opened), str(row.layout.devices),
                     *(f"{each:.5g}" for each in seconds)])
    return Table(ROW_COLUMNS, rows)


def groups_table(results: Results) -> Table:
    tables = {column: group_table(results, column) for column in GROUPS}
    columns = ["by", "group", *tables["source"].columns[1:]]
    return Table(columns, [[name, *row] for name, table in tables.items() for row in table.rows])


def step_tables(results: Results) -> dict[str, Table]:
    """By the names of their files."""
    sweeps = sweeps_of(results.cases)
    return {"rows": rows_table(results), "classes": summary_table(results),
            "ways": ways_table(results), "groups": groups_table(results),
            "fine_tuning": tuning_table(results.tuned),
            "fine_tuning_rows": tuned_rows_table(results.tuned), "open": open_table(results),
            "sweeps": sweep_table(sweeps), "low_sweeps": low_sweep_table(sweeps),
            "intervals": band_table(results), "transfer": transfer_table(results),
            "choices": choice_table(results), "constants": constant_table(results),
            "worst": worst_table(results, WORST), "left_out": left_out_table(results)}


def split_pairs(table: Table) -> Table:
    """With two columns for one of "median / 90th percentile"."""
    pairs = [all(PAIR.fullmatch(cell) for cell in filter(None, cells)) and any(cells)
             for cells in zip(*table.rows)]

    def split(cells, halves):
        return [half for cell, pair in zip(cells, pairs)
                for half in (halves(cell) if pair else [cell])]

    def names(column):
        name = column.removesuffix(":").replace("median / p90 %", "").strip(", ")
        return [f"{name} {part} %".strip() for part in ("median", "p90")]
    return Table(split(table.columns, names),
                 [split(row, lambda cell: (cell.split(" / ") + [""])[:2]) for row in table.rows])


def totals(results: Results, tables: dict[str, Table]) -> str:
    """The part of the page with figures."""
    folds = results.folds
    sweeps = chosen(tables["sweeps"], tables["sweeps"].columns[1:], **{"source, framework": "all"})
    ways = Table(tables["ways"].columns,
                 [row for row in tables["ways"].rows if row[0] in WAYS_OF])
    intervals = ["class", "rows:", "families:", "covered in sight %:", "family left out %:"]
    pairs = ["doublings", "pairs:", "alone %:", "with its share %:", "covered %:"]
    parts = [
        f"{len(results.cases)} rows are asked about, {len(results.left_out)} are left out. "
        f"Constants are estimated in {folds.dense_folds} folds of dense families and "
        f"{folds.expert_folds} of models of experts. Families left out:\n",
        markdown(tables["classes"]),
        "Median / p90 %, by how the prediction is made:\n", markdown(ways),
        "Fine-tuning:\n", markdown(tables["fine_tuning"]),
        "Layouts in order, of all sources:\n", markdown(sweeps),
        "Intervals:\n", markdown(chosen(tables["intervals"], intervals)),
        "A step measured on another layout, of an unknown stack:\n",
        markdown(chosen(tables["transfer"], pairs, predicted="unknown stack"))]
    return "\n".join(parts)


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: step_time_accuracy.py FILE.csv OUTPUT")
    results = results_for(sys.argv[1])
    tables = step_tables(results)
    for name, table in tables.items():
        stale(os.path.join(sys.argv[2], f"{name}.csv"), csv_text(split_pairs(table)), write=True)
    print(totals(results, tables), end="")


if __name__ == "__main__":
    main()
