#!/usr/bin/python3
"""A caller over HTTP from another host may not probe or report, unless the access file names it.

Calls come from this host's own address in its network, which is not a local one to the server.
"""

import json
import os
import ssl
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from sextantd import SKIPPED, Server  # noqa: E402
from security_test import SCHEDULER, make_certificates, write  # noqa: E402

TOKEN = "0123456789abcdef"
REPORT = ("TelemetryService/ReportProgress", "application/json", b"{}")
PROBE = ("HardwareService/RunProbe", "application/connect+json", b"\0\0\0\0\2{}")
PLAN = ("AccountingService/ListModels", "application/json", b"{}")


def address_in_network():
    """An address of this host that is none of its loopback's, or None."""
    names = subprocess.run(["hostname", "-I"], capture_output=True, text=True, check=False).stdout
    return next((name for name in names.split() if "." in name), None)


def call(server, what, host, *, token="", context=None):
    """The code of the call's error, or "ok"; and the headers."""
    method, form, body = what
    scheme = "http" if context is None else "https"
    port = server.http.rpartition(":")[2]
    headers = {"Content-Type": form, **({"Authorization": f"Bearer {token}"} if token else {})}
    url = f"{scheme}://{host}:{port}/sextant.v1.{method}"
    question = urllib.request.Request(url, body, headers)
    try:
        with urllib.request.urlopen(question, timeout=60, context=context) as answer:
            content = answer.read()
    except urllib.error.HTTPError as refused:
        return json.load(refused)["code"], refused.headers
    if what is not PROBE:
        return "ok", {}
    return json.loads(content[5:]).get("error", {"code": "ok"})["code"], {}


def check(server, host, expected, **identity):
    for what, code in expected:
        got = call(server, what, host, **identity)[0]
        assert got == code, (what, identity, got, code)


def main():
    host = address_in_network()
    if host is None:
        print("skipped: this host has no address but its loopback's")
        return SKIPPED
    refused = [(REPORT, "permission_denied"), (PROBE, "permission_denied"), (PLAN, "ok")]
    remote = ["--insecure_allow_remote", "--log_calls=none"]
    with Server(*remote, http="0.0.0.0:0") as server:
        check(server, host, refused)
        check(server, "127.0.0.1", [(REPORT, "invalid_argument"), (PLAN, "ok")])
    with tempfile.TemporaryDirectory() as folder:
        make_certificates(folder)
        context = ssl.create_default_context(cafile=f"{folder}/ca.pem")
        context.check_hostname = False
        tls = [f"--tls_certificate={folder}/server.pem", f"--tls_key={folder}/server.key",
               "--log_calls=none"]
        tokens = f"--token_file={write(folder, 'tokens', f'scheduler {TOKEN}')}"
        anyone = f"--access_file={write(folder, 'anyone', '* *')}"
        rules = f"* *\nReportProgress {SCHEDULER}\n"
        named = f"--access_file={write(folder, 'named', rules)}"
        for flags in ([tokens], [tokens, anyone]):
            with Server(*tls, *flags, http="0.0.0.0:0") as server:
                check(server, host, refused, token=TOKEN, context=context)
                check(server, host, [(PLAN, "unauthenticated")], token="f" * 16, context=context)
                code, headers = call(server, PLAN, host, context=context)
                assert code == "unauthenticated", code
                assert headers["WWW-Authenticate"] == "Bearer", headers
        context.load_cert_chain(f"{folder}/scheduler.pem", f"{folder}/scheduler.key")
        client_ca = f"--tls_client_ca={folder}/ca.pem"
        with Server(*tls, client_ca, http="0.0.0.0:0") as server:
            check(server, host, refused, context=context)
        with Server(*tls, client_ca, named, http="0.0.0.0:0") as server:
            check(server, host, [(REPORT, "invalid_argument"), (PROBE, "permission_denied")],
                  context=context)
    print("callers from other hosts probe and report only where the access file names them")
    return 0


if __name__ == "__main__":
    sys.exit(main())
