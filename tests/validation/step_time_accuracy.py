#!/usr/bin/python3
"""How well the time of a step is predicted, by published runs: tables and totals.

  step_time_accuracy.py --measured_runs=FILE.csv (--output=FOLDER | --rows | --fit)

Any file of the same columns does. Writes the tables of docs/accuracy_step_time and prints the
totals; --rows: prints a line a row instead; --fit: the constants as estimated on all rows.
"""

import argparse
import os

from cells import read_csv
from fits import Fits
from sextant_api import Sextantd
from step_constants import CONSTANTS
from step_report import split_pairs, step_tables, totals
from step_study import cases_of, results_of, set_folds
from step_transfer import set_near_steps
from tables import csv_text, stale


def row_line(case) -> str:
    row, predicted = case.row, case.predicted
    parts = ", ".join(f"{name} {seconds:.4g}" for name, seconds in predicted.parts)
    return (f"{row.id} | {row.family} | {row.hardware} | {row.step_class} | {row.measured:.5g} | "
            f"{predicted.expected:.5g} ({predicted.low:.5g}, {predicted.high:.5g}) | "
            f"{100 * case.error():+.1f} % | {parts}")


def fit_lines(folds):
    for constant, (on_all, _, _, families) in zip(CONSTANTS, folds.ranges):
        yield (f"{constant.name} = {on_all:.4g} (neutral {constant.neutral:.4g}, {families} "
               "families)")


def results_for(path):
    with Fits() as fits, Sextantd() as server:
        out = results_of(read_csv(path), fits, server)
    set_near_steps(out.cases)
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--measured_runs", required=True, metavar="FILE.csv")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--output", metavar="FOLDER")
    what.add_argument("--rows", action="store_true")
    what.add_argument("--fit", action="store_true")
    options = parser.parse_args()
    if options.output:
        results = results_for(options.measured_runs)
        tables = step_tables(results)
        for name, table in tables.items():
            stale(os.path.join(options.output, f"{name}.csv"), csv_text(split_pairs(table)), True)
        print(totals(results, tables), end="")
        return
    with Fits() as fits, Sextantd() as server:
        cases, _ = cases_of(read_csv(options.measured_runs), fits, server)
        lines = map(row_line, cases) if options.rows else fit_lines(set_folds(cases, fits))
    print("\n".join(lines))


if __name__ == "__main__":
    main()
