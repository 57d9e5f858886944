#!/usr/bin/python3
"""Files that start a run, as their users and schedulers give them: by the command line, and by the
API over HTTP."""

import json
import os
import subprocess
import sys
import tempfile
import urllib.request

from sextantd import BIN, Server

MODEL = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 4096,
         "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
         "num_key_value_heads": 8, "vocab_size": 128256, "tie_word_embeddings": False}
DEEPSPEED = {"train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 2,
             "bf16": {"enabled": True}, "zero_optimization": {"stage": 3}, "gradient_clipping": 1.0}
RUN = ["--tokens=1B", "--sequence-length=4096", "--accelerator=h100-sxm", "--devices=16"]
HOSTILE = ["[" * 262144, "{" * 262144, "- " * 131072, "&a [*a," * 30000, "[a.b]\n" * 40000,
           "--num-layers 1 " + "'" * 200001, "a:\n" * 80000, "\x00", "", "\u00ff" * 100000]


def run(server, *words, **more):
    done = subprocess.run([os.path.join(BIN, "sextant"), "--address", server.address, *words],
                          capture_output=True, text=True, timeout=60, check=False, **more)
    return done.returncode, done.stdout, done.stderr


def call(server, method, request):
    ask = urllib.request.Request(
        f"http://{server.http}/sextant.v1.PlanningService/{method}",
        data=json.dumps(request).encode(), headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(ask, timeout=60) as answer:
        return json.load(answer)


def write(name, content):
    with open(name, "w", encoding="utf-8") as file:
        file.write(content if isinstance(content, str) else json.dumps(content))


def check_command(server):
    """Two files and flags: what was made of each, and a plan of all."""
    write("llama.json", MODEL)
    write("ds.json", DEEPSPEED)
    code, out, err = run(server, "plan", "llama.json", "ds.json", *RUN, "--output=json")
    assert code in (0, 7), (code, err)
    assert "took llama.json for a model's config.json\n" in err, err
    assert "took ds.json for a DeepSpeed configuration\n" in err, err
    plan = json.loads(out)["plan"]
    assert plan["parameters"]["total"] == "8030261248", plan["parameters"]
    # The same run by flags alone.
    by_flags = ["--config=llama.json", "--framework=deepspeed", "--zero=3", "--mbs=1", "--gbs=32",
                "--compute-data-type=bf16"]
    _, flagged, _ = run(server, "plan", *by_flags, *RUN, "--output=json")
    other = json.loads(flagged)["plan"]
    assert plan["memory"]["peakBytes"] == other["memory"]["peakBytes"], (plan, other)
    assert plan["stepTime"]["seconds"] == other["stepTime"]["seconds"]
    return plan


def check_api(server, plan):
    """A scheduler reads the same files for its user."""
    read = call(server, "ImportRun", {
        "files": [{"name": "llama.json", "content": json.dumps(MODEL)},
                  {"name": "ds.json", "content": json.dumps(DEEPSPEED)}],
        "request": {"training": {"tokenCount": "1000000000", "sequenceLength": "4096"},
                    "cluster": {"device": {"accelerator": "h100-sxm"}, "deviceCount": "16"}}})
    assert [each["format"] for each in read["files"]] == [
        "model's config.json", "DeepSpeed configuration"], read
    assert read["request"]["layout"]["globalBatchSize"] == "32", read["request"]
    read["request"]["options"] = {"view": "PLAN_VIEW_FULL"}
    planned = call(server, "PlanRun", read["request"])["plan"]
    assert planned["memory"]["peakBytes"] == plan["memory"]["peakBytes"]
    written = call(server, "ExportRun", {"request": read["request"], "launcher": "deepspeed"})
    again = json.loads(written["files"][0]["content"])
    assert again["zero_optimization"]["stage"] == 3, again


def check_written_files(server):
    """What --emit writes is a file that plan takes."""
    layout = ["--tp=4", "--gbs=64", "--recompute=none", "--zero=1"]
    for launcher, name in (("megatron", "run.args"), ("torchtitan", "run.toml")):
        more = layout if launcher == "megatron" else ["--zero=3", "--gbs=64", "--recompute=full"]
        code, _, err = run(server, "plan", "llama-3.1-8b", *RUN, *more, f"--emit={launcher}",
                           f"--emit-to={name}")
        assert code == 0, err
        code, out, err = run(server, "plan", name, "--accelerator=h100-sxm", "--devices=16")
        assert code == 0 and out.startswith("FITS"), (out, err)
        assert err.startswith(f"took {name} for a"), err


def check_hostile(server):
    """Each is refused by its name, soon, in the product's own words."""
    for text in HOSTILE:
        write("hostile.txt", text)
        code, out, err = run(server, "plan", "hostile.txt", *RUN)
        assert code == 3 and not out, (text[:20], code, out)
        assert "hostile.txt" in err and "exception" not in err and len(err) < 2000, err
    code, _, err = run(server, "plan", "llama-3.1-8b", *RUN)
    assert code in (0, 8), err  # it answers still


def main():
    with tempfile.TemporaryDirectory() as folder, Server("--log_calls=none") as server:
        os.chdir(folder)
        plan = check_command(server)
        check_api(server, plan)
        check_written_files(server)
        check_hostile(server)
    print("files are read by the command and by the API, and those that are written are read back")
    return 0


if __name__ == "__main__":
    sys.exit(main())
