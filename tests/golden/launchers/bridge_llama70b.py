# A recipe in the manner of Megatron-Bridge's: Llama 3.1 70B on 64 GPUs, with FP8 products.
import torch

from megatron.bridge import AutoBridge
from megatron.bridge.recipes.common import _pretrain_common
from megatron.bridge.training.config import ConfigContainer

SEQUENCE_LENGTH = 8 * 1024


def llama31_70b_pretrain_config() -> ConfigContainer:
    """Llama 3.1 70B."""
    cfg = _pretrain_common()
    cfg.model = AutoBridge.from_hf_pretrained("meta-llama/Llama-3.1-70B").to_megatron_provider(
        load_weights=False
    )
    cfg.tokenizer.tokenizer_type = "NullTokenizer"
    cfg.dataset.seq_length = SEQUENCE_LENGTH
    cfg.model.seq_length = SEQUENCE_LENGTH

    cfg.model.tensor_model_parallel_size = 4
    cfg.model.pipeline_model_parallel_size = 4
    cfg.model.virtual_pipeline_model_parallel_size = 5
    cfg.model.pipeline_dtype = torch.bfloat16
    cfg.model.context_parallel_size = 2
    cfg.model.sequence_parallel = True

    cfg.train.train_iters = 1_000
    cfg.train.global_batch_size = 128
    cfg.train.micro_batch_size = 1
    cfg.train.manual_gc = True

    cfg.mixed_precision = bf16_with_fp8_current_scaling_mixed()
    cfg.mixed_precision.grad_reduce_in_fp32 = False
    cfg.model.recompute_granularity = None
    cfg.model.attention_backend = None
    cfg.optimizer.use_precision_aware_optimizer = True
    cfg.optimizer.exp_avg_dtype = torch.bfloat16
    cfg.optimizer.exp_avg_sq_dtype = torch.bfloat16
    cfg.optimizer.lr = 3e-4
    cfg.ddp.use_distributed_optimizer = True
    cfg.checkpoint.save_interval = 500
    cfg.model.some_new_switch = True
    return cfg
