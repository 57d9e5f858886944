"""The built Python client for a test: its folder, and a Python that has nothing but its wheel."""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "e2e"))

from sextantd import BIN, ROOT, SKIPPED, Server  # noqa: E402, F401

PACKAGE = os.path.join(BIN, "..", "client", "python", "package")


def skip_without(*, modules=(), programs=()):
    """Ends the test as skipped where something is missing."""
    missing = [name for name in programs if shutil.which(name) is None]
    missing += [f"Python's {name}" for name in modules if subprocess.run(
        ["/usr/bin/python3", "-c", f"import {name}"], capture_output=True, check=False).returncode]
    if not os.path.isdir(PACKAGE):
        missing.append("the client, which needs python3-protobuf when it is built")
    if missing:
        print(f"skipped: no {', '.join(missing)} (deploy/install-deps.sh tests)")
        sys.exit(SKIPPED)


def build_wheel(folder, **variables):
    """The path of the client's wheel, built below `folder` with these in the environment."""
    sources = os.path.join(folder, "sources")
    shutil.copytree(PACKAGE, sources, ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run(["/usr/bin/python3", "-m", "build", "--no-isolation", "--wheel",
                    f"--outdir={folder}", sources], check=True, capture_output=True,
                   env={**os.environ, **variables})
    wheels = [name for name in os.listdir(folder) if name.endswith(".whl")]
    assert len(wheels) == 1, wheels
    return os.path.join(folder, wheels[0])


@contextlib.contextmanager
def fresh_python():
    """(The Python of a fresh environment with the wheel alone, the wheel's path)."""
    with tempfile.TemporaryDirectory() as folder:
        wheel = build_wheel(folder)
        subprocess.run(["/usr/bin/python3", "-m", "venv", f"{folder}/venv"], check=True)
        python = f"{folder}/venv/bin/python"
        subprocess.run([python, "-m", "pip", "install", "--no-index", "--quiet", wheel], check=True)
        yield python, wheel


def run_python(python, text, address, timeout=240, **variables):
    """What the program prints, which has to succeed. It sees no folder but its environment's."""
    run = subprocess.run([python, "-I", "-c", text], text=True, capture_output=True,
                         timeout=timeout, check=False,
                         env={**os.environ, "SEXTANT_HTTP_ADDRESS": address, **variables})
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout
