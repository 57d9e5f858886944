#!/usr/bin/python3
"""The client's types: mypy --strict passes on the package and its examples, and finds misspelt
fields; the package is Python 3.9's; and a field added to a .proto is in the client without an edit.
"""

import ast
import glob
import os
import subprocess
import sys
import tempfile

import client
from client import BIN, PACKAGE, ROOT

PROTO = os.path.join(ROOT, "proto")

GOOD = """
import sextant
from sextant import types
from sextant.raw import Raw

def ask(raw: Raw) -> types.Plan:
    request: types.PlanRunRequest = {"model": {"preset": "gpt2"}}
    return raw.plan_run(request)["plan"]

plan: sextant.Plan = sextant.plan("gpt2", tokens="1T", tp=2, zero="optimizer")
print(plan.fits, sextant.peak_flops("h100-sxm").source)
"""

BAD = {
    '{"modle": {"preset": "gpt2"}}': 'Extra key "modle"',
    '{"options": {"view": "FULL"}}': "Incompatible types",
    '{"training": {"tokenCount": [1]}}': "Incompatible types",
}


def mypy(folder, *paths):
    """(Whether it has nothing to say, what it says)."""
    run = subprocess.run(
        ["mypy", "--strict", "--python-version=3.9", f"--config-file={PACKAGE}/pyproject.toml",
         "--cache-dir", os.path.join(folder, "cache"), *paths],
        capture_output=True, text=True, check=False, env={**os.environ, "MYPYPATH": PACKAGE})
    return run.returncode == 0, run.stdout + run.stderr


def check_mypy(folder):
    sources = [f"{PACKAGE}/sextant", f"{PACKAGE}/sextant_progress.py",
               f"{PACKAGE}/examples/ray_driver.py",
               os.path.join(ROOT, "client", "python", "plan", "sextant_plan")]
    passes, text = mypy(folder, *sources)
    assert passes, text
    programs = []

    def judged(source):
        # A name of its own: mypy's cache goes by size and whole seconds.
        programs.append(os.path.join(folder, f"program_{len(programs)}.py"))
        program = programs[-1]
        with open(program, "w", encoding="utf-8") as file:
            file.write(source)
        return mypy(folder, program)

    passes, text = judged(GOOD)
    assert passes, text
    for request, words in BAD.items():
        passes, text = judged(GOOD.replace('{"model": {"preset": "gpt2"}}', request))
        assert not passes and ".py:7" in text and words in text, (request, text)
    for good, bad in (("tokens=", "tokns="), ("tp=2", "tp=2.5"), ('["plan"]', '["plann"]')):
        passes, text = judged(GOOD.replace(good, bad))
        assert not passes and "program_" in text, (bad, text)


def check_python_3_9():
    paths = glob.glob(f"{PACKAGE}/**/*.py", recursive=True)
    assert len(paths) > 15, paths
    for path in paths:
        with open(path, encoding="utf-8") as file:
            ast.parse(file.read(), path, feature_version=(3, 9))


def check_new_field(folder):
    """A field and a method that no .proto has yet."""
    protos = os.path.join(folder, "proto")
    subprocess.run(["cp", "-r", PROTO, protos], check=True)
    path = f"{protos}/sextant/v1/training.proto"
    with open(path, encoding="utf-8") as file:
        text = file.read()
    head = "message TrainingSpec {\n"
    added = ('  // A new one.\n  optional int64 brand_new_count = 900 [(sextant.v1.field) = {\n'
             '    flag: "--brand-new-count,--brand-new"\n  }];\n')
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(head, head + added, 1))
    names = [os.path.relpath(name, protos) for name in
             glob.glob(f"{protos}/google/rpc/*.proto") + glob.glob(f"{protos}/sextant/v1/*.proto")]
    subprocess.run(["protoc", "-I", protos, "--include_imports", "--include_source_info",
                    f"--descriptor_set_out={folder}/descriptors", *names], check=True)
    accelerators = os.path.join(BIN, "..", "client", "python", "accelerators.json")
    subprocess.run(["/usr/bin/python3", f"{ROOT}/client/python/generate.py",
                    f"--descriptors={folder}/descriptors", f"--accelerators={accelerators}",
                    f"--catalogue={ROOT}/engine/hardware/catalogue.cc", "--version=1.2.3",
                    f"--output={folder}/package"], check=True)
    told = subprocess.run(
        ["/usr/bin/python3", "-c", "import sextant, sextant.types as types\n"
         "from sextant.fields import PLAN_FIELDS\nfrom sextant.request import request_of\n"
         "assert 'brandNewCount' in types.TrainingSpec.__annotations__\n"
         "print(sextant.__version__, request_of(PLAN_FIELDS, None, {'brand_new': '3K'}))"],
        cwd=f"{folder}/package", capture_output=True, text=True, check=False)
    assert told.stdout == "1.2.3 {'training': {'brandNewCount': '3000'}}\n", told


def main():
    client.skip_without(modules=["google.protobuf"], programs=["mypy", "protoc"])
    with tempfile.TemporaryDirectory() as folder:
        check_python_3_9()
        check_new_field(folder)
        check_mypy(folder)
    print("the types are complete and strict, and found what was misspelt")
    return 0


if __name__ == "__main__":
    sys.exit(main())
