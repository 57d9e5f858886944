"""The command `sextant`, which becomes the program."""
import os
import sys

from .server import PROGRAMS


def main() -> None:
    """Without a server at the usual address the program starts the one beside it."""
    program = os.path.join(PROGRAMS, "sextant")
    os.execv(program, [program, *sys.argv[1:]])
