"""Grafana dashboards, as tests read them: their panels, queries and variables."""

import json
import os
import re

from prometheus import MONITORING

FOLDER = os.path.join(MONITORING, "grafana")
NAMES = ("fleet", "gpu", "job", "service")


def load(name):
    with open(os.path.join(FOLDER, f"{name}.json"), encoding="utf-8") as file:
        return json.load(file)


def panels(dashboard):
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


def substitute(expression, **values):
    """The expression with each variable's value, or all of its values."""
    def value_of(match):
        return values.get(match.group(1), ".*")
    return re.sub(r"\$\{?(\w+)\}?", value_of, expression)


def metric_names(expression):
    """Names of metrics in a PromQL expression: ours, recorded rules and dcgm-exporter's."""
    without_texts = re.sub(r'"[^"]*"|\'[^\']*\'', '""', expression)
    return set(re.findall(r"\b(?:\w+:sextant_[\w:]+|sextant_\w+|DCGM_\w+)", without_texts))
