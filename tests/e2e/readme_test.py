#!/usr/bin/python3
"""README.md and the pages below show what their own commands print, to the letter.

Their ```console blocks are read and run as those of docs/accounting.md are. With --write, puts the
present output there.
"""

import os
import shutil
import sys

from accounting_doc_test import BLOCK, PYTHON_CLIENT, commands_of, shown
from sextantd import ROOT, SKIPPED, Server

# Each page, and how many commands it shows at least.
PAGES = {"README.md": 6, "docs/plan.md": 10, "docs/accelerators.md": 1, "docs/step_time.md": 5,
         "docs/search.md": 7, "docs/launchers.md": 6, "docs/sizing.md": 6,
         "docs/questions.md": 12}


def renewed(text, server):
    """The page as it should be."""
    return BLOCK.sub(
        lambda block: block[0].replace(block["body"], shown(block["body"], server)[0]), text)


def check(page, least, server):
    """What is wrong with a page. With --write, writes it anew first."""
    path = os.path.join(ROOT, page)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if sum(1 for block in BLOCK.finditer(text) for _ in commands_of(block["body"])) < least:
        yield f"{page} shows fewer than {least} commands"
    wanted = renewed(text, server)
    if wanted == text:
        return
    if "--write" in sys.argv:
        with open(path, "w", encoding="utf-8") as file:
            file.write(wanted)
        return
    yield f"{page} is out of date: run tests/e2e/readme_test.py --write"


def main():
    if not os.path.isdir(PYTHON_CLIENT) or not shutil.which("curl"):
        print("skipped: no Python client was built, or no curl (deploy/install-deps.sh tests)")
        return SKIPPED
    with Server("--log_calls=none") as server:
        problems = [problem for page, least in PAGES.items()
                    for problem in check(page, least, server)]
    print("\n".join(problems) or f"{', '.join(PAGES)} show what their commands print")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
