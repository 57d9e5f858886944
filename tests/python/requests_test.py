#!/usr/bin/python3
"""Each keyword of the client is the flag of that name: the requests of both are equal."""

import json
import os
import subprocess
import sys
import tempfile

import client
from client import BIN, PACKAGE

sys.path.insert(0, PACKAGE)

RUN = {"tokens": "1T", "accelerator": "h100-sxm", "devices": 16, "sequence_length": "8Ki",
       "gbs": 64}
# Values of fields whose text is of their own kind, and whose fields no flag of one value sets.
TEXTS = {"duration": "36h", "timestamp": "2027-01-31T12:00:00Z", "bytes": "80GiB", "int": "3K",
         "length": "3Ki",
         "float": "0.5", "bool": True}
# Files, and names whose flag is another command's or reads a form of its own.
LEFT_OUT = {"model", "preset", "config", "hugging_face_config", "device", "device_uuids",
            "search", "view", "lora_rank"}  # the last has default targets there


def canonical(message, own=("view",)):
    """Without what is empty, and without what each program chooses itself."""
    if isinstance(message, dict):
        inside = {name: canonical(value, own) for name, value in message.items()
                  if name not in own}
        return {name: value for name, value in inside.items()
                if value not in ({}, False, "") or name == "baseFrozen" and value}
    return [canonical(part, own) for part in message] if isinstance(message, list) else message


def by_command(command, *flags):
    run = subprocess.run([os.path.join(BIN, "sextant"), command, "llama-3.1-8b", *flags,
                          "--print-request"], capture_output=True, text=True, check=False)
    assert run.returncode == 0, (flags, run.stderr)
    return json.loads(run.stdout)


def flags_of(keywords):
    return [f"--{name.replace('_', '-')}={str(value).lower() if value is True else value}"
            for name, value in keywords.items()]


class Recorded:
    """A client that keeps requests in place of sending them."""

    def __init__(self):
        import sextant
        self.client = sextant.Client()
        self.client.raw._calls = self

    def unary(self, method, request, timeout=None):
        del method, timeout
        self.request = json.loads(json.dumps(request))
        return {}


def check_keywords(recorded):
    """One at a time."""
    from sextant.fields import ENUMS, PLAN_FIELDS
    checked, wrong = 0, []
    for name, field in PLAN_FIELDS.items():
        if name in LEFT_OUT or name in RUN or field.form == "message" or field.repeated:
            continue
        value = TEXTS.get(field.form, "x")
        if field.form.startswith("enum:"):
            zero, first, *_ = ENUMS[field.form[len("enum:"):]]
            if name == "frozen_data_type":
                first = "DATA_TYPE_INT8"  # the first that it takes
            value = first[len(zero) - len("UNSPECIFIED"):].lower().replace("_", "-")
        run = {**RUN, name: value}
        if field.path[:3] == ("cluster", "device", "fleet"):
            del run["accelerator"]  # one of a choice
        elif name in ("parameters", "parameter_count", "accelerator"):
            continue
        run = {key: each for key, each in run.items()
               if key == name or PLAN_FIELDS[key].path != field.path}
        recorded.client.plan("llama-3.1-8b", **run)
        expected = by_command("plan", *flags_of(run))
        own = ("view", "search", "startTime") if name == "deadline" else ("view", "search")
        if canonical(recorded.request, own) != canonical(expected, own):
            wrong.append((name, recorded.request, expected))
        checked += 1
    assert not wrong, "\n".join(map(str, wrong))
    assert checked > 100, checked
    return checked


def check_commands(recorded):
    recorded.client.finetune("llama-3.1-8b", **RUN)
    assert canonical(recorded.request) == canonical(by_command("finetune", *flags_of(RUN)))
    defaults = {name: RUN[name] for name in ("tokens", "accelerator", "devices")}
    recorded.client.finetune("llama-3.1-8b", **defaults)
    assert canonical(recorded.request) == canonical(by_command("finetune", *flags_of(defaults)))
    sized = {**RUN, "max_duration": "90d", "objective": "least-time"}
    del sized["devices"]
    recorded.client.size_cluster("llama-3.1-8b", **sized)
    assert canonical(recorded.request) == canonical(by_command("size-cluster", *flags_of(sized)))


def main():
    client.skip_without()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # no file is there
        recorded = Recorded()
        count = check_keywords(recorded)
        check_commands(recorded)
    print(f"{count} keywords set what their flags set")
    return 0


if __name__ == "__main__":
    sys.exit(main())
