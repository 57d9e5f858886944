"""Ray: the driver asks before it takes GPUs.

    python ray_driver.py "llama-3.1-8b --tokens=1T --gbs=64 --sequence-length=8192"
"""
import sys

import ray

from sextant.policies import Refused, check


def launch(words: str, workers: int = 16, accelerator: str = "h100-sxm") -> None:
    """Starts a worker on each GPU, with the layout in its environment."""
    try:
        admission = check(words, devices=workers, accelerator=accelerator)
    except Refused as refusal:
        sys.exit(f"not started: {refusal}")
    layout = {} if admission is None else admission.layout
    ray.init(runtime_env={"env_vars": layout})
    train = ray.remote(num_gpus=1)(train_one)
    ray.get([train.remote(rank) for rank in range(workers)])


def train_one(rank: int) -> int:
    """A worker's training."""
    return rank


if __name__ == "__main__":
    launch(sys.argv[1])
