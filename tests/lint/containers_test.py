#!/usr/bin/python3
"""The container recipes name what is there: stages, files that the builder is given, words of
install-deps.sh, CMake's options and targets, flags of sextantd. Their entry point opens no port by
itself."""

import glob
import json
import os
import re
import subprocess
import sys
import tempfile

RECIPES = ("Dockerfile", "deploy/gpu.Dockerfile")
ENTRY_POINT = "deploy/entrypoint.sh"
ALL = ["--listen=0.0.0.0:50051", "--http_listen=0.0.0.0:9464"]
PLANNER = ["--role=planner"]
PROGRAMS = {"sextantd", "sextant", "sextant-probe"}


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def all_cmake():
    return "\n".join(read(path) for path in ["CMakeLists.txt"] + glob.glob("*/CMakeLists.txt"))


def given():
    """The top of the tree that the builder is given: all else is left out by the first rule."""
    lines = [line for line in read(".dockerignore").splitlines() if line and line[0] != "#"]
    assert lines[0] == "*" and all(line[0] == "!" for line in lines[1:]), lines
    return {line[1:] for line in lines[1:]}


def needed_folders():
    """Those that CMake reads, and installs from, where no tests are built."""
    cmake = read("CMakeLists.txt")
    added = re.findall(r"add_subdirectory\((\w+)\)", cmake)
    installed = re.findall(r"install\(DIRECTORY ([^)]+?) DESTINATION", cmake)
    return set(added) - {"tests"} | {folder for each in installed for folder in each.split()}


def is_given(folder):
    """Whether the builder has it, or a folder that it is in."""
    parts = folder.split("/")
    return any("/".join(parts[:i + 1]) in given() for i in range(len(parts)))


def stage_faults(name, instructions):
    faults, stages = [], set()
    for word, rest in instructions:
        if word == "FROM":
            stage = re.search(r" AS (\w+)$", rest)
            source = rest.split()[0]
            if not source.startswith("${") and source not in stages | {"scratch"}:
                faults.append(f"{name}: FROM {source}, which is no stage and no argument")
            stages.update(stage.groups() if stage else ())
        for source in re.findall(r"^--from=(\S+)", rest) if word == "COPY" else ():
            if source not in stages:
                faults.append(f"{name}: COPY --from={source}, which is no stage before it")
    return faults


def word_faults(name, text):
    """Faults of what `text` asks of the clone's own scripts, CMake and programs."""
    known_words = re.findall(r"^  (\w+)\) ", read("deploy/install-deps.sh"), re.MULTILINE)
    cmake, options = all_cmake(), read("server/options.cc")
    faults = [f"{name}: install-deps.sh has no word {word}"
              for word in re.findall(r"install-deps\.sh (\w+)\b(?!/)", text)
              if word not in known_words]
    faults += [f"{name}: CMake has no option {option}"
               for option in re.findall(r"-D(SEXTANT_\w+)=", text)
               if f"option({option} " not in cmake]
    for targets in re.findall(r"--target ([\w -]+?) --", text):
        faults += [f"{name}: no program {target}" for target in set(targets.split()) - PROGRAMS]
    for entry in re.findall(r"^ENTRYPOINT (\[.*\])$", text, re.MULTILINE):
        faults += [f"{name}: sextantd has no flag --{flag}"
                   for flag in re.findall(r'"--(\w+)', entry) if f'"--{flag}"' not in options]
    return faults


def faults_of(name, text):
    text = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ")
    instructions = re.findall(r"^([A-Z]+) +(.*\S)", text, re.MULTILINE)
    faults = stage_faults(name, instructions) + word_faults(name, re.sub(r" +", " ", text))
    for word, rest in instructions:
        if word == "COPY" and not rest.startswith("--from="):
            source = rest.split()[0]
            if source != "." and not (os.path.exists(source) and is_given(source)):
                faults.append(f"{name}: COPY {source}, which the builder is not given")
    return faults


def check_gpu_recipe():
    """The probe is told of the folder that the libraries are put into, and the driver's parts for
    CUDA and NVML are asked for."""
    text = read("deploy/gpu.Dockerfile")
    folder = re.search(r"--probe_library_folder=([\w/]+)", text).group(1)
    assert f"COPY --from=libraries /libraries {folder}\n" in text, folder
    assert f"LD_LIBRARY_PATH={folder}\n" in text, folder
    assert "NVIDIA_DRIVER_CAPABILITIES=compute,utility" in text
    assert folder in read("docs/running.md"), f"docs/running.md does not say {folder}"


def write_program(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, 0o755)


def started_by(folder, *flags):
    """What the entry point starts sextantd with, and its own line, as JSON."""
    program, script = os.path.join(folder, "sextantd"), os.path.join(folder, "entrypoint.sh")
    write_program(program, "#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    write_program(script, read(ENTRY_POINT).replace("/usr/bin/", folder + "/"))
    ran = subprocess.run([script, *flags], text=True, capture_output=True, check=True)
    lines = [json.loads(line) for line in ran.stderr.splitlines()]
    assert len(lines) <= 1, lines
    return ran.stdout.split("\n")[:-1] if ran.stdout != "\n" else [], (lines + [None])[0]


def check_entry_point(folder):
    """It listens beyond the container where flags say who may call, or that anyone may, and is a
    planner where it has no probe."""
    for recipe in RECIPES:
        entry = re.search(r'^ENTRYPOINT \["([^"]+)"(.*)\]$', read(recipe), re.MULTILINE)
        assert entry.group(1) == "/usr/lib/sextant/entrypoint.sh", (recipe, entry.group())
        assert "listen" not in entry.group(2) and "insecure" not in entry.group(2), entry.group()
    for flag in set(re.findall(r"--(\w+)", read(ENTRY_POINT))) - {"help", "version"}:
        assert f'"--{flag}"' in read("server/options.cc"), f"sextantd has no flag --{flag}"
    for flags in (["--insecure_allow_remote"], ["--tls_certificate=a b", "--tls_key=k"],
                  ["--tls_certificate", "a", "--tls_key", "k"]):
        assert started_by(folder, *flags) == (PLANNER + ALL + flags, None), flags
    own = ["--insecure_allow_remote", "--listen=0.0.0.0:1"]
    assert started_by(folder, *own) == (PLANNER + ALL[1:] + own, None)
    own = ["--insecure_allow_remote", "--http_listen=none"]
    assert started_by(folder, *own) == (PLANNER + ALL[:1] + own, None)
    for flags in ([], ["--log_calls=none"], ["--tls_key=k"]):
        started, line = started_by(folder, *flags)
        assert started == PLANNER + flags, (started, flags)
        assert line["level"] == "warning" and line["event"] == "listens_on_loopback", line
        assert "--tls_certificate" in line["reason"] and "--insecure" in line["reason"], line
    assert started_by(folder, "--listen=0.0.0.0:1") == (PLANNER + ["--listen=0.0.0.0:1"], None)
    for flags in (["--version"], ["--listen=0.0.0.0:1", "--role=agent"]):
        assert started_by(folder, *flags) == (flags, None), flags
    write_program(os.path.join(folder, "sextant-probe"), "")
    flags = ["--insecure_allow_remote"]
    assert started_by(folder, *flags) == (ALL + flags, None)


def main():
    wrong = ('FROM nowhere\nCOPY --from=none /a /b\nCOPY missing .\nRUN deploy/install-deps.sh no\n'
             'RUN cmake -DSEXTANT_NO=ON --target nothing --x\nENTRYPOINT ["a", "--no_flag=1"]\n')
    assert len(faults_of("wrong", wrong)) == 7, faults_of("wrong", wrong)
    faults = [fault for recipe in RECIPES for fault in faults_of(recipe, read(recipe))]
    faults += [f".dockerignore leaves out {folder}, which CMake needs"
               for folder in sorted(needed_folders()) if not is_given(folder)]
    print("\n".join(faults) or f"{len(RECIPES)} recipes name what is there")
    if faults:
        return 1
    check_gpu_recipe()
    with tempfile.TemporaryDirectory() as folder:
        check_entry_point(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
