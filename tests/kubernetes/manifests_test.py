#!/usr/bin/python3
"""deploy/kubernetes: every overlay is applied to an API server for the kinds that it knows, and all
objects are judged by their schemas, unknown keys refused; the chart makes the same objects. Then
what they say is done: the certificate's Job, a planner with its flags, and a Job that is refused
through the Service."""

import base64
import concurrent.futures
import filecmp
import json
import os
import re
import subprocess
import sys
import tempfile
import time

try:
    import yaml
except ImportError:
    yaml = None

from tools import FOLDER, HELM, KUBECTL, NODE, SHORT, why_absent
from sextantd import BIN, ROOT, SKIPPED, Server
from jobs import FITS, NEVER, job
from kinds import plural_of
from real_api_server import api_servers
from webhook_test import CHANGE, DENIED, DOES_NOT_FIT, Users

DEPLOY = os.path.join(ROOT, "deploy", "kubernetes")
# Values with which the chart makes an overlay's objects, and those that it makes beside them.
CHART = {"warn": {}, "deny": {"mode": "deny"}, "cert-manager": {"certManager": "true"},
         "controller": {"controller": "true"}, "agent": {"agent": "true"},
         "monitoring": {"monitoring": "true"}}
WITH_PLANNERS = {"warn", "deny", "cert-manager"}


def run(command, **kept):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **kept)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


def loaded(text):
    """The objects of a text in YAML; Python's own reader takes seconds."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return [each for each in yaml.load_all(text, loader) if each is not None]


def kustomized(overlay):
    return loaded(run([KUBECTL, "kustomize", os.path.join(DEPLOY, "overlays", overlay)],
                      env=SHORT))


def charted(values, home):
    """The objects of the chart."""
    settings = ",".join(f"{name}={value}"
                        for name, value in {"createNamespaces": "true", **values}.items())
    environment = {**SHORT, **{f"HELM_{name}_HOME": home for name in ("CACHE", "CONFIG", "DATA")}}
    text = run([HELM, "template", "sextant", os.path.join(DEPLOY, "chart"), "--namespace=sextant",
                f"--set={settings}"], env=environment)
    return loaded(text)


def by_name(objects):
    out = {(each["kind"], each["metadata"]["name"], each["metadata"].get("namespace")): each
           for each in objects}
    assert len(out) == len(objects)
    return out


def check_made(folder):
    """What make.py writes is what is there."""
    run([os.path.join(DEPLOY, "make.py"), folder], env={**SHORT, "KUBECTL": KUBECTL})
    for name in (*(f"chart/templates/{each}" for each in os.listdir(f"{folder}/chart/templates")),
                 "overlays/monitoring/rules.yaml"):
        assert filecmp.cmp(os.path.join(folder, name), os.path.join(DEPLOY, name), shallow=False), \
            f"{name} is another: run deploy/kubernetes/make.py"


def check_chart(overlays, home):
    for overlay, objects in overlays.items():
        made = by_name(charted(CHART[overlay], home))
        if overlay not in WITH_PLANNERS:
            made = {key: each for key, each in made.items()
                    if key not in by_name(overlays["warn"])}
        assert made == by_name(objects), overlay


def check_schemas(overlays):
    """By the packages' schemas."""
    said = run([NODE, os.path.join(ROOT, "tests", "kubernetes", "check_schemas.mjs"), FOLDER],
               input=json.dumps([each for objects in overlays.values() for each in objects]))
    assert not said, said
    # Faults are found: a key that is not known, one that is missing, a value out of its form.
    wrong = json.loads(json.dumps(overlays["warn"]))
    for each in wrong:
        if each["kind"] == "Deployment":
            each["spec"]["template"]["spec"]["containers"][0]["readinesProbe"] = {}
        if each["kind"] == "ValidatingWebhookConfiguration":
            del each["webhooks"][0]["sideEffects"]
    wrong.append({"apiVersion": "monitoring.coreos.com/v1", "kind": "PodMonitor",
                  "metadata": {"name": "x"}, "spec": {"selector": {}, "podMetricsEndpoints": [
                      {"port": "http", "interval": "15 sec"}]}})
    wrong.append({"apiVersion": "cert-manager.io/v1", "kind": "Certificate",
                  "metadata": {"name": "x"}, "spec": {"secretName": "x", "dnsName": ["x"]}})
    wrong.append({"apiVersion": "example.com/v1", "kind": "Job", "metadata": {"name": "x"}})
    said = run([NODE, os.path.join(ROOT, "tests", "kubernetes", "check_schemas.mjs"), FOLDER],
               input=json.dumps(wrong))
    for part in ("containers/0/readinesProbe is not known", "required property sideEffects",
                 "interval must match", "required property issuerRef",
                 "no schema: example.com/v1 Job"):
        assert part in said, said


def apply(api, objects, users):
    """Applies those that it knows; returns them."""
    known = list(filter(api.knows, objects))
    run([KUBECTL, "apply", f"--validate={str(api.validates).lower()}", "-f", "-", *users.flags],
        input=json.dumps({"apiVersion": "v1", "kind": "List", "items": known}),
        env=users.environment)
    return known


def place_of(item):
    return (item["apiVersion"], plural_of(item), item["metadata"]["name"],
            item["metadata"].get("namespace", ""))


def check_applied(start, overlays, folder):
    """Each overlay, twice: the second time nothing changes."""
    with start() as api:
        users = Users(api, folder)
        kinds = set()
        for overlay, objects in overlays.items():
            if not any(map(api.knows, objects)):
                continue
            versions = []
            for _ in range(2):
                known = apply(api, objects, users)
                versions.append([api.get(*place_of(each))["metadata"]["resourceVersion"]
                                 for each in known])
            assert versions[0] == versions[1], (overlay, versions)
            for each in known:
                kinds.add(each["kind"])
                if each["kind"] != "Namespace":  # which ends only with what is in it
                    api.remove(*place_of(each))
        print(f"{api.name}: objects of {len(kinds)} kinds applied")


def certificate(api, objects):
    """Runs what the Job of these does, by its account."""
    container = pods_of("Job", objects)["certificate"]
    run([os.path.join(BIN, container["command"][0]), *container["command"][1:],
         *api.program_flags("sextant-certificate")])


def pods_of(kind, objects):
    """The containers of the objects of a kind, by name."""
    return {container["name"]: container for each in objects if each["kind"] == kind
            for container in each["spec"]["template"]["spec"]["containers"]}


def secret(api, name):
    found = api.get("v1", "secrets", name, "sextant")
    return {key: base64.b64decode(value).decode() for key, value in found["data"].items()}


def check_refused_through_the_service(start, overlays, folder):
    """From nothing to a job that is refused, with the certificate that the Job makes."""
    with start() as api:
        users = Users(api, folder)
        apply(api, overlays["deny"], users)
        certificate(api, overlays["deny"])
        writes = len(api.writes("PUT", "")) + len(api.writes("POST", "secrets"))
        assert writes == 3, "two Secrets, and the webhook"
        certificate(api, overlays["deny"])
        assert len(api.writes("PUT", "")) + len(api.writes("POST", "secrets")) == writes
        kept = secret(api, "sextant-webhook-tls")
        for name, text in kept.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        flags = [flag.replace("/tls/", folder + "/")
                 for flag in pods_of("Deployment", overlays["deny"])["planner"]["args"]]
        with Server(*flags, http=f"{api.host}:0") as planner:
            api.serve("sextant", "sextant", planner.http)
            code, said, found = users.create(job("PyTorchJob", NEVER))
            assert code == 1 and not found and re.fullmatch(
                f"Error from server \\(Forbidden\\): {DENIED}{DOES_NOT_FIT}; {CHANGE}", said), said
            code, said, found = users.create(job("PyTorchJob", FITS))
            assert code == 0 and found and said.startswith("Warning: sextant: FITS: "), said
            excluded = job("Job", NEVER)
            excluded["metadata"]["namespace"] = "kube-system"
            assert users.create(excluded)[:2] == (0, ""), "its namespace is excluded"
            # One that ends soon is signed anew, by the same authority; the planner takes it up.
            check_renewal(api, overlays["deny"], users, folder)


def check_renewal(api, objects, users, folder):
    authority = secret(api, "sextant-webhook-authority")
    for name in ("tls.crt", "tls.key"):
        with open(os.path.join(folder, f"authority.{name}"), "w", encoding="utf-8") as file:
            file.write(authority[name])
    run(["openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
         "-keyout", "old.key", "-out", "old.csr", "-subj", "/CN=old"], cwd=folder)
    run(["openssl", "x509", "-req", "-in", "old.csr", "-CA", "authority.tls.crt", "-CAkey",
         "authority.tls.key", "-CAcreateserial", "-days", "1", "-out", "old.pem"], cwd=folder)
    old = api.get("v1", "secrets", "sextant-webhook-tls", "sextant")
    with open(os.path.join(folder, "old.pem"), "rb") as file:
        old["data"]["tls.crt"] = base64.b64encode(file.read()).decode()
    api.put("v1", "secrets", old)
    certificate(api, objects)
    new = secret(api, "sextant-webhook-tls")
    assert secret(api, "sextant-webhook-authority") == authority
    for name, text in new.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    text = run(["openssl", "verify", "-CAfile", "ca.crt", "-verify_hostname", "sextant.sextant.svc",
                "tls.crt"], cwd=folder)
    assert text.strip() == "tls.crt: OK", text
    time.sleep(1.1)  # the planner looks once a second
    code, said, _ = users.create(job("Job", FITS))
    assert code == 0 and said.startswith("Warning: sextant: FITS: "), said


def main():
    why = why_absent("kubectl", "helm", "node") or ("" if yaml else "no PyYAML")
    if why:
        print(f"skipped: {why}")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(4) as pool:
        overlays = dict(zip(CHART, pool.map(kustomized, CHART)))
        checks = [pool.submit(check_made, folder), pool.submit(check_chart, overlays, folder),
                  pool.submit(check_schemas, overlays)]
        for start in api_servers():
            check_applied(start, overlays, folder)
            check_refused_through_the_service(start, overlays, folder)
        for check in checks:
            check.result()
    return 0


if __name__ == "__main__":
    sys.exit(main())
