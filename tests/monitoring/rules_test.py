#!/usr/bin/python3
"""promtool accepts deploy/monitoring, and every rule and alert there has a case in *_test.yml: an
alert one in which it fires and one in which it does not."""

import glob
import os
import re
import subprocess
import sys

try:
    import yaml
except ImportError:
    yaml = None

from prometheus import MONITORING, ROOT, RULE_FILES, SKIPPED, why_absent

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = sorted(glob.glob(os.path.join(HERE, "*_test.yml")))


def load(path):
    with open(path, encoding="utf-8") as file:
        return yaml.safe_load(file)


def promtool(*arguments):
    done = subprocess.run(["promtool", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"promtool {' '.join(arguments)}:\n{done.stdout}{done.stderr}"


def rules():
    return [rule for path in RULE_FILES for group in load(path)["groups"]
            for rule in group["rules"]]


def check_that_records_are_tested(records, cases):
    asked = [case["expr"] for test in cases for case in test.get("promql_expr_test", [])
             if case["exp_samples"]]
    for record in records:
        name = re.compile(re.escape(record) + r"(?![\w:])")
        assert any(name.search(expression) for expression in asked), f"no case asks for {record}"


def check_that_alerts_are_tested(alerts, cases):
    for alert in alerts:
        found = [case["exp_alerts"] for test in cases for case in test.get("alert_rule_test", [])
                 if case["alertname"] == alert]
        assert any(found), f"no case has {alert} firing"
        assert not all(found), f"no case has {alert} not firing"


def check_that_alerts_are_documented(alerts):
    with open(os.path.join(ROOT, "docs", "fleet.md"), encoding="utf-8") as file:
        document = file.read()
    for rule in alerts:
        assert f"`{rule['alert']}`" in document, f"docs/fleet.md has no word on {rule['alert']}"
        assert rule["annotations"]["runbook"] == f"docs/fleet.md, {rule['alert']}", rule["alert"]
        assert rule["labels"]["severity"] in ("critical", "warning", "info"), rule["alert"]


def main():
    reason = why_absent("promtool") or (yaml is None and "skipped: not installed: python3-yaml")
    if reason:
        print(reason)
        return SKIPPED
    promtool("check", "config", os.path.join(MONITORING, "prometheus.yml"))
    promtool("check", "rules", *RULE_FILES)
    promtool("test", "rules", *TESTS)
    cases = [test for path in TESTS for test in load(path)["tests"]]
    records = [rule["record"] for rule in rules() if "record" in rule]
    alerts = [rule for rule in rules() if "alert" in rule]
    check_that_records_are_tested(records, cases)
    check_that_alerts_are_tested([rule["alert"] for rule in alerts], cases)
    check_that_alerts_are_documented(alerts)
    print(f"{len(records)} recorded rules and {len(alerts)} alerts pass {len(cases)} tests")
    return 0


if __name__ == "__main__":
    sys.exit(main())
