#!/usr/bin/python3
"""The probe as a program: exit codes, deadlines, a reader that leaves, a parent that ends, kill -9.

It runs fake-probe: the real program with a scripted device in place of the host's.
"""

import glob
import json
import os
import pty
import resource
import signal
import subprocess
import sys
import tempfile
import time

BIN = os.environ.get("SEXTANT_BIN", "build/release/bin")
PROGRAM = os.path.join(BIN, "fake-probe")

# Everything that a run leaves behind goes here, until this script ends.
HELD = tempfile.TemporaryDirectory()
FOLDER = HELD.name


def environment(behaviour="", **more):
    # Its own locks: tests in parallel don't lock each other out.
    return {**os.environ, "SEXTANT_FAKE": behaviour, "SEXTANT_LOCK_FOLDER": FOLDER, **more}


def run(*flags, behaviour="", **more):
    done = subprocess.run([PROGRAM, *flags], capture_output=True, env=environment(behaviour),
                          timeout=200, check=False, **more)
    lines = done.stdout.decode().splitlines(keepends=True)
    assert all(line.endswith("\n") for line in lines), "half a line"
    return done.returncode, lines, done.stderr.decode()


def events(lines):
    return [json.loads(line) for line in lines]


def check_a_run():
    code, lines, errors = run("--mode=quick")
    assert code == 0 and errors == "", (code, errors)
    *progress, result = events(lines)
    assert progress and all("progress" in event for event in progress), progress
    assert progress[-1]["progress"]["fraction"] == 1, progress[-1]
    calibration = result["calibration"]
    assert calibration["schemaVersion"] == 2 and calibration["mode"] == "PROBE_MODE_QUICK"
    assert calibration["probeVersion"].startswith("sextant-probe "), calibration
    assert len(calibration["matmuls"]) == 3 and calibration["coverageRatio"] == 1
    assert calibration["measuredTime"].endswith("Z") and "." not in calibration["measuredTime"]


def check_failures():
    for behaviour, expected, kind in (
            ("mismatch", 5, "KIND_MISMATCH"), ("unsupported", 3, "KIND_UNSUPPORTED"),
            ("absent", 3, "KIND_UNSUPPORTED"), ("memory", 4, "KIND_REFUSED")):
        code, lines, errors = run(behaviour=behaviour)
        failure = events(lines)[-1]["failure"]
        assert (code, failure["kind"]) == (expected, kind), (behaviour, code, lines)
        assert failure["message"] in errors, errors
        assert "calibration" not in "".join(lines), behaviour
    assert events(run(behaviour="memory")[1])[-1]["failure"]["reason"] == "memory"
    code, lines, _ = run("--budget=soon")
    assert code == 2 and events(lines)[0]["failure"]["kind"] == "KIND_USAGE", lines
    code, lines, _ = run("--matmul=8x8x8", behaviour="forgets")
    assert code == 1 and "0 of 1 shapes" in lines[-1], lines
    assert run("--format=text", "--budget=0")[1] == [], "text has no JSON"
    assert run("--format=text", behaviour="mismatch")[:2] == (5, [])


def check_texts():
    code, lines, _ = run("--version")
    assert code == 0 and lines[0].startswith("sextant-probe "), lines
    assert "Exit codes:" in "".join(run("--help")[1])
    code, lines, _ = run("--list")
    assert code == 0 and len(lines) == 1 and "device" in events(lines)[0], lines
    code, lines, _ = run("--format=text", "--matmul=64x32x16")
    assert code == 0 and "Shapes asked for" in "".join(lines), lines


def check_the_hard_deadline():
    """A kernel that never ends: one failure and the deadline's code; the heartbeat meanwhile."""
    code, lines, _ = run("--budget=100ms", behaviour="hang")
    *progress, last = events(lines)
    assert code == 6 and last["failure"]["kind"] == "KIND_DEADLINE", (code, lines)
    assert all("progress" in event for event in progress), progress


def check_a_reader_that_leaves():
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([PROGRAM], stdout=writing, stderr=subprocess.PIPE, env=environment(),
                          timeout=200, check=False)
    os.close(writing)
    assert done.returncode == 1 and done.stderr == b"", done


def check_a_reader_that_stalls():
    """Nobody reads 500 kB of result, and the process ends all the same, at its hard deadline."""
    with subprocess.Popen([PROGRAM, "--budget=100ms"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, env=environment("many_notes")) as child:
        assert child.wait(timeout=200) == 6


def check_a_full_disk():
    """The file and the reason are there though stdout takes nothing."""
    path = os.path.join(FOLDER, "full.json")
    with open("/dev/full", "wb") as full:
        done = subprocess.run([PROGRAM, f"--output={path}"], stdout=full, stderr=subprocess.PIPE,
                              env=environment(), timeout=200, check=False)
        asked = subprocess.run([PROGRAM, "--help"], stdout=full, stderr=subprocess.PIPE,
                               env=environment(), timeout=200, check=False)
    assert done.returncode == 1 and b"No space left" in done.stderr, done
    assert asked.returncode == 1 and b"No space left" in asked.stderr, asked
    with open(path, encoding="utf-8") as file:
        assert len(json.load(file)["matmuls"]) == 3


def check_a_file_size_limit():
    """A file that may not grow so large is an error, not a signal, and leaves nothing."""
    path = os.path.join(FOLDER, "limited.json")

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100000, resource.RLIM_INFINITY))

    code, lines, errors = run(f"--output={path}", behaviour="many_notes", preexec_fn=limit)
    assert code == 1 and "File too large" in errors, (code, errors)
    assert "calibration" in events(lines)[-1] and not glob.glob(f"{path}*")


def check_an_output_that_is_stdout():
    """The lines would go to a file without a name: refused before anything is measured."""
    path = os.path.join(FOLDER, "stdout.json")
    for name in (path, "/dev/stdout"):
        with open(path, "wb") as file:
            done = subprocess.run([PROGRAM, f"--output={name}"], stdout=file,
                                  stderr=subprocess.PIPE, env=environment(), timeout=200,
                                  check=False)
        assert done.returncode == 2 and b"where standard output goes" in done.stderr, done


def check_an_interrupted_bar():
    """Ctrl-C on a terminal leaves an empty line, and the signal ends the process."""
    try:
        master, terminal = pty.openpty()
    except OSError as error:  # a host without /dev/pts
        print(f"left out: an interrupted bar, since there is no terminal: {error}")
        return
    with subprocess.Popen([PROGRAM, "--format=text", "--budget=60s"], stdout=subprocess.DEVNULL,
                          stderr=terminal, env=environment("hang")) as child:
        shown = b""
        while b"%" not in shown:
            shown += os.read(master, 4096)
        child.send_signal(signal.SIGINT)
        assert child.wait(timeout=200) == -signal.SIGINT
    os.close(terminal)
    try:
        while chunk := os.read(master, 4096):
            shown += chunk
    except OSError:  # as Linux says that a terminal's other end is closed
        pass
    os.close(master)
    assert shown.endswith(b"\r\x1b[K"), shown


def check_closed_descriptors():
    """Without stdout and stderr, no file that is opened takes their place."""
    script = f'"{PROGRAM}" >&- 2>&-; echo $?'
    done = subprocess.run(["sh", "-c", script], capture_output=True, env=environment(),
                          timeout=200, check=False)
    assert done.stdout.strip() == b"1", done


def check_one_at_a_time():
    with subprocess.Popen([PROGRAM, "--budget=60s"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, env=environment("hang")) as holder:
        assert b"progress" in holder.stdout.readline()  # the lock is taken by now
        code, lines, _ = run()
        failure = events(lines)[-1]["failure"]
        assert code == 4 and failure["kind"] == "KIND_REFUSED", lines
        assert failure["reason"] == "locked", failure
        assert run("--list")[0] == 0, "a list needs no lock"
        holder.kill()
    assert run()[0] == 0, "a killed probe lets go"


def check_the_parent():
    code, lines, _ = run("--parent_pid=1")
    assert code == 1 and lines == [], "it is not init's child: its parent has ended"
    # A parent that is killed takes the probe along: its end of the pipe closes.
    script = f'"{PROGRAM}" --budget=60s --parent_pid=$$ & wait'
    with subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE,
                          env=environment("hang")) as parent:
        assert b"progress" in parent.stdout.readline()
        parent.kill()
        while parent.stdout.readline():
            pass


def check_kill_while_writing():
    """The file is the old one or a new one, whole, whenever the probe is killed."""
    path = os.path.join(FOLDER, "calibration.json")
    flags = ["--matmul=64x32x16", f"--output={path}", "--format=json"]
    assert run(*flags, behaviour="many_notes")[0] == 0
    whole = new = 0
    for attempt in range(60):
        before = os.stat(path).st_ino
        with subprocess.Popen([PROGRAM, *flags], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, env=environment("many_notes")) as child:
            if attempt % 2 == 0:
                # Kill it while the new file is there and has no name yet.
                while child.poll() is None and not glob.glob(f"{path}.*"):
                    pass
            else:
                time.sleep(0.002 * attempt)  # or anywhere; the test passes whenever it wakes
            child.send_signal(signal.SIGKILL)
        with open(path, encoding="utf-8") as file:
            calibration = json.load(file)
        assert len(calibration["notes"]) >= 20000 and calibration["matmuls"], "damaged"
        whole += 1
        new += os.stat(path).st_ino != before
        for left in glob.glob(f"{path}.*"):
            os.unlink(left)
    print(f"killed {whole} times: {new} new files, {whole - new} old ones, all whole")


def check_all():
    check_a_run()
    check_failures()
    check_texts()
    check_the_hard_deadline()
    check_a_reader_that_leaves()
    check_a_reader_that_stalls()
    check_a_full_disk()
    check_a_file_size_limit()
    check_an_output_that_is_stdout()
    check_an_interrupted_bar()
    check_closed_descriptors()
    check_one_at_a_time()
    check_the_parent()
    check_kill_while_writing()


def main():
    if not os.path.exists(PROGRAM):
        print(f"no {PROGRAM}: build it first")
        return 1
    check_all()
    assert glob.glob(os.path.join(FOLDER, "*.lock")), "its runs lock in its own folder"
    print("exit codes, deadlines, locks and files are as documented")
    return 0


if __name__ == "__main__":
    sys.exit(main())
