#!/usr/bin/env bash
set -ex
NGPU=${NGPU:-"8"}
CONFIG_FILE=${CONFIG_FILE:-"./train_configs/llama3_8b.toml"}
overrides=""
if [ $# -ne 0 ]; then
    overrides="$*"
fi
PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True" \
torchrun --nproc_per_node=${NGPU} --rdzv_backend c10d --role rank --tee 3 \
  -m torchtitan.train --job.config_file ${CONFIG_FILE} \
  --training.seq_len 4096 --training.local_batch_size=2 \
  --parallelism.tensor_parallel_degree 2 $overrides
