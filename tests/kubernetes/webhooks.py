"""What an API server does with validating webhooks: whom it asks about what, and what a failure
means. Source: Kubernetes' documentation, "Dynamic Admission Control"."""

import base64
import http.client
import json
import socket
import ssl
import tempfile
import time
import urllib.parse


class Refused(Exception):
    """A failure as the API has it: code, reason, message."""


def selects(selector, labels):
    """Whether a LabelSelector selects; an empty one selects all."""
    for name, value in (selector or {}).get("matchLabels", {}).items():
        if labels.get(name) != value:
            return False
    for term in (selector or {}).get("matchExpressions", []):
        there, values = term["key"] in labels, term.get("values", [])
        if not {"Exists": there, "DoesNotExist": not there,
                "In": labels.get(term["key"]) in values,
                "NotIn": labels.get(term["key"]) not in values}[term["operator"]]:
            return False
    return True


def concerns(hook, group, plural, item, labels):
    """Whether it is asked about an object that is created; `labels` are the namespace's."""
    name, _, version = group.rpartition("/")
    matches = any(name in rule["apiGroups"] and version in rule["apiVersions"] and
                  plural in rule["resources"] and "CREATE" in rule["operations"]
                  for rule in hook["rules"])
    return matches and selects(hook.get("namespaceSelector"), labels) and \
        selects(hook.get("objectSelector"), item["metadata"].get("labels", {}))


def ask(hook, item, dry_run, services):
    """The webhook's response; one that allows where it fails and that is ignored."""
    meta = item["metadata"]
    review = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {
        "uid": f"review-{time.monotonic_ns()}", "operation": "CREATE", "object": item,
        "name": meta["name"], "namespace": meta.get("namespace", ""), "oldObject": None,
        "userInfo": {"username": "ada"}, "dryRun": dry_run}}
    try:
        return _called(hook, review, services)
    except (OSError, ValueError, KeyError, http.client.HTTPException) as error:
        if hook.get("failurePolicy", "Fail") == "Ignore":
            return {"allowed": True}
        raise Refused(500, "InternalError",
                      f'failed calling webhook "{hook["name"]}": {error}') from None


class Call(http.client.HTTPSConnection):
    """A connection to `place`, whoever the host's name says."""

    def __init__(self, host, place, **kept):
        super().__init__(host, **kept)
        self.place = place

    def connect(self):
        self.sock = self._context.wrap_socket(
            socket.create_connection(self.place, self.timeout), server_hostname=self.host)


def _called(hook, review, services):
    client = hook["clientConfig"]
    wait = hook.get("timeoutSeconds", 10)
    if "service" in client:
        service = client["service"]
        host = f'{service["name"]}.{service["namespace"]}.svc'
        place, path = services[host], service.get("path", "/")
    else:
        url = urllib.parse.urlsplit(client["url"])
        host, place, path = url.hostname, (url.hostname, url.port), url.path
    with tempfile.NamedTemporaryFile() as bundle:
        bundle.write(base64.b64decode(client["caBundle"]))
        bundle.flush()
        context = ssl.create_default_context(cafile=bundle.name)
    call = Call(host, place, timeout=wait, context=context)
    try:
        call.request("POST", f"{path}?timeout={wait}s", json.dumps(review),
                     {"Content-Type": "application/json"})
        answer = call.getresponse()
        text = answer.read()
    finally:
        call.close()
    if answer.status != 200:
        raise ValueError(f"it answers {answer.status}")
    read = json.loads(text)
    if read["kind"] != "AdmissionReview" or read["apiVersion"] != "admission.k8s.io/v1" or \
            read["response"]["uid"] != review["request"]["uid"]:
        raise ValueError("it answers another review")
    return read["response"]
