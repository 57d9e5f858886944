#!/usr/bin/python3
"""`sextant kubernetes-controller` against a stand-in of the API server: Kueue's admission checks,
and Kubeflow's TrainJobs. Neither project runs here; their objects are as their APIs have them."""

import concurrent.futures
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time

from tools import KUBECTL  # before others: it says where sextantd is
from sextantd import BIN, ROOT, Server
from api_server import ApiServer
from jobs import FITS, NEVER, job, pod
from real_api_server import api_servers
from webhook_test import Users

PATIENCE = 2  # seconds
SOON = 30     # seconds: others may use the cores of a test
SITE = '{"products": [{"accelerator": "h100-sxm"}], "maxDeviceCount": 256}'
OVERLAY = os.path.join(ROOT, "deploy", "kubernetes", "overlays", "controller")
KUEUE = "kueue.x-k8s.io/v1beta2"
TRAINER = "trainer.kubeflow.org/v1alpha1"
# On 32 GPUs, its layout's least.
LARGE = "llama-3.1-70b --gbs=256 --sequence-length=8192 --framework=megatron-lm --tp=8 --pp=4"


@contextlib.contextmanager
def started(start, **kept):
    """An API server where controllers may do what the overlay's roles say."""
    with start(**kept) as api:
        if api.authorizes:
            with tempfile.TemporaryDirectory() as home:
                users = Users(api, home)
                overlay = subprocess.run([KUBECTL, "kustomize", OVERLAY], check=True,
                                         capture_output=True).stdout
                for command in (["create", "namespace", "sextant"], ["apply", "-f", "-"]):
                    subprocess.run([KUBECTL, *command, *users.flags], input=overlay, check=True,
                                   env=users.environment, capture_output=True)
        yield api


class Controller:
    """A controller's process; use it as a context."""

    def __init__(self, api, address, folder, *flags, identity="controller-1"):
        self.command = [os.path.join(BIN, "sextant"), "kubernetes-controller",
                        *api.program_flags("sextant-controller"), f"--address={address}",
                        f"--identity={identity}", f"--patience={PATIENCE}",
                        *([f"--site={folder}/site.json"] if folder else []), *flags]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stderr=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *_):
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
        self.process.stderr.close()

    def wait_for(self, words):
        """The line of its log with the words."""
        for line in self.process.stderr:
            if words in line:
                return line
        raise AssertionError(f"it ended without {words!r}")

    def end(self):
        """Stops it as Kubernetes does."""
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(SOON) == 0


def soon(check):
    """The first true value of check(), which comes soon."""
    end = time.monotonic() + SOON
    while True:
        found = check()
        if found:
            return found
        assert time.monotonic() < end, "not in time"
        time.sleep(0.05)


def now(ago=0):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - ago))


def queue(api, name, words, group=KUEUE, mode=None, count=2, reserved=True, ago=0, nodes=(),
          checks=("sextant",)):
    """A Job with its Workload, as Kueue has it once quota is reserved for it."""
    owner = api.put("batch/v1", "jobs", job("Job", words, name=name, mode=mode))
    set_name = {"name": "main", "count": count}
    assigned = {**set_name}
    if nodes:
        assigned["topologyAssignment"] = {"levels": ["rack", "kubernetes.io/hostname"], "slices": [
            {"domainCount": len(nodes), "valuesPerLevel": [
                {"universal": "r1"}, {"individual": {"prefix": "node-", "roots": list(nodes)}}],
             "podCounts": {"universal": 1}}]}
    api.put(group, "workloads", {
        "metadata": {"name": f"job-{name}", "namespace": "default", "ownerReferences": [
            {"apiVersion": "batch/v1", "kind": "Job", "name": name, "controller": True,
             "uid": owner["metadata"]["uid"]}]},
        "spec": {"queueName": "gpus", "podSets": [{**set_name, "count": 2, "template": pod()}]},
        "status": {
            "admission": {"clusterQueue": "gpus", "podSetAssignments": [assigned]},
            "conditions": [{"type": "QuotaReserved", "status": "True" if reserved else "False",
                            "reason": "QuotaReserved", "message": "",
                            "lastTransitionTime": now(ago)}],
            "admissionChecks": [{"name": check, "state": "Pending", "message": "",
                                 "lastTransitionTime": now()} for check in checks]}})


def state(api, name, check=0, group=KUEUE):
    found = api.get(group, "workloads", f"job-{name}")["status"]["admissionChecks"][check]
    return found["state"], found["message"]


def decided(api, name, group=KUEUE):
    soon(lambda: state(api, name, group=group)[0] != "Pending")
    return state(api, name, group=group)


def checks_of(api, group=KUEUE):
    for name, controller in (("sextant", "sextant.dev/admit"), ("other", "example.com/other")):
        api.put(group, "admissionchecks", {"metadata": {"name": name},
                                           "spec": {"controllerName": controller}})


def reasons(api, name):
    return [reason for reason, of, _ in api.events() if of == name]


def check_kueue(api, planner, folder):
    """Ready, Rejected, and what is none of its business."""
    checks_of(api)
    queue(api, "before", FITS)
    with Controller(api, planner.address, folder) as controller:
        controller.wait_for("holds the lease")
        assert decided(api, "before")[0] == "Ready"
        active = soon(lambda: api.get(KUEUE, "admissionchecks", "sextant").get("status"))
        assert active["conditions"][0]["type"] == "Active", active
        assert "status" not in api.get(KUEUE, "admissionchecks", "other")
        queue(api, "fits", FITS, checks=("other", "sextant"))
        queue(api, "never", NEVER)
        queue(api, "warned", NEVER, mode="warn")
        queue(api, "unasked", None)
        queue(api, "wrong", "lama-3.1-8b --tp=2")
        queue(api, "waiting", NEVER, reserved=False)
        queue(api, "fewer", FITS + " --devices=8", count=1)
        soon(lambda: state(api, "fits", 1)[0] == "Ready")
        assert state(api, "fits", 1)[1].startswith("sextant: FITS: llama-3.1-8b, 16 x h100-sxm")
        assert state(api, "fits", 0) == ("Pending", ""), "another controller's"
        what, why = decided(api, "never")
        assert what == "Rejected" and "DOES NOT FIT" in why and "--zero=optimizer" in why, why
        soon(lambda: reasons(api, "job-never") == ["SextantDoesNotFit"])
        what, why = decided(api, "warned")
        assert what == "Ready" and "DOES NOT FIT" in why, why
        assert decided(api, "unasked") == (
            "Ready", "sextant: not asked: no annotation sextant.dev/plan")
        what, why = decided(api, "wrong")
        assert what == "Ready" and "llama-3.1-8b" in why, why
        soon(lambda: reasons(api, "job-wrong") == ["SextantNotJudged"])
        what, why = decided(api, "fewer")  # of partial admission
        assert what == "Ready" and "8 x h100-sxm" in why, why
        assert state(api, "waiting") == ("Pending", ""), "it has no quota"
        assert not api.writes("PATCH", "workloads")
        written = api.writes("PUT", "/workloads/")
        assert len(written) >= 6 and not any("Retry" in body for _, body in written), written
        controller.end()


def check_older_kueue(api, planner, folder):
    with Controller(api, planner.address, folder) as controller:
        checks_of(api, "kueue.x-k8s.io/v1beta1")
        controller.wait_for("holds the lease")
        queue(api, "never", NEVER, group="kueue.x-k8s.io/v1beta1")
        assert decided(api, "never", "kueue.x-k8s.io/v1beta1")[0] == "Rejected"


def check_away(api, planner, folder):
    """Jobs are Ready once the patience is over, with one event."""
    checks_of(api)
    with Controller(api, planner.address, folder) as controller:
        controller.wait_for("holds the lease")
        queue(api, "away", NEVER)
        start = time.monotonic()
        what, why = decided(api, "away")
        took = time.monotonic() - start
        assert what == "Ready" and "not judged" in why and took >= PATIENCE - 1, (what, why, took)
        soon(lambda: reasons(api, "job-away") == ["SextantNotJudged"])


def check_down(api, planner, folder):
    planner.process.kill()
    planner.process.wait()
    check_away(api, planner, folder)
    with Controller(api, planner.address, folder, "--patience=60") as controller:
        controller.wait_for("holds the lease")
        queue(api, "long", NEVER, ago=61)  # before the controller was there
        assert decided(api, "long")[0] == "Ready"


def check_hanging(api, planner, folder):
    """And once it is back jobs are judged."""
    planner.process.send_signal(signal.SIGSTOP)
    check_away(api, planner, folder)
    planner.process.send_signal(signal.SIGCONT)
    with Controller(api, planner.address, folder) as controller:
        controller.wait_for("holds the lease")
        queue(api, "back", NEVER)
        assert decided(api, "back")[0] == "Rejected"


def check_killed(api, planner, folder):
    """Killed, it goes on where it was once it is back; another waits for the lease until then."""
    checks_of(api)
    with Controller(api, planner.address, folder) as first:
        first.wait_for("holds the lease")
        queue(api, "one", FITS)
        decided(api, "one")
    queue(api, "two", NEVER)
    with Controller(api, planner.address, folder, identity="controller-2") as second:
        second.wait_for("controller-1 holds the lease")
        assert state(api, "two")[0] == "Pending"
        with Controller(api, planner.address, folder) as again:
            again.wait_for("holds the lease")
            assert decided(api, "two")[0] == "Rejected"
    lease = api.get("coordination.k8s.io/v1", "leases", "sextant-controller", "sextant")
    assert lease["spec"]["holderIdentity"] == "controller-1", lease
    # One whose holder is long gone is taken.
    lease["spec"]["renewTime"] = "2026-01-01T00:00:00.000000Z"
    api.put("coordination.k8s.io/v1", "leases", lease)
    with Controller(api, planner.address, folder, identity="controller-2") as second:
        second.wait_for("holds the lease as controller-2")


def train(api, name, words, nodes=1, size=None, suspend=True, plugin="sextant", resources=True):
    item = job("TrainJob", None, pods=nodes, name=name, resources=resources)
    annotations = item["metadata"]["annotations"]
    annotations.update({"trainer.kubeflow.org/autoconf-plugin": plugin, "sextant.dev/plan": words})
    if size is not None:
        annotations["sextant.dev/size"] = size
    item["spec"]["suspend"] = suspend
    api.put(TRAINER, "trainjobs", item)


def nodes_of(api, name):
    return api.get(TRAINER, "trainjobs", name)["spec"]["trainer"].get("numNodes")


def check_trainer_killed(api, planner, folder, nodes):
    """Killed after its patch and before its event, or before either: one patch, and an event."""
    written = api.get(TRAINER, "trainjobs", "grows")
    patches = len(api.writes("PATCH", "trainjobs/half"))
    train(api, "half", LARGE)
    half = api.get(TRAINER, "trainjobs", "half")
    half["spec"]["trainer"]["numNodes"] = nodes
    half["metadata"]["annotations"]["sextant.dev/recommended"] = \
        written["metadata"]["annotations"]["sextant.dev/recommended"]
    api.put(TRAINER, "trainjobs", half)
    with Controller(api, planner.address, folder) as controller:
        controller.wait_for("holds the lease")
        soon(lambda: reasons(api, "half") == ["SextantRecommended"])
        train(api, "next", LARGE)
        soon(lambda: nodes_of(api, "next") == nodes)
    with Controller(api, planner.address, folder) as controller:
        controller.wait_for("holds the lease")
        train(api, "last", LARGE)
        for name in ("grows", "next", "last"):
            soon(lambda name=name: reasons(api, name) == ["SextantRecommended"])
    assert len(api.writes("PATCH", "trainjobs/half")) == patches
    for name in ("grows", "next", "last"):
        assert len(api.writes("PATCH", f"trainjobs/{name}")) == 1 and nodes_of(api, name) == nodes


def check_trainer(api, planner, folder):
    with Controller(api, planner.address, folder) as controller:
        controller.wait_for("holds the lease")
        train(api, "grows", LARGE)
        train(api, "enough", LARGE, nodes=32)
        train(api, "nothing", LARGE, size='{"maxDeviceCount": 8}')
        train(api, "h200", LARGE, size='{"products": [{"accelerator": "h200-sxm"}]}')
        train(api, "runtime", LARGE, resources=False)
        train(api, "wrong", "lama --gbs=8")
        train(api, "bad-size", LARGE, size='{"maxDevices": 8}')
        train(api, "runs", LARGE, suspend=False)
        train(api, "others", LARGE, plugin="other")
        nodes = soon(lambda: nodes_of(api, "grows") != 1 and nodes_of(api, "grows"))
        grown = api.get(TRAINER, "trainjobs", "grows")
        why = grown["metadata"]["annotations"]["sextant.dev/recommended"]
        assert nodes == 4 and why.startswith(
            "numNodes 1 -> 4: enough are 32 x h100-sxm by --tp=8 "), why
        for name, reason in (("grows", "SextantRecommended"), ("enough", "SextantEnough"),
                             ("nothing", "SextantUnchanged"), ("runtime", "SextantUnchanged"),
                             ("wrong", "SextantUnchanged"), ("bad-size", "SextantUnchanged")):
            soon(lambda name=name, reason=reason: reasons(api, name) == [reason])
        assert nodes_of(api, "enough") == 32
        for name in ("nothing", "runtime", "wrong", "bad-size", "runs", "others"):
            assert nodes_of(api, name) == 1, name
            assert "sextant.dev/recommended" not in api.get(TRAINER, "trainjobs", name)[
                "metadata"]["annotations"]
        assert not reasons(api, "runs") and not reasons(api, "others")
        h200 = soon(lambda: nodes_of(api, "h200") != 1 and nodes_of(api, "h200"))
        assert h200 == 4
        said = dict((of, message) for _, of, message in api.events())
        assert "h100-sxm" in said["nothing"], said
        assert "runtime is not read" in said["runtime"], said
    # The planner says the same number: 1 node less is not enough.
    sized = subprocess.run(
        [os.path.join(BIN, "sextant"), f"--address={planner.address}", "size-cluster",
         *LARGE.split(), "--tokens=1", "--products=h100-sxm", "--max-devices=256", "--output=json"],
        capture_output=True, text=True, check=False).stdout
    assert f'"deviceCount": "{8 * nodes}"' in sized, sized[:2000]
    check_trainer_killed(api, planner, folder, nodes)


# With the groups that the API server is without.
CASES = ((check_kueue, ()), (check_older_kueue, (KUEUE,)), (check_hanging, ()), (check_down, ()),
         (check_killed, ()), (check_trainer, ()))


def run_cases(start, site):
    """Each with a planner and an API server of its own."""
    def run(case):
        check, without = case
        with started(start, without=without) as api, \
                Server("--role=planner", "--log_calls=none") as planner:
            check(api, planner, site)
            return api.name
    # Of real API servers there is one at a time.
    with concurrent.futures.ThreadPoolExecutor(len(CASES) if start is ApiServer else 1) as pool:
        names = set(pool.map(run, CASES))
    print(f"{names.pop()}: admission checks of Kueue, and TrainJobs")


def main():
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "site.json"), "w", encoding="utf-8") as file:
            file.write(SITE)
        for start in api_servers():
            run_cases(start, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
