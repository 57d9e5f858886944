#!/usr/bin/python3
"""What the webhook adds to a create, and what a review costs its planner.

    SEXTANT_KUBE_APISERVER=FOLDER tests/kubernetes/latency.py

FOLDER is build_api_server.sh's; without it the API server's part is left out. Creates are dry runs
on one connection, with the label and without it in turns.
"""

import http.client
import json
import os
import re
import ssl
import statistics
import tempfile
import time
import urllib.parse

import tools  # noqa: F401  (where sextantd is found)
from sextantd import Server
from security_test import make_certificates
from jobs import FITS, job
from real_api_server import ADMIN, RealApiServer
from webhook_test import WEBHOOKS, configuration

WARM, COUNT = 100, 1000


def planner(folder):
    return Server(f"--tls_certificate={folder}/server.pem", f"--tls_key={folder}/server.key",
                  "--role=planner", "--log_calls=none")


def processor_seconds(process):
    with open(f"/proc/{process.pid}/stat", encoding="utf-8") as file:
        return sum(map(int, file.read().rsplit(")")[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")


def timed(call, path, body, headers):
    """Milliseconds of a POST, and its answer."""
    start = time.perf_counter()
    call.request("POST", path, body, {"Content-Type": "application/json", **headers})
    answer = call.getresponse()
    text = answer.read()
    took = 1e3 * (time.perf_counter() - start)
    assert answer.status in (200, 201), text
    return took, answer, text


def of_planner(folder):
    """The median of reviews on a kept connection, and the planner's processor time for each."""
    body = json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {
        "uid": "1", "namespace": "default", "name": "run", "operation": "CREATE",
        "object": job("PyTorchJob", FITS)}})
    with planner(folder) as server:
        call = http.client.HTTPSConnection(
            server.http, context=ssl.create_default_context(cafile=f"{folder}/ca.pem"))

        def review():
            took, _, text = timed(call, "/v1/hooks/kubernetes/deny?timeout=2s", body, {})
            assert json.loads(text)["response"]["allowed"], text
            return took
        for _ in range(WARM):
            review()
        before = processor_seconds(server.process)
        took = [review() for _ in range(COUNT)]
        each = 1e3 * (processor_seconds(server.process) - before) / COUNT
    print(f"the planner: {statistics.median(took):.2f} ms a review, median of {COUNT}; "
          f"{each:.2f} ms of processor time")


def seen_by(api, call):
    """Milliseconds of all calls of the webhook, by the API server's own count, and their number."""
    call.request("GET", "/metrics", headers={"Authorization": f"Bearer {ADMIN}"})
    text = call.getresponse().read().decode()
    found = [re.search(rf"^apiserver_admission_webhook_admission_duration_seconds_{part}"
                       r"\{[^}]*plan\.sextant\.dev[^}]*\} (\S+)$", text, re.M)
             for part in ("sum", "count")]
    assert all(found), f"{api.name} has not called it"
    return 1e3 * float(found[0].group(1)), int(found[1].group(1))


def of_api_server(folder, programs):
    with planner(folder) as server, RealApiServer(programs) as api:
        api.put(*WEBHOOKS, configuration(f"https://{server.http}/v1/hooks/kubernetes/deny",
                                         f"{folder}/ca.pem"))
        call = http.client.HTTPSConnection(urllib.parse.urlsplit(api.url).netloc,
                                           context=ssl._create_unverified_context())
        bodies = {asks: json.dumps(job("Job", FITS, label=asks)) for asks in (False, True)}

        def create(asks):
            took, answer, _ = timed(call, "/apis/batch/v1/namespaces/default/jobs?dryRun=All",
                                    bodies[asks], {"Authorization": f"Bearer {ADMIN}"})
            said = answer.getheader("Warning", "")
            assert ("FITS" in said) == asks, said
            return took
        for _ in range(WARM):
            create(True)
            create(False)
        sum_before, count_before = seen_by(api, call)
        pairs = [(create(False), create(True)) for _ in range(COUNT)]
        total, count = seen_by(api, call)
    without, asked = zip(*pairs)
    low, high = statistics.median(without), statistics.median(asked)
    print(f"the API server: a create takes {low:.2f} ms without the webhook and {high:.2f} ms with "
          f"it, medians of {COUNT}: {high - low:.2f} ms more; p99 "
          f"{statistics.quantiles(without, n=100)[98]:.1f} and "
          f"{statistics.quantiles(asked, n=100)[98]:.1f} ms; by its own count it waits "
          f"{(total - sum_before) / (count - count_before):.2f} ms, on average")


def main():
    with tempfile.TemporaryDirectory() as folder:
        make_certificates(folder)
        of_planner(folder)
        programs = os.environ.get("SEXTANT_KUBE_APISERVER", "")
        if programs:
            of_api_server(folder, programs)


if __name__ == "__main__":
    main()
