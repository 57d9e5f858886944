#!/usr/bin/python3
"""The client's wheel in a fresh environment, against a real sextantd: sizes, plans, errors with
fields, deadlines, streams, threads, asyncio, and connections that are kept and never leak."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import zipfile

import client
from client import Server, fresh_python, run_python
from security_test import SCHEDULER, make_certificates

RUN = """
import sextant
RUN = dict(tokens="1T", sequence_length=8192, gbs=64, devices=16, accelerator="h100-sxm")
"""

CALLS = RUN + """
plan = sextant.plan("llama-3.1-8b", **RUN, device_hour_price_usd=2)
assert plan.fits and plan.verdict == "FITS", plan
assert plan.step_seconds > 0 and plan.layout["globalBatchSize"] == "64", plan.layout
# The price is of all devices for the predicted time: 16 x 2 USD an hour.
step_tokens = 64 * 8192
assert abs(plan.cost_usd / (1e12 / step_tokens * plan.step_seconds * 32 / 3600) - 1) < 0.01, plan
assert plan.peak_bytes < 80e9 and plan.changes == [] and plan.raw["engineVersion"]

tight = sextant.plan("llama-3.1-8b", **RUN, tp=2, mbs=1)
assert not tight.fits and tight.verdict == "DOES_NOT_FIT" and tight.changes, tight
page = tight._repr_html_()
assert "DOES NOT FIT" in page and "optimizer state" in page and "matmul" in page, page
assert "zero=&quot;optimizer&quot; (now &quot;none&quot;)" in page, page

assert sextant.search("llama-3.1-8b", **RUN).plan["search"]["exhaustive"]
assert sextant.memory("llama-3.1-8b", devices=16, accelerator="h100-sxm", gbs=16,
                      sequence_length=4096).peak_bytes
assert sextant.memory("70B", devices=16, accelerator="h100-sxm").verdict == "STATE_FITS"
several = sextant.compare("llama-3.1-8b", each={"tp": [1, 3], "zero": ["none", "optimizer"]},
                          mbs=1, **RUN)
assert len(several) == 4 and several[0].peak_bytes > several[1].peak_bytes, several
assert several[2].error and not several[2].fits and "no plan" in several[2]._repr_html_(), several
assert sextant.count("llama-3.1-8b")["parameters"]["total"] == "8030261248"
sized = sextant.size_cluster("llama-3.1-8b", tokens="1T", sequence_length=8192, gbs=64,
                             accelerator="h100-sxm", max_duration="90d")
assert sized.fits and sized.device_count == sized.raw["clusters"][0]["deviceCount"] or \\
    str(sized.device_count) == sized.raw["clusters"][0]["deviceCount"], sized
missed = sextant.size_cluster("llama-3.1-70b", tokens="15T", sequence_length=8192, gbs=64,
                              accelerator="h100-sxm", max_duration="1h", max_device_count=8)
assert not missed.fits, missed
tuned = sextant.finetune("llama-3.1-8b", tokens="100M", accelerator="h100-sxm", devices=8,
                         mbs=1, zero="parameters")
assert list(tuned) == ["full", "lora", "qlora"], tuned
assert tuned["full"].peak_bytes > tuned["lora"].peak_bytes > tuned["qlora"].peak_bytes, tuned
admission = sextant.admit("llama-3.1-8b --tp=2 --gbs=64 --sequence-length=8192", devices=16,
                          accelerator="h100-sxm")
assert admission.verdict == "DOES_NOT_FIT" and admission.layout["SEXTANT_TP"] == "2", admission
"""

ERRORS = RUN + """
def error(call):
    try:
        call()
    except Exception as caught:
        return caught
    raise AssertionError("no error")

wrong = error(lambda: sextant.plan("llama-3.1-8b", **{**RUN, "tokens": 0}))
assert isinstance(wrong, sextant.FieldError) and isinstance(wrong, ValueError), wrong
assert wrong.code == "invalid_argument" and wrong.reason == "FIELD_INVALID", wrong
assert [field for field, _ in wrong.fields] == ["training.token_count"], wrong.fields
unknown = error(lambda: sextant.plan("llama-3.1-8c", **RUN))
assert type(unknown) is sextant.SextantError and unknown.reason == "MODEL_UNKNOWN", unknown
for keywords, words in (({"zero": "three"}, "none, optimizer"), ({"tokens": "many"}, "15e12"),
                        ({"tokens": 1.5}, "whole"), ({"sequence_parallel": "yes"}, "True"),
                        ({"device_memory_bytes": "80GoB"}, "80GiB")):
    here = error(lambda: sextant.plan("llama-3.1-8b", **{**RUN, **keywords}))
    name = next(iter(keywords))
    assert isinstance(here, sextant.FieldError) and here.fields[0][0] == name, here
    assert words in str(here), here
misspelt = error(lambda: sextant.plan("llama-3.1-8b", sequence_lenght=1))
assert isinstance(misspelt, TypeError) and "sequence_length" in str(misspelt), misspelt
late = error(lambda: sextant.search("deepseek-v3", **{
    **RUN, "gbs": 4096, "devices": 2048, "sequence_length": 4096}, timeout=0.05))
assert isinstance(late, sextant.DeadlineExceeded), late
nobody = error(lambda: sextant.Client("127.0.0.1:1").count("gpt2"))
assert isinstance(nobody, sextant.Unavailable) and nobody.retry_after is None, nobody
socket_path = error(lambda: sextant.Client("unix:/run/sextant.sock"))
assert isinstance(socket_path, ValueError) and "HOST:PORT" in str(socket_path), socket_path
"""

MANY = """
import os, sextant, threading
def descriptors():
    return len(os.listdir("/proc/self/fd"))

client = sextant.Client()
def ask():
    assert client.plan("llama-3.1-8b", tokens="1T", accelerator="h100-sxm", devices=64,
                       view="basic").verdict == "STATE_FITS"
ask()
before = descriptors()
for _ in range(10_000):
    ask()
    assert len(client.calls._idle) == 1
assert descriptors() == before, (descriptors(), before)
if os.fork() == 0:  # a data loader: the connection is its parent's
    os._exit(client.calls._take()[1])
assert os.wait()[1] == 0
threads = [threading.Thread(target=lambda: [ask() for _ in range(50)]) for _ in range(32)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert len(client.calls._idle) <= 16, len(client.calls._idle)
client.close()
assert descriptors() == before - 1, (descriptors(), before)
ask()
"""

ASYNC = RUN + """
import asyncio
async def main():
    async with sextant.AsyncClient() as client:
        plans = await asyncio.gather(*(client.plan("llama-3.1-8b", **RUN, tp=tp, mbs=1)
                                       for tp in (1, 2, 4)))
        assert [plan.plan["deviceCount"] for plan in plans] == ["16"] * 3
        request = {"model": {"preset": "llama-3.1-8b"}, "layout": {"globalBatchSize": 64},
                   "training": {"tokenCount": 10**12, "sequenceLength": 8192},
                   "cluster": {"device": {"accelerator": "h100-sxm"}, "deviceCount": 16}}
        events = [event async for event in client.raw.watch_plan_run(request)]
        assert "answer" in events[-1], events[-1].keys()
        listed = await client.raw.list_models({"pattern": "gpt2"})
        assert listed["models"], listed
    client = sextant.Client()
    assert "answer" in list(client.raw.watch_plan_run(request))[-1]
    try:
        list(client.raw.watch_plan_run({}))
    except sextant.FieldError as error:
        assert "model" in dict(error.fields), error.fields
    else:
        raise AssertionError("an empty request has a stream")
asyncio.run(main())
"""

PEAKS = """
import sextant
# NVIDIA's datasheets: dense, half of what they print with sparsity.
assert sextant.peak_flops("NVIDIA H100 80GB HBM3", "bf16") == 989.4e12
assert (sextant.peak_flops("AMD Instinct MI300X", "bf16")
        == sextant.peak_flops("mi300x", "bf16") > 1e15)
assert sextant.peak_flops("NVIDIA A100-SXM4-80GB", "torch.bfloat16") == 312e12
assert sextant.peak_flops("h100-sxm", "float8_e4m3fn").source
assert len(sextant.accelerators()) > 40
for name, dtype, words in (("H100", "bf16", "h100-sxm"), ("a10o", "bf16", "a10g"),
                           ("v100-sxm-32", "bf16", "fp16")):
    try:
        sextant.peak_flops(name, dtype)
    except KeyError as error:
        assert words in str(error), error
    else:
        raise AssertionError(name)
assert sextant.Plan({"verdict": "VERDICT_FITS", "modelName": "<script>"}, {})._repr_html_().count(
    "<script>") == 0
import sextant_progress
assert sextant_progress.Progress is __import__("sextant.progress").progress.Progress
"""


def check_same_bytes(path):
    """What is built again is the same, where the time is given."""
    built = []
    for _ in range(2):
        with tempfile.TemporaryDirectory() as folder:
            with open(client.build_wheel(folder, SOURCE_DATE_EPOCH="1700000000"), "rb") as file:
                built.append(file.read())
    assert built[0] == built[1], "two builds differ"
    assert os.path.getsize(path) == len(built[0])


def check_wheel(path):
    size = os.path.getsize(path)
    assert size < 100_000, size
    assert path.endswith("-py3-none-any.whl"), path
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
        metadata = wheel.read(next(name for name in names if name.endswith("/METADATA"))).decode()
        entries = wheel.read(next(name for name in names if name.endswith("entry_points.txt")))
    assert "Requires-Dist" not in metadata and "Requires-Python: >=3.9" in metadata, metadata
    assert b"[dstack.plugins]\nsextant = sextant.policies.dstack:SextantPlugin" in entries, entries
    assert "sextant/types.py" in names and "sextant/py.typed" in names, names
    print(f"the wheel has {size} bytes")


class ClosingServer:
    """Answers one request on each connection, and closes it without a word; counts connections.
    `head` is the status and further headers; with `cut` it promises more than it sends."""

    def __init__(self, head="200 OK", body="{}", cut=False):
        size = len(body) + 98 * cut
        self._answer = (f"HTTP/1.1 {head}\r\nContent-Length: {size}\r\n\r\n{body}").encode()
        self.connections = 0
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self._listening.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            wire, _ = self._listening.accept()
            self.connections += 1
            text = b""
            while not text.endswith(b"{}"):
                text += wire.recv(65536)
            wire.sendall(self._answer)
            wire.close()


def check_closed_connections(python):
    server = ClosingServer()
    run_python(python, "import sextant\nclient = sextant.Client()\n"
               "for _ in range(3):\n    assert client.raw.list_models({}) == {}", server.address)
    assert server.connections == 3, server.connections
    run_python(python, """
import sextant
try:
    sextant.Client().raw.list_models({})
except sextant.Unavailable:
    pass
else:
    raise AssertionError("half an answer is taken for one")""", ClosingServer(cut=True).address)


BUSY = ({"code": "resource_exhausted", "message": "busy", "details": [
    {"type": "google.rpc.RetryInfo", "debug": {"retryDelay": "1.5s"}}]}, "429 Busy", 1.5)
FULL = ({"code": "unavailable", "message": "full"}, "503 Full\r\nRetry-After: 2", 2)
NOT_JSON = ("<html>", "502 Bad Gateway", None)


def check_drip(python):
    """The time is that of the call, not of each byte."""
    listening = socket.create_server(("127.0.0.1", 0))

    def drip():
        wire, _ = listening.accept()
        with contextlib.suppress(OSError):
            wire.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
            for _ in range(1000):
                wire.sendall(b" ")
                time.sleep(0.05)

    threading.Thread(target=drip, daemon=True).start()
    run_python(python, """
import sextant
try:
    sextant.Client().raw.list_models({}, timeout=0.5)
except sextant.DeadlineExceeded:
    pass
else:
    raise AssertionError("no end")""", "127.0.0.1:%d" % listening.getsockname()[1])


def check_busy(python):
    """A planner with too much to do says when to try again; a proxy may not."""
    for body, head, seconds in (BUSY, FULL, NOT_JSON):
        body = body if isinstance(body, str) else json.dumps(body)
        run_python(python, f"""
import sextant
try:
    sextant.Client().raw.list_models({{}})
except sextant.Unavailable as error:
    assert error.retry_after == {seconds}, error.retry_after
else:
    raise AssertionError("no error")""", ClosingServer(head, body).address)


def check_tls(python):
    """A server whose certificate the client has to be told of, and a token."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                        "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout",
                        f"{folder}/key.pem", "-out", f"{folder}/certificate.pem"],
                       check=True, capture_output=True)
        with open(f"{folder}/tokens", "w", encoding="utf-8") as file:
            file.write("tester 0123456789abcdef0123456789abcdef\n")
        os.chmod(f"{folder}/tokens", 0o600)
        with Server(f"--tls_certificate={folder}/certificate.pem", f"--tls_key={folder}/key.pem",
                    f"--token_file={folder}/tokens") as server:
            run_python(python, f"""
import sextant
address = "https://{server.http}"
trusted = dict(ca_file="{folder}/certificate.pem")
token = "0123456789abcdef0123456789abcdef"
assert sextant.Client(address, token=token, **trusted).count("gpt2")["parameters"]
for arguments, code in ((trusted, "unauthenticated"), (dict(token=token), "unavailable")):
    try:
        sextant.Client(address, **arguments).count("gpt2")
    except sextant.SextantError as error:
        assert error.code == code, error
    else:
        raise AssertionError(arguments)
""", server.http)


def check_mutual_tls(python):
    """A server that knows its callers by their certificates, of which it lets one in."""
    with tempfile.TemporaryDirectory() as folder:
        make_certificates(folder)
        with open(f"{folder}/access", "w", encoding="utf-8") as file:
            file.write(f"* {SCHEDULER}\n")
        with Server(f"--tls_certificate={folder}/server.pem", f"--tls_key={folder}/server.key",
                    f"--tls_client_ca={folder}/ca.pem", f"--access_file={folder}/access") as server:
            run_python(python, f"""
import asyncio, sextant
address = "https://{server.http}"
def caller(name):
    return dict(ca_file="{folder}/ca.pem", certificate_file=f"{folder}/{{name}}.pem",
                key_file=f"{folder}/{{name}}.key")
run = dict(tokens="1T", sequence_length=8192, gbs=64, accelerator="h100-sxm", devices=16)
with sextant.Client(address, **caller("scheduler")) as client:
    assert client.plan("llama-3.1-8b", **run).fits
    assert list(client.raw.watch_plan_run({{
        "model": {{"preset": "llama-3.1-8b"}}, "training": {{"tokenCount": 10**12}},
        "cluster": {{"device": {{"accelerator": "h100-sxm"}}, "deviceCount": 16}}}}))
async def plan():
    async with sextant.AsyncClient(address, **caller("scheduler")) as client:
        return await client.plan("llama-3.1-8b", **run)
assert asyncio.run(plan()).fits
for arguments, code in ((caller("stranger"), "permission_denied"),
                        (dict(ca_file="{folder}/ca.pem"), "unauthenticated")):
    try:
        sextant.Client(address, **arguments).count("gpt2")
    except sextant.SextantError as error:
        assert error.code == code, error
    else:
        raise AssertionError(arguments)
""", server.http)


def main():
    client.skip_without(modules=["build", "venv", "setuptools", "wheel"], programs=["openssl"])
    with fresh_python() as (python, wheel):
        check_wheel(wheel)
        check_same_bytes(wheel)
        with Server("--log_calls=none") as server:
            for text in (CALLS, ERRORS, ASYNC, PEAKS, MANY):
                run_python(python, text, server.http)
        check_closed_connections(python)
        check_busy(python)
        check_drip(python)
        check_tls(python)
        check_mutual_tls(python)
    print("plans, errors, streams and threads, without a leak")
    return 0


if __name__ == "__main__":
    sys.exit(main())
