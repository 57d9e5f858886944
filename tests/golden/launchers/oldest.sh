#! /bin/bash
# The names of 2020 and 2021.
NNODES=2
GPUS_PER_NODE=8
DISTRIBUTED_ARGS="--nproc_per_node $GPUS_PER_NODE --nnodes $NNODES --node_rank $1"

python -m torch.distributed.launch $DISTRIBUTED_ARGS \
       pretrain_gpt.py \
       --model-parallel-size 8 \
       --num-layers 40 \
       --hidden-size 1536 \
       --num-attention-heads 16 \
       --vocab-size 50304 \
       --micro-batch-size 4 \
       --seq-length 1024 \
       --max-position-embeddings 1024 \
       --DDP-impl torch \
       --distribute-checkpointed-activations \
       --checkpoint-activations \
       --fp16 --fp16-lm-cross-entropy
