#!/usr/bin/python3
"""The webhook as kubectl's users see it: one table, against a stand-in of the API server and, where
$SEXTANT_KUBE_APISERVER has one built, the real one (build_api_server.sh). Says which ran."""

import base64
import concurrent.futures
import contextlib
import copy
import http.client
import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from functools import partial

from tools import KUBECTL, SHORT, why_absent
from sextantd import SKIPPED, Server
from security_test import make_certificates
from jobs import FITS, JOBS, NEVER, job, pod
from kinds import KINDS
from real_api_server import api_servers

PLURALS = {kind: (group, plural) for group, kinds in KINDS.items() for plural, kind, _ in kinds}
SHORT_LIFE = 6  # seconds of the certificate that expires


def configuration(url, authority, policy="Ignore", timeout=2):
    """The webhook for what is labelled, as deploy/kubernetes/base has it, at a URL."""
    with open(authority, "rb") as file:
        bundle = base64.b64encode(file.read()).decode()
    kinds = [PLURALS[kind] for kind in JOBS + ("XGBoostJob",)]
    return {"metadata": {"name": "sextant"}, "webhooks": [{
        "name": "plan.sextant.dev", "clientConfig": {"url": url, "caBundle": bundle},
        "rules": [{"apiGroups": [group.split("/")[0]], "apiVersions": [group.split("/")[1]],
                   "resources": [plural], "operations": ["CREATE"], "scope": "*"}
                  for group, plural in kinds],
        "objectSelector": {"matchLabels": {"sextant.dev/ask": "true"}},
        "failurePolicy": policy, "timeoutSeconds": timeout, "sideEffects": "None",
        "admissionReviewVersions": ["v1"]}]}


LATE = re.compile("no answer within|deadline")


class Users:
    """What users of an API server do by kubectl."""

    def __init__(self, api, folder):
        self.api = api
        self.environment = {**SHORT, "HOME": folder, "KUBECONFIG": "/dev/null"}
        self.flags = [f"--server={api.url}", f"--cache-dir={folder}/cache", *api.flags]

    def create(self, item, *flags):
        """Creates it, and returns the exit code, what was said, and whether it is there; removes
        it. Again where the planner had too little of a busy host to answer within its second."""
        for _ in range(20):
            out = self._create(item, *flags)
            if not LATE.search(out[1]):
                break
        return out

    def _create(self, item, *flags):
        done = subprocess.run([KUBECTL, "create", "--validate=false", "-f", "-", *self.flags,
                               *flags], input=json.dumps(item), env=self.environment,
                              capture_output=True, text=True, timeout=60, check=False)
        group, plural = PLURALS[item["kind"]]
        there = self.api.remove(group, plural, item["metadata"]["name"])
        return done.returncode, done.stderr.strip(), there


DENIED = (r'(error when creating "STDIN": )?admission webhook "plan\.sextant\.dev" denied the '
          r"request: sextant: ")
DOES_NOT_FIT = (r"DOES NOT FIT: llama-3\.1-8b, 16 x h100-sxm: 2 nodes x 8; 9\d\.\d+ GiB .* of "
                r"\d+\.\d+ GiB usable")
CHANGE = r"--zero=optimizer \(now none\): \d+\.\d+ GiB"


def warned(*lines):
    return "\n".join(f"Warning: sextant: {line}" for line in lines)


# Name, object, whether it is there afterwards, all that kubectl says. At the path that denies.
TABLE = [
    *((f"{kind} denied", job(kind, NEVER), False,
       f"Error from server \\(Forbidden\\): {DENIED}{DOES_NOT_FIT}; {CHANGE}") for kind in JOBS),
    *((f"{kind} fits", job(kind, FITS), True,
       warned(r"FITS: llama-3\.1-8b, 16 x h100-sxm: 2 nodes x 8; .*")) for kind in JOBS),
    ("mode warn", job("Job", NEVER, mode="warn"), True, warned(DOES_NOT_FIT, CHANGE)),
    ("mode unknown", job("Job", NEVER, mode="maybe"), True,
     warned(r"not planned: its sextant\.dev/mode must be warn or deny")),
    ("words unknown", job("Job", "lama-3.1-8b --tp=2"), False,
     f"Error from server \\(Forbidden\\): {DENIED}words: .*llama-3\\.1-8b.*"),
    ("words name a file", job("Job", "--config=/etc/shadow"), False,
     f"Error from server \\(Forbidden\\): {DENIED}words: .*names a file, and none is read here"),
    ("no words", job("Job", None), True,
     warned(r"not planned: it has no annotation sextant\.dev/plan: .*")),
    ("another number", job("Job", NEVER + " --devices=8"), True,
     warned("UNKNOWN: the words ask for 8 devices, and the scheduler gives 16")),
    ("product unknown", job("Job", NEVER, template=pod(product="Colossus")), True,
     warned("UNKNOWN: the scheduler's .*Colossus.*")),
    ("label absent", job("Job", NEVER, label=False), True, ""),
    ("unknown kind", job("XGBoostJob", NEVER), True,
     warned("not planned: no pods are found in it: it is not a PyTorchJob, .*")),
    ("Job without its number", job("Job", FITS, pods=None), True,
     warned(r".*8 x h100-sxm.*")),
    ("PyTorchJob without replicas", job("PyTorchJob", FITS, pods=None), True,
     warned(r"FITS: llama-3\.1-8b, 8 x h100-sxm: .*")),
    ("RayJob without replicas", job("RayJob", NEVER, pods=None), True,
     warned("not planned: the RayJob does not say replicas, and it is not guessed")),
    ("MPIJob without replicas", job("MPIJob", NEVER, pods=None), True,
     warned("not planned: the MPIJob does not say replicas of Worker, and it is not guessed")),
    ("TrainJob without numNodes", job("TrainJob", NEVER, pods=None), True,
     warned("not planned: the TrainJob does not say numNodes, and it is not guessed")),
    ("TrainJob whose runtime has the GPUs", job("TrainJob", NEVER, resources=False), True,
     warned(r"not planned: the TrainJob has no spec\.trainer\.resourcesPerNode with GPUs: its "
            "runtime is not read")),
    ("1 MiB", job("Job", FITS, template=pod(args=["x" * 1023] * 1024)), True,
     warned(r"FITS: llama-3\.1-8b, 16 x h100-sxm: .*")),
    ("1 MiB denied", job("Job", NEVER, template=pod(args=["x" * 1023] * 1024)), False,
     f"Error from server \\(Forbidden\\): {DENIED}{DOES_NOT_FIT}; {CHANGE}"),
]


def check(users, name, item, there, said, *flags):
    code, words, found = users.create(item, *flags)
    assert (code == 0) == there or flags, (name, code, words)
    assert found == (there and not flags), (name, found)
    assert re.fullmatch(said, words), (name, words, said)


def fault(users, row):
    """What is wrong of a row, whose object has a name of its own; None: nothing."""
    name, item, *expected = copy.deepcopy(TABLE[row])
    item["metadata"]["name"] += f"-{row}"
    try:
        check(users, name, item, *expected)
    except AssertionError as error:
        return error
    return None


def check_dry_run(users):
    check(users, "dry run", job("Job", NEVER), False,
          f"Error from server \\(Forbidden\\): {DENIED}{DOES_NOT_FIT}; {CHANGE}",
          "--dry-run=server")
    check(users, "dry run of what fits", job("Job", FITS), True, warned("FITS: .*"),
          "--dry-run=server")


def check_warn_path(users, planner, folder):
    """The path that is for a site's first week."""
    users.api.put(*WEBHOOKS, configuration(f"https://{planner.http}/v1/hooks/kubernetes",
                                           f"{folder}/ca.pem"))
    check(users, "warned", job("Job", NEVER), True, warned(DOES_NOT_FIT, CHANGE))
    check(users, "mode deny", job("Job", NEVER, mode="deny"), False,
          f"Error from server \\(Forbidden\\): {DENIED}{DOES_NOT_FIT}; {CHANGE}")


WEBHOOKS = ("admissionregistration.k8s.io/v1", "validatingwebhookconfigurations")


def check_away(users, planner, folder):
    """Whatever ails the planner, nobody waits for long, and Kubernetes lets jobs pass."""
    url = f"https://{planner.http}/v1/hooks/kubernetes/deny"
    down = "https://127.0.0.1:1/v1/hooks/kubernetes/deny"
    stranger = os.path.join(folder, "other", "ca.pem")
    for name, at, authority in (("down", down, f"{folder}/ca.pem"), ("wrong CA", url, stranger)):
        users.api.put(*WEBHOOKS, configuration(at, authority))
        check(users, name, job("Job", NEVER), True, "")
        users.api.put(*WEBHOOKS, configuration(at, authority, policy="Fail"))
        check(users, name, job("Job", NEVER), False,
              r"(?s)Error from server \(InternalError\): .*failed calling webhook "
              r'"plan\.sextant\.dev".*')
    users.api.put(*WEBHOOKS, configuration(url, f"{folder}/ca.pem", timeout=1))
    planner.process.send_signal(signal.SIGSTOP)
    try:
        check(users, "hanging", job("Job", NEVER), True, "")
    finally:
        planner.process.send_signal(signal.SIGCONT)
    check(users, "hanging no more", job("Job", FITS), True, warned("FITS: .*"))


def check_overload(users, planner, folder):
    """As many calls as HTTP takes, each of them a long search: a job is judged, or passes with one
    warning."""
    users.api.put(*WEBHOOKS, configuration(f"https://{planner.http}/v1/hooks/kubernetes/deny",
                                           f"{folder}/ca.pem"))
    context = ssl.create_default_context(cafile=f"{folder}/ca.pem")
    ended = threading.Event()
    question = json.dumps({"run": {"model": {"preset": "deepseek-v3"}, "training": {
        "tokenCount": "1000000000000", "sequenceLength": "4096"}, "cluster": {
            "device": {"accelerator": "h100-sxm"}}, "layout": {"globalBatchSize": "15360"}}})

    def flood():
        while not ended.is_set():
            call = http.client.HTTPSConnection(planner.http, timeout=2, context=context)
            with contextlib.suppress(OSError, http.client.HTTPException):
                call.request("POST", "/sextant.v1.PlanningService/SizeCluster", question,
                             {"Content-Type": "application/json"})
                call.getresponse().read()
            call.close()
    threads = [threading.Thread(target=flood) for _ in range(60)]
    for thread in threads:
        thread.start()
    try:
        for item in (job("Job", FITS), job("Job", "deepseek-v3 --gbs=15360 --sequence-length=4096",
                                           pods=256)):
            code, words, there = users._create(item)
            assert code == 0 and there, words
            assert re.fullmatch(warned("(FITS|UNKNOWN|not planned|TIGHT): .*"), words), words
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def short_lived(folder):
    """A certificate of the authority's that ends soon."""
    end = time.strftime("%Y%m%d%H%M%SZ", time.gmtime(time.time() + SHORT_LIFE))
    with open(f"{folder}/ca.conf", "w", encoding="utf-8") as file:
        file.write("[ca]\ndefault_ca = a\n[a]\ndatabase = index\ncertificate = ca.pem\n"
                   "private_key = ca.key\ndefault_md = sha256\npolicy = p\nnew_certs_dir = .\n"
                   "rand_serial = yes\n[p]\ncommonName = supplied\n[e]\n"
                   "subjectAltName = IP:127.0.0.1\n")
    with open(f"{folder}/index", "w", encoding="utf-8"):
        pass
    subprocess.run(["openssl", "ca", "-batch", "-config", "ca.conf", "-extensions", "e", "-in",
                    "server.csr", "-out", "short.pem", "-notext", "-enddate", end], cwd=folder,
                   check=True, capture_output=True)
    return time.monotonic() + SHORT_LIFE + 1


def metrics_of(planner, folder):
    context = ssl.create_default_context(cafile=f"{folder}/ca.pem")
    with urllib.request.urlopen(f"https://{planner.http}/metrics", context=context) as page:
        return page.read().decode()


def check_certificates(users, planner, folder, ends):
    """One that has expired is as a wrong one; once it is renewed, the planner uses the new one, and
    its metric says until when."""
    url = f"https://{planner.http}/v1/hooks/kubernetes/deny"
    users.api.put(*WEBHOOKS, configuration(url, f"{folder}/ca.pem"))
    time.sleep(max(0, ends - time.monotonic()))
    check(users, "expired", job("Job", NEVER), True, "")
    shutil.copy(f"{folder}/server.pem", f"{folder}/short.pem")
    time.sleep(1.1)  # it looks once a second
    check(users, "renewed", job("Job", FITS), True, warned("FITS: .*"))
    until = float(re.search(r"^sextant_tls_certificate_expiry_timestamp_seconds (\S+)$",
                            metrics_of(planner, folder), re.M).group(1))
    assert until > time.time() + 3600, until


def check_counted(planner, folder):
    """Each kind of verdict is counted, those in doubt too."""
    text = metrics_of(planner, folder)
    for verdict in ("fits", "does_not_fit", "unknown", "refused"):
        assert re.search(rf'^sextant_admissions_total\{{caller="kubernetes",verdict="{verdict}"\}}'
                         r" [1-9]", text, re.M), (verdict, text)


def run_table(api, folder):
    """All of it, against one API server."""
    ends = short_lived(folder)
    tls = [f"--tls_key={folder}/server.key", "--role=planner", "--log_calls=none"]
    with Server(f"--tls_certificate={folder}/server.pem", *tls) as planner, \
            Server(f"--tls_certificate={folder}/short.pem", *tls) as expiring, \
            tempfile.TemporaryDirectory() as home:
        users = Users(api, home)
        api.put(*WEBHOOKS, configuration(f"https://{planner.http}/v1/hooks/kubernetes/deny",
                                         f"{folder}/ca.pem"))
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            wrong = [str(error) for error in pool.map(partial(fault, users), range(len(TABLE)))
                     if error is not None]
        assert not wrong, "\n".join(wrong)
        check_dry_run(users)
        check_warn_path(users, planner, folder)
        check_away(users, planner, folder)
        check_overload(users, planner, folder)
        check_counted(planner, folder)
        check_certificates(users, expiring, folder, ends)


def main():
    if why_absent("kubectl"):
        print(f"skipped: {why_absent('kubectl')}")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(f"{folder}/other")
        make_certificates(folder)
        make_certificates(f"{folder}/other")
        for start in api_servers():
            with start() as api:
                run_table(api, folder)
                print(f"{api.name}: {len(TABLE)} rows, and those of outages and certificates")
    return 0


if __name__ == "__main__":
    sys.exit(main())
