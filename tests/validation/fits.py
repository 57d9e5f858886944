"""Asks validation_fits: the engine's models fitted to chosen points, and estimates of constants."""

import json
import os
import subprocess

from cells import api


class Fits:
    """A running validation_fits; use it as a context. The folder fits has the questions."""

    def __enter__(self):
        self.process = subprocess.Popen([os.path.join(api.BIN, "validation_fits")], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()

    def ask(self, name, **question):
        self.process.stdin.write(json.dumps({"ask": name, **question}) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"validation_fits has no answer to {name}")
        return json.loads(answer)
