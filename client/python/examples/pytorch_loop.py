"""A plain PyTorch loop that reports its progress: torchrun --nproc-per-node=8 pytorch_loop.py

Three lines are Sextant's. The model is a stand-in: put yours in its place, and the model FLOPs of
a token that `sextant count` or `sextant plan` gives for it.
"""

import os

import torch
import torch.distributed

import sextant.progress

HIDDEN = 4096
SEQUENCE = 2048
SEQUENCES = 8  # a batch of one process
MODEL_FLOPS_PER_TOKEN = 6.0 * HIDDEN * HIDDEN  # one linear layer, forward and backward


def train(model, optimizer, batches, progress):
    world_size = torch.distributed.get_world_size()
    for batch in batches:
        loss = model(batch).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        sequences, length = batch.shape[:2]
        progress.add(sequences * length * world_size)


def random_batches(steps):
    for _ in range(steps):
        yield torch.randn(SEQUENCES, SEQUENCE, HIDDEN, device="cuda", dtype=torch.bfloat16)


def main():
    torch.distributed.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    layer = torch.nn.Linear(HIDDEN, HIDDEN, bias=False, device="cuda", dtype=torch.bfloat16)
    model = torch.nn.parallel.DistributedDataParallel(layer)
    optimizer = torch.optim.AdamW(model.parameters())
    # torchrun gives every job the id "none" unless --rdzv-id says another.
    progress = sextant.progress.Progress(MODEL_FLOPS_PER_TOKEN)
    train(model, optimizer, random_batches(10_000), progress)
    progress.close()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
