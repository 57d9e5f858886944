#!/usr/bin/python3
"""The sextant command against a running server: exit codes, JSON, and text for people."""

import concurrent.futures
import json
import os
import pty
import signal
import subprocess
import sys
import threading

from sextantd import BIN, SKIPPED, Server

try:
    import grpc
except ImportError as missing:
    print(f"skipped: {missing} (deploy/install-deps.sh tests)")
    sys.exit(SKIPPED)


def run(server, *arguments, stdin=""):
    environment = dict(os.environ, SEXTANT_ADDRESS=server.address if server else "127.0.0.1:1")
    return subprocess.run([os.path.join(BIN, "sextant"), *arguments], input=stdin, timeout=60,
                          env=environment, capture_output=True, text=True, check=False)


LLAMA = ["plan", "llama-3.1-70b", "--tokens=15e12", "--accelerator=h100-sxm"]


def check_exit_codes(server):
    cases = {
        0: [*LLAMA, "--devices=1024", "--activation-bytes=1e12"],
        8: [*LLAMA, "--devices=1024"],
        1: [*LLAMA, "--devices=8"],
        2: [*LLAMA, "--devices=eight"],
        3: [*LLAMA, "--devices=0"],
    }
    for code, arguments in cases.items():
        done = run(server, *arguments)
        assert done.returncode == code, (code, done)
    assert run(server, "plan", "llama-9", "--tokens=1e9", "--accelerator=h100-sxm",
               "--devices=1").returncode == 3
    broken = run(server, "plan", b"\xff\xfe", *LLAMA[2:], "--devices=1")
    assert broken.returncode == 3 and "UTF-8" in broken.stderr, broken
    assert "libprotobuf" not in broken.stderr, broken
    nobody = run(None, *LLAMA, "--devices=1024")
    assert nobody.returncode == 4 and "127.0.0.1:1" in nobody.stderr, nobody


def check_text(server):
    done = run(server, *LLAMA, "--devices=1024", "--device-hour-price-usd=2.5", "--derivation")
    assert "70,553,706,496" in done.stdout, done.stdout
    for line in done.stdout.splitlines():
        assert len(line) <= 100, (len(line), line)
    listed = run(server, "accelerators")
    assert listed.returncode == 0 and "h200-sxm" in listed.stdout
    assert max(map(len, listed.stdout.splitlines())) <= 100
    one = run(server, "accelerators", "h100-sxm")
    assert "stas00/ml-engineering" in one.stdout, one.stdout
    assert run(server, "version").stdout.count("0.1.0") == 2


def check_json(server):
    done = run(server, *LLAMA, "--devices=1024", "--output=json")
    plan = json.loads(done.stdout)["plan"]
    assert plan["parameters"]["total"] == "70553706496"
    request = {"model": {"preset": "gpt2"}, "training": {"token_count": "10000000000"},
               "cluster": {"device": {"accelerator": "h100-sxm"}, "device_count": "1"}}
    piped = run(server, "plan", "--request=-", "--output=json", stdin=json.dumps(request))
    assert json.loads(piped.stdout)["plan"]["parameters"]["total"] == "124439808", piped
    refused = run(server, *LLAMA, "--devices=-1", "--output=json")
    error = json.loads(refused.stderr)
    assert error["field_violations"][0]["field"] == "cluster.device_count", error


class EndlessProbe(grpc.GenericRpcHandler):
    """A server whose probe shows progress once and then runs until the client cancels."""

    PROGRESS = b"\x0a\x08\x0a\x06matmul"  # RunProbeResponse{progress{phase: "matmul"}}

    def __init__(self):
        self.cancelled = threading.Event()
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(2), handlers=[self])
        self.address = f"127.0.0.1:{self.server.add_insecure_port('127.0.0.1:0')}"
        self.server.start()

    def service(self, details):
        if details.method != "/sextant.v1.HardwareService/RunProbe":
            return None
        return grpc.unary_stream_rpc_method_handler(self.answer)

    def answer(self, _request, context):
        context.add_callback(self.cancelled.set)
        yield self.PROGRESS
        self.cancelled.wait(60)


def read_until(file, wanted):
    """What a terminal shows up to `wanted`."""
    shown = b""
    while wanted not in shown:
        shown += os.read(file, 1024)
    return shown


def check_interrupt():
    """Ctrl-C at a terminal: the call is cancelled, the progress erased, the exit code 130."""
    # Where a shell ignores it for its background jobs, the client would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        terminal, behind = pty.openpty()
    except OSError as error:  # a host without /dev/pts
        print(f"left out: Ctrl-C, since there is no terminal: {error}")
        return
    server = EndlessProbe()
    with subprocess.Popen([os.path.join(BIN, "sextant"), "probe", "--address", server.address],
                          stdout=subprocess.PIPE, stderr=behind, text=True) as probe:
        read_until(terminal, b"  0 %  matmul")
        probe.send_signal(signal.SIGINT)
        assert probe.wait(timeout=60) == 130, probe.returncode
        assert probe.stdout.read() == ""
    assert server.cancelled.wait(60), "the server was not told"
    shown = read_until(terminal, b"keeps the last calibration")
    assert b"\r\x1b[Ksextant: CANCELLED: interrupted" in shown, shown
    server.server.stop(None)
    os.close(terminal)
    os.close(behind)


def check_without_server():
    for command in ("devices", "calibration", "probe"):
        nobody = run(None, command)
        assert nobody.returncode == 4 and "127.0.0.1:1" in nobody.stderr, nobody
    assert run(None, "probe", "--matmul=1024x1024").returncode == 2
    assert run(None, "plan", "--calibration=/nonexistent").returncode == 2


def main():
    check_without_server()
    check_interrupt()
    with Server("--log_calls=none") as server:
        check_exit_codes(server)
        check_text(server)
        check_json(server)
    print("exit codes, text, JSON and Ctrl-C are as documented")
    return 0


if __name__ == "__main__":
    sys.exit(main())
