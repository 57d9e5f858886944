NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen3-30B-A3B --tensor_model_parallel_size 2 \
    --expert_model_parallel_size 4 --sequence_parallel true --micro_batch_size 2 \
    --recompute_granularity full --recompute_method uniform --recompute_num_layers 1 \
    --max_length 4096 --train_iters 100 --attention_backend flash --dataset example/code \
    --lr 1e-5 --packing true --moe_grouped_gemm true --no_save_optim true
