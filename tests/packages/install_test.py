#!/usr/bin/python3
"""`cmake --install` into a folder of one's own: each component has its files, the programs run from
there, and the units start them."""

import os
import re
import subprocess
import sys
import tempfile

BUILD = os.path.dirname(os.environ["SEXTANT_BIN"])
OF_COMPONENT = {
    "client": {"bin/sextant", "share/doc/sextant/sextant.cdx.json", "share/sextant/openapi.json",
               "share/doc/sextant/LICENSE", "share/doc/sextant/docs/install.md",
               "share/sextant/proto/sextant/v1/planning_service.proto",
               "share/sextant/proto/google/rpc/error_details.proto",
               "share/sextant/python/sextant_progress.py", "share/zsh/vendor-completions/_sextant"},
    "server": {"bin/sextantd", "share/doc/sextant/sextantd.cdx.json",
               "share/sextant/monitoring/alerts.yml"},
    "probe": {"bin/sextant-probe", "share/doc/sextant/sextant-probe.cdx.json",
              "lib/systemd/system/sextant-agent.service",
              "lib/systemd/system/sextant-agent.service.d/devices.conf"},
    "slurm": {"bin/sextant-sbatch", "bin/sextant-slurm", "share/sextant/slurm/job_submit.lua",
              "share/sextant/slurm/cli_filter.lua", "share/sextant/slurm/slurm.lua",
              "share/sextant/slurm/sextant/admission.lua", "share/man/man8/sextant-slurm.8"},
    "planner": {"lib/systemd/system/sextant-planner.service"},
}


def install(prefix, *flags):
    subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix, *flags], check=True,
                   stdout=subprocess.DEVNULL)
    return {os.path.relpath(os.path.join(place, name), prefix)
            for place, _, names in os.walk(prefix) for name in names}


def check_components(folder):
    """Each has what it should; two have nothing in common but licence and notice."""
    seen = {}
    for component, wanted in OF_COMPONENT.items():
        found = install(os.path.join(folder, component), "--component", component)
        assert wanted <= found, (component, wanted - found)
        for path in found - {"share/doc/sextant/LICENSE", "share/doc/sextant/NOTICE"}:
            assert path not in seen, (path, component, seen[path])
            seen[path] = component
    return set(seen)


def check_all(folder, of_components):
    """Beside the components the libraries, with which sextantd starts, and nothing else."""
    prefix = os.path.join(folder, "all")
    rest = install(prefix, "--strip") - of_components
    libraries = {path for path in rest if re.match(r"lib/sextant/lib[^/]*\.so", path)}
    assert rest - libraries == {"share/doc/sextant/LICENSE", "share/doc/sextant/NOTICE"}, rest
    assert libraries
    planned = subprocess.run(
        [f"{prefix}/bin/sextant", "--local", "plan", "llama-3.1-8b", "--tokens=1e9", "--gbs=32",
         "--sequence-length=8192", "--accelerator=h100-sxm", "--devices=16"], check=True,
        capture_output=True, text=True, timeout=60, env={"PATH": "/usr/bin:/bin"}).stdout
    assert planned.startswith("FITS"), planned
    for unit in ("sextant-planner.service", "sextant-agent.service",
                 "sextant-agent.service.d/devices.conf"):
        with open(f"{prefix}/lib/systemd/system/{unit}", encoding="utf-8") as file:
            starts = re.findall(r"^ExecStart=(\S+)", file.read(), re.MULTILINE)
        assert starts == [f"{prefix}/bin/sextantd"], starts


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_all(folder, check_components(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
