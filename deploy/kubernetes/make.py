#!/usr/bin/python3
"""Makes what follows from other files: overlays/monitoring/rules.yaml, of deploy/monitoring; and
chart/templates, of the overlays. Needs kubectl and PyYAML; $KUBECTL names another.

    deploy/kubernetes/make.py            writes them
    deploy/kubernetes/make.py FOLDER     writes them there, for a comparison
"""

import os
import re
import subprocess
import sys

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
MONITORING = os.path.join(HERE, "..", "monitoring")
MADE = "# Made by deploy/kubernetes/make.py: change that, or the files that it reads.\n"

# Values of the chart, as they come to stand in a template: text, and numbers, which have no quotes.
PLACES = {"@NAMESPACE@": "{{ .Release.Namespace }}", "@IMAGE@": "{{ .Values.image }}",
          "@GPU_IMAGE@": "{{ .Values.gpuImage }}", "@RELEASE@": "{{ .Values.monitoringRelease }}",
          "'@REPLICAS@'": "{{ .Values.replicas }}", "'@MAX_REPLICAS@'": "{{ .Values.maxReplicas }}",
          "'@SITE@'": "{{ .Values.site | toJson | quote }}",
          "@MODE@": '{{ if eq .Values.mode "deny" }}/deny{{ end }}'}


def kustomized(overlay):
    """The objects of an overlay."""
    done = subprocess.run([os.environ.get("KUBECTL", "kubectl"), "kustomize",
                           os.path.join(HERE, "overlays", overlay)], check=True,
                          capture_output=True, text=True)
    return list(yaml.load_all(done.stdout, getattr(yaml, "CSafeLoader", yaml.SafeLoader)))


def rules():
    """The PrometheusRule of all rules and alerts."""
    groups = []
    for name in ("recording_rules.yml", "alerts.yml"):
        with open(os.path.join(MONITORING, name), encoding="utf-8") as file:
            groups += yaml.safe_load(file)["groups"]
    return {"apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule",
            "metadata": {"name": "sextant", "namespace": "sextant"}, "spec": {"groups": groups}}


def text_of(objects):
    return yaml.safe_dump_all(objects, sort_keys=False, width=1000, allow_unicode=True)


def placed(value, key=None):
    """An object with marks for what a chart's values change."""
    if isinstance(value, dict):
        return {name: placed(each, name) for name, each in value.items()}
    if isinstance(value, list):
        return [placed(each) for each in value]
    if key == "namespace" and value == "sextant" or key is None and value == "sextant":
        return "@NAMESPACE@"
    if key == "image":
        return {"sextant": "@IMAGE@", "sextant-gpu": "@GPU_IMAGE@"}[value]
    if key in ("replicas", "minReplicas") and value == 2:
        return "@REPLICAS@"
    if key == "maxReplicas":
        return "@MAX_REPLICAS@"
    if key == "path" and value == "/v1/hooks/kubernetes":
        return value + "@MODE@"
    if key == "release":
        return "@RELEASE@"
    if key == "site.json":
        return "@SITE@"
    if isinstance(value, str):
        for text, mark in (("{{", "@OPEN@"), ("sextant.sextant.svc", "sextant.@NAMESPACE@.svc"),
                           ("sextant/sextant-webhook-tls", "@NAMESPACE@/sextant-webhook-tls")):
            value = value.replace(text, mark)
    return value


def template(objects, condition=None):
    """A template with the objects, where the condition holds."""
    text = ""
    for each in objects:
        is_namespace = each["kind"] == "Namespace"
        marked = placed(each)
        if is_namespace and each["metadata"]["name"] == "sextant":
            marked["metadata"]["name"] = "@NAMESPACE@"
        part = "---\n" + text_of([marked])
        text += "{{- if .Values.createNamespaces }}\n" + part + "{{- end }}\n" if is_namespace \
            else part
    for mark, value in PLACES.items():
        text = text.replace(mark, value)
    text = text.replace("@OPEN@", '{{ "{{" }}')
    assert not re.search(r"@[A-Z_]+@", text), re.search(r"@[A-Z_]+@", text)
    if condition is not None:
        text = "{{- if %s }}\n%s{{- end }}\n" % (condition, text)
    return MADE + text


def templates():
    """The text of each template of the chart."""
    base = kustomized("warn")
    certificate = [each for each in base
                   if each["metadata"].get("labels", {}).get("app") == "sextant-certificate"]
    planner = [each for each in base if each not in certificate]
    manager = [each for each in kustomized("cert-manager")
               if each["apiVersion"].startswith("cert-manager.io/")]
    text = template(planner)
    # What the overlay cert-manager adds to the webhook.
    head = "kind: ValidatingWebhookConfiguration\nmetadata:\n"
    assert text.count(head) == 1
    text = text.replace(head, head + "{{- if .Values.certManager }}\n  annotations:\n"
                        "    cert-manager.io/inject-ca-from: '{{ .Release.Namespace }}/"
                        "sextant-webhook-tls'\n{{- end }}\n")
    return {"planner.yaml": text,
            "certificate.yaml": template(certificate, "not .Values.certManager"),
            "cert-manager.yaml": template(manager, ".Values.certManager"),
            "controller.yaml": template(kustomized("controller"), ".Values.controller"),
            "agent.yaml": template(kustomized("agent"), ".Values.agent"),
            "monitoring.yaml": template(kustomized("monitoring"), ".Values.monitoring")}


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else HERE
    at = os.path.join(HERE, "overlays", "monitoring", "rules.yaml")
    if folder == HERE:  # before the overlay is read
        with open(at, "w", encoding="utf-8") as file:
            file.write(MADE + text_of([rules()]))
    made = {f"chart/templates/{name}": text for name, text in templates().items()}
    made["overlays/monitoring/rules.yaml"] = MADE + text_of([rules()])
    for name, text in made.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
