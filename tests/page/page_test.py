#!/usr/bin/python3
"""A view of the page in a browser: page_test.py VIEW runs VIEW.mjs, which harness.mjs helps.

Skipped where there is no node, chromium or playwright, and where sextantd has no page.
"""

import os
import shutil
import subprocess
import sys
import urllib.request

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(FOLDER), "e2e"))
from sextantd import BIN, ROOT, SKIPPED, Server  # noqa: E402

TOOLS = os.path.join(ROOT, "build", "tools", "page")


def missing():
    """What is not here; "" where all is."""
    if shutil.which("node") is None or not os.path.exists(os.path.join(TOOLS, "installed.json")):
        return "no playwright (deploy/install-deps.sh tests)"
    if shutil.which("chromium") is None:
        return "no chromium (deploy/install-deps.sh tests)"
    with Server() as server:
        question = urllib.request.Request(f"http://{server.http}/", headers={"Accept": "text/html"})
        with urllib.request.urlopen(question, timeout=10) as answer:
            has_page = b"page/page." in answer.read()
    return "" if has_page else "sextantd was built without its page (SEXTANT_PAGE)"


def main():
    if why := missing():
        print(f"skipped: {why}")
        return SKIPPED
    script = os.path.join(FOLDER, f"{sys.argv[1]}.mjs")
    return subprocess.run(
        ["node", script], check=False, timeout=280,
        env={**os.environ, "SEXTANT_BIN": BIN, "PAGE_TOOLS": TOOLS}).returncode


if __name__ == "__main__":
    sys.exit(main())
