#!/usr/bin/python3
"""Every query of the dashboards, of the console page and of docs/fleet.md has data, and the right
figures, in a real Prometheus that watches real servers with simulated GPUs."""

import json
import os
import re
import subprocess
import sys

import dashboards
import monitored_fleet as fleet
from prometheus import ROOT, RULE_FILES, SKIPPED, why_absent
from simulated_fleet import H100, H200

DOCUMENT = os.path.join(ROOT, "docs", "fleet.md")
# What each ratio is computed from; a panel shows one of them.
RATIOS = {"achievable": r"matmul_efficiency", "MFU": r"mfu",
          "activity": r"_active_ratio|sextant_ofu|PROF_PIPE"}


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def all_panels():
    for name in dashboards.NAMES:
        for panel in dashboards.panels(dashboards.load(name)):
            yield f"{name}: {panel['title']}", panel


def document_queries():
    found = re.findall(r"```promql\n(.*?)```", read(DOCUMENT), re.DOTALL)
    return [query.strip() for query in found]


def known_names():
    """Metrics of docs/metrics.md, and recorded rules."""
    names = set(re.findall(r"`(sextant_\w+)", read(os.path.join(ROOT, "docs", "metrics.md"))))
    histograms = {name for name in names if name.endswith(("_duration_seconds", "_wait_seconds"))}
    names |= {f"{name}_{part}" for name in histograms for part in ("bucket", "count", "sum")}
    for path in RULE_FILES:
        names |= set(re.findall(r"record: (\S+)", read(path)))
    return names


def check_names():
    """Nothing asks for a metric that nobody shows."""
    texts = {title: " ".join(target["expr"] for target in panel["targets"])
             for title, panel in all_panels()}
    texts.update({path: "\n".join(line for line in read(path).split("\n")
                                  if not re.match(r"\s*(#|- record:)", line))
                  for path in RULE_FILES})
    # Its queries are texts of the template.
    texts[fleet.CONSOLE] = read(fleet.CONSOLE).replace('"', " ")
    for query in document_queries():
        texts[query] = query
    known = known_names()
    for where, text in texts.items():
        unknown = {name for name in dashboards.metric_names(text)
                   if name not in known and not name.startswith("DCGM_")}
        assert not unknown, f"{where}: nobody shows {sorted(unknown)}"


def check_that_ratios_are_apart():
    for title, panel in all_panels():
        text = " ".join(target["expr"] for target in panel["targets"])
        # Both only select the GPUs of a job.
        text = re.sub(r"(0 \*|and on \(UUID\)) gpu:sextant_mfu:ratio", "", text)
        shown = [name for name, pattern in RATIOS.items() if re.search(pattern, text)]
        assert len(shown) <= 1, f"{title} mixes {shown}"


def check_variables(prometheus):
    """A choice of label values has some."""
    for name in dashboards.NAMES:
        for variable in dashboards.load(name)["templating"]["list"]:
            if variable["type"] != "query":
                continue
            match = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"]["query"])
            selector, label = dashboards.substitute(match.group(1)), match.group(2)
            prometheus.wait_for(
                lambda s=selector, l=label: prometheus.query(f"count by ({l}) ({s})"),
                f"{name}: values of ${variable['name']}")


def check_panels(prometheus, **variables):
    """Each query of each panel has data, asked for as Grafana does."""
    count = 0
    for title, panel in all_panels():
        for target in panel["targets"]:
            expression = fleet.in_a_hurry(dashboards.substitute(target["expr"], **variables))
            ask = prometheus.query if target["instant"] else prometheus.query_range
            prometheus.wait_for(lambda a=ask, e=expression: a(e), f"data for {title}: {expression}")
            count += 1
    return count


def check_figures(prometheus):
    """What the queries give is what the simulated GPUs and jobs are."""
    def first(expression):
        return prometheus.query(fleet.in_a_hurry(expression))[0]

    def is_near(expression, expected):
        found = prometheus.query(fleet.in_a_hurry(expression))
        return found and abs(found[0][1] / expected - 1) < 0.05

    for job_id, (gpus, mfu, planned) in fleet.JOBS.items():
        one = f'{{job_id="{job_id}"}}'
        prometheus.wait_for(lambda o=one, m=mfu: is_near(f"job:sextant_mfu:ratio{o}", m),
                            f"the MFU of {job_id} is {mfu}")
        lacks, = prometheus.query(f"job:sextant_mfu_planned_minus_measured:ratio{one}")
        assert abs(lacks[1] - (planned - mfu)) < 0.02, lacks
        tokens = len(gpus) * mfu * gpus[0].product.bf16_peak / fleet.FLOPS_PER_TOKEN
        prometheus.wait_for(
            lambda o=one, t=tokens: is_near(f"job:sextant_job_tokens:rate5m{o}", t),
            f"{job_id} does {tokens:.0f} tokens a second")
    assert is_near("gpu:sextant_ofu:ratio", fleet.TENSOR_ACTIVE * fleet.SM_CLOCK_MHZ /
                   fleet.MAX_SM_CLOCK_MHZ)
    counts = dict((labels["modelName"], value) for labels, value in
                  prometheus.query("modelName:sextant_gpu_measured:count"))
    assert counts == {H100.name: len(fleet.EXPORTED_GPUS) - 1,
                      H200.name: len(fleet.AGENT_GPUS)}, counts
    fleet_dashboard = {panel["title"]: panel for panel in
                       dashboards.panels(dashboards.load("fleet"))}
    slowest, = [panel for title, panel in fleet_dashboard.items() if "20 slowest" in title]
    labels, share = first(dashboards.substitute(slowest["targets"][0]["expr"]))
    assert labels["gpu"] == str(fleet.SLOW) and 0.88 < share < 0.93, (labels, share)
    wrong, = prometheus.query(dashboards.substitute(
        fleet_dashboard["GPUs with wrong results"]["targets"][0]["expr"]))
    assert wrong[0]["gpu"] == str(fleet.WRONG) and wrong[1] == 0, wrong


def check_alerts(prometheus):
    """The simulated faults raise their alerts, and nothing else does."""
    expected = {("SextantGpuSlowerThanFleet", str(fleet.SLOW)),
                ("SextantGpuUnhealthy", str(fleet.WRONG)),
                ("SextantMeasurementUnstable", str(fleet.UNSTABLE)),
                ("SextantJobBelowPlan", None), ("SextantPlannerBlind", None)}

    def firing():
        return {(labels["alertname"], labels.get("gpu")) for labels, _ in
                prometheus.query('ALERTS{alertname=~"Sextant.*",alertstate="firing"}')}
    prometheus.wait_for(lambda: firing() == expected, f"the alerts that fire are {expected}")


def cells(page, table):
    """The rows of a table of the console page, each a list of texts."""
    body = re.search(rf'<table id="{table}">(.*?)</table>', page, re.DOTALL).group(1)
    return [[re.sub(r"<[^>]*>", "", cell).strip() for cell in re.split(r"<td[^>]*>", row)[1:]]
            for row in re.findall(r"<tr[^>]*>(.*?)</tr>", body, re.DOTALL)[1:]]


def tile(page, name):
    return re.search(rf'<b id="{name}"[^>]*>(.*?)</b>', page).group(1)


def check_console(prometheus):
    """The page renders, and shows what the fleet is."""
    page = prometheus.get("/consoles/sextant.html")
    assert "</html>" in page and "ZgotmplZ" not in page and fleet.SIMULATED in page, page
    assert tile(page, "gpus") == "11" and tile(page, "wrong") == tile(page, "slow") == "1", page
    assert tile(page, "agents") == "100.0 %" and tile(page, "oldest").startswith("1h 0m"), page
    products = {row[0]: row for row in cells(page, "products")}
    assert products[H200.name][1] == "4" and products[H200.name][-1] == "140.4 GiB", products
    for row in products.values():
        assert re.fullmatch(r"6[89]\d(\.\d)? TFLOP/s|70\d(\.\d)? TFLOP/s", row[2]), row
        assert "–" not in row, row
    slowest = cells(page, "slowest")
    assert slowest[0][:3] == [fleet.SIMULATED_HOST, str(fleet.SLOW), H100.name], slowest
    assert len(slowest) == 10 and not any("–" in row for row in slowest), slowest
    assert ["SextantGpuUnhealthy", "critical", fleet.SIMULATED_HOST,
            str(fleet.WRONG)] in cells(page, "alerts")
    distribution = re.search(r'id="distribution">(.*?)<h2>', page, re.DOTALL).group(1)
    gpus = [int(count) for count in re.findall(r"</meter><td>(\d+)</tr>", distribution)]
    assert sum(gpus) == 11, distribution
    jobs = {row[0]: row for row in cells(page, "jobs")}
    for job_id, (job_gpus, mfu, planned) in fleet.JOBS.items():
        assert jobs[job_id][1:3] == [str(len(job_gpus)), f"{100 * planned:.1f} %"], jobs
        below = re.fullmatch(r"(-?\d+\.\d) points", jobs[job_id][5])
        assert abs(float(below[1]) - 100 * (planned - mfu)) < 2, jobs
        assert "–" not in jobs[job_id], jobs
    service = {row[0]: row for row in cells(page, "service")}
    assert service.keys() == {"planner-0:9464", "planner-1:9464"}, service
    real, simulated = service["planner-0:9464"], service["planner-1:9464"]
    assert float(real[2]) > 0 and "–" not in real and simulated[-1] == "12s", service


def check_document(prometheus):
    queries = document_queries()
    assert len(queries) >= 10, queries
    for query in queries:
        prometheus.wait_for(lambda q=query: prometheus.query(fleet.in_a_hurry(q)),
                            f"data for docs/fleet.md: {query}")
    return len(queries)


def main():
    reason = why_absent("prometheus")
    if reason:
        print(reason)
        return SKIPPED
    subprocess.run([os.path.join(dashboards.FOLDER, "make_dashboards.py"), "--check"], check=True)
    check_names()
    check_that_ratios_are_apart()
    with fleet.monitored_fleet() as prometheus:
        check_variables(prometheus)
        query_count = check_panels(prometheus)
        check_panels(prometheus, hostname=fleet.SIMULATED_HOST, product=H100.name,
                     job_id="llama-70b", uuid=fleet.EXPORTED_GPUS[0].uuid)
        check_figures(prometheus)
        check_alerts(prometheus)
        check_console(prometheus)
        example_count = check_document(prometheus)
        broken = [rule["name"] for group in json.loads(
            prometheus.get("/api/v1/rules"))["data"]["groups"] for rule in group["rules"]
            if rule["health"] != "ok"]
        assert not broken, broken
    print(f"{query_count} queries of the dashboards, {example_count} of docs/fleet.md and the "
          "console page have data")
    return 0


if __name__ == "__main__":
    sys.exit(main())
