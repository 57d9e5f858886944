#!/usr/bin/python3
"""How well the time of a step is predicted, by published runs: docs/accuracy_step_time.md.

report_main() says how to run it, with measured_runs.csv. Estimates constants again in each
fold: minutes.
"""

import re
import sys

from cells import api, read_csv
from fits import Fits
from step_study import Results, results_of
from step_sweeps import set_near_steps, sweeps_of
from step_tables import (INSIDE, NUMBERS, TUNING, WAYS_OF_PREDICTION, band_table, class_table,
                         constant_table, group_table, left_out_table, low_sweep_table, open_table,
                         sweep_table, transfer_table, tuned_rows_table, worst_table)
from tables import Report, Table, chosen, markdown, report_main

WORST = 20
WAYS_OF = ("dense, nothing open", "dense, all", "experts")  # rows on the page
PAIR = re.compile(r"[\d.]+ / [\d.]+")

def rows_table(results: Results) -> Table:
    """A line for each case, in seconds."""
    names = ["id", "source", "family", "hardware", "step_class"]
    spans = ["expected", "low", "high", "span_low", "span_high"]
    rows = []
    for case in results.cases:
        row = case.row
        seconds = [row.measured, *(getattr(case.predicted, name) for name in spans),
                   case.left_out.expected if case.left_out else 0,
                   case.generic.expected if case.generic else 0, case.constant_mfu, case.roofline]
        rows.append([*(getattr(row, name) for name in names), "; ".join(row.opened),
                     str(row.layout.devices), *(f"{each:.5g}" for each in seconds)])
    return Table([*names[:-1], "class", "open", "devices", "measured", "predicted", *spans[1:],
                  "left_out", "generic", "constant_mfu", "roofline"], rows)


def step_tables(results: Results) -> dict[str, Table]:
    """By the names of their files."""
    sweeps = sweeps_of(results.cases)
    return {"rows": rows_table(results), "classes": class_table(results),
            "groups": group_table(results), "fine_tuning": tuned_rows_table(results.tuned),
            "open": open_table(results), "sweeps": sweep_table(sweeps),
            "low_sweeps": low_sweep_table(sweeps), "intervals": band_table(results),
            "measured_step": transfer_table(results), "constants": constant_table(results),
            "worst": worst_table(results, WORST), "left_out": left_out_table(results)}


def split_pairs(table: Table) -> Table:
    """With two columns for one of "median / 90th percentile"."""
    pairs = [all(PAIR.fullmatch(cell) for cell in filter(None, cells)) and any(cells)
             for cells in zip(*table.rows)]

    def halved(cells, halves):
        return [half for cell, pair in zip(cells, pairs)
                for half in (halves(cell) if pair else [cell])]

    def names(column):
        name = column.removesuffix(":").replace("median / p90 %", "").strip(", ")
        return [f"{name} {part} %".strip() for part in ("median", "p90")]
    return Table(halved(table.columns, names),
                 [halved(row, lambda cell: (cell.split(" / ") + [""])[:2]) for row in table.rows])


def totals(results: Results, tables: dict[str, Table]) -> str:
    """The part of the page with figures."""
    folds = results.folds
    sweeps = chosen(tables["sweeps"], tables["sweeps"].columns[1:], **{"source, framework": "all"})
    ways = chosen(tables["classes"], ["rows", "median / p90 %:", *WAYS_OF_PREDICTION])
    ways = Table(["rows", "family left out:", *WAYS_OF_PREDICTION],
                 [row for row in ways.rows if row[0] in WAYS_OF])
    tuning = chosen(tables["groups"], ["group", *NUMBERS, INSIDE], by=TUNING)
    intervals = ["class", "rows:", "families:", "covered in sight %:", "family left out %:"]
    pairs = ["doublings", "pairs:", "alone %:", "with its share %:", "covered %:"]
    parts = [
        f"{len(results.cases)} rows are asked about, {len(results.left_out)} are left out. "
        f"Constants are estimated in {folds['dense_folds']} folds of dense families and "
        f"{folds['expert_folds']} of models of experts. Families left out:\n",
        markdown(chosen(tables["classes"], ["rows", *NUMBERS, "one vote a family:"])),
        "Median / p90 %, by how the prediction is made:\n", markdown(ways),
        "Fine-tuning:\n", markdown(tuning._replace(columns=["task", *tuning.columns[1:]])),
        "Layouts in order, of all sources:\n", markdown(sweeps),
        "Intervals:\n", markdown(chosen(tables["intervals"], intervals)),
        "A step measured on another layout, of an unknown stack:\n",
        markdown(chosen(tables["measured_step"], pairs, predicted="unknown stack"))]
    return "\n".join(parts)


def report_of(path: str) -> Report:
    with Fits() as fits, api.own_server() as server:
        results = results_of(read_csv(path), fits, server)
    set_near_steps(results.cases)
    tables = step_tables(results)
    return Report(totals(results, tables),
                  {name: split_pairs(table) for name, table in tables.items()})


if __name__ == "__main__":
    sys.exit(report_main("accuracy_step_time", ["measured_runs.csv"], report_of))
