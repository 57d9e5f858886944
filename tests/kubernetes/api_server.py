"""A stand-in of Kubernetes' API server: discovery, objects, watches, and validating webhooks.

It keeps what the real one does of the parts that it has (Kubernetes' documentation, "API Concepts"
and "Dynamic Admission Control"); webhook_test.py runs one table against it and, where that is
built, against the real one."""

import copy
import json
import re
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import webhooks
from kinds import KINDS
from webhooks import Refused

PATH = re.compile(r"/api(?:s/(?P<group>[^/]+))?/(?P<version>[^/]+)"
                  r"(?:/namespaces/(?P<namespace>[^/]+)(?=/))?/(?P<plural>[a-z]+)"
                  r"(?:/(?P<name>[^/]+))?(?:/(?P<sub>status))?")


def merged(old, patch):
    """RFC 7386."""
    if not isinstance(patch, dict) or not isinstance(old, dict):
        return patch
    out = dict(old)
    for name, value in patch.items():
        if value is None:
            out.pop(name, None)
        else:
            out[name] = merged(out.get(name, {}) if isinstance(value, dict) else None, value)
    return out


class ApiServer:
    """Serves on loopback, plain text; use it as a context. It has the groups of KINDS but
    `without`, knows no users, and checks no keys."""

    name = "the stand-in"
    validates = False
    authorizes = False
    flags = []  # of kubectl's
    host = "127.0.0.1"  # where planners may listen that a Service leads to

    def __init__(self, without=()):
        self.services = {}  # the address of each "NAME.NAMESPACE.svc"
        self.kinds = {group: kinds for group, kinds in KINDS.items() if group not in without}
        self.changed = threading.Condition()
        self.objects = {}  # by group, plural, namespace, name: shared by a group's versions
        self.log = []      # changes: (resourceVersion, type, key, object)
        self.requests = []  # (method, path, body)
        self.version = 100
        self.ended = False
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log_message(self, *_):
                pass

            def answer(self):
                outer.handle(self)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

        class Threads(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 64

            def handle_error(self, *at):
                if not isinstance(sys.exc_info()[1], OSError):  # else the caller has left
                    super().handle_error(*at)

        self.server = Threads(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]
        for namespace in ("default", "kube-system"):
            self.put("v1", "namespaces", {"metadata": {"name": namespace}})

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.ended = True
        with self.changed:
            self.changed.notify_all()
        self.server.shutdown()
        self.server.server_close()

    # What tests use.

    def put(self, group, plural, item):
        """Writes an object as it is, past all rules."""
        with self.changed:
            meta = item["metadata"]
            return self._store(self._key(group, plural, meta.get("namespace", ""), meta["name"]),
                               self._typed(group, plural, item))

    def get(self, group, plural, name, namespace="default"):
        kind = self._kind(group, plural)
        with self.changed:
            found = self.objects.get(self._key(group, plural, namespace if kind[2] else "", name))
            return copy.deepcopy(found)

    def remove(self, group, plural, name, namespace="default"):
        """Returns whether it was there."""
        with self.changed:
            return self._drop(self._key(group, plural, namespace, name))

    def events(self):
        """What events say: (reason, name of the object, message)."""
        with self.changed:
            return [(item["reason"], item["involvedObject"]["name"], item["message"])
                    for key, item in self.objects.items() if key[1] == "events"]

    def writes(self, method, part):
        """The paths and bodies of requests with that method whose paths have `part`."""
        return [(path, body) for verb, path, body in self.requests
                if verb == method and part in path]

    def program_flags(self, _):
        """Flags of a program that runs by that account."""
        return [f"--api-server={self.url}", "--namespace=sextant"]

    def knows(self, item):
        return any(kind == item["kind"] for _, kind, _ in self.kinds.get(item["apiVersion"], []))

    def serve(self, service, namespace, address):
        """Has the Service's HTTPS lead to an address."""
        host, port = address.rsplit(":", 1)
        self.services[f"{service}.{namespace}.svc"] = (host, int(port))

    # Objects.

    def _kind(self, group, plural):
        for each in self.kinds.get(group, []):
            if each[0] == plural:
                return each
        raise Refused(404, "NotFound", "the server could not find the requested resource")

    @staticmethod
    def _key(group, plural, namespace, name):
        return group.rpartition("/")[0], plural, namespace, name

    def _typed(self, group, plural, item):
        return {"apiVersion": group, "kind": self._kind(group, plural)[1], **item}

    def _store(self, key, item):
        """Under the lock."""
        old = self.objects.get(key)
        meta = item["metadata"]
        if old and {**item, "metadata": {**meta, "resourceVersion": ""}} == \
                {**old, "metadata": {**old["metadata"], "resourceVersion": ""}}:
            return copy.deepcopy(old)  # nothing changes
        self.version += 1
        meta["resourceVersion"] = str(self.version)
        meta["uid"] = old["metadata"]["uid"] if old else f"uid-{self.version}"
        meta.setdefault("creationTimestamp", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
        if key[1] == "namespaces":
            meta.setdefault("labels", {})["kubernetes.io/metadata.name"] = key[3]
        self.objects[key] = item
        self.log.append((self.version, "MODIFIED" if old else "ADDED", key, copy.deepcopy(item)))
        self.changed.notify_all()
        return copy.deepcopy(item)

    def _drop(self, key):
        """Under the lock."""
        if key not in self.objects:
            return False
        self.version += 1
        self.log.append((self.version, "DELETED", key, self.objects.pop(key)))
        self.changed.notify_all()
        return True

    # Requests.

    def handle(self, request):
        url = urllib.parse.urlsplit(request.path)
        query = {name: values[0] for name, values in urllib.parse.parse_qs(url.query).items()}
        length = int(request.headers.get("Content-Length") or 0)
        body = request.rfile.read(length)
        self.requests.append((request.command, url.path, body.decode()))
        warnings = []
        try:
            if query.get("watch") in ("1", "true"):
                return self._watch(request, url.path, query)
            content = self._answer(request.command, url.path, query, body,
                                   request.headers.get("Content-Type", ""), warnings)
            code = 201 if request.command == "POST" else 200
        except Refused as refused:
            code, reason, message = refused.args
            content = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                       "message": message, "reason": reason, "code": code}
        text = json.dumps(content).encode()
        request.send_response(code)
        for line in warnings:
            quoted = line.replace("\\", "\\\\").replace('"', '\\"')
            request.send_header("Warning", f'299 - "{quoted}"')
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(text)))
        request.end_headers()
        request.wfile.write(text)

    def _discovery(self, path):
        """None: no path of discovery."""
        groups = {}
        for group in self.kinds:
            if "/" in group:
                groups.setdefault(group.split("/")[0], []).append(
                    {"groupVersion": group, "version": group.split("/")[1]})
        if path == "/version":
            return {"major": "1", "minor": "32", "gitVersion": "v1.32.0"}
        if path == "/api":
            return {"kind": "APIVersions", "versions": ["v1"]}
        if path == "/apis":
            return {"kind": "APIGroupList", "apiVersion": "v1",
                    "groups": [{"name": name, "versions": versions,
                                "preferredVersion": versions[-1]}
                               for name, versions in groups.items()]}
        for name, versions in groups.items():
            if path == f"/apis/{name}":
                return {"kind": "APIGroup", "apiVersion": "v1", "name": name, "versions": versions,
                        "preferredVersion": versions[-1]}
        group = path[len("/apis/"):] if path.startswith("/apis/") else path[len("/api/"):]
        if group in self.kinds:
            verbs = ["create", "delete", "get", "list", "patch", "update", "watch"]
            return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group,
                    "resources": [{"name": plural, "singularName": "", "kind": kind,
                                   "namespaced": namespaced, "verbs": verbs}
                                  for plural, kind, namespaced in self.kinds[group]]}
        return None

    def _place(self, path):
        """The group and version, plural, namespace, name and subresource of a path."""
        found = PATH.fullmatch(path)
        if not found:
            raise Refused(404, "NotFound", "the server could not find the requested resource")
        group = "/".join(filter(None, (found["group"], found["version"])))
        self._kind(group, found["plural"])
        return group, found["plural"], found["namespace"] or "", found["name"] or "", found["sub"]

    def _answer(self, method, path, query, body, media, warnings):
        discovery = self._discovery(path) if method == "GET" else None
        if discovery is not None:
            return discovery
        group, plural, namespace, name, sub = self._place(path)
        if method == "GET" and not name:
            return self._list(group, plural, namespace)
        if method == "POST":
            return self._create(group, plural, namespace, json.loads(body), query, warnings)
        key = self._key(group, plural, namespace, name)
        with self.changed:
            if key not in self.objects:
                raise Refused(404, "NotFound", f'{plural} "{name}" not found')
            old = copy.deepcopy(self.objects[key])
            if method == "GET":
                return {**old, "apiVersion": group}
            if method == "DELETE":
                self._drop(key)
                return {"kind": "Status", "apiVersion": "v1", "status": "Success"}
            return self._change(key, old, self._changed(method, old, json.loads(body), media), sub)

    @staticmethod
    def _changed(method, old, sent, media):
        if method == "PUT":
            return sent
        if "merge-patch" not in media:  # of strategic ones what a merge does, too
            raise Refused(415, "UnsupportedMediaType", f"no patch of {media}")
        return merged(old, sent)

    def _change(self, key, old, new, sub):
        """Under the lock."""
        sent = new["metadata"].get("resourceVersion")
        if sent not in (None, old["metadata"]["resourceVersion"]):
            raise Refused(409, "Conflict", "the object has been modified; please apply your "
                                           "changes to the latest version and try again")
        if sub == "status":  # alone, and the other way round it is kept
            new = {**old, "status": new.get("status", {})}
        elif "status" in old:
            new["status"] = old["status"]
        return self._store(key, new)

    def _list(self, group, plural, namespace):
        with self.changed:
            items = [{**copy.deepcopy(item), "apiVersion": group}
                     for key, item in sorted(self.objects.items())
                     if key[:2] == self._key(group, plural, "", "")[:2] and
                     namespace in ("", key[2])]
            return {"kind": self._kind(group, plural)[1] + "List", "apiVersion": group,
                    "metadata": {"resourceVersion": str(self.version)}, "items": items}

    def _create(self, group, plural, namespace, item, query, warnings):
        kind = self._kind(group, plural)
        meta = item.setdefault("metadata", {})
        if item.get("apiVersion") != group or item.get("kind") != kind[1]:
            raise Refused(400, "BadRequest", "the API version or kind does not match the path")
        if "generateName" in meta and "name" not in meta:
            meta["name"] = meta["generateName"] + f"{self.version:x}"
        if kind[2]:
            meta.setdefault("namespace", namespace)
        if plural == "jobs":  # defaults come before admission
            item.setdefault("spec", {}).setdefault("parallelism", 1)
        key = self._key(group, plural, meta.get("namespace", ""), meta["name"])
        self._admit(group, plural, item, query, warnings)
        with self.changed:
            if key in self.objects:
                raise Refused(409, "AlreadyExists", f'{plural} "{meta["name"]}" already exists')
            if query.get("dryRun"):
                return item
            item.pop("status", None)
            return self._store(key, item)

    def _watch(self, request, path, query):
        group, plural, namespace, *_ = self._place(path)
        wanted = self._key(group, plural, "", "")[:2]
        seen = int(query.get("resourceVersion") or 0)
        end = time.monotonic() + float(query.get("timeoutSeconds") or 300)
        request.send_response(200)
        request.send_header("Content-Type", "application/json")
        chunked = request.request_version == "HTTP/1.1"
        if chunked:
            request.send_header("Transfer-Encoding", "chunked")
        request.end_headers()
        request.close_connection = True
        while not self.ended and time.monotonic() < end:
            with self.changed:
                new = [entry for entry in self.log if entry[0] > seen]
                if not new:
                    self.changed.wait(min(0.5, max(end - time.monotonic(), 0.01)))
                    continue
            for version, kind, key, item in new:
                seen = version
                if key[:2] != wanted or namespace not in ("", key[2]):
                    continue
                line = json.dumps({"type": kind,
                                   "object": {**item, "apiVersion": group}}).encode() + b"\n"
                try:
                    request.wfile.write(b"%x\r\n%s\r\n" % (len(line), line) if chunked else line)
                except OSError:
                    return
        if chunked:
            request.wfile.write(b"0\r\n\r\n")

    def _admit(self, group, plural, item, query, warnings):
        with self.changed:
            hooks = [hook for key, found in self.objects.items()
                     if key[1] == "validatingwebhookconfigurations"
                     for hook in found.get("webhooks", [])]
            namespace = self.objects.get(self._key("v1", "namespaces", "",
                                                   item["metadata"].get("namespace", "")))
        labels = (namespace or {}).get("metadata", {}).get("labels", {})
        for hook in hooks:
            if not webhooks.concerns(hook, group, plural, item, labels):
                continue
            response = webhooks.ask(hook, item, bool(query.get("dryRun")), self.services)
            warnings += response.get("warnings", [])
            if not response["allowed"]:
                status = response.get("status", {})
                raise Refused(status.get("code", 400), status.get("reason", ""),
                              f'admission webhook "{hook["name"]}" denied the request: '
                              f'{status["message"]}')
