"""A real kube-apiserver with its etcd, as build_api_server.sh builds them."""

import json
import os
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

from api_server import KINDS

TOKEN = "a-token-of-a-test"
# Groups of KINDS that are custom resources.
CUSTOM = ("jobset.x-k8s.io/v1alpha2", "kubeflow.org/v1", "trainer.kubeflow.org/v1alpha1",
          "ray.io/v1")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


def definitions():
    """Our own least definitions of the custom resources: any field is kept."""
    for group in CUSTOM:
        name, version = group.split("/")
        for plural, kind, _ in KINDS[group]:
            yield {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                   "metadata": {"name": f"{plural}.{name}", "annotations": {
                       "api-approved.kubernetes.io": "unapproved, a test's"}},
                   "spec": {"group": name, "scope": "Namespaced",
                            "names": {"plural": plural, "kind": kind},
                            "versions": [{"name": version, "served": True, "storage": True,
                                          "schema": {"openAPIV3Schema": {
                                              "type": "object",
                                              "x-kubernetes-preserve-unknown-fields": True}}}]}}


class RealApiServer:
    """Serves on loopback; use it as a context. `folder` is build_api_server.sh's."""

    def __init__(self, folder):
        self.programs = folder

    def __enter__(self):
        self.kept = tempfile.TemporaryDirectory()
        folder = self.kept.name
        with open(f"{folder}/tokens", "w", encoding="utf-8") as tokens:
            tokens.write(f'{TOKEN},ada,ada,"system:masters"\n')
        subprocess.run(["openssl", "genrsa", "-out", f"{folder}/key", "2048"], check=True,
                       capture_output=True)
        ports = [free_port() for _ in range(3)]
        self.log = open(f"{folder}/log", "w", encoding="utf-8")
        etcd = f"http://127.0.0.1:{ports[0]}"
        self.daemons = [subprocess.Popen(command, stdout=self.log, stderr=self.log) for command in (
            [f"{self.programs}/etcd", f"--data-dir={folder}/etcd", f"--listen-client-urls={etcd}",
             f"--advertise-client-urls={etcd}", f"--listen-peer-urls=http://127.0.0.1:{ports[1]}"],
            [f"{self.programs}/kube-apiserver", f"--etcd-servers={etcd}",
             f"--secure-port={ports[2]}", "--bind-address=127.0.0.1",
             "--advertise-address=127.0.0.1", f"--cert-dir={folder}/certificates",
             f"--token-auth-file={folder}/tokens", "--authorization-mode=RBAC",
             "--service-account-issuer=https://test", "--insecure-port=0",
             f"--service-account-signing-key-file={folder}/key",
             f"--service-account-key-file={folder}/key",
             "--disable-admission-plugins=ServiceAccount",
             "--service-cluster-ip-range=10.0.0.0/24"])]
        self.url = f"https://127.0.0.1:{ports[2]}"
        self.flags = ["--insecure-skip-tls-verify", f"--token={TOKEN}"]
        self._wait("/readyz", 60)
        for each in definitions():
            self._request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", each)
        for group in CUSTOM:
            for plural, *_ in KINDS[group]:
                self._wait(f"/apis/{group}/namespaces/default/{plural}", 30)
        self._wait("/api/v1/namespaces/default", 30)
        return self

    def __exit__(self, *_):
        for daemon in reversed(self.daemons):
            daemon.terminate()
            daemon.wait()
        self.log.close()
        self.kept.cleanup()

    def _request(self, method, path, content=None):
        request = urllib.request.Request(
            self.url + path, method=method, headers={"Authorization": f"Bearer {TOKEN}",
                                                     "Content-Type": "application/json"},
            data=None if content is None else json.dumps(content).encode())
        context = ssl._create_unverified_context()  # its own certificate, of this test
        with urllib.request.urlopen(request, timeout=10, context=context) as answer:
            text = answer.read()
        return json.loads(text) if text.startswith(b"{") else text

    def _wait(self, path, seconds):
        end = time.monotonic() + seconds
        while True:
            try:
                return self._request("GET", path)
            except (OSError, urllib.error.URLError):
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)

    # As ApiServer has them.

    def put(self, group, plural, item):
        path = f"/apis/{group}/{plural}"
        name = item["metadata"]["name"]
        kind = next(kind for each, kind, _ in KINDS[group] if each == plural)
        item = {"apiVersion": group, "kind": kind, **item}
        try:
            item["metadata"]["resourceVersion"] = self._request(
                "GET", f"{path}/{name}")["metadata"]["resourceVersion"]
            self._request("PUT", f"{path}/{name}", item)
        except urllib.error.HTTPError:
            item["metadata"].pop("resourceVersion", None)
            self._request("POST", path, item)
        # It reads its webhooks again within a second or so.
        time.sleep(1.5)

    def remove(self, group, plural, name, namespace="default"):
        if self.get(group, plural, name, namespace) is None:
            return False
        self._request("DELETE", f"/apis/{group}/namespaces/{namespace}/{plural}/{name}",
                      {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0})
        return True

    def get(self, group, plural, name, namespace="default"):
        try:
            return self._request("GET", f"/apis/{group}/namespaces/{namespace}/{plural}/{name}")
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise
            return None
