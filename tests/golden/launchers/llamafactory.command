FORCE_TORCHRUN=1 llamafactory-cli train \
    --model_name_or_path meta-llama/Llama-3.2-1B --stage sft --do_train \
    --finetuning_type full --dataset dialogues --template llama3 --cutoff_len 1024 \
    --output_dir saves/one --per_device_train_batch_size 2 --gradient_accumulation_steps 4 \
    --deepspeed examples/deepspeed/ds_z2_config.json --max_steps 100 --learning_rate 1e-5 --bf16
