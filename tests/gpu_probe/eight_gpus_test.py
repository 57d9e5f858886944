#!/usr/bin/python3
"""A host of eight GPUs of which one is slow: each is measured by its UUID, and `check` names it.

The host is a program with scripted devices, or the real one on a driver that libraries fake.
"""

import json
import os
import subprocess
import sys
import tempfile

BIN = os.environ.get("SEXTANT_BIN", "build/release/bin")
SKIPPED = 77

# Program and surroundings of each host.
SCRIPTED_DEVICES = ("fake-probe", {"SEXTANT_FAKE": "eight_gpus"})
SCRIPTED_DRIVER = ("sextant-probe", {"SEXTANT_FAKE_GPU": "slow",
                                     "LD_LIBRARY_PATH": os.path.join(BIN, "fake_cuda_driver")})
HOSTS = (SCRIPTED_DEVICES, SCRIPTED_DRIVER)

SLOW = 5  # of those that --list shows, from 0


class Host:
    """Runs one host's program, with locks of its own."""

    def __init__(self, program, variables, locks):
        self.program = os.path.join(BIN, program)
        self.environment = {**os.environ, **variables, "SEXTANT_LOCK_FOLDER": locks}

    def run(self, *flags):
        done = subprocess.run([self.program, *flags], capture_output=True, text=True,
                              env=self.environment, timeout=250, check=False)
        return done.returncode, done.stdout

    def uuids(self):
        code, text = self.run("--list", "--format=json")
        assert code == 0, text
        devices = [json.loads(line)["device"] for line in text.splitlines()]
        return [device["uuid"] for device in devices if device["kind"] == "DEVICE_KIND_GPU"]

    def measure(self, uuid, path):
        code, text = self.run("--mode=quick", f"--device={uuid}", f"--output={path}",
                              "--format=json")
        assert code == 0, text
        calibration = json.loads(text.splitlines()[-1])["calibration"]
        assert calibration["device"]["uuid"] == uuid, calibration["device"]
        return calibration


def check_host(program, variables):
    with tempfile.TemporaryDirectory() as folder:
        host = Host(program, variables, folder)
        uuids = host.uuids()
        assert len(set(uuids)) == 8, uuids
        files = []
        for uuid in uuids:
            files.append(os.path.join(folder, f"{uuid}.json"))
            calibration = host.measure(uuid, files[-1])
            # Each was named, so that nothing is to be said of the choice.
            assert not any("first of" in note for note in calibration.get("notes", [])), uuid
        code, text = host.run("check", "--format=json", *files)
        verdicts = {device["uuid"]: device["status"] for device in json.loads(text)["devices"]}
        assert set(verdicts) == set(uuids), verdicts
        bad = [uuid for uuid in uuids if verdicts[uuid] != "OK"]
        assert bad == [uuids[SLOW]], verdicts
        assert code != 0, code


def check_one_at_a_time(program, variables):
    """While one GPU of a host is measured, no other is."""
    with tempfile.TemporaryDirectory() as folder:
        host = Host(program, variables, folder)
        first, second = host.uuids()[:2]
        lock = os.path.join(folder, "sextant-probe-GPUs_of_this_host.lock")
        holder = subprocess.Popen(
            ["flock", lock, "sh", "-c", "echo held; read -r end"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)
        assert holder.stdout.readline() == "held\n"
        code, text = host.run("--mode=quick", "--format=json", f"--device={second}")
        failure = json.loads(text.splitlines()[-1])["failure"]
        assert (code, failure["reason"]) == (4, "locked"), failure
        holder.communicate("end\n")
        # Without --device it is the first, and the calibration says so.
        code, text = host.run("--mode=quick", "--format=json")
        assert code == 0, text
        calibration = json.loads(text.splitlines()[-1])["calibration"]
        assert calibration["device"]["uuid"] == first, calibration["device"]
        assert any("first of 8 devices" in note for note in calibration["notes"])


def check_exchanges(program, variables):
    """In full mode: collectives among all eight, and the slowest copy, which the slow GPU has."""
    with tempfile.TemporaryDirectory() as folder:
        host = Host(program, variables, folder)
        code, text = host.run("--mode=full", "--format=json")
        assert code == 0, text[-2000:]
        calibration = json.loads(text.splitlines()[-1])["calibration"]
        assert calibration["environment"]["visibleDeviceCount"] == 8, calibration["environment"]
        exchanges = calibration["collectives"]
        engines = [exchange["engine"] for exchange in exchanges]
        assert engines.count("copy engine") == 1 and engines.count("nccl 2.28.3") == 16, engines
        assert all(exchange["rankCount"] in ("2", "8") for exchange in exchanges), exchanges
        (note,) = [note for note in calibration["notes"] if "slowest is recorded" in note]
        assert host.uuids()[SLOW] in note, note


def main():
    if os.path.exists("/proc/driver/nvidia/version"):
        print("skipped: this host has a driver of its own")
        return SKIPPED
    for program, variables in HOSTS:
        if not os.path.exists(os.path.join(BIN, program)):
            print(f"skipped: there is no {program} in {BIN}")
            return SKIPPED
        check_host(program, variables)
        check_one_at_a_time(program, variables)
    check_exchanges(*SCRIPTED_DRIVER)
    print("of eight GPUs the slow one is named")
    return 0


if __name__ == "__main__":
    sys.exit(main())
