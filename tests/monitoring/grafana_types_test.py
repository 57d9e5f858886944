#!/usr/bin/python3
"""The dashboards, by TypeScript's compiler against the types that Grafana publishes of dashboards
and of each kind of panel's options (@grafana/schema). No Grafana server runs.

  tests/monitoring/grafana_types_test.py

Queries are tested in a real Prometheus, by dashboards_test.py."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import dashboards
from prometheus import ROOT, SKIPPED

TOOLS = os.path.join(ROOT, "build", "tools", "grafana")
TYPES = os.path.join(TOOLS, "node_modules", "@grafana", "schema", "dist", "types", "raw")
KINDS = ("heatmap", "stat", "table", "timeseries")

# What JSON has of a type: an enum's value is a text or number.
JSON_OF = """
type Json<T> = T extends string ? `${T}`
  : T extends number | boolean | null | undefined ? T
  : T extends (infer U)[] ? Json<U>[]
  : { [K in keyof T]: Json<T[K]> };
"""

# A fault, as (pattern, what takes its place), and a word of the complaint about it.
FAULTS = {
    "a misspelt field of a panel": (r'"gridPos"', '"gridpos"', "gridpos"),
    "a misspelt field of thresholds": (r'("mode": "absolute",\s*)"steps"', r'\1"stepz"', "stepz"),
    "a misspelt field of a variable": (r'"includeAll"', '"includeALL"', "includeALL"),
    "a text for a number": (r'"w": 4', '"w": "4"', "number"),
    "a variable's sort that is none": (r'"sort": 1', '"sort": 11', "11"),
    "a link without an icon": (r'"icon": "external link",', "", "icon"),
    "a misspelt option of stat": (r'"colorMode"', '"colourMode"', "colourMode"),
    "a value that stat has not": (r'"colorMode": "value"', '"colorMode": "values"', "values"),
    "a misspelt option of timeseries": (r'"displayMode"', '"displaymode"', "displaymode"),
    "a misspelt custom field of timeseries": (r'"lineWidth"', '"linewidth"', "linewidth"),
    "a misspelt option of heatmap": (r'"cellGap"', '"cellgap"', "cellgap"),
    "an option of heatmap as older ones had it": (
        r'("tooltip": \{\s*)"mode": "single"', r'\1"show": true', "show"),
    "a misspelt option of table": (r'"cellHeight"', '"cellheight"', "cellheight"),
    "an option that table needs": (r',\s*"frameIndex": 0', "", "frameIndex"),
}


def module(dashboard):
    """TypeScript that has an error where the dashboard is not of Grafana's types."""
    lines = [f'import type {{ Dashboard }} from "{TYPES}/dashboard/x/types.gen";',
             *(f'import type * as {kind} from "{TYPES}/composable/{kind}/panelcfg/x/types.gen";'
               for kind in KINDS), JSON_OF]

    def add(name, value, expected):
        text = json.dumps(value, indent=1)
        lines.append(f"export const {name} = {text} satisfies Json<{expected}>;")

    add("dashboard", dashboard, "Dashboard")
    # Dashboard takes any records for these two: each kind of panel has its own.
    for panel in dashboards.panels(dashboard):
        add(f"options{panel['id']}", panel["options"], f"{panel['type']}.Options")
        custom = panel["fieldConfig"]["defaults"].get("custom")
        if custom:
            add(f"custom{panel['id']}", custom, f"{panel['type']}.FieldConfig")
    return "\n".join(lines)


def complaints(named):
    """The compiler's complaints, by the names of the dashboards in `named`."""
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: os.path.join(folder, f"{index}.ts") for index, name in enumerate(named)}
        for name, path in paths.items():
            with open(path, "w", encoding="utf-8") as file:
                file.write(module(named[name]))
        compiled = subprocess.run(
            [os.path.join(TOOLS, "node_modules", ".bin", "tsc"), "--noEmit", "--strict",
             "--skipLibCheck", "--pretty", "false", "--target", "es2022", "--module", "esnext",
             "--moduleResolution", "bundler", "--types", "", *paths.values()],
            cwd=folder, capture_output=True, text=True, check=False)
        found = re.findall(r"^(?:\S*/)?(\d+)\.ts\((.*)", compiled.stdout, re.MULTILINE)
        # Nothing else went wrong, as a file that is not found would.
        assert len(found) == len(re.findall(r"^\S.*$", compiled.stdout, re.MULTILINE)), (
            compiled.stdout[:2000])
        assert bool(found) == bool(compiled.returncode), compiled.stderr
    by_name = {name: [] for name in named}
    for index, complaint in found:
        by_name[list(named)[int(index)]].append(complaint)
    return by_name


def with_fault(texts, pattern, replacement):
    """The first dashboard that has `pattern`, with one replaced."""
    text = next(text for text in texts if re.search(pattern, text))
    return json.loads(re.sub(pattern, replacement, text, count=1))


def main():
    if not shutil.which("node") or not os.path.isdir(TYPES):
        print("skipped: no types of Grafana's dashboards (deploy/install-deps.sh tests)")
        return SKIPPED
    ours = {name: dashboards.load(name) for name in dashboards.NAMES}
    for name, found in complaints(ours).items():
        assert not found, "\n".join([f"{name}.json:", *found])
    texts = [json.dumps(dashboard) for dashboard in ours.values()]
    broken = {fault: with_fault(texts, pattern, replacement)
              for fault, (pattern, replacement, _) in FAULTS.items()}
    for fault, found in complaints(broken).items():
        assert found and FAULTS[fault][2] in "\n".join(found), (fault, found)
    print(f"{len(ours)} dashboards are of Grafana's types, and {len(broken)} faults are found")
    return 0


if __name__ == "__main__":
    sys.exit(main())
