#!/usr/bin/python3
"""The wheels in a clean bookworm with Python and no library of ours: a private planner plans, an
error names its field, and the command runs."""

import os
import shutil
import subprocess
import sys
import tempfile

from clean_root import CleanRoot

BUILD = os.path.dirname(os.environ["SEXTANT_BIN"])
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PACKAGE = os.path.join(BUILD, "client", "python", "package")
SKIPPED = 77
PLANS = """
import sextant, sextant_plan
run = dict(tokens="1T", sequence_length=8192, gbs=64, accelerator="h100-sxm", devices=16)
with sextant_plan.Client() as client:
    plan = client.plan("llama-3.1-8b", **run)
    assert plan.fits and "FITS" in plan._repr_html_(), plan
    try:
        client.plan("llama-3.1-8b", **{**run, "tokens": 0})
    except sextant.FieldError as error:
        print(error.fields[0][0])
"""


def build(folder):
    subprocess.run(["cp", "-r", PACKAGE, f"{folder}/sources"], check=True)
    subprocess.run(["/usr/bin/python3", "-m", "build", "--no-isolation", "--wheel",
                    f"--outdir={folder}/wheels", f"{folder}/sources"], check=True,
                   capture_output=True)
    subprocess.run([f"{ROOT}/deploy/wheel.sh", BUILD, f"{folder}/wheels"], check=True,
                   stdout=subprocess.DEVNULL)
    return sorted(os.listdir(f"{folder}/wheels"))


def missing():
    if os.geteuid() != 0 or not shutil.which("mmdebstrap"):
        return "clean systems, which root makes by mmdebstrap"
    done = subprocess.run(["/usr/bin/python3", "-c", "import build, setuptools, wheel"],
                          capture_output=True, check=False)
    if done.returncode or not os.path.isdir(PACKAGE):
        return "the client, or what builds wheels (deploy/install-deps.sh tests)"
    return None


def main():
    if what := missing():
        print(f"skipped: no {what}")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        wheels = build(folder)
        place = os.path.join(folder, "root")
        os.mkdir(place)
        try:
            root = CleanRoot(BUILD, place)
            root.apt("update")
            root.apt("install", "python3-venv")
        except (subprocess.CalledProcessError, AssertionError) as failed:
            print(f"skipped: no clean bookworm from the mirror: {failed}")
            return SKIPPED
        for wheel in wheels:
            shutil.copy(f"{folder}/wheels/{wheel}", root.path("/opt"))
        root.run("python3", "-m", "venv", "/opt/venv")
        root.run("/opt/venv/bin/pip", "install", "--no-index",
                 *(f"/opt/{wheel}" for wheel in wheels))
        told = root.run("/opt/venv/bin/python", "-I", "-c", PLANS)
        assert told == "training.token_count\n", told
        told = root.run("/opt/venv/bin/sextant", "--local", "plan", "llama-3.1-8b", "--tokens=1e9",
                        "--gbs=32", "--sequence-length=8192", "--accelerator=h100-sxm",
                        "--devices=16")
        assert told.startswith("FITS"), told
        print(f"{', '.join(wheels)} plan in a clean bookworm")
    return 0


if __name__ == "__main__":
    sys.exit(main())
