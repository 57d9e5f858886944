#!/usr/bin/python3
"""Live MFU end to end: a toy training loop reports through client/python to a real sextantd, a real
Prometheus scrapes it and records the rules, and the recorded MFU is the one computed by hand from
the samples that Prometheus stored. Then the server restarts: the job that runs is back with its
whole count, and the one that has ended is gone. (That a job ends ten minutes after its last report
without a restart is JobProgressTest's, which has its own clock.)
"""

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

from sextantd import BIN, ROOT, SKIPPED, Server

sys.path.insert(0, os.path.join(ROOT, "client/python"))
from sextant import progress as sextant_progress  # noqa: E402

GPUS = ["GPU-01010101-0101-0101-0101-010101010101", "GPU-02020202-0202-0202-0202-020202020202"]
DEVICES = 4  # of the job: half of it is on another host
STEP_TOKENS = 10**6
MODEL_FLOPS_PER_TOKEN = 4e7
WINDOW_SECONDS = 10  # of the rules, in place of five minutes
PATIENCE_SECONDS = 120
FLOPS = "sextant_gpu_model_flops_total"
MFU = "job:sextant_mfu:ratio"
RULES = ("gpu:sextant_mfu:ratio", MFU)


def shipped_rules():
    """The expressions of deploy/monitoring, which look back for WINDOW_SECONDS."""
    path = os.path.join(ROOT, "deploy/monitoring/recording_rules.yml")
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"(^|\s)#.*", "", file.read())
    text = text.replace("[5m]", f"[{WINDOW_SECONDS}s]")
    text = text.replace("offset 5m", f"offset {WINDOW_SECONDS}s")
    rules = {}
    for name in RULES:
        found = re.search(rf"record: *{name}\s+expr: *[|>]?-?\s*(.*?)(?=\n\s*(?:- |labels:)|\Z)",
                          text, re.DOTALL)
        rules[name] = " ".join(found[1].split())
    return rules


def write_probe(folder):
    """A program in place of sextant-probe, which lists two H200s."""
    lines = [json.dumps({"device": {
        "uuid": uuid, "kind": "DEVICE_KIND_GPU", "productName": "NVIDIA H200",
        "hostname": socket.gethostname(), "memoryBytes": "150109945856"}}) for uuid in GPUS]
    path = os.path.join(folder, "probe")
    with open(path, "w", encoding="utf-8") as out:
        out.write("#!/bin/sh\n[ \"$1\" = --list ] || exit 1\n")
        out.writelines(f"echo '{line}'\n" for line in lines)
    os.chmod(path, 0o755)
    return path


class Prometheus:
    """A Prometheus that scrapes one target and evaluates `rules`, each second."""

    def __init__(self, folder, target, rules):
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        config = {"global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
                  "rule_files": [os.path.join(folder, "rules.yml")],
                  "scrape_configs": [{"job_name": "sextant",
                                      "static_configs": [{"targets": [target]}]}]}
        group = {"name": "mfu", "rules": [{"record": record, "expr": expression}
                                          for record, expression in rules.items()]}
        # JSON is YAML.
        for name, content in (("prometheus.yml", config), ("rules.yml", {"groups": [group]})):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as out:
                json.dump(content, out)
        self._command = ["prometheus", f"--config.file={folder}/prometheus.yml",
                         f"--storage.tsdb.path={folder}/data",
                         f"--web.listen-address={self.address}", "--log.level=error"]

    def __enter__(self):
        self._process = subprocess.Popen(self._command)
        self.until(lambda: self.query("1"), "Prometheus answers")
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait()

    def query(self, expression, at=None):
        """The result of an instant query; empty where Prometheus does not answer yet."""
        form = {"query": expression, **({} if at is None else {"time": at})}
        url = f"http://{self.address}/api/v1/query"
        try:
            with urllib.request.urlopen(url, urllib.parse.urlencode(form).encode()) as answer:
                return json.load(answer)["data"]["result"]
        except OSError:
            return []

    def value(self, expression):
        """The value of the only series; None where there is none."""
        result = self.query(expression)
        assert isinstance(result, list) and len(result) <= 1 or expression == "1", result
        return float(result[0]["value"][1]) if result else None

    def samples(self, selector, at=None):
        """(milliseconds, value) of each stored sample of the only series, in the rules' window."""
        (series,) = self.query(f"{selector}[{WINDOW_SECONDS}s]", at and at / 1000)
        return [(round(1000 * float(when)), float(value)) for when, value in series["values"]]

    @staticmethod
    def until(holds, what, meanwhile=lambda: None):
        end = time.monotonic() + PATIENCE_SECONDS
        while not holds():
            assert time.monotonic() < end, f"not within {PATIENCE_SECONDS} s: {what}"
            meanwhile()
            time.sleep(0.05)


def rate(samples, at):
    """Prometheus' rate() of a counter that never falls, by hand: the increase between the first and
    the last sample, extended to the ends of the window. An end that is further from its sample than
    1.1 intervals is not reached: half an interval is added there; nor is a time when the counter
    would have been below 0."""
    (first, low), (last, high) = samples[0], samples[-1]
    spanned = last - first
    interval = spanned / (len(samples) - 1)
    before = first - (at - 1000 * WINDOW_SECONDS)
    if high > low:
        before = min(before, spanned * low / (high - low))
    extended = spanned
    for missing in (before, at - last):
        extended += missing if missing < 1.1 * interval else interval / 2
    return (high - low) * extended / spanned / WINDOW_SECONDS


def is_close(a, b):
    return abs(a - b) <= 1e-9 * abs(b)


def check_recorded_mfu(prometheus, peak):
    """Every recorded value is the hand-computed one. A scrape that was stored while the rule was
    evaluated may or may not be in it."""
    checked = 0
    for at, recorded in prometheus.samples(f'{MFU}{{job_id="train"}}'):
        stored = [prometheus.samples(f'{FLOPS}{{job_id="train",UUID="{uuid}"}}', at)
                  for uuid in GPUS]
        by_hand = []
        for left_out in (0, 1):
            seen = [samples[:len(samples) - left_out] for samples in stored]
            if min(map(len, seen)) >= 2:
                by_hand.append(sum(rate(samples, at) for samples in seen) / len(GPUS) / peak)
        assert any(is_close(recorded, mfu) for mfu in by_hand), (at, recorded, by_hand)
        checked += recorded > 0
    assert checked >= 3, checked
    return recorded


def check_samples(prometheus, steps):
    """Each stored count is that of a step: GPUs have a DEVICESth part of the job's FLOPs."""
    step_flops = STEP_TOKENS * MODEL_FLOPS_PER_TOKEN / DEVICES
    for uuid in GPUS:
        for _, value in prometheus.samples(f'{FLOPS}{{job_id="train",UUID="{uuid}"}}'):
            assert value % step_flops == 0 and value <= steps * step_flops, value


class ToyJob:
    """Processes of a training job, as far as sextantd can tell: one a GPU."""

    def __init__(self, job_id, address, gpus, plan=None):
        self.steps = 0
        self._ranks = [sextant_progress.Progress(
            MODEL_FLOPS_PER_TOKEN, plan=plan, job_id=job_id, gpu_uuids=[uuid],
            device_count=DEVICES, address=address, interval=0.2) for uuid in gpus]

    def step(self):
        time.sleep(0.02)  # the training
        self.steps += 1
        for rank in self._ranks:
            rank.add(STEP_TOKENS)

    def close(self):
        for rank in self._ranks:
            rank.close()


def telemetry_of_a_plan():
    """The block that `sextant plan` prints for progress reports; its MFU is 0.4."""
    done = subprocess.run(
        [os.path.join(BIN, "sextant"), "plan", "llama-3.1-8b", "--tokens=1e12", "--devices=4",
         "--accelerator=h200-sxm", "--assumed-mfu=0.4", "--output=json"],
        capture_output=True, text=True, check=False)
    return json.loads(done.stdout)["plan"]["wholeRun"]["telemetry"]


def scraped(server):
    with urllib.request.urlopen(f"http://{server.http}/metrics") as page:
        return page.read().decode()


def check_while_it_runs(prometheus, job, short):
    """Both jobs are there, and the recorded MFU is right."""
    prometheus.until(lambda: prometheus.value(f'count({FLOPS}{{job_id="short"}})') == 1,
                     "the short job is scraped", meanwhile=short.step)
    short.close()
    assert prometheus.value('sextant_job_planned_mfu_ratio{job_id="short"}') == 0.4
    prometheus.until(lambda: (prometheus.value(
        f'count_over_time({MFU}{{job_id="train"}}[5m])') or 0) >= 6, "MFU is recorded",
        meanwhile=job.step)
    peak = prometheus.value('max(sextant_gpu_peak_flops_per_second{dtype="bf16"})')
    assert 989e12 <= peak < 990e12, peak  # an H200's, dense, by NVIDIA's datasheet
    mfu = check_recorded_mfu(prometheus, peak)
    check_samples(prometheus, job.steps)
    return mfu


def check_after_a_restart(prometheus, server, job):
    """The job that runs has its whole count, and the other is gone."""
    expected = job.steps * STEP_TOKENS * len(GPUS) / DEVICES
    tokens = 'sum by (job_id) (sextant_job_tokens_total{job_id="train"})'
    prometheus.until(lambda: prometheus.value(tokens) == expected, "the whole count is back")
    assert 'job_id="short"' not in scraped(server)
    prometheus.until(lambda: not prometheus.query(f'{FLOPS}{{job_id="short"}}'),
                     "the job that ended is gone")


def main():
    if shutil.which("prometheus") is None:
        print("skipped: no prometheus (apt-get install prometheus)")
        return SKIPPED
    with contextlib.ExitStack() as stack:
        folder, data = (stack.enter_context(tempfile.TemporaryDirectory()) for _ in range(2))
        address = f"unix:{folder}/sextantd.sock"
        flags = (f"--listen={address}", f"--probe_program={write_probe(folder)}",
                 "--gpu_sampling=none")
        with Server(*flags) as server:
            http = server.http
            prometheus = stack.enter_context(Prometheus(data, http, shipped_rules()))
            job = ToyJob("train", address, GPUS)
            short = ToyJob("short", address, GPUS[:1], plan=telemetry_of_a_plan())
            mfu = check_while_it_runs(prometheus, job, short)
            server.terminate()
            server.process.wait()
        with Server(*flags, http=http) as server:
            check_after_a_restart(prometheus, server, job)
        job.close()
    print(f"recorded MFU {mfu:.3g} is the hand-computed one; {job.steps} steps survive a restart")
    return 0


if __name__ == "__main__":
    sys.exit(main())
