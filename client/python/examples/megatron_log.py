#!/usr/bin/env python3
"""Reports the progress of a Megatron-LM job from its log, without a change to the job:

    tail -n 0 -F /shared/train.log | megatron_log.py --job_id=$SLURM_JOB_ID --device_count=1024 \\
        --sequence_length=8192 --model_flops_per_token=4.2e11

Run one on each host of the job: Megatron's last rank alone writes the lines, and each host's GPUs
are reported to that host's sextantd. The lines (training_log() of megatron/training/training.py):

 [2026-11-27 01:00:00] iteration       20/  500000 | consumed samples:        20480 | elapsed time
 per iteration (ms): 5210.4 | learning rate: 1.2E-05 | global batch size:  1024 | lm loss: ...

The first line that is seen is where the count begins. With a log interval of minutes the count goes
up in large steps: let lines come at least once a minute (--log-interval).
"""

import argparse
import re
import subprocess
import sys

import sextant.progress

ITERATION = re.compile(r"\biteration +\d+/ *\d+ \|.*?\bconsumed samples: +(\d+) \|")


def follow(lines, progress, sequence_length):
    """Counts what was consumed since the first line of an iteration. After a return to an older
    checkpoint the count goes on: what is computed again is work."""
    last = None
    for line in lines:
        found = ITERATION.search(line)
        if not found:
            continue
        samples = int(found[1])
        if last is not None and samples > last:
            progress.add((samples - last) * sequence_length)
        last = samples


def host_gpus():
    listed = subprocess.run(["nvidia-smi", "--query-gpu=uuid", "--format=csv,noheader"],
                            check=True, capture_output=True, text=True)
    return listed.stdout.split()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--job_id", required=True)
    parser.add_argument("--device_count", type=int, required=True, help="GPUs of the whole job")
    parser.add_argument("--sequence_length", type=int, required=True, help="tokens of a sample")
    parser.add_argument("--model_flops_per_token", type=float, required=True)
    parser.add_argument("--gpu_uuids", help="of this host, with commas; default: all of it")
    parser.add_argument("--address", default="127.0.0.1:50051", help="of this host's sextantd")
    arguments = parser.parse_args()
    gpu_uuids = arguments.gpu_uuids.split(",") if arguments.gpu_uuids else host_gpus()
    progress = sextant.progress.Progress(
        arguments.model_flops_per_token, job_id=arguments.job_id, gpu_uuids=gpu_uuids,
        device_count=arguments.device_count, address=arguments.address)
    follow(sys.stdin, progress, arguments.sequence_length)
    progress.close()


if __name__ == "__main__":
    main()
