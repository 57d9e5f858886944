#!/usr/bin/python3
"""docs/accounting.md shows what its own commands print, and answers every textbook question.

Each ```console block has commands ("$ ", over as many lines as the shell takes for them), each
above what it prints, errors included. A comment above a block names the rows of
tests/golden/textbook_answers.jsonl that it answers. With --write, puts the present output there.
"""

import json
import os
import re
import subprocess
import sys

from accounting_doc_answers import pattern_of
from sextantd import BIN, ROOT, Server

DOCUMENT = os.path.join(ROOT, "docs", "accounting.md")
ANSWERS = os.path.join(ROOT, "tests", "golden", "textbook_answers.jsonl")
PYTHON_CLIENT = os.path.join(BIN, "..", "client", "python", "package")
BLOCK = re.compile(
    r"(?:<!-- answers: (?P<ids>[^>]*?) -->\n)?```console\n(?P<body>.*?)```", re.DOTALL)


def is_whole(command):
    """Whether the shell would run it rather than ask for another line."""
    return not command.endswith("\\") and subprocess.run(
        ["bash", "-n", "-c", command], stderr=subprocess.DEVNULL, check=False).returncode == 0


def commands_of(body):
    """The commands of a block, without what they print."""
    lines = iter(body.splitlines())
    for line in lines:
        if not line.startswith("$ "):
            continue
        command = line[2:]
        while not is_whole(command):
            command += "\n" + next(lines)
        yield command


def printed_by(command, server):
    """What a terminal shows. A fit that is none and a refusal exit with other codes than 0."""
    folder = server.runtime_folder.name  # for files, and locks of probes
    environment = dict(os.environ, SEXTANT_ADDRESS=server.address,
                       SEXTANT_LOCK_FOLDER=folder, TMPDIR=folder, PYTHONPATH=PYTHON_CLIENT,
                       PATH=BIN + os.pathsep + os.environ["PATH"])
    return subprocess.run(
        ["bash", "-c", command.replace("127.0.0.1:9464", server.http)], cwd=ROOT,
        env=environment, timeout=250, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, check=False).stdout


def shown(body, server):
    """The block as it should be, and what its commands print alone."""
    outputs = [(command, printed_by(command, server)) for command in commands_of(body)]
    return ("".join(f"$ {command}\n{printed}" for command, printed in outputs),
            "".join(printed for _, printed in outputs))


def ids_of(block):
    return re.split(r",\s*", block["ids"]) if block["ids"] else []


def rows():
    with open(ANSWERS, encoding="utf-8") as file:
        return {row["id"]: row for row in map(json.loads, file)}


def unanswered(ids, printed, answers):
    """Which of the rows that a block claims to answer its output does not show."""
    for row_id in ids:
        if row_id not in answers:
            yield f"{row_id}: no row of textbook_answers.jsonl"
        elif not re.search(pattern_of(answers[row_id]), printed, re.DOTALL | re.MULTILINE):
            yield f"{row_id}: the output lacks {pattern_of(answers[row_id])}"


def check(text, server):
    """What is wrong with the document."""
    answers, asked = rows(), []
    for block in BLOCK.finditer(text):
        body, printed = shown(block["body"], server)
        if body != block["body"]:
            yield f"out of date, run tests/e2e/accounting_doc_test.py --write:\n{body}"
        yield from unanswered(ids_of(block), printed, answers)
        asked += ids_of(block)
    yield from (f"{row_id}: not asked" for row_id in answers if row_id not in asked)
    yield from (f"{row_id}: named twice" for row_id in set(asked) if asked.count(row_id) > 1)


def check_itself(answers):
    """A wrong figure has to be noticed, and a missing output; commands have several lines."""
    for row_id, row in answers.items():
        assert not re.search(pattern_of(row), "", re.DOTALL | re.MULTILINE), row_id
    assert list(unanswered(["add-mxn"], "16,777,217 FLOP", answers)), "a wrong figure passes"
    assert not list(unanswered(["add-mxn"], "16,777,216 FLOP", answers))
    assert list(commands_of("$ a |\n  b\nout\n$ c \\\n d\n")) == ["a |\n  b", "c \\\n d"]


def main():
    check_itself(rows())
    with open(DOCUMENT, encoding="utf-8") as file:
        text = file.read()
    with Server("--log_calls=none") as server:
        if "--write" in sys.argv:
            text = BLOCK.sub(lambda block: block[0].replace(
                block["body"], shown(block["body"], server)[0]), text)
            with open(DOCUMENT, "w", encoding="utf-8") as file:
                file.write(text)
        problems = list(check(text, server))
    print("\n".join(problems) or "docs/accounting.md shows what its commands print")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
