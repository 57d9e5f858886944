#!/usr/bin/python3
"""The sextant command against a running server: exit codes, JSON, and text for people; a worked
example of each command about models and operations; drawings read as XML."""

import concurrent.futures
import json
import math
import os
import pty
import signal
import subprocess
import sys
import tempfile
import threading
import xml.etree.ElementTree as xml

from sextantd import BIN, Server
from api import grpc


def run(server, *arguments, stdin=""):
    environment = dict(os.environ, SEXTANT_ADDRESS=server.address if server else "127.0.0.1:1")
    return subprocess.run([os.path.join(BIN, "sextant"), *arguments], input=stdin, timeout=60,
                          env=environment, capture_output=True, text=True, check=False)


SVG = "{http://www.w3.org/2000/svg}"
LEFT, TOP, RIGHT, BOTTOM = 92, 60, 880, 380  # of a drawing's axes
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
    request = {"model": {"preset": "gpt2"}, "training": {"tokenCount": "10000000000"},
               "cluster": {"device": {"accelerator": "h100-sxm"}, "deviceCount": "1"}}
    piped = run(server, "plan", "--request=-", "--output=json", stdin=json.dumps(request))
    assert json.loads(piped.stdout)["plan"]["parameters"]["total"] == "124439808", piped
    refused = run(server, *LLAMA, "--devices=-1", "--output=json")
    error = json.loads(refused.stderr)
    assert error["fieldViolations"][0]["field"] == "cluster.device_count", error


def text_of(server, *arguments, given=""):
    done = run(server, *arguments, stdin=given)
    assert done.returncode == 0 and done.stderr == "", done
    for line in [] if "--output=json" in arguments else done.stdout.splitlines():
        assert len(line) <= 99, (len(line), line)
    return done.stdout


def check_operations(server):
    """One kind for people and for programs; tests/golden/text has the others."""
    attention = ["op", "attention", "1x32x8192x128", "--kv-heads=8", "--causal", "--dtype=bf16"]
    out = text_of(server, *attention, "--device=h100-sxm", "--plot")
    assert "33,558,528" in out and "Roofline of" in out, out
    assert json.loads(text_of(server, *attention, "--output=json"))["name"] == "attention"


def positions(drawing):
    """Where the discs of a drawing's forward point and of its legend are."""
    discs = []
    for path in drawing.iter(SVG + "path"):
        words = path.get("d").replace("a", " ").replace("M", "").split()
        if "a" in path.get("d"):
            discs.append((float(words[0]) + 4.2, float(words[1])))
    return discs


def check_drawings(server, folder):
    """Bound by arithmetic, by memory, at the ridge, and far to the left."""
    cases = {
        "compute": ["matmul", "16384x8192x32768", "--achieved=9.5ms"],
        "memory": ["softmax", "8192x4096", "--launch-seconds=4e-6"],
        "ridge": ["linear", "325x4096x14336"],
        "left": ["elementwise", "4096x4096", "--flops-per-element=1e-4"],
        "above": ["matmul", "4096x4096x4096", "--achieved=1ns"],
    }
    for name, arguments in cases.items():
        file = os.path.join(folder, name + ".svg")
        arguments = ["op", *arguments, "--dtype=bf16", "--device=h100-sxm", f"--svg={file}"]
        answer = json.loads(text_of(server, *arguments, "--output=json"))
        drawing = xml.parse(file).getroot()
        assert drawing.tag == SVG + "svg" and float(drawing.get("width")) == 900, name
        numbers = [value for element in drawing.iter() for key, value in element.attrib.items()
                   if key in ("x", "y", "x1", "x2", "y1", "y2")]
        assert numbers and all(math.isfinite(float(n)) for n in numbers), name
        assert "nan" not in "".join(drawing.itertext()), name
        (x, y), _ = positions(drawing)
        assert LEFT < x < RIGHT and TOP < y < BOTTOM, (name, x, y)
        forward = answer["time"]["forward"]
        labels = "\n".join(drawing.itertext())
        assert f"ridge {forward['ridgeFlopsPerByte']:,.2f} FLOP/byte" in labels, labels
        # Both axes are logarithmic: a line's ends say where a power of ten is.
        ridge = next(float(line.get("x1")) for line in drawing.iter(SVG + "line")
                     if line.get("stroke-dasharray"))
        beyond = forward["arithmeticIntensity"] > forward["ridgeFlopsPerByte"]
        assert (x > ridge) == beyond or abs(x - ridge) < 0.2, (name, x, ridge)
        assert os.listdir(folder) == [os.path.basename(file)], os.listdir(folder)
        os.remove(file)


def count(server, *arguments, given=""):
    """An answer of sextant count: int64 are strings in proto JSON, and zeroes are left out."""
    return json.loads(text_of(server, "count", *arguments, "--output=json", given=given))


def check_counts(server):
    """Published totals, in text and in JSON, and the same model as its config.json has it."""
    out = text_of(server, "count", "llama-3.1-8b")
    assert out.startswith("llama-3.1-8b: 8,030,261,248 parameters\n"), out
    assert "FLOP" not in out and "Stages" not in out and "Tensors" not in out, out
    mixture = text_of(server, "count", "mixtral-8x7b")
    assert mixture.startswith("mixtral-8x7b: 46,702,792,704 parameters, 12,879,925,248 active")
    config = {"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
              "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
              "vocab_size": 128256, "rope_theta": 500000.0, "use_cache": True}
    answer = count(server, "-", "--tensors", given=json.dumps(config))
    assert answer["parameters"]["total"] == "8030261248", answer
    assert "use_cache" in answer["ignoredConfigFields"], answer
    for parts in (answer["tensors"], answer["parameters"]["components"]):
        assert sum(int(part["parameterCount"]) for part in parts) == 8030261248, parts
    config["made_up"] = 1
    head = text_of(server, "count", "-", "--allow-unread-fields", given=json.dumps(config))
    assert "not read: made_up" in head.split("\n\n")[0], head


def check_count_refusals(server):
    for arguments, given, named in (
            (["gpt2", "--sequence=0"], "", "--sequence, entry 1 (length)"),
            (["-"], '{"model_type": "llama", "hidden_size": -1}', "MODEL"),
            (["--architecture=-"], '{"hiddenSize": 4}', "--architecture")):
        refused = run(server, "count", *arguments, stdin=given)
        assert refused.returncode == 3 and refused.stdout == "", refused
        assert f"\n  {named}: " in refused.stderr, refused


def check_tensor(server):
    out = text_of(server, "tensor", "4x128x512", "--dtype=bf16", "view 4 128 8 64",
                  "transpose 1 2", "contiguous", "check batch heads seq 64", "index 1 2 3 4")
    assert "Allocated: 524,288 bytes" in out and "batch = 4, heads = 8, seq = 128" in out, out
    assert "512.00 KiB  [4, 8, 128, 64]  [65536, 8192, 64, 1]" in out, out
    refused = run(server, "tensor", "4x8", "--dtype=fp32", "transpose 0 1", "view 32")
    assert refused.returncode == 3 and 'STEP 2, "view 32" (shape): ' in refused.stderr, refused
    mismatch = text_of(server, "tensor", "4x8", "--dtype=fp32", "check a a")
    assert "MISMATCH" in mismatch, mismatch


def check_tokens(server):
    out = text_of(server, "tokens", "15T", "--vocabulary=128256", "--tokens-per-second=9e6")
    assert "60,000,000,000,000 bytes" in out and "36.00 MB/s" in out, out


def check_allocations(server):
    both = text_of(server, "allocate", "1e22", "--served-tokens=2T", "--tokens-per-parameter=200")
    assert len(both.splitlines()) <= 20 and max(map(len, both.splitlines())) <= 80, both


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


def check_output(server):
    """A reader that stops early is no failure; an answer that can't be written is one."""
    program = os.path.join(BIN, "sextant")
    environment = dict(os.environ, SEXTANT_ADDRESS=server.address)
    for arguments in (["completion", "bash"], ["accelerators"], ["--help"]):
        reader, writer = os.pipe()
        os.close(reader)
        gone = subprocess.run([program, *arguments], env=environment, stdout=writer, check=False,
                              stderr=subprocess.PIPE, text=True, timeout=60)
        os.close(writer)
        assert gone.returncode == 0 and gone.stderr == "", (arguments, gone)
        with open("/dev/full", "wb") as full:
            lost = subprocess.run([program, *arguments], env=environment, stdout=full, check=False,
                                  stderr=subprocess.PIPE, text=True, timeout=60)
        assert lost.returncode == 2 and lost.stderr == (
            "sextant: cannot write the answer: No space left on device\n"), (arguments, lost)
        closed = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", program, *arguments], text=True,
                                env=environment, check=False, capture_output=True, timeout=60)
        assert closed.returncode == 2 and "Bad file descriptor" in closed.stderr, closed
    with tempfile.TemporaryFile() as file:
        cut = subprocess.run(["sh", "-c", 'ulimit -f 1; exec "$@"', "sh", program, "completion",
                              "bash"], stdout=file, stderr=subprocess.PIPE, text=True, check=False,
                             env=environment, timeout=60)
    assert cut.returncode == 2 and "File too large" in cut.stderr, cut


def check_without_server():
    for command in ("devices", "calibration", "probe"):
        nobody = run(None, command)
        assert nobody.returncode == 4 and "127.0.0.1:1" in nobody.stderr, nobody
    assert run(None, "probe", "--matmul=1024x1024").returncode == 2
    assert run(None, "plan", "--calibration=/nonexistent").returncode == 2


def main():
    check_without_server()
    check_interrupt()
    with Server("--log_calls=none") as server, tempfile.TemporaryDirectory() as folder:
        check_exit_codes(server)
        check_output(server)
        check_text(server)
        check_json(server)
        check_operations(server)
        check_drawings(server, folder)
        check_counts(server)
        check_count_refusals(server)
        check_tensor(server)
        check_tokens(server)
        check_allocations(server)
    print("exit codes, text, JSON and Ctrl-C are as documented")
    return 0


if __name__ == "__main__":
    sys.exit(main())
