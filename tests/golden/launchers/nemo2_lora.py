# Adapters on Llama 3 8B in the manner of NeMo 2's recipes.
import nemo_run as run
from nemo.collections import llm


def recipe():
    recipe = run.Partial(
        llm.finetune,
        model=run.Config(llm.LlamaModel, config=run.Config(llm.Llama3Config8B)),
        trainer=run.Config(
            Trainer,
            devices=8,
            num_nodes=2,
            max_steps=200,
            strategy=run.Config(
                MegatronStrategy,
                tensor_model_parallel_size=2,
                sequence_parallel=True,
                gradient_as_bucket_view=True,
                ddp=run.Config(DistributedDataParallelConfig, use_distributed_optimizer=True),
            ),
            plugins=bf16_mixed(),
        ),
        data=run.Config(
            SquadDataModule, seq_length=2048, global_batch_size=128, micro_batch_size=1
        ),
        peft=run.Config(llm.peft.LoRA, dim=16, target_modules=["linear_qkv"]),
    )
    return recipe
