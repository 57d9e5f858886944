#!/usr/bin/python3
"""What `sextant` prints of real answers: each text/NAME.request against text/NAME.txt.

A line of a .request is a command line without "sextant"; "\\" at its end continues it, "#" starts a
comment. One that starts with "80:" runs on a terminal of 80 columns, others write to a pipe; what
follows "all:" is added to all. A command reads the files of text/inputs, docs/examples and
tests/fuzz/calibrations by their names; the latter were measured 12 days ago. Files that it
writes are shown after its output; a picture in place of it, as its elements, with sizes rounded to
pixels, in alphabetic order.

With --write, renews the .txt files and prints the differences, to be reviewed; names after it limit
it to those files.
"""

import concurrent.futures
import datetime
import difflib
import json
import os
import queue
import re
import shlex
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
from sextantd import BIN, Server  # noqa: E402: it lies in another folder of tests

FOLDER = os.path.join(ROOT, "tests", "golden", "text")
INPUTS = [os.path.join(ROOT, "docs", "examples"), os.path.join(FOLDER, "inputs"),
          os.path.join(ROOT, "tests", "fuzz", "calibrations")]

# The age of measurements, so that it is the same each day.
AGE = datetime.timedelta(days=12)


def rounded(value):
    """An attribute of a picture's element with numbers rounded to whole ones."""
    if value.startswith(("#", "url", "http")):
        return value
    return re.sub(r"-?\d+\.\d+", lambda number: str(round(float(number[0]))), value)


def elements_of(svg):
    """A line an element of a picture: its name, attributes and text."""
    lines = []
    for element in ElementTree.fromstring(svg).iter():
        name = element.tag.rpartition("}")[2]
        text = (element.text or "").strip()
        attributes = " ".join(f"{key}={rounded(value)}" for key, value in element.items())
        lines.append(" ".join(part for part in (name, attributes, text and f"|{text}|") if part))
    return "".join(line + "\n" for line in sorted(lines))


class Runner:
    """Runs command lines on `server`, each in a folder of its own, by several processes."""

    def __init__(self, server, count):
        self.address = server.address
        self.measured = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0) - AGE
        self.inputs = {}
        for folder in INPUTS:
            for name in os.listdir(folder):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    self.inputs[name] = re.sub(r'("measured_?[tT]ime": ?)"[^"]*"',
                                               rf'\1"{self.measured.isoformat()}"', file.read())
        self.processes = queue.Queue()
        for _ in range(count):
            self.processes.put(subprocess.Popen(
                [os.path.join(BIN, "text_runner")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                text=True, env={**os.environ, "SEXTANT_ADDRESS": server.address}))

    def close(self):
        while not self.processes.empty():
            process = self.processes.get()
            process.stdin.close()
            process.stdout.close()
            assert process.wait() == 0

    def run(self, line):
        """The section of a .txt for a command line."""
        columns, _, command = line.rpartition(": ") if re.match(r"\d+: ", line) else ("", "", line)
        with tempfile.TemporaryDirectory() as folder:
            for name, text in self.inputs.items():
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(text)
            arguments = [*shlex.split(command), "--timeout=600"]  # other tests run meanwhile
            ran = self.output_of({"folder": folder, "arguments": arguments,
                                  "columns": int(columns or 0)})
            written = dict(self.written(folder))
        section = f"$ {line}\n"
        if not any(name.endswith(".svg") for name in written):
            section += ran["out"]
        if ran["err"]:
            section += f"[standard error]\n{ran['err']}"
        if ran["code"]:
            section += f"[exit code {ran['code']}]\n"
        for name, text in written.items():
            section += f"[{name}]\n{text}"
        return self.without_varying_parts(section)

    def without_varying_parts(self, text):
        """`text` with letters, of the same width, in place of what differs from run to run."""
        for form in ("%Y-%m-%d %H:%M:%S UTC", "%Y-%m-%dT%H:%M:%SZ"):
            instant = self.measured.strftime(form)
            text = text.replace(instant, re.sub("[0-9]", "N", instant))
        text = re.sub(r"\b(calibration|rates) [0-9a-f]{16}\b", rf"\1 {'X' * 16}", text)
        return text.replace(self.address, "HOST:PORT")

    def output_of(self, command):
        process = self.processes.get()
        process.stdin.write(json.dumps(command) + "\n")
        process.stdin.flush()
        answer = process.stdout.readline()
        self.processes.put(process)
        assert answer, f"text_runner ended: {command}"
        return json.loads(answer)

    def written(self, folder):
        """The files that a command added to those of `folder`, by name."""
        for name in sorted(set(os.listdir(folder)) - set(self.inputs)):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                text = file.read()
            yield name, elements_of(text) if name.endswith(".svg") else text


def command_lines(name):
    with open(os.path.join(FOLDER, name + ".request"), encoding="utf-8") as file:
        text = re.sub(r"\\\n\s*", "", file.read())
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    common = "".join(" " + line[len("all: "):] for line in lines if line.startswith("all: "))
    return [line + common for line in lines if not line.startswith("all: ")]


def fits_a_screen(section):
    """Whether a command's section shows at most 24 lines, of at most 80 columns."""
    lines = [line for line in section.splitlines()[1:] if not line.startswith("[exit code ")]
    return len(lines) <= 24 and all(len(line) <= 80 for line in lines)


def is_as_written(name, text, write):
    """Compares `text` with NAME.txt and prints the difference; renews the file if `write`."""
    path = os.path.join(FOLDER, name + ".txt")
    expected = ""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            expected = file.read()
    if text == expected:
        return True
    sys.stdout.writelines(difflib.unified_diff(
        expected.splitlines(True), text.splitlines(True), f"{name}.txt", f"{name}.txt, now"))
    if write:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    return write


def main():
    write = "--write" in sys.argv
    files = os.listdir(FOLDER)
    known = sorted(name.removesuffix(".request") for name in files if name.endswith(".request"))
    left = {name for name in files if name.endswith(".txt")} - {name + ".txt" for name in known}
    if left:
        print("without a .request:", *sorted(left))
        return 1
    names = [argument for argument in sys.argv[1:] if argument != "--write"] or known
    lines = {name: command_lines(name) for name in names}
    count = os.cpu_count()
    with Server("--log_calls=none", "--search_niceness=0") as server:
        runner = Runner(server, count)
        with concurrent.futures.ThreadPoolExecutor(count) as pool:
            texts = {name: pool.map(runner.run, lines[name]) for name in names}
        texts = {name: list(text) for name, text in texts.items()}
        fine = [is_as_written(name, "\n".join(text), write) for name, text in texts.items()]
        long = [text for text in texts.get("brief", []) if not fits_a_screen(text)]
        runner.close()
    if long:
        print("more than a screen:", *long, sep="\n")
        return 1
    if not all(fine):
        print("texts differ: tests/golden/text_test.py --write renews them, for a review")
        return 1
    print(f"{sum(map(len, lines.values()))} command lines print what {len(names)} files hold")
    return 0


if __name__ == "__main__":
    sys.exit(main())
