"""A real kube-apiserver with its etcd, as build_api_server.sh builds them; tests use it as
ApiServer. Its roles are those that manifests give: our programs run by accounts of their own."""

import functools
import json
import os
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

from api_server import ApiServer
from kinds import KINDS, is_namespaced, kind_of

# Accounts of deploy/kubernetes, and the one of tests, which may do all.
ACCOUNTS = ("sextant-controller", "sextant-certificate")
ADMIN = "token-of-admin"
# Groups of KINDS that are custom resources, by whose definition.
CUSTOM = ("jobset.x-k8s.io/v1alpha2", "kubeflow.org/v1", "trainer.kubeflow.org/v1alpha1",
          "ray.io/v1", "kueue.x-k8s.io/v1beta2", "kueue.x-k8s.io/v1beta1")
WEBHOOKS = "validatingwebhookconfigurations"
AUDIT = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
         "rules": [{"level": "Request", "verbs": ["create", "update", "patch"]},
                   {"level": "None"}]}
SEEN = 1.5  # seconds until it reads webhooks and endpoints again
VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch"}


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


def own_address():
    """An address of this host's that is not loopback, which endpoints must not have; None: it has
    none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sent:
        try:
            sent.connect(("198.51.100.1", 9))  # sends nothing
        except OSError:
            return None
        return sent.getsockname()[0]


def definitions(groups):
    """Our own least definitions of the custom resources: any field is kept, and a status is
    written by itself."""
    kinds = {}
    for group in groups:
        name, version = group.split("/")
        for plural, kind, namespaced in KINDS[group]:
            kinds.setdefault((name, plural, kind, namespaced), []).append(version)
    for (name, plural, kind, namespaced), versions in kinds.items():
        yield {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
               "metadata": {"name": f"{plural}.{name}", "annotations": {
                   "api-approved.kubernetes.io": "unapproved, a test's"}},
               "spec": {"group": name, "scope": "Namespaced" if namespaced else "Cluster",
                        "names": {"plural": plural, "kind": kind},
                        "versions": [{"name": version, "served": True,
                                      "storage": version == versions[0],
                                      "subresources": {"status": {}},
                                      "schema": {"openAPIV3Schema": {
                                          "type": "object",
                                          "x-kubernetes-preserve-unknown-fields": True}}}
                                     for version in versions]}}


class RealApiServer:
    """Serves on loopback; use it as a context. `programs` is build_api_server.sh's folder."""

    name = "kube-apiserver"
    validates = True  # kubectl has it check all keys
    authorizes = True

    def __init__(self, programs, without=()):
        self.programs = programs
        self.host = own_address()
        self.groups = [group for group in CUSTOM if group not in without]

    def __enter__(self):
        try:
            return self._started()
        except BaseException:
            self.__exit__()
            raise

    def _started(self):
        self.kept = tempfile.TemporaryDirectory()
        self.folder = folder = self.kept.name
        with open(f"{folder}/tokens", "w", encoding="utf-8") as tokens:
            tokens.write(f'{ADMIN},ada,ada,"system:masters"\n')
            for account in ACCOUNTS:
                tokens.write(f'token-of-{account},system:serviceaccount:sextant:{account},'
                             f'{account},"system:serviceaccounts,system:authenticated"\n')
                with open(f"{folder}/{account}", "w", encoding="utf-8") as file:
                    file.write(f"token-of-{account}\n")
        with open(f"{folder}/audit.json", "w", encoding="utf-8") as file:
            json.dump(AUDIT, file)
        subprocess.run(["openssl", "genrsa", "-out", f"{folder}/key", "2048"], check=True,
                       capture_output=True)
        self._start([free_port() for _ in range(3)])
        self._wait("/readyz", 60)
        for each in definitions(self.groups):
            self.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", each)
        for group in self.groups:
            for plural, *_ in KINDS[group]:
                self._wait(f"/apis/{group}/{plural}", 30)
        for name in ("default", "kube-system"):  # 1.21 and later give them the label
            space = self._wait(f"/api/v1/namespaces/{name}", 30)
            space["metadata"].setdefault("labels", {})["kubernetes.io/metadata.name"] = name
            self.request("PUT", f"/api/v1/namespaces/{name}", space)
        return self

    def _start(self, ports):
        folder = self.folder
        etcd = f"http://127.0.0.1:{ports[0]}"
        self.url = f"https://127.0.0.1:{ports[2]}"
        self.flags = ["--insecure-skip-tls-verify", f"--token={ADMIN}"]
        self.log = open(f"{folder}/log", "w", encoding="utf-8")
        self.daemons = [subprocess.Popen(command, stdout=self.log, stderr=self.log) for command in (
            [f"{self.programs}/etcd", f"--data-dir={folder}/etcd", f"--listen-client-urls={etcd}",
             f"--advertise-client-urls={etcd}", f"--listen-peer-urls=http://127.0.0.1:{ports[1]}",
             "--unsafe-no-fsync"],
            [f"{self.programs}/kube-apiserver", f"--etcd-servers={etcd}",
             f"--secure-port={ports[2]}", "--bind-address=127.0.0.1",
             "--advertise-address=127.0.0.1", f"--cert-dir={folder}/certificates",
             f"--token-auth-file={folder}/tokens", "--authorization-mode=RBAC",
             "--service-account-issuer=https://test", "--insecure-port=0",
             f"--service-account-signing-key-file={folder}/key",
             f"--service-account-key-file={folder}/key",
             "--disable-admission-plugins=ServiceAccount",
             "--feature-gates=TTLAfterFinished=true",  # of Jobs, on since 1.21
             # A webhook's Service leads to the address of its endpoints: no proxy runs here.
             "--enable-aggregator-routing=true", f"--audit-policy-file={folder}/audit.json",
             f"--audit-log-path={folder}/audit.log", "--service-cluster-ip-range=10.0.0.0/24"])]

    def __exit__(self, *_):
        for daemon in reversed(self.daemons):
            daemon.terminate()
            daemon.wait()
        self.log.close()
        self.kept.cleanup()

    def request(self, method, path, content=None):
        request = urllib.request.Request(
            self.url + path, method=method, headers={"Authorization": f"Bearer {ADMIN}",
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
                return self.request("GET", path)
            except OSError as error:
                with open(f"{self.folder}/log", encoding="utf-8") as log:
                    ended = any(daemon.poll() is not None for daemon in self.daemons)
                    assert not ended and time.monotonic() < end, (error, log.read()[-3000:])
                time.sleep(0.1)

    # As ApiServer has them.

    @staticmethod
    def _path(group, plural, namespace, name=""):
        space = f"/namespaces/{namespace}" if is_namespaced(group, plural) else ""
        return f"/{'apis' if '/' in group else 'api'}/{group}{space}/{plural}" + \
            (f"/{name}" if name else "")

    def program_flags(self, account):
        return [f"--api-server={self.url}", f"--api-ca={self.folder}/certificates/apiserver.crt",
                f"--api-token-file={self.folder}/{account}", "--namespace=sextant"]

    def knows(self, item):
        try:
            group = item["apiVersion"]
            found = self.request("GET", f"/{'apis' if '/' in group else 'api'}/{group}")
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise
            return False
        return any(each["kind"] == item["kind"] for each in found["resources"])

    def put(self, group, plural, item):
        """Creates or replaces it, and then its status."""
        meta = item["metadata"]
        namespace = meta.get("namespace", "default")
        path = self._path(group, plural, namespace, meta["name"])
        there = self.get(group, plural, meta["name"], namespace)
        item = {"apiVersion": group, "kind": kind_of(group, plural), **item,
                "metadata": {**meta, "resourceVersion":
                             there["metadata"]["resourceVersion"] if there else ""}}
        written = self.request("PUT", path, item) if there else \
            self.request("POST", self._path(group, plural, namespace), item)
        if "status" in item:
            item["metadata"]["resourceVersion"] = written["metadata"]["resourceVersion"]
            written = self.request("PUT", path + "/status", item)
        if plural == WEBHOOKS:
            time.sleep(SEEN)
        return written

    def remove(self, group, plural, name, namespace="default"):
        if self.get(group, plural, name, namespace) is None:
            return False
        self.request("DELETE", self._path(group, plural, namespace, name),
                     {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0,
                      "propagationPolicy": "Background"})  # else a Job waits for a controller
        return True

    def get(self, group, plural, name, namespace="default"):
        try:
            return self.request("GET", self._path(group, plural, namespace, name))
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise
            return None

    def events(self):
        items = self.request("GET", "/api/v1/events")["items"]
        return [(each["reason"], each["involvedObject"]["name"], each["message"])
                for each in items]

    def writes(self, method, part):
        """Of programs alone, by its audit log, which has a request before it is answered."""
        with open(f"{self.folder}/audit.log", encoding="utf-8") as lines:
            entries = [json.loads(line) for line in lines if line.endswith("\n")]
        return [(each["requestURI"], json.dumps(each.get("requestObject"))) for each in entries
                if each["verb"] == VERBS[method] and part in each["requestURI"] and
                each["user"]["username"].startswith("system:serviceaccount:")]

    def serve(self, service, namespace, address):
        host, port = address.rsplit(":", 1)
        self.request("POST", f"/api/v1/namespaces/{namespace}/endpoints", {
            "apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": service},
            "subsets": [{"addresses": [{"ip": host}],
                         "ports": [{"name": "https", "port": int(port)}]}]})
        time.sleep(SEEN)


def api_servers():
    """What starts the API servers of a test: the stand-in, and the real one where
    $SEXTANT_KUBE_APISERVER has it."""
    programs = os.environ.get("SEXTANT_KUBE_APISERVER", "")
    if not programs:
        print("the real API server does not run: SEXTANT_KUBE_APISERVER is not set")
        return [ApiServer]
    return [ApiServer, functools.partial(RealApiServer, programs)]
