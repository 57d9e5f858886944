"""torchtitan's benchmarks: FSDP2 on H100 and H200.

Weights, gradients and Adam's moments are fp32 shards and bf16 is computed in; the loss is
PyTorch's on logits in fp32; a micro-batch of a pipeline is one sequence, torchtitan's default, and
1F1B its schedule (pytorch/torchtitan, `torchtitan/train.py`, from memory). Under a pipeline weights
stay gathered (`reshard_after_forward = not pp_enabled` of its `parallelize_llama.py`), and
gradients add up unsharded in fp32 until the last micro-batch (pytorch/pytorch,
set_requires_gradient_sync(last_backward) of `distributed/pipelining/stage.py`,
to_accumulated_grad_if_needed() of FSDP2). None of these rows is fully known.
"""

import re

import measured_case
from cells import Row, Undescribed, published_bytes, required, whole
from measured_case import Definition, MeasuredCase, OpenCase
from run_request import request_on, set_sizes, uneven_stages
from sextant_api import api

GRAND_TETON = "h100-96-hbm2e-500w"
# That GPU has no published peak, without which the service plans no run. No memory depends on it.
ANY_PEAK = 5e14
# The catalogue's names of the tables' models, and their layers. Llama 3's 405B is Llama 3.1's:
# there is no other.
PRESETS = {
    "llama3-8b": ("llama-3-8b", 32),
    "llama3-70b": ("llama-3-70b", 80),
    "llama3-405b": ("llama-3.1-405b", 126),
    "llama4-scout": ("llama-4-scout", 48),
}


def local_batch(row: Row) -> int:
    """Sequences of a step on a rank: "torch.compile+AsyncTP+1F1B; local batch size 8"."""
    given = whole(row, "micro_batch")
    if given is not None:
        return given
    found = re.search(r"local batch size (\d+)$", row.get("notes", ""))
    if found is None:
        raise Undescribed("micro-batch not published")
    return int(found[1])


def torchtitan_request(row: Row, recompute: int):
    key = row.get("gpu_key", "")
    accelerator = "h100-sxm" if not key or key.startswith("h100-sxm") else key
    if row.get("model") not in PRESETS:
        raise Undescribed("shape of the layers not published")
    preset, layers = PRESETS[row["model"]]
    tensor, stages = required(row, "tp", "layout"), required(row, "pp", "layout")
    length = required(row, "seq_len", "sequence length")
    local = local_batch(row)
    replicas = required(row, "dp", "layout")
    pipeline = stages > 1
    out = request_on(
        accelerator,
        model={"preset": preset},
        training={
            "sequence_length": length,
            "recompute": recompute,
            "precision": {
                "compute_data_type": api.DATA_TYPE_BF16,
                "weight_data_type": api.DATA_TYPE_FP32,
                "gradient_data_type": api.DATA_TYPE_FP32,
                "master_weights": False,
                "optimizer_data_type": api.DATA_TYPE_FP32,
            },
        },
        layout={
            "parallel": {
                "tensor_parallel_size": tensor,
                "pipeline_parallel_size": stages,
                # torchtitan's own split may differ by a layer.
                "layers_per_chunk": uneven_stages(layers, stages),
            },
            "sequence_parallel": tensor > 1,
            "context_parallel_size": whole(row, "cp", 1),
            "micro_batch_size": 1 if pipeline else local,
            "sharding": {
                "zero_stage": api.ZERO_STAGE_PARAMETERS,
                "reshard_after_forward": not pipeline,
            },
            "kernels": {"loss": api.KernelChoices.LOSS_PLAIN},
            "framework": {
                "kind": api.FrameworkMemory.KIND_TORCHTITAN,
                "deferred_reduction": pipeline,
            },
        },
        cluster={"peak_flops_per_second": ANY_PEAK} if accelerator == GRAND_TETON else {},
    )
    set_sizes(out, replicas, local if pipeline else 1)
    return out


def torchtitan_case(row: Row) -> MeasuredCase:
    """A run that recomputes all layers.

    The API can't describe which operators its selective recomputation keeps.
    """
    if row.get("recompute") != "full":
        raise Undescribed("recomputation by operator can't be described")
    request = torchtitan_request(row, api.RECOMPUTE_POLICY_FULL)
    size = published_bytes(row.get("peak_mem_as_published", ""))
    if size is None:
        raise Undescribed("no measured memory")
    return MeasuredCase(
        request=request,
        measured=[(Definition.RESERVED, size)],
        hardware=row.get("hardware", ""),
        series=f"{row.get('model', '')} {row.get('source_table', '')}",
        traits={measured_case.COMPILED},
        assumptions=["the tensors that torch.compile and fp8 products keep"],
    )


def open_torchtitan_case(row: Row) -> OpenCase:
    """A run that recomputes operator by operator, or one of torchao's of torchtitan."""
    text = row.get("peak_mem_as_published", "")
    if text.endswith(" GB"):  # torchtitan logs GiB, which tables made of its logs print as GB
        text = text.removesuffix(" GB") + " GiB"
    measured = published_bytes(text)
    if measured is None:
        raise Undescribed("no measured memory")
    if row.get("recompute") != "full":
        policies = (api.RECOMPUTE_POLICY_FULL, api.RECOMPUTE_POLICY_NONE)
        requests = [torchtitan_request(row, policy) for policy in policies]
        words = "recomputation, by operator: between none and full"
    elif row.get("micro_batch"):
        raise Undescribed("nothing open")
    else:
        requests = [
            torchtitan_request({**row, "micro_batch": choice}, api.RECOMPUTE_POLICY_FULL)
            for choice in ("1", "2")
        ]
        words = "micro-batch: 1 or 2"
    return OpenCase(words, requests, [Definition.RESERVED], measured)
