#!/usr/bin/python3
"""Writes the dashboards beside it: fleet.json, gpu.json, job.json and service.json.

  deploy/monitoring/grafana/make_dashboards.py          writes them
  deploy/monitoring/grafana/make_dashboards.py --check  fails where a file is not what it writes

Three ratios are never shown in one panel: "achievable", what a chip reached in the probe; MFU, what
a job gets out of it; and activity, how busy it is by the hardware's counters, whoever uses it.
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
MEASURED = "Measured in the last 30 days, with all results of the last probe right."
GPU_LABELS = {"hostname": "Host", "gpu": "GPU", "modelName": "Product", "UUID": "UUID"}
GPU_LINK = {"Host": "/d/sextant-gpu?var-hostname=${__data.fields.Host}"}
POINTS = "suffix:points"
BELOW_PLAN = ("Planned MFU minus measured MFU, in percentage points. Negative where the job does "
              "better than its plan.")
ROUGH = "An estimate from six buckets: right to an order of magnitude."
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
            stat("Measured GPUs", "short",
                 f"sum(modelName:sextant_gpu_measured:count{{{OF_PRODUCT}}})", MEASURED),
            stat("GPUs with wrong results", "short",
                 f'count(sextant_gpu_healthy{{gpu!="cpu",{OF_PRODUCT}}} == 0) or vector(0)',
                 "GPUs whose last probe found a wrong result. Take them out.", bad_above=1),
            stat("GPUs slow for their product", "short",
                 'count(count by (UUID) (ALERTS{alertname="SextantGpuSlowerThanFleet",'
                 f'alertstate="firing",{OF_PRODUCT}}})) or vector(0)',
                 "GPUs for which the alert SextantGpuSlowerThanFleet fires.", bad_above=1),
            stat("Age of the oldest measurement", "dtdurations",
                 f"time() - min(modelName:{LAST_SUCCESS}:min{{{OF_PRODUCT}}})",
                 "Of the measured GPUs.", bad_above=7 * 86400),
            stat("Agents that answer", "percentunit",
                 'avg(up{job=~"(.*/)?sextant-agents"})', "Share of agents that Prometheus reads."),
            stat("Alerts firing", "short",
                 'count(ALERTS{alertname=~"Sextant.*",alertstate="firing"}) or vector(0)',
                 "All of Sextant's alerts.", bad_above=1),
            row("Products"),
            table("Products", [
                ("GPUs", "short", f"modelName:sextant_gpu_measured:count{{{OF_PRODUCT}}}"),
                ("bf16 median", "flops", f"sum by (modelName) ({PRODUCT_MATMUL}:p50{{{bf16}}})"),
                ("bf16 slowest", "flops", f"sum by (modelName) ({PRODUCT_MATMUL}:min{{{bf16}}})"),
                ("Memory copy", "Bps",
                 "sum by (modelName) (modelName_op:sextant_gpu_memory_bandwidth_bytes_per_second"
                 f':p50{{{OF_PRODUCT},op="copy"}})'),
                ("Link between GPUs", "Bps",
                 "max by (modelName) (modelName_link:sextant_gpu_link_bandwidth_bytes_per_second"
                 f":p50{{{OF_PRODUCT}}})"),
                ("Copy to or from host", "Bps",
                 "min by (modelName) (modelName_direction:sextant_gpu_host_copy_bytes_per_second"
                 f":p50{{{OF_PRODUCT}}})"),
                ("Smallest memory", "bytes",
                 f"modelName:sextant_gpu_memory_total_bytes:min{{{OF_PRODUCT}}}"),
            ], "bf16: matrix multiplication, sustained for a second or more. The other rates are "
               "medians; of the two directions of host copies, the slower one.",
                  {"modelName": "Product"}),
            timeseries("Matrix multiplication: median and slowest GPU", "flops", [
                (f"{PRODUCT_MATMUL}:p50{{{OF_PRODUCT}}}",
                 "{{modelName}} {{dtype}} {{window}} median"),
                (f"{PRODUCT_MATMUL}:min{{{OF_PRODUCT}}}",
                 "{{modelName}} {{dtype}} {{window}} slowest"),
            ], "A job runs as fast as its slowest GPU, not as the median."),
            heatmap("GPUs by share of their product's median (bf16, sustained)", "percentunit",
                    f"sum by (relative) (modelName_dtype_relative:{MATMUL}:count_values{{{bf16}}})",
                    "{{relative}}", "The number of GPUs at each share, in steps of 2 %."),
            row("GPUs to look at"),
            table("The 20 slowest GPUs, by share of their product's median (bf16, sustained)",
                  [("Share of median", "percentunit", f"bottomk(20, {slowest(bf16, 20)})")],
                  "As the probe measured them.", GPU_LABELS, links=GPU_LINK),
            table("GPUs with wrong results",
                  [("Healthy", "short",
                    f'topk(50, sextant_gpu_healthy{{gpu!="cpu",{OF_PRODUCT}}} == 0)')],
                  "These can corrupt a training run without an error. Take them out.", GPU_LABELS,
                  width=12, links=GPU_LINK),
            table("Alerts firing",
                  [("Firing", "short",
                    'topk(50, count by (alertname, severity, hostname, gpu, modelName, job_id,'
                    ' instance) (ALERTS{alertname=~"Sextant.*",alertstate="firing"}))')],
                  "docs/fleet.md says what to do about each.",
                  {"alertname": "Alert", "severity": "Severity", "hostname": "Host", "gpu": "GPU",
                   "modelName": "Product", "job_id": "Job", "instance": "Instance"}, width=12),
            row("Coverage"),
            timeseries("Measured GPUs by product", "short", [
                (f"modelName:sextant_gpu_measured:count{{{OF_PRODUCT}}}", "{{modelName}}")],
                MEASURED),
            timeseries("Probes by outcome", "short", [
                ("sum by (outcome) (increase(sextant_gpu_probe_runs_total[1h]))", "{{outcome}}"),
                ("sum by (reason) (increase(sextant_gpu_probe_refusals_total[1h]))",
                 "refused: {{reason}}"),
            ], "In the last hour, on all hosts."),
        ])


def gpu():
    one = 'hostname=~"$hostname",UUID=~"$uuid"'
    legend = "{{hostname}}/{{gpu}}"
    return dashboard(
        "gpu", "GPU", "The GPUs of one host: what they reached in the probe, and what they do now.",
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
                ("Last measured", "dtdurations", f"time() - max by (UUID, gpu, modelName) "
                 f"({LAST_SUCCESS}{{{one}}})"),
                ("Memory", "bytes", f"max by (UUID, gpu, modelName) "
                 f"(sextant_gpu_memory_total_bytes{{{one}}})"),
                ("Clock", "hertz", f"max by (UUID, gpu, modelName) "
                 f"(sextant_gpu_sm_clock_hertz{{{one}}})"),
            ], "Last measured: how long ago. Clock: while the probe multiplied matrices.",
                  {"gpu": "GPU", "modelName": "Product", "UUID": "UUID"}),
            row("Achievable: what the chip reached in the probe"),
            timeseries("Achievable share of the datasheet's peak", "percentunit", [
                (f"gpu:sextant_matmul_efficiency:ratio{{{one}}}",
                 legend + " {{dtype}} {{window}}")],
                "Measured matrix multiplication divided by the datasheet's dense peak for its data "
                "type. No job is in this figure.", most=1),
            timeseries("Share of the product's median", "percentunit", [
                (relative(one), legend + " {{dtype}} {{window}}")],
                "Below 95 % the alert SextantGpuSlowerThanFleet fires.", least=None),
            timeseries("Matrix multiplication", "flops", [
                (f"{MATMUL}{{{one}}}", legend + " {{dtype}} {{window}}")],
                "As measured by the probe."),
            timeseries("Memory bandwidth", "Bps", [
                (f"sextant_gpu_memory_bandwidth_bytes_per_second{{{one}}}", legend + " {{op}}"),
                (f"sextant_gpu_peak_memory_bandwidth_bytes_per_second{{{one}}}",
                 legend + " datasheet"),
            ], "As measured by passes over the GPU's memory, and by the datasheet."),
            timeseries("Copies to and from the host, and link between GPUs", "Bps", [
                (f"sextant_gpu_host_copy_bytes_per_second{{{one}}}",
                 legend + " {{direction}} {{memory}}"),
                (f"sextant_gpu_link_bandwidth_bytes_per_second{{{one}}}", legend + " {{link}}"),
            ], "The largest copies, and the bus rate among the host's GPUs."),
            timeseries("Ridge of the roofline", "short", [
                (f"gpu:sextant_ridge:flops_per_byte{{{one}}}", legend)],
                "FLOPs per byte of memory traffic above which arithmetic limits bf16 work, as "
                "measured."),
            row("MFU: what a job gets out of the chip"),
            timeseries("MFU", "percentunit", [
                (f"gpu:sextant_mfu:ratio{{{one}}}", legend + " {{job_id}}")],
                "Model FLOPs that the job reports, divided by the datasheet's dense bf16 peak. No "
                "data: no job reports.", width=24, most=1),
            row("Activity: how busy the chip is by the hardware's counters, whoever uses it"),
            timeseries("Activity of matrix units, multiprocessors and memory", "percentunit", [
                (f"sextant_gpu_tensor_active_ratio{{{one}}}", legend + " matrix units"),
                (f"sextant_gpu_sm_active_ratio{{{one}}}", legend + " multiprocessors"),
                (f"sextant_gpu_memory_active_ratio{{{one}}}", legend + " memory"),
            ], "Averages by NVML, on Hopper and later chips. No data: docs/metrics.md says why.",
                       most=1),
            timeseries("OFU (from dcgm-exporter)", "percentunit", [
                ('gpu:sextant_ofu:ratio{UUID=~"$uuid"}', "{{UUID}}")],
                "Activity of the matrix units x clock / highest clock. Close to MFU for a job that "
                "mostly multiplies matrices.", most=1),
        ])


def job():
    one = 'job_id=~"$job_id"'
    # 0 x MFU has the GPUs of the job; what is added has the figure.
    of_job = f"0 * gpu:sextant_mfu:ratio{{{one}}} + on (UUID) group_left () min by (UUID)"
    sustained = (f'({MATMUL}{{gpu!="cpu",window="sustained"}} and on (UUID) '
                 f"gpu:sextant_mfu:ratio{{{one}}}) {OVER_MEDIAN}")
    return dashboard(
        "job", "Job", "What a training job gets out of its GPUs, compared with its plan.",
        [variable("job_id", "Job", "label_values(sextant_gpu_model_flops_total, job_id)")],
        [
            row("Now"),
            stat("MFU", "percentunit", f"avg(job:sextant_mfu:ratio{{{one}}})",
                 "Mean of the GPUs that report, relative to the dense bf16 peak."),
            stat("Planned MFU", "percentunit", f"avg(max by (job_id) "
                 f"(sextant_job_planned_mfu_ratio{{{one}}}))", "Of the plan that the job reports."),
            stat("Below plan by", POINTS,
                 f"100 * avg(job:sextant_mfu_planned_minus_measured:ratio{{{one}}})", BELOW_PLAN),
            stat("Tokens per second", "short", f"sum(job:sextant_job_tokens:rate5m{{{one}}})",
                 "Sum of the chosen jobs."),
            stat("Model FLOP/s", "flops", f"sum(job:sextant_gpu_model_flops:rate5m{{{one}}})",
                 "Sum of the chosen jobs."),
            stat("GPUs that report", "short",
                 f"count(count by (UUID) (gpu:sextant_mfu:ratio{{{one}}}))",
                 "In the last 5 minutes."),
            row("Plan and measurement"),
            timeseries("Planned and measured MFU", "percentunit", [
                (f"topk(20, job:sextant_mfu:ratio{{{one}}})", "{{job_id}} measured"),
                (f"topk(20, max by (job_id) (sextant_job_planned_mfu_ratio{{{one}}}))",
                 "{{job_id}} planned"),
            ], "At most 20 jobs.", most=1),
            timeseries("Tokens per second", "short", [
                (f"topk(20, job:sextant_job_tokens:rate5m{{{one}}})", "{{job_id}}")],
                "At most 20 jobs."),
            table("The 20 jobs furthest below their plan", [
                ("Below plan by", POINTS,
                 f"topk(20, 100 * job:sextant_mfu_planned_minus_measured:ratio{{{one}}})")],
                BELOW_PLAN, {"job_id": "Job"}, width=12, links=JOB_LINK),
            timeseries("MFU of the job's GPUs", "percentunit", [
                (f"min by (job_id) (gpu:sextant_mfu:ratio{{{one}}})", "{{job_id}} lowest"),
                (f"quantile by (job_id) (0.5, gpu:sextant_mfu:ratio{{{one}}})",
                 "{{job_id}} median"),
                (f"max by (job_id) (gpu:sextant_mfu:ratio{{{one}}})", "{{job_id}} highest"),
            ], "Far apart where GPUs of the job report different progress.", most=1),
            row("GPUs of the job"),
            table("The job's 20 slowest GPUs in the probe", [
                ("Share of median", "percentunit",
                 f"bottomk(20, {of_job} ({sustained}))")],
                "Sustained rate divided by the product's median. All other GPUs wait for the "
                "slowest.",
                {"job_id": "Job", **GPU_LABELS}, links=GPU_LINK),
            timeseries("Achievable, of the job's slowest GPU", "percentunit", [
                (f"job:sextant_matmul_efficiency:min{{{one}}}", "{{job_id}}")],
                "What it reached in the probe, divided by the datasheet's bf16 peak.",
                most=1),
            timeseries("Activity of the matrix units", "percentunit", [
                (f"job:sextant_gpu_tensor_active_ratio:avg{{{one}}}", "{{job_id}}")],
                "By NVML's counters, mean of the job's GPUs. The MFU can't be much above it.",
                most=1),
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
            stat("Servers", "short", f"count(sextant_build_info{{{one}}})",
                 "That Prometheus reads."),
            stat("Calls per second", "short", f"sum({calls})", "Answered, with any code."),
            stat("Calls that failed", "percentunit",
                 f"(sum(rate(sextant_calls_total{{{one},{bad}}}[5m])) or vector(0)) / "
                 f"sum({calls})", "Share of calls that the server could not answer: INTERNAL, "
                 "UNAVAILABLE, UNKNOWN, DATA_LOSS.", bad_above=0.01),
            stat("99 % of calls take at most", "s",
                 f"histogram_quantile(0.99, sum by (le) ({buckets}))",
                 "From the start of the call's handler to its answer."),
            stat("Plans in progress", "short", f"sum(sextant_plans_in_flight{{{one}}})",
                 "Being computed now."),
            stat("Age of the fleet's rates", "s", f"max(sextant_fleet_read_age_seconds{{{one}}})",
                 "Time since the last good read, of the planner with the oldest one.",
                 bad_above=300),
            row("Calls"),
            timeseries("Calls by method", "reqps",
                       [(f"sum by (method) ({calls})", "{{method}}")], "Answered per second."),
            timeseries("Calls by code", "reqps",
                       [(f"sum by (code) ({calls})", "{{code}}")], "Answered per second."),
            timeseries("Time of calls by method, 99th percentile", "s", [
                (f"histogram_quantile(0.99, sum by (method, le) ({buckets}))", "{{method}}")],
                ROUGH),
            heatmap("Time of calls", "s", f"sum by (le) ({buckets})", "{{le}}",
                    "Calls per second, by the time that they took.", style="heatmap"),
            timeseries("Calls waiting", "short", [
                (f"sum by (pool) (sextant_calls_waiting{{{one}}})", "{{pool}}")],
                "Calls that have not begun, by the pool of threads that will answer them."),
            timeseries("Waiting time of calls, 99th percentile", "s", [
                (f"histogram_quantile(0.99, sum by (pool, le) ({waits}))", "{{pool}}")],
                f"Until a call begins. {ROUGH}"),
            row("Plans"),
            timeseries("Plans by verdict", "reqps", [
                (f"sum by (verdict) (rate(sextant_plan_verdicts_total{{{one}}}[5m]))",
                 "{{verdict}}")], "Answered per second."),
            timeseries("Layouts evaluated", "ops", [
                (f"sum(rate(sextant_layouts_considered_total{{{one}}}[5m]))", "layouts")],
                "Per second, on all servers."),
            row("What planners know of the fleet"),
            timeseries("Reads of the fleet's rates", "reqps", [
                (f"sum(rate(sextant_fleet_fetches_total{{{one}}}[5m]))", "reads"),
                (f"sum by (reason) (rate(sextant_fleet_fetch_failures_total{{{one}}}[5m]))",
                 "failed: {{reason}}"),
            ], "Planners ask Prometheus for them."),
            timeseries("GPUs by source of their rates", "short", [
                (f"max by (modelName, source) (sextant_calibration_gpus{{{one}}})",
                 "{{modelName}} {{source}}")], "GPUs whose rates planners know."),
            timeseries("Age of the oldest calibration in use", "dtdurations", [
                (f"topk(20, max by (modelName, source) "
                 f"(sextant_calibration_age_seconds{{{one}}}))", "{{modelName}} {{source}}")],
                "Of the host's own devices, or of the fleet."),
            timeseries("Connections closed for exceeding a limit", "short", [
                (f"sum by (instance, reason) "
                 f"(increase(sextant_connections_closed_total{{{one}}}[1h]))",
                 "{{instance}} {{reason}}")],
                "In the last hour. The log names the hosts; docs/security.md (Floods) names the "
                "limits."),
            timeseries("Log lines dropped", "short", [
                (f"sum by (instance) (increase(sextant_log_lines_dropped_total{{{one}}}[1h]))",
                 "{{instance}}")], "In the last hour, because stderr took them too slowly."),
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
