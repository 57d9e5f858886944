OMP_NUM_THREADS=8 deepspeed --include localhost:0,1,2,3 --master_port 29501 train.py \
  --deepspeed --deepspeed_config "configs/zero 2.json" \
  --model_name_or_path meta-llama/Llama-2-7b-hf --model_max_length 4096 --torch_dtype auto \
  --per_device_train_batch_size 2 --gradient_accumulation_steps 8 \
  --bf16 True --tf32 True --gradient_checkpointing True --attn_implementation eager \
  --lr_scheduler_type cosine --save_strategy steps --template vicuna \
  --max_steps 500 2>&1 | tee train.log
