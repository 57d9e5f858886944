# Two configurations in the manner of torchtitan's registries.
from torchtitan.components.optimizer import OptimizersContainer
from torchtitan.components.quantization.float8 import Float8LinearConverter
from torchtitan.config import ActivationCheckpointConfig, ParallelismConfig, TrainingConfig
from torchtitan.models.llama3 import model_registry
from torchtitan.trainer import Trainer


def small() -> Trainer.Config:
    return Trainer.Config(
        model_spec=model_registry("8B"),
        optimizer=OptimizersContainer.Config(lr=3e-4),
        training=TrainingConfig(local_batch_size=2, seq_len=4096, steps=1000),
        activation_checkpoint=ActivationCheckpointConfig(mode="full"),
    )


def large() -> Trainer.Config:
    config = small()
    config.model_spec = model_registry("70B")
    config.training.local_batch_size = 1
    config.parallelism = ParallelismConfig(tensor_parallel_degree=8)
    config.model_converters = ModelConvertersContainer.Config(
        converters=[Float8LinearConverter.Config(enable_fsdp_float8_all_gather=True)],
    )
    return config
