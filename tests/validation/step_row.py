"""A published run with a step time, as requests to the service."""

import copy
from dataclasses import dataclass, field

from cells import Row, Undescribed, api, number, require, required, whole
from run_request import OPEN_HEADS, request_on
from step_layout import Layout, Parts, layout_of, set_layout
from step_sources import format_of, hardware_of, model_of, network_of, recipe_of, software_of

BASELINE_MFU = 0.45  # of docs/accuracy_step_time.md
# Products with one scale a row over those with one scale a tensor: torchtitan's of 2024
# (docs/step_time.md).
ROW_SCALED_RATIO = 1.6
# LoRA of NVIDIA's fine-tuning recipes in their fastest settings: rank 8 for models of 7 to 13
# billion parameters and 16 above, on the product of query, key and value alone. Source: NVIDIA/NeMo
# nemo/collections/llm/recipes/llama3_70b.py, performance_mode; ranks from memory.
SMALL_RANK, LARGE_RANK, LARGE_HIDDEN = 8, 16, 8192
TARGETS = ["attention.query", "attention.key", "attention.value"]


@dataclass
class StepRow:
    """A row, and what it is asked about."""

    id: str
    source: str
    framework: str  # releases together
    stack: str  # layout.software.name
    hardware: str  # "H100"
    accelerator: str  # "h100-sxm"
    model: str  # without size of cluster or date
    format: str  # "bf16"
    task: str  # "pretrain", "sft", "lora"
    sweep: str  # rows of which the fastest layout can be asked for
    narrow: bool  # products in 8 bits or fewer
    row_scaled: bool  # with one scale a row
    flash_attention_2: bool  # whatever its stack has
    expert_host: str  # Parts.expert_host
    experts: bool
    measured: float  # seconds of a step
    scales: dict  # fields of SoftwareStack times a factor, in addition to the stack
    opened: list = field(default_factory=list)  # fields that the source doesn't publish
    layout: Layout = Layout()
    strategy: str = ""  # "tensor, pipeline", of the report
    # One where nothing is open; else one a choice, the likely one first. Without a published
    # recomputation or with one of some layers, which no request can describe: without any, then of
    # all layers.
    requests: list = field(default_factory=list)
    # The request that leaves open what is open, where every such field is one of the service's:
    # recomputation and interleaving. Its answer has the row's interval.
    left_open: object = None
    recompute_blank: bool = False
    likely_none: bool = False  # of recompute_blank: the stack recomputes nothing where that fits
    # The expected time is so far from the first request's time to the last's.
    point_share: float = 0
    # The span of possible times starts so far from the fastest choice to the slowest.
    low_share: float = 0

    @property
    def family(self) -> str:
        return f"{self.model} | {self.framework} | {self.format}"

    @property
    def attention_stack(self) -> str:
        """The stack whose attention the row has."""
        return "torchtitan" if self.flash_attention_2 else self.stack

    @property
    def generation(self) -> str:
        """Of devices, by what accelerators are called."""
        if self.accelerator.startswith("a100"):
            return "A100"
        return "Hopper" if self.accelerator.startswith("h") else "Blackwell"

    @property
    def bits(self) -> str:
        if not self.narrow:
            return "16 bit"
        return "4 bit" if self.format == "nvfp4" else "8 bit"

    @property
    def step_class(self) -> str:
        if self.experts:
            return "experts"
        if self.opened:
            return "dense, something open"
        return "dense, 8 bit and less" if self.narrow else "dense, 16 bit"


def flops_of(row: Row) -> float:
    """FLOPs of a step by the formula with which the source says it counts; 0 of others.

    Narayanan et al. 2021 (arXiv 2104.04473) equation 3, of a step with all layers recomputed:
    96 B s l h^2 (1 + s / (6 h) + V / (16 l h)). Megatron-LM's num_floating_point_operations of
    2024, the model's own (three times the forward products, all of the mask): three quarters of it
    but for the logits. BLOOM's 8 N s B: N are the layers' matrices, 12 l h^2, as the rows that
    print both show.
    """
    layers, hidden, length, vocabulary, batch = (
        number(row.get(column, "")) or 0
        for column in ("layers", "hidden", "seq_len", "vocab", "global_batch"))
    count = row.get("flops_def", "")
    if "8*N*s*B" in count:
        return 8 * 12 * layers * hidden * hidden * length * batch
    own = "num_floating_point_operations" in count
    if not own and "96*B*s*l*h^2" not in count:
        return 0
    logits = vocabulary / (16 * layers * hidden) * (4 / 3 if own else 1)
    products = 1 + length / (6 * hidden) + logits
    return (72 if own else 96) * batch * length * layers * hidden * hidden * products


def measured_seconds(row: Row) -> float:
    """As published; else as derived from tokens a second; else from TFLOP/s."""
    for column in ("step_time_s", "step_time_s_derived"):
        seconds = number(row.get(column, ""))
        if seconds and seconds > 0:
            return seconds
    flops, (teraflops, gpus) = flops_of(row), (number(row.get(column, "")) or 0
                                               for column in ("tflops_per_gpu", "gpus"))
    require(min(flops, teraflops, gpus) > 0, "no step time")
    return flops / (1e12 * teraflops * gpus)


def check_task(row: Row, tuning: bool) -> None:
    tuned = row.get("task", "") != "pretrain"
    require(tuned == tuning, "fine-tuning" if tuned else "pre-training")
    if tuned and whole(row, "micro_batch") is None:
        raise Undescribed("printed again with its micro-batch")


def parts_of(row: Row) -> Parts:
    hardware, software, numbers = hardware_of(row), software_of(row), format_of(row)
    model = model_of(row)
    if row.get("task") == "lora":
        large = whole(row, "hidden", 0) >= LARGE_HIDDEN
        adapters = {"rank": LARGE_RANK if large else SMALL_RANK, "targets": TARGETS}
        model.spec["changes"] = {"adapters": adapters, "base_frozen": True}
    return Parts(row, software, hardware, numbers, model, recipe_of(row))


def set_precision(parts: Parts, precision) -> None:
    compute = api.DataType.Value(parts.format.type)
    precision.compute_data_type = compute
    gradients = parts.software.gradients
    if gradients == "fp32" or "fp32 grad accumulation" in parts.row.get("precision", ""):
        precision.gradient_data_type = api.DATA_TYPE_FP32
    elif gradients == "compute":
        precision.gradient_data_type = compute


def set_vocabulary(parts: Parts, tensor: int, model) -> None:
    """A vocabulary that the tensor parallel ranks can't divide, padded as Megatron does."""
    multiple = 128 * tensor
    divides = whole(parts.row, "vocab", 0) % multiple == 0
    if parts.software.pads_vocabulary and (not divides or parts.model.experts):
        model.changes.vocabulary_multiple = multiple


def request_for(parts: Parts, layout: Layout, recompute: str):
    """The request for one choice of what is open."""
    hardware, training = parts.hardware, {"sequence_length": whole(parts.row, "seq_len", 0)}
    out = request_on(hardware.accelerator, model=parts.model.spec, training=training,
                     cluster={"node_type": hardware.node_type,
                              "network": {"bytes_per_second": network_of(parts.row, hardware)}},
                     options={"assumed_mfu": BASELINE_MFU})
    set_precision(parts, out.training.precision)
    # It says nothing about experts and frozen weights: theirs are counted exactly.
    if not parts.model.experts and not out.model.changes.base_frozen:
        out.options.flops_convention = api.FLOPS_CONVENTION_PALM_2022
    set_layout(parts, layout, out)
    set_vocabulary(parts, layout.tensor, out.model)
    # Transformer Engine keeps inputs as it multiplies them, at 8 bits where the ledger knows no
    # fewer; torchao quantises them again.
    if parts.format.narrow and parts.software.stack != "torchtitan":
        out.layout.kernels.matmul_input_data_type = api.DATA_TYPE_FP8_E4M3
    if parts.format.row_scaled:
        out.layout.software.narrow_product_time_ratio = ROW_SCALED_RATIO
    out.training.recompute = api.RecomputePolicy.Value(recompute)
    out.training.token_count = out.layout.global_batch_size * out.training.sequence_length
    return out


def recompute_of(parts: Parts, out: StepRow) -> list[str]:
    """The policies that are possible."""
    text = parts.row.get("recompute", "")
    if parts.recipe.recompute:
        return [parts.recipe.recompute]
    if text in ("none", "full") or (text == "selective" and parts.software.pads_vocabulary):
        return [f"RECOMPUTE_POLICY_{text.upper()}"]
    if text == "selective" and parts.software.stack == "torchtitan":
        return ["RECOMPUTE_POLICY_OPERATORS"]
    out.recompute_blank = not text
    out.likely_none = parts.software.pads_vocabulary
    if not out.likely_none:
        out.point_share = parts.software.recomputed
    if text:
        out.opened.append("recomputation of some layers")
    return ["RECOMPUTE_POLICY_NONE", "RECOMPUTE_POLICY_FULL"]


def layouts_of(row: StepRow) -> list[Layout]:
    """Choices of interleaving and micro-batch, the likely one first."""
    first = [row.layout]
    if "interleaving" in row.opened and row.layout.chunks > 1:
        first.append(row.layout._replace(chunks=1))
    out = list(first)
    for size in (2, 4) if "micro-batch" in row.opened else ():
        for layout in first:
            count = layout.micro_batches * layout.micro_batch
            if count % size == 0:
                out.append(layout._replace(micro_batch=size, micro_batches=count // size))
    return out


def strategy_of(layout: Layout, sharded: bool, experts: bool) -> str:
    if experts:
        return "experts, divided" if layout.experts > 1 else "experts"
    names = ["fully sharded"] if sharded else []
    sizes = {"tensor": layout.tensor, "pipeline": layout.stages, "context": layout.context}
    names += [name for name, size in sizes.items() if size > 1]
    return ", ".join(names) or "data alone"


def named_row(parts: Parts, measured: float) -> StepRow:
    """A StepRow without its requests."""
    row, software, hardware = parts.row, parts.software, parts.hardware
    source = row.get("source", "")
    # BLOOM's trials are in one table each.
    place = row.get("source_table", "") if source.startswith("BLOOM") else parts.model.name
    scales = {}
    if hardware.product_time_ratio != 1:
        scales |= dict.fromkeys(("sustained_time_ratio", "narrow_sustained_time_ratio"),
                                hardware.product_time_ratio)
    if hardware.memory_time_ratio != 1:
        scales["memory_pass_time_ratio"] = hardware.memory_time_ratio
    return StepRow(
        id=row.get("id", ""), source=source, framework=software.name, stack=software.stack,
        hardware=hardware.label, accelerator=hardware.accelerator, model=parts.model.name,
        format=parts.format.name, task=row.get("task", ""), measured=measured, scales=scales,
        sweep=f"{source} | {place} | {hardware.label} | {parts.format.name}",
        narrow=parts.format.narrow, row_scaled=parts.format.row_scaled,
        flash_attention_2=parts.recipe.flash_attention_2, experts=parts.model.experts,
        expert_host=parts.expert_host)


def step_row(row: Row, tuning: bool = False) -> StepRow:
    """`row` by its columns; pre-training, or `tuning`. Raises Undescribed."""
    measured = measured_seconds(row)
    check_task(row, tuning)
    parts = parts_of(row)
    required(row, "seq_len", "sequence length")
    out = named_row(parts, measured)
    out.layout = layout_of(parts, out.opened)
    if parts.model.heads_open:
        out.opened.append("heads")
    if parts.hardware.power_open:
        out.opened.append("power limit")
    policies = recompute_of(parts, out)
    out.requests = [request_for(parts, layout, policy)
                    for policy in policies for layout in layouts_of(out)]
    for heads in OPEN_HEADS if parts.model.heads_open else ():
        request = copy.deepcopy(out.requests[0])
        request.model.transformer.attention_head_count = heads
        request.model.transformer.ClearField("key_value_head_count")
        out.requests.append(request)
    if parts.hardware.or_accelerator:
        request = copy.deepcopy(out.requests[0])
        request.cluster.device.accelerator = parts.hardware.or_accelerator
        request.cluster.ClearField("node_type")  # its own
        out.requests.append(request)
    sharded = out.requests[0].layout.sharding.zero_stage == api.ZERO_STAGE_PARAMETERS
    out.strategy = strategy_of(out.layout, sharded, out.experts)
    return out


def step_rows(table: list[Row], tuning: bool = False) -> tuple[list[StepRow], list[tuple]]:
    """Rows of measured_runs.csv, or of a file with its columns; and of those that are left out
    (source, id, reason)."""
    rows, left_out = [], []
    for row in table:
        try:
            rows.append(step_row(row, tuning))
        except Undescribed as why:
            left_out.append((row.get("source", ""), row.get("id", ""), str(why)))
    return rows, left_out
