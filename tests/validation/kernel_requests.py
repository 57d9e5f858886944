"""Published times against the service's answers to requests for them, as a user would send them.

Scored are rows of the kernels that the engine brings along, without those that are its points:
every 7th of multiplications and attention, every row of the others.
"""

from statistics import median

import grpc

from cells import api
from collective_accuracy import LARGE_BYTES, tables_of
from kernel_rows import Point, matmul_table, others
from kernel_scores import TIME_COLUMNS, interval_cells

EVERY = 7
ANALYZE = "AccountingService/AnalyzeOperation"
TYPES = {"bf16": "BF16", "fp8": "FP8_E4M3", "fp8_block": "FP8_E4M3", "nvfp4": "NVFP4",
         "int8": "INT8"}
SCALINGS = {"fp8": "MATMUL_SCALING_TENSOR", "fp8_block": "MATMUL_SCALING_BLOCK"}


def request_rows(scored):
    """By kind of kernel, type and GPU; those of all GPUs come last. `scored` are these, a predicted
    interval and the measured seconds."""
    groups = {}
    for kind, dtype, gpu, found, seconds in scored:
        for name in (gpu, "all"):
            groups.setdefault((kind, dtype, name == "all", name), []).append(
                ((found.expected, found.low, found.high), seconds))
    return [[kind, dtype, gpu, *interval_cells(times)]
            for (kind, dtype, _, gpu), times in sorted(groups.items())]


COLUMNS = ["kernel", "type", "GPU", "scored:", *TIME_COLUMNS]


def operation_request(gpu, dtype, scaled=True, **operation):
    types = {"input": f"DATA_TYPE_{TYPES[dtype]}"}
    if scaled and dtype in SCALINGS:
        types["scaling"] = SCALINGS[dtype]
    return api.AnalyzeOperationRequest(device={"device": {"accelerator": gpu}}, data_types=types,
                                       operation=operation)


def matmul_request(gpu, dtype, shape):
    out = operation_request(gpu, dtype, matmul=shape._asdict())
    out.data_types.output = api.DATA_TYPE_BF16
    return out


def attention_request(gpu, dtype, shape):
    return operation_request(
        gpu, dtype, scaled=False, attention={
            "batch": shape.batch, "heads": shape.heads, "kv_heads": shape.kv_heads,
            "query_length": shape.seq_len, "head_size": shape.head_dim,
            **({"value_head_size": shape.value_size} if shape.latent else {}),
            "causal": bool(shape.causal), "window": shape.window})


def experts_request(gpu, dtype, shape):
    return operation_request(gpu, dtype, experts={
        "tokens": shape.tokens, "hidden_size": shape.hidden,
        "feed_forward_size": shape.intermediate, "expert_count": shape.experts,
        "experts_per_token": shape.top_k, "expert_parallel_size": shape.expert_parallel,
        "ungated": not shape.gated})


def score_operations(server, questions):
    """`questions` are (kind, type, GPU, seconds, request)."""
    scored = []
    answers = server.answers([(ANALYZE, request) for *_, request in questions])
    for (*names, seconds, _), answer in zip(questions, answers):
        if isinstance(answer, grpc.RpcError):
            raise answer
        scored.append((*names, answer.time.predicted_forward.duration_seconds, seconds))
    return request_rows(scored)


def unseen(points, reference):
    """Those that are not the engine's own; none where it has none."""
    if not reference:
        return []
    return others(points, [Point(tuple(shape), seconds) for shape, seconds in reference["points"]])


def matmul_requests(rows, fits, server):
    return score_operations(server, [
        ("multiplication", dtype, gpu, point.seconds, matmul_request(gpu, dtype, point.shape))
        for (gpu, dtype, _), points in matmul_table(rows).items()
        for point in unseen(points, fits.ask("matmul_reference", gpu=gpu, type=dtype))[::EVERY]])


def attention_kind(shape):
    if shape.latent:
        return "latent attention, causal"
    if shape.window:
        return "attention, window"
    return "attention, causal" if shape.causal else "attention, full"


def attention_requests(table, fits, server):
    questions = []
    for (gpu, dtype, kernel), points in table.items():
        latent = points[0].shape.latent
        reference = fits.ask("attention_reference", gpu=gpu, type=dtype, latent=latent)
        # "torch_flow" of "trtllm 1.0.0 torch_flow".
        if not reference or not (latent or kernel.split(" ")[-1] in reference["kernel"]):
            continue
        for point in unseen(points, reference)[::1 if latent else EVERY]:
            questions.append((attention_kind(point.shape), dtype, gpu, point.seconds,
                              attention_request(gpu, dtype, point.shape)))
    return score_operations(server, questions)


def expert_requests(table, fits, server):
    questions = []
    for (gpu, dtype, _), points in table.items():
        gated = bool(points[0].shape.gated)
        reference = fits.ask("expert_reference", gpu=gpu, type=dtype, gated=gated)
        kind = "experts" if gated else "experts, not gated"
        questions += [(kind, dtype, gpu, point.seconds, experts_request(gpu, dtype, point.shape))
                      for point in unseen(points, reference)]
    return score_operations(server, questions)


def collective_requests(rows, fits, server):
    scored = []
    for table in tables_of(rows)[0]:
        reference = fits.ask("collective_reference", gpu=table.gpu)
        node = reference["node"]
        own = table.version == reference["version"]
        calls = {}
        for (ranks, size), samples in table.samples.items():
            compared = size not in reference["sizes"] if own else size >= LARGE_BYTES
            if node and compared and ranks <= node["devices"]:
                calls.setdefault(ranks, {})[size] = median(samples)
        for ranks, seconds in calls.items():
            answer = server.call("HardwareService/GetLinkTimes", api.GetLinkTimesRequest(
                nodes={"node_type": node["name"], "ranks_per_node": ranks},
                operations=[f"COLLECTIVE_OPERATION_{table.op.upper()}"], sizes_bytes=seconds))
            for time in answer.exchanges[0].times:
                size = "below 1 MiB" if time.size_bytes < LARGE_BYTES else "1 MiB and more"
                scored.append((f"collectives, {size}", "fp16", table.gpu, time.duration_seconds,
                               seconds[time.size_bytes]))
    return request_rows(scored)
