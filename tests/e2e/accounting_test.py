#!/usr/bin/python3
"""sextant op, count, tensor, tokens, allocate against a running server; drawings read as XML."""

import json
import math
import os
import subprocess
import tempfile
import xml.etree.ElementTree as xml

from sextantd import BIN, Server

SVG = "{http://www.w3.org/2000/svg}"
LEFT, TOP, RIGHT, BOTTOM = 92, 48, 780, 352  # of a drawing's axes


def run(server, *arguments, given=""):
    environment = dict(os.environ, SEXTANT_ADDRESS=server.address)
    done = subprocess.run([os.path.join(BIN, "sextant"), *arguments], timeout=60, env=environment,
                          input=given, capture_output=True, text=True, check=False)
    for line in [] if "--output=json" in arguments else done.stdout.splitlines():
        assert len(line) <= 99, (len(line), line)
    return done


def text_of(server, *arguments, given=""):
    done = run(server, *arguments, given=given)
    assert done.returncode == 0 and done.stderr == "", done
    return done.stdout


# One of each kind, as --help has it, with what its answer has to say.
KINDS = [
    (["matmul", "16384x8192x32768"], "8,796,093,022,208 FLOP"),
    (["batched-matmul", "64x4096x4096x128"], "c [64, 4096, 4096]"),
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
              "vocab_size": 128256, "rope_theta": 500000.0, "made_up": 1}
    answer = count(server, "-", "--tensors", given=json.dumps(config))
    assert answer["parameters"]["total"] == "8030261248", answer
    assert "made_up" in answer["ignored_config_fields"], answer
    for parts in (answer["tensors"], answer["parameters"]["components"]):
        assert sum(int(part["parameter_count"]) for part in parts) == 8030261248, parts
    assert "made_up" in text_of(server, "count", "-", given=json.dumps(config))


# Llama-3-70B on sequences of 8192 tokens.
LAYERS, HIDDEN, HEADS, KV_HEADS, HEAD, INNER, VOCABULARY, LENGTH = (
    80, 8192, 64, 8, 128, 28672, 128256, 8192)


def check_model_flops(server):
    """By hand: 6 a parameter in a matrix, and two products of a query with each position seen."""
    matrices = VOCABULARY * HIDDEN + LAYERS * (
        2 * HIDDEN * HEADS * HEAD + 2 * HIDDEN * KV_HEADS * HEAD + 3 * HIDDEN * INNER)
    attention = LAYERS * 12 * HEADS * HEAD
    flops = count(server, "llama-3-70b", "--sequence=64x8192", "--recompute=full")["flops"]
    assert flops["token_count"] == str(64 * LENGTH), flops
    for masked, positions in zip(flops["masks"], (LENGTH, LENGTH / 2, (LENGTH + 1) / 2)):
        expected = 6 * matrices + attention * positions
        assert math.isclose(masked["model_flops_per_token"], expected, rel_tol=1e-12), masked
        # All but the output head once more.
        recompute = 2 * (matrices - VOCABULARY * HIDDEN) + attention * positions / 3
        assert math.isclose(masked["passes"]["recompute"], recompute, rel_tol=1e-12), masked
    out = text_of(server, "count", "llama-3-70b", "--sequence=8192", "--conventions", "--kaplan")
    for convention in ("six-n-total", "palm-2022", "megatron-causal", "exact-causal"):
        assert convention in out, out


def check_shards(server):
    """All ranks together hold each matrix once, and each norm on all ranks that share matrices."""
    answer = count(server, "llama-3-70b", "--tp=8", "--pp=4")
    held = 8 * sum(int(stage["parameter_count"]) for stage in answer["stages"])
    norms = (2 * LAYERS + 1) * HIDDEN
    assert held == int(answer["parameters"]["total"]) + 7 * norms, (held, answer)
    # 8 experts, each cut in 2.
    mixture = count(server, "mixtral-8x7b", "--tp=2", "--pp=4", "--ep=8")
    experts = 32 * 8 * 3 * 4096 * 14336
    assert 16 * sum(int(s["expert_parameter_count"]) for s in mixture["stages"]) == experts, mixture
    out = text_of(server, "count", "llama-3-70b", "--tp=8", "--pp=4")
    assert "\n  1-2  " in out and "<- the most" in out, out


def check_adapters(server):
    """Rank 16 beside 4096 x 4096 and 1024 x 4096, in 32 layers."""
    out = text_of(server, "count", "llama-3.1-8b", "--lora-rank=16", "--freeze-base")
    trained = 32 * 16 * ((4096 + 4096) + (1024 + 4096))
    assert f"{trained:,} trained" in out, out
    frozen = text_of(server, "count", "llama-3.1-8b", "--freeze=token_embedding,output_head",
                     "--sequence=8192")
    assert f"{8030261248 - 2 * 128256 * 4096:,} trained" in frozen, frozen


def check_count_refusals(server):
    for wrong, named in (("--sequence=0", "--sequence, entry 1 (length)"), ("--tp=0", "--tp"),
                         ("--lora-rank=0", "--lora-rank"), ("--freeze=nor", "--freeze, entry 1")):
        refused = run(server, "count", "gpt2", wrong)
        assert refused.returncode == 3 and refused.stdout == "", refused
        assert f"\n  {named}: " in refused.stderr, refused
    unknown = run(server, "count", "llama-3.1-8bb")
    assert unknown.returncode == 3 and "llama-3.1-8b" in unknown.stderr, unknown
    config = run(server, "count", "-", given='{"model_type": "llama", "hidden_size": -1}')
    assert config.returncode == 3 and "\n  MODEL" in config.stderr, config
    shape = run(server, "count", "--architecture=-", given='{"hidden_size": 4}')
    assert shape.returncode == 3 and "\n  --architecture: " in shape.stderr, shape


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
    """The textbook's week; the row of 10 billion parameters of Chinchilla's table 3."""
    out = text_of(server, "allocate", "--accelerator=h100-sxm", "--devices=8", "--duration=7d",
                  "--peak-flops-per-second=989.5e12", "--mfu=0.5")
    assert out.startswith("2.3938e+21 FLOP of training: 8 x h100-sxm for 7.00 days"), out
    both = text_of(server, "allocate", "1e22", "--served-tokens=2T", "--tokens-per-parameter=200")
    assert len(both.splitlines()) <= 20 and max(map(len, both.splitlines())) <= 80, both
    answer = json.loads(text_of(server, "allocate", "1.23e22", "--rule=chinchilla-1",
                                "--output=json"))
    optimum = answer["allocations"][0]["optimum"]
    assert abs(int(optimum["parameter_count"]) / 1e10 - 1) < 0.003, optimum
    assert abs(int(optimum["token_count"]) / 205.1e9 - 1) < 0.003, optimum
    refused = run(server, "allocate", "0")
    assert refused.returncode == 3 and "  --flops: must be a number from" in refused.stderr, refused


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
        check_counts(server)
        check_model_flops(server)
        check_shards(server)
        check_adapters(server)
        check_count_refusals(server)
        check_tensor(server)
        check_tokens(server)
        check_allocations(server)
        check_refusals(server)
    print("ok")


if __name__ == "__main__":
    main()
