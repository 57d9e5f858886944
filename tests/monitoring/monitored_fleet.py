"""A small fleet under a real Prometheus: servers whose kept calibrations are of simulated GPUs, a
planner that is asked for plans, and an exporter for what neither shows without GPUs."""

import contextlib
import os
import re
import subprocess
import sys
import tempfile
import threading
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
# pylint: disable=wrong-import-position
import simulated_agents
from prometheus import MONITORING, RULE_FILES, Exporter, Prometheus
from sextantd import BIN, Server
from simulated_fleet import H100, H200, Gpu, exposition

CONSOLE = os.path.join(MONITORING, "consoles", "sextant.html")
MEASURED_AGO = 3600
SIMULATED = ('<p class="critical">Simulated: no GPU, host or job on this page is real. Their '
             'figures are made up for tests.</p>\n')

# The host of the exporter, with one GPU that is slow, one that computed a wrong result and one
# whose samples disagreed; and the agent's, with GPUs of another product.
SIMULATED_HOST, AGENT_HOST = "node-001", "node-002"
SLOW, WRONG, UNSTABLE = 3, 5, 6
EXPORTED_GPUS = [Gpu(SIMULATED_HOST, index, H100, slowdown=0.1 if index == SLOW else 0.0,
                     healthy=index != WRONG, stable=index != UNSTABLE) for index in range(8)]
AGENT_GPUS = [Gpu(AGENT_HOST, index, H200) for index in range(4)]

FLOPS_PER_TOKEN = 6 * 70.55e9
# By job: its GPUs, its MFU and its planned MFU. No job reports for the last exported GPU.
JOBS = {"llama-70b": (EXPORTED_GPUS[:-1], 0.33, 0.45), "gpt-tuned": (AGENT_GPUS, 0.42, 0.43)}
TENSOR_ACTIVE = 0.47
SM_CLOCK_MHZ, MAX_SM_CLOCK_MHZ = 1755, 1980


def _series(name, value, **labels):
    inner = ",".join(f'{label}="{text}"' for label, text in labels.items())
    return f"{name}{{{inner}}} {value:.17g}"


def job_lines(seconds):
    """The live series of docs/metrics.md after `seconds` of both jobs."""
    for job_id, (gpus, mfu, planned_mfu) in JOBS.items():
        for gpu in gpus:
            flops = mfu * gpu.product.bf16_peak * seconds
            yield _series("sextant_gpu_model_flops_total", flops, UUID=gpu.uuid, job_id=job_id)
            yield _series("sextant_job_tokens_total", flops / FLOPS_PER_TOKEN, UUID=gpu.uuid,
                          job_id=job_id)
        yield _series("sextant_job_planned_mfu_ratio", planned_mfu, job_id=job_id)


def activity_lines():
    """What NVML's counters would show of all GPUs."""
    for gpu in EXPORTED_GPUS + AGENT_GPUS:
        for name, value in (("tensor", TENSOR_ACTIVE), ("memory", 0.55), ("sm", 0.93)):
            yield f"sextant_gpu_{name}_active_ratio{{{gpu.labels()}}} {value}"


def dcgm_lines():
    for gpu in EXPORTED_GPUS:
        for name, value in (("PROF_PIPE_TENSOR_ACTIVE", TENSOR_ACTIVE),
                            ("DEV_SM_CLOCK", SM_CLOCK_MHZ), ("DEV_MAX_SM_CLOCK", MAX_SM_CLOCK_MHZ)):
            yield f'DCGM_FI_{name}{{{gpu.labels()},device="nvidia{gpu.index}"}} {value}'


def agent_lines(seconds):
    """The host's own series: probes count in the thousands, so that their rate is seen at once."""
    yield _series("sextant_gpu_probe_runs_total", round(1000 * seconds), outcome="ok")
    yield _series("sextant_gpu_probe_refusals_total", round(1000 * seconds), reason="busy")
    yield _series("sextant_build_info", 1, version="0.1.0")


def planner_lines(seconds):
    """A planner half of whose reads of the fleet fail, which a real one with a Prometheus does not
    show."""
    yield _series("sextant_fleet_fetches_total", round(2 * seconds))
    yield _series("sextant_fleet_fetch_failures_total", round(seconds), reason="timeout")
    yield _series("sextant_connections_closed_total", round(seconds), reason="resets")
    yield _series("sextant_fleet_read_age_seconds", 12)
    yield _series("sextant_build_info", 1, version="0.1.0")


def exporter():
    """Serves /agent, /dcgm and /planner."""
    started = time.time()

    def page(path):
        seconds = time.time() - started
        if path == "/agent":
            lines = [exposition(EXPORTED_GPUS, started - MEASURED_AGO), *agent_lines(seconds),
                     *job_lines(seconds), *activity_lines()]
        else:
            lines = dcgm_lines() if path == "/dcgm" else planner_lines(seconds)
        return ("\n".join(lines) + "\n").encode()
    return Exporter(page)


@contextlib.contextmanager
def _asked_all_the_time(address):
    """Asks the planner for plans, some of which it refuses, until the context ends."""
    asked = [["plan", "llama-3.1-8b", "--tokens=1e9", "--fleet=h100-sxm", "--devices=8",
              f"--hosts={SIMULATED_HOST}", "--gbs=64", "--sequence-length=4096", "--tp=2"],
             ["plan", "gpt2", "--tokens=1e6", "--fleet=h200-sxm", "--devices=1"],
             ["plan", "llama-3.1-8b", "--tokens=1e9", "--accelerator=h100-sxm", "--devices=8",
              "--gbs=64", "--sequence-length=4096", "--framework=megatron-bridge",
              "--node-type=dgx-h100"],
             ["count", "no-such-model"]]
    stop = threading.Event()

    def ask():
        while not stop.wait(0.3):
            for arguments in asked:
                subprocess.run([os.path.join(BIN, "sextant"), *arguments, "--address", address],
                               capture_output=True, check=False)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def in_a_hurry(text):
    """The rules, page or query, looking back for seconds, not minutes; alerts fire at once."""
    text = re.sub(r"^( +for:) .*$", r"\1 0s", text, flags=re.MULTILINE)
    return re.sub(r"\[(5m|1h)\]", "[10s]", text).replace("offset 5m", "offset 10s")


def copies_in_a_hurry(paths, folder):
    """Copies of the files that look back for seconds."""
    os.makedirs(folder)
    for path in paths:
        with open(path, encoding="utf-8") as file:
            text = in_a_hurry(file.read())
        copy = os.path.join(folder, os.path.basename(path))
        with open(copy, "w", encoding="utf-8") as out:
            out.write(text)
        yield copy


def _say_simulated(path):
    """Has the console page say what its GPUs are: pictures of it are shown elsewhere."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    heading = "<h1>Sextant: the fleet</h1>\n"
    assert heading in text, path
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(heading, heading + SIMULATED))


def _scrape(job, targets):
    """A scrape configuration; targets are (address, path, instance)."""
    return {"job_name": job, "static_configs": [
        {"targets": [address], "labels": {"__metrics_path__": path, "instance": instance}}
        for address, path, instance in targets]}


@contextlib.contextmanager
def monitored_fleet():
    """The Prometheus that watches it all, with this repository's rules and console page."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        agent = stack.enter_context(Server(
            "--role=agent", f"--hostname={AGENT_HOST}", "--log_calls=none",
            *simulated_agents.flags(AGENT_GPUS, os.path.join(folder, "agent"),
                                    time.time() - MEASURED_AGO)))
        exported = stack.enter_context(exporter()).address
        rules = list(copies_in_a_hurry(RULE_FILES, os.path.join(folder, "rules")))
        page, = copies_in_a_hurry([CONSOLE], os.path.join(folder, "consoles"))
        _say_simulated(page)
        prometheus = Prometheus([], rules, flags=(
            f"--web.console.templates={os.path.dirname(page)}",))
        planner = stack.enter_context(Server(
            "--role=planner", f"--fleet_prometheus_url={prometheus.url}", "--fleet_interval=1s",
            "--log_calls=none"))
        prometheus.configuration["scrape_configs"] = [
            _scrape("sextant-agents", [(agent.http, "/metrics", f"{AGENT_HOST}:9464"),
                                       (exported, "/agent", f"{SIMULATED_HOST}:9464")]),
            _scrape("sextant-planners", [(planner.http, "/metrics", "planner-0:9464"),
                                         (exported, "/planner", "planner-1:9464")]),
            _scrape("dcgm", [(exported, "/dcgm", f"{SIMULATED_HOST}:9400")])]
        stack.enter_context(prometheus)
        stack.enter_context(_asked_all_the_time(planner.address))
        yield prometheus
