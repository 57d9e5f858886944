#!/usr/bin/python3
"""sextant op, tensor and tokens against a running server, their drawings read by an XML parser."""

import json
import math
import os
import subprocess
import tempfile
import xml.etree.ElementTree as xml

from sextantd import BIN, Server

SVG = "{http://www.w3.org/2000/svg}"
LEFT, TOP, RIGHT, BOTTOM = 92, 48, 780, 352  # of a drawing's axes


def run(server, *arguments):
    environment = dict(os.environ, SEXTANT_ADDRESS=server.address)
    done = subprocess.run([os.path.join(BIN, "sextant"), *arguments], timeout=60, env=environment,
                          capture_output=True, text=True, check=False)
    for line in [] if "--output=json" in arguments else done.stdout.splitlines():
        assert len(line) <= 99, (len(line), line)
    return done


def text_of(server, *arguments):
    done = run(server, *arguments)
    assert done.returncode == 0 and done.stderr == "", done
    return done.stdout


# One of each kind, as --help has it, with what its answer has to say.
KINDS = [
    (["matmul", "16384x32768x8192"], "8,796,093,022,208 FLOP"),
    (["batched-matmul", "64x4096x128x4096"], "c [64, 4096, 4096]"),
    (["linear", "8192x4096x14336", "--bias"], "At the start"),
    (["elementwise", "4096x4096", "--function=add"], "16,777,216 FLOP"),
    (["reduction", "8192x4096", "--function=mean"], "Forward"),
    (["softmax", "8192x4096"], "4.00 x the bytes"),
    (["layer-norm", "8192x4096"], "Unfused"),
    (["rms-norm", "8192x4096"], "Unfused"),
    (["activation", "8192x14336", "--function=gelu-tanh"], "Backward"),
    (["swiglu", "8192x14336"], "Backward"),
    (["rotary", "8192x32x128"], "Backward"),
    (["dropout", "8192x4096"], "Backward"),
    (["embedding", "8192x128256x4096"], "dtable"),
    (["cross-entropy", "8192x128256"], "Backward"),
    (["attention", "1x32x8192x128", "--kv-heads=8", "--causal"], "33,558,528"),
    (["optimizer-update", "8B", "--master-weights"], "none: it has no gradient"),
    (["fused-chain", "8192x4096", "scale", "add:1", "exp"], "Unfused"),
    (["einsum", "b s h, b t h -> b s t", "2x3x4", "2x3x4"], "144 FLOP"),
]


def check_kinds(server):
    for arguments, expected in KINDS:
        out = text_of(server, "op", *arguments, "--dtype=bf16", "--device=h100-sxm", "--plot")
        assert expected in out and "Roofline of" in out, out
        costs = json.loads(text_of(server, "op", *arguments, "--dtype=bf16", "--output=json"))
        assert costs["name"] == arguments[0].replace("-", "_"), costs
    copy = text_of(server, "op", "host-copy", "1GiB", "--link=25e9", "--pageable",
                   "--staging=10e9")
    assert "150.32 ms" in copy and "107.37 ms" in copy, copy


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
        "compute": ["matmul", "16384x32768x8192", "--achieved=9.5ms"],
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
        assert drawing.tag == SVG + "svg" and float(drawing.get("width")) == 800, name
        numbers = [value for element in drawing.iter() for key, value in element.attrib.items()
                   if key in ("x", "y", "x1", "x2", "y1", "y2")]
        assert numbers and all(math.isfinite(float(n)) for n in numbers), name
        assert "nan" not in "".join(drawing.itertext()), name
        (x, y), _ = positions(drawing)
        assert LEFT < x < RIGHT and TOP < y < BOTTOM, (name, x, y)
        forward = answer["time"]["forward"]
        labels = "\n".join(drawing.itertext())
        assert f"ridge {forward['ridge_flops_per_byte']:,.2f} FLOP/byte" in labels, labels
        # Both axes are logarithmic: a line's ends say where a power of ten is.
        ridge = next(float(line.get("x1")) for line in drawing.iter(SVG + "line")
                     if line.get("stroke-dasharray"))
        beyond = forward["arithmetic_intensity"] > forward["ridge_flops_per_byte"]
        assert (x > ridge) == beyond or abs(x - ridge) < 0.2, (name, x, ridge)
        assert os.listdir(folder) == [os.path.basename(file)], os.listdir(folder)
        os.remove(file)


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


def check_refusals(server):
    refused = run(server, "op", "attention", "1x32x8x16", "--kv-heads=7", "--dtype=bf16")
    assert refused.returncode == 3 and "  --kv-heads: " in refused.stderr, refused
    unknown = run(server, "op", "matmul", "1x2x3", "--dtype=bf16", "--device=h10")
    assert unknown.returncode == 3 and "h100" in unknown.stderr, unknown
    unwritten = run(server, "op", "matmul", "1x2x3", "--dtype=bf16", "--device=h100-sxm",
                    "--svg=/nonexistent/x.svg")
    assert unwritten.returncode == 2 and unwritten.stdout == "", unwritten


def main():
    with Server("--log_calls=none") as server, tempfile.TemporaryDirectory() as folder:
        check_kinds(server)
        check_drawings(server, folder)
        check_tensor(server)
        check_tokens(server)
        check_refusals(server)
    print("ok")


if __name__ == "__main__":
    main()
