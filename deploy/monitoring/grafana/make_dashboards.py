#!/usr/bin/python3
"""Writes the dashboards beside it: fleet.json, gpu.json, job.json and service.json.

  deploy/monitoring/grafana/make_dashboards.py          writes them
  deploy/monitoring/grafana/make_dashboards.py --check  fails where a file is not what it writes

Three ratios are never shown in one panel: "achievable", which a chip reached in the probe; MFU,
which a job makes of it; and activity, which the hardware's counters show, whoever works.
"""

import json
import os
import sys

from panels import dashboard, heatmap, row, stat, table, timeseries, variable

HERE = os.path.dirname(os.path.abspath(__file__))
MATMUL = "sextant_gpu_matmul_flops_per_second"
PRODUCT_MATMUL = f"modelName_dtype:{MATMUL}"
OVER_MEDIAN = f"/ on (modelName, dtype, window) group_left () {PRODUCT_MATMUL}:p50"
LAST_SUCCESS = "sextant_gpu_probe_last_success_timestamp_seconds"
OF_PRODUCT = 'modelName=~"$product"'
GPU_LABELS = {"hostname": "Host", "gpu": "GPU", "modelName": "Product", "UUID": "UUID"}
GPU_LINK = {"Host": "/d/sextant-gpu?var-hostname=${__data.fields.Host}"}
JOB_LINK = {"Job": "/d/sextant-job?var-job_id=${__data.fields.Job}"}


def relative(selector):
    """Each GPU's rate over the median of its product."""
    return f'{MATMUL}{{gpu!="cpu",{selector}}} {OVER_MEDIAN}'


def slowest(selector, count):
    """The same of the slowest of each product. Chosen before they are divided, which is faster."""
    return (f'bottomk by (modelName) ({count}, {MATMUL}{{gpu!="cpu",{selector}}}) '
            f"{OVER_MEDIAN}")


def fleet():
    bf16 = f'{OF_PRODUCT},dtype="bf16",window="sustained"'
    return dashboard(
        "fleet", "Fleet", "All measured GPUs by product: how fast, how alike, which are slow.",
        [variable("product", "Product",
                  "label_values(modelName:sextant_gpu_measured:count, modelName)")],
        [
            row("Now"),
            stat("GPUs that count", "short",
                 f"sum(modelName:sextant_gpu_measured:count{{{OF_PRODUCT}}})",
                 "Measured within 30 days, without a wrong result."),
            stat("With wrong results", "short",
                 f'count(sextant_gpu_healthy{{gpu!="cpu",{OF_PRODUCT}}} == 0) or vector(0)',
                 "GPUs whose last probe found a wrong result. Take them out.", bad_above=1),
            stat("Slower than their product", "short",
                 'count(count by (UUID) (ALERTS{alertname="SextantGpuSlowerThanFleet",'
                 f'alertstate="firing",{OF_PRODUCT}}})) or vector(0)',
                 "GPUs with the alert SextantGpuSlowerThanFleet.", bad_above=1),
            stat("Oldest measurement", "dtdurations",
                 f"time() - min(modelName:{LAST_SUCCESS}:min{{{OF_PRODUCT}}})",
                 "Of those that count.", bad_above=7 * 86400),
            stat("Agents that answer", "percentunit",
                 'avg(up{job=~"(.*/)?sextant-agents"})', "Share of the agents' scrape targets."),
            stat("Alerts", "short",
                 'count(ALERTS{alertname=~"Sextant.*",alertstate="firing"}) or vector(0)',
                 "All alerts of Sextant that fire.", bad_above=1),
            row("Products"),
            table("Products", [
                ("GPUs", "short", f"modelName:sextant_gpu_measured:count{{{OF_PRODUCT}}}"),
                ("Median", "flops", f"sum by (modelName) ({PRODUCT_MATMUL}:p50{{{bf16}}})"),
                ("Slowest", "flops", f"sum by (modelName) ({PRODUCT_MATMUL}:min{{{bf16}}})"),
                ("Memory copy", "Bps",
                 "sum by (modelName) (modelName_op:sextant_gpu_memory_bandwidth_bytes_per_second"
                 f':p50{{{OF_PRODUCT},op="copy"}})'),
                ("Link", "Bps",
                 "max by (modelName) (modelName_link:sextant_gpu_link_bandwidth_bytes_per_second"
                 f":p50{{{OF_PRODUCT}}})"),
                ("Host copy", "Bps",
                 "min by (modelName) (modelName_direction:sextant_gpu_host_copy_bytes_per_second"
                 f":p50{{{OF_PRODUCT}}})"),
                ("Least memory", "bytes",
                 f"modelName:sextant_gpu_memory_total_bytes:min{{{OF_PRODUCT}}}"),
            ], "Median and slowest are of bf16 matrix multiplication, sustained for a second or "
               "more; the others are medians, of the slower direction of copies.",
                  {"modelName": "Product"}),
            timeseries("Matrix multiplication, median and slowest GPU", "flops", [
                (f"{PRODUCT_MATMUL}:p50{{{OF_PRODUCT}}}",
                 "{{modelName}} {{dtype}} {{window}} median"),
                (f"{PRODUCT_MATMUL}:min{{{OF_PRODUCT}}}",
                 "{{modelName}} {{dtype}} {{window}} slowest"),
            ], "A job runs at the pace of its slowest GPU, not of the median."),
            heatmap("GPUs by share of their product's median (bf16, sustained)", "percentunit",
                    f"sum by (relative) (modelName_dtype_relative:{MATMUL}:count_values{{{bf16}}})",
                    "{{relative}}", "How many GPUs have which share, in steps of 2 %."),
            row("GPUs to look at"),
            table("The 20 slowest against their product's median (bf16, sustained)",
                  [("Share", "percentunit", f"bottomk(20, {slowest(bf16, 20)})")],
                  "What these GPUs reached in the probe.", GPU_LABELS, links=GPU_LINK),
            table("Wrong results",
                  [("Healthy", "short",
                    f'topk(50, sextant_gpu_healthy{{gpu!="cpu",{OF_PRODUCT}}} == 0)')],
                  "A training run on these may be corrupted silently.", GPU_LABELS, width=12,
                  links=GPU_LINK),
            table("Alerts that fire",
                  [("Firing", "short",
                    'topk(50, count by (alertname, severity, hostname, gpu, modelName, job_id,'
                    ' instance) (ALERTS{alertname=~"Sextant.*",alertstate="firing"}))')],
                  "docs/fleet.md says for each what to do.",
                  {"alertname": "Alert", "severity": "Severity", "hostname": "Host", "gpu": "GPU",
                   "modelName": "Product", "job_id": "Job", "instance": "Instance"}, width=12),
            row("Coverage"),
            timeseries("GPUs that count, by product", "short", [
                (f"modelName:sextant_gpu_measured:count{{{OF_PRODUCT}}}", "{{modelName}}")],
                "Measured within 30 days, without a wrong result."),
            timeseries("Probes, by how they ended", "short", [
                ("sum by (outcome) (increase(sextant_gpu_probe_runs_total[1h]))", "{{outcome}}"),
                ("sum by (reason) (increase(sextant_gpu_probe_refusals_total[1h]))",
                 "refused: {{reason}}"),
            ], "Within an hour, on all hosts."),
        ])


def gpu():
    one = 'hostname=~"$hostname",UUID=~"$uuid"'
    legend = "{{hostname}}/{{gpu}}"
    return dashboard(
        "gpu", "GPU", "The GPUs of one host: what they reached, and what they do now.",
        [variable("hostname", "Host", 'label_values(sextant_gpu_healthy{gpu!="cpu"}, hostname)',
                  many=False),
         variable("uuid", "GPU", 'label_values(sextant_gpu_healthy{gpu!="cpu",'
                  'hostname=~"$hostname"}, UUID)')],
        [
            row("State"),
            table("GPUs", [
                ("Healthy", "bool_yes_no", f"max by (UUID, gpu, modelName) "
                 f"(sextant_gpu_healthy{{{one}}})"),
                ("Stable", "bool_yes_no", f"max by (UUID, gpu, modelName) "
                 f"(sextant_gpu_probe_stable{{{one}}})"),
                ("Measured", "dtdurations", f"time() - max by (UUID, gpu, modelName) "
                 f"({LAST_SUCCESS}{{{one}}})"),
                ("Memory", "bytes", f"max by (UUID, gpu, modelName) "
                 f"(sextant_gpu_memory_total_bytes{{{one}}})"),
                ("Clock", "hertz", f"max by (UUID, gpu, modelName) "
                 f"(sextant_gpu_sm_clock_hertz{{{one}}})"),
            ], "Measured: how long ago. Clock: while the probe multiplied.",
                  {"gpu": "GPU", "modelName": "Product", "UUID": "UUID"}),
            row("Achievable: what the chip reached in the probe"),
            timeseries("Achievable share of the datasheet's peak", "percentunit", [
                (f"gpu:sextant_matmul_efficiency:ratio{{{one}}}",
                 legend + " {{dtype}} {{window}}")],
                "Measured matrix multiplication over the dense datasheet peak of its data type. "
                "No job is in this figure.", most=1),
            timeseries("Share of the product's median", "percentunit", [
                (relative(one), legend + " {{dtype}} {{window}}")],
                "Below 95 % the alert SextantGpuSlowerThanFleet fires.", least=None),
            timeseries("Matrix multiplication", "flops", [
                (f"{MATMUL}{{{one}}}", legend + " {{dtype}} {{window}}")], "Measured rates."),
            timeseries("Memory", "Bps", [
                (f"sextant_gpu_memory_bandwidth_bytes_per_second{{{one}}}", legend + " {{op}}"),
                (f"sextant_gpu_peak_memory_bandwidth_bytes_per_second{{{one}}}",
                 legend + " datasheet"),
            ], "Measured passes over main memory, and the datasheet's bandwidth."),
            timeseries("Host copies and link", "Bps", [
                (f"sextant_gpu_host_copy_bytes_per_second{{{one}}}",
                 legend + " {{direction}} {{memory}}"),
                (f"sextant_gpu_link_bandwidth_bytes_per_second{{{one}}}", legend + " {{link}}"),
            ], "Largest copies, and the bus rate among the host's devices."),
            timeseries("Ridge", "short", [
                (f"gpu:sextant_ridge:flops_per_byte{{{one}}}", legend)],
                "FLOPs per byte above which bf16 work is bound by arithmetic, as measured."),
            row("MFU: what a job makes of it"),
            timeseries("MFU", "percentunit", [
                (f"gpu:sextant_mfu:ratio{{{one}}}", legend + " {{job_id}}")],
                "Model FLOPs that the job reports, over the dense bf16 peak of the datasheet. No "
                "data: no job reports.", width=24, most=1),
            row("Activity: what the hardware's counters show, whoever works"),
            timeseries("Matrix units, multiprocessors, memory", "percentunit", [
                (f"sextant_gpu_tensor_active_ratio{{{one}}}", legend + " matrix units"),
                (f"sextant_gpu_sm_active_ratio{{{one}}}", legend + " multiprocessors"),
                (f"sextant_gpu_memory_active_ratio{{{one}}}", legend + " memory"),
            ], "NVML's averages, of Hopper and later chips. No data: docs/metrics.md says why.",
                       most=1),
            timeseries("OFU, by dcgm-exporter", "percentunit", [
                ('gpu:sextant_ofu:ratio{UUID=~"$uuid"}', "{{UUID}}")],
                "Activity of the matrix units x clock / highest clock: near MFU where a job's "
                "work is matrix multiplications.", most=1),
        ])


def job():
    one = 'job_id=~"$job_id"'
    # 0 x MFU has the GPUs of the job; what is added has the figure.
    of_job = f"0 * gpu:sextant_mfu:ratio{{{one}}} + on (UUID) group_left () min by (UUID)"
    sustained = (f'({MATMUL}{{gpu!="cpu",window="sustained"}} and on (UUID) '
                 f"gpu:sextant_mfu:ratio{{{one}}}) {OVER_MEDIAN}")
    return dashboard(
        "job", "Job", "What a training job makes of its GPUs, against its plan.",
        [variable("job_id", "Job", "label_values(sextant_gpu_model_flops_total, job_id)")],
        [
            row("Now"),
            stat("MFU", "percentunit", f"avg(job:sextant_mfu:ratio{{{one}}})",
                 "Mean over the GPUs that report, over the dense bf16 peak."),
            stat("Planned MFU", "percentunit", f"avg(max by (job_id) "
                 f"(sextant_job_planned_mfu_ratio{{{one}}}))", "Of the plan that the job names."),
            stat("Planned less measured", "percentunit",
                 f"avg(job:sextant_mfu_planned_minus_measured:ratio{{{one}}})",
                 "Points of MFU that the job lacks."),
            stat("Tokens a second", "short", f"sum(job:sextant_job_tokens:rate5m{{{one}}})",
                 "Of the jobs chosen, together."),
            stat("Model FLOP/s", "flops", f"sum(job:sextant_gpu_model_flops:rate5m{{{one}}})",
                 "Of the jobs chosen, together."),
            stat("GPUs that report", "short",
                 f"count(count by (UUID) (gpu:sextant_mfu:ratio{{{one}}}))",
                 "Within the last 5 minutes."),
            row("Planned against achieved"),
            timeseries("MFU, planned and measured", "percentunit", [
                (f"topk(20, job:sextant_mfu:ratio{{{one}}})", "{{job_id}} measured"),
                (f"topk(20, max by (job_id) (sextant_job_planned_mfu_ratio{{{one}}}))",
                 "{{job_id}} planned"),
            ], "Of at most 20 jobs.", most=1),
            timeseries("Tokens a second", "short", [
                (f"topk(20, job:sextant_job_tokens:rate5m{{{one}}})", "{{job_id}}")],
                "Of at most 20 jobs."),
            table("The 20 jobs that lack most", [
                ("Lacks", "percentunit",
                 f"topk(20, job:sextant_mfu_planned_minus_measured:ratio{{{one}}})")],
                "Planned MFU less measured.", {"job_id": "Job"}, width=12, links=JOB_LINK),
            timeseries("MFU of the job's GPUs", "percentunit", [
                (f"min by (job_id) (gpu:sextant_mfu:ratio{{{one}}})", "{{job_id}} lowest"),
                (f"quantile by (job_id) (0.5, gpu:sextant_mfu:ratio{{{one}}})",
                 "{{job_id}} median"),
                (f"max by (job_id) (gpu:sextant_mfu:ratio{{{one}}})", "{{job_id}} highest"),
            ], "A wide band is a job whose GPUs do not report alike.", most=1),
            row("Its GPUs"),
            table("The job's 20 slowest GPUs in the probe", [
                ("Share of median", "percentunit",
                 f"bottomk(20, {of_job} ({sustained}))")],
                "Sustained rate over the product's median: all others wait for these.",
                {"job_id": "Job", **GPU_LABELS}, links=GPU_LINK),
            timeseries("Achievable: of the job's slowest GPU", "percentunit", [
                (f"job:sextant_matmul_efficiency:min{{{one}}}", "{{job_id}}")],
                "What its slowest GPU reached in the probe, over the datasheet's bf16 peak.",
                most=1),
            timeseries("Activity of the matrix units", "percentunit", [
                (f"job:sextant_gpu_tensor_active_ratio:avg{{{one}}}", "{{job_id}}")],
                "By NVML's counters, mean over the job's GPUs: it bounds the MFU.", most=1),
        ])


def service():
    one = 'instance=~"$instance"'
    calls = f"rate(sextant_calls_total{{{one}}}[5m])"
    buckets = f"rate(sextant_call_duration_seconds_bucket{{{one}}}[5m])"
    waits = f"rate(sextant_call_wait_seconds_bucket{{{one}}}[5m])"
    bad = 'code=~"INTERNAL|UNAVAILABLE|UNKNOWN|DATA_LOSS"'
    return dashboard(
        "service", "Service", "The planners and agents themselves: calls, times, verdicts.",
        [variable("instance", "Instance", "label_values(sextant_build_info, instance)")],
        [
            row("Now"),
            stat("Servers", "short", f"count(sextant_build_info{{{one}}})", "That were scraped."),
            stat("Calls a second", "short", f"sum({calls})", "Answered, whatever the code."),
            stat("Share of failed calls", "percentunit",
                 f"(sum(rate(sextant_calls_total{{{one},{bad}}}[5m])) or vector(0)) / "
                 f"sum({calls})", "By a fault of the server: INTERNAL, UNAVAILABLE, UNKNOWN, "
                 "DATA_LOSS.", bad_above=0.01),
            stat("99 % of calls within", "s",
                 f"histogram_quantile(0.99, sum by (le) ({buckets}))",
                 "From the handler's start to its answer."),
            stat("Plans in flight", "short", f"sum(sextant_plans_in_flight{{{one}}})",
                 "Being computed now."),
            stat("Last read of the fleet", "s", f"max(sextant_fleet_read_age_seconds{{{one}}})",
                 "How long ago, of the planner that is furthest back.", bad_above=300),
            row("Calls"),
            timeseries("Calls by method", "reqps",
                       [(f"sum by (method) ({calls})", "{{method}}")], "Answered a second."),
            timeseries("Calls by code", "reqps",
                       [(f"sum by (code) ({calls})", "{{code}}")], "Answered a second."),
            timeseries("Time of calls, 99 %, by method", "s", [
                (f"histogram_quantile(0.99, sum by (method, le) ({buckets}))", "{{method}}")],
                "Interpolated in six buckets: an order of magnitude."),
            heatmap("Time of calls", "s", f"sum by (le) ({buckets})", "{{le}}",
                    "Calls a second by the time that they took.", style="heatmap"),
            timeseries("Calls that wait", "short", [
                (f"sum by (pool) (sextant_calls_waiting{{{one}}})", "{{pool}}")],
                "That have not begun, by the pool of threads that is to answer them."),
            timeseries("Wait of calls, 99 %", "s", [
                (f"histogram_quantile(0.99, sum by (pool, le) ({waits}))", "{{pool}}")],
                "Until they begin. Interpolated in six buckets: an order of magnitude."),
            row("Plans"),
            timeseries("Plans by verdict", "reqps", [
                (f"sum by (verdict) (rate(sextant_plan_verdicts_total{{{one}}}[5m]))",
                 "{{verdict}}")], "Answered a second."),
            timeseries("Layouts evaluated", "ops", [
                (f"sum(rate(sextant_layouts_considered_total{{{one}}}[5m]))", "layouts")],
                "A second, on all servers."),
            row("What planners know of the fleet"),
            timeseries("Reads of the fleet", "reqps", [
                (f"sum(rate(sextant_fleet_fetches_total{{{one}}}[5m]))", "reads"),
                (f"sum by (reason) (rate(sextant_fleet_fetch_failures_total{{{one}}}[5m]))",
                 "failed: {{reason}}"),
            ], "Queries of Prometheus by planners."),
            timeseries("GPUs by where their rates come from", "short", [
                (f"max by (modelName, source) (sextant_calibration_gpus{{{one}}})",
                 "{{modelName}} {{source}}")], "As planners count them."),
            timeseries("Age of the oldest calibration in use", "dtdurations", [
                (f"topk(20, max by (modelName, source) "
                 f"(sextant_calibration_age_seconds{{{one}}}))", "{{modelName}} {{source}}")],
                "Of a host's own devices, or of the fleet's."),
            timeseries("Connections closed beyond a limit", "short", [
                (f"sum by (instance, reason) "
                 f"(increase(sextant_connections_closed_total{{{one}}}[1h]))",
                 "{{instance}} {{reason}}")],
                "Within an hour; docs/security.md, Floods. The log has the hosts."),
            timeseries("Log lines dropped", "short", [
                (f"sum by (instance) (increase(sextant_log_lines_dropped_total{{{one}}}[1h]))",
                 "{{instance}}")], "Within an hour: stderr took them too slowly."),
        ])


def text_of(made):
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


def main():
    stale = []
    for make in (fleet, gpu, job, service):
        path = os.path.join(HERE, f"{make.__name__}.json")
        text = text_of(make())
        if sys.argv[1:] == ["--check"]:
            with open(path, encoding="utf-8") as file:
                if file.read() != text:
                    stale.append(path)
            continue
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
    if stale:
        print("run make_dashboards.py again, for:", *stale)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
