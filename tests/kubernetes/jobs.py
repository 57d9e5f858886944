"""Training jobs of each kind, as users write them."""

import copy

FITS = "llama-3.1-8b --tp=2 --gbs=64 --sequence-length=8192 --zero=optimizer"
NEVER = "llama-3.1-8b --tp=2 --gbs=64 --sequence-length=8192"  # 94 GiB of a GPU's 79
GPUS = {"limits": {"nvidia.com/gpu": 8}}


def pod(args=("train.py",), product="NVIDIA-H100-80GB-HBM3", resources=None):
    """A pod's template with the GPUs of a server."""
    return {"spec": {"restartPolicy": "Never", "nodeSelector": {"nvidia.com/gpu.product": product},
                     "containers": [{"name": "trainer", "image": "example/trainer",
                                     "args": list(args), "resources": resources or GPUS}]}}


def job(kind, words, pods=2, mode=None, name="run", label=True, template=None, resources=True):
    """A manifest whose `pods` pods have 8 GPUs each; None: it does not say how many. A TrainJob
    without `resources` leaves the GPUs to its runtime."""
    template = template or pod()
    count = {} if pods is None else {"replicas": pods}
    group, spec = {
        "Job": ("batch/v1", {"template": template,
                             **({} if pods is None else {"parallelism": pods,
                                                         "completions": pods})}),
        "JobSet": ("jobset.x-k8s.io/v1alpha2", {"replicatedJobs": [
            {"name": "node", **count, "template": {"spec": {"parallelism": 1, "completions": 1,
                                                            "template": template}}}]}),
        "PyTorchJob": ("kubeflow.org/v1", {"pytorchReplicaSpecs": {
            "Worker": {**count, "template": template}}}),
        "MPIJob": ("kubeflow.org/v1", {"mpiReplicaSpecs": {
            "Launcher": {"replicas": 1, "template": pod(resources={"limits": {"cpu": 1}})},
            "Worker": {**count, "template": template}}}),
        "XGBoostJob": ("kubeflow.org/v1", {"xgbReplicaSpecs": {
            "Worker": {**count, "template": template}}}),
        "TrainJob": ("trainer.kubeflow.org/v1alpha1", {
            "runtimeRef": {"name": "torch-distributed"},
            "trainer": {**({"resourcesPerNode": GPUS} if resources else {}),
                        **({} if pods is None else {"numNodes": pods})}}),
        "RayJob": ("ray.io/v1", {"entrypoint": "python train.py", "rayClusterSpec": {
            "headGroupSpec": {"template": pod(resources={"limits": {"cpu": 4}})},
            "workerGroupSpecs": [{"groupName": "gpus", **count, "template": template}]}}),
    }[kind]
    annotations = {} if words is None else {"sextant.dev/plan": words}
    if kind == "TrainJob" and words is not None:  # it has no node selector
        annotations["sextant.dev/plan"] += " --accelerator=h100-sxm"
    if mode is not None:
        annotations["sextant.dev/mode"] = mode
    return copy.deepcopy({"apiVersion": group, "kind": kind, "metadata": {
        "name": name, "namespace": "default", "annotations": annotations,
        **({"labels": {"sextant.dev/ask": "true"}} if label else {})}, "spec": spec})


JOBS = ("Job", "JobSet", "PyTorchJob", "TrainJob", "MPIJob", "RayJob")
