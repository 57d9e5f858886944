"""Matrix multiplications in PyTorch as a linear layer does them: x[m,k] times the transpose of
w[n,k], both of normal random numbers."""

# Weights that are used in turn hold this much, so that none is read from the L2 (60 MB of an H200,
# 126 MB of a B200); or they are that many: of the smallest shape they hold 201 MB in fp8.
ROTATED_BYTES = 400_000_000
MOST_OPERANDS = 192
FP8_LARGEST = 448.0  # of e4m3


def fp8_type(torch):
    """e4m3, or None where this PyTorch or this GPU (before compute capability 8.9) has none."""
    if torch.cuda.get_device_capability() < (8, 9) or not hasattr(torch, "_scaled_mm"):
        return None
    return getattr(torch, "float8_e4m3fn", None)


def data_types(torch):
    return ["bf16"] + (["fp8"] if fp8_type(torch) is not None else [])


def operand_count(n, k, element_bytes):
    return min(MOST_OPERANDS, max(1, -(-ROTATED_BYTES // (n * k * element_bytes))))


def normal(torch, rows, columns, dtype):
    values = torch.randn(rows, columns, device="cuda", dtype=torch.bfloat16)
    if dtype == "bf16":
        return values
    # Five standard deviations fill the range.
    return (values * (FP8_LARGEST / 5)).clamp(-FP8_LARGEST, FP8_LARGEST).to(fp8_type(torch))


def multiplication(torch, dtype, m, n, k):
    """run(i) for gpu_timing.measure(): the i-th run takes the i-th weight in turn."""
    x = normal(torch, m, k, dtype)
    weights = [normal(torch, n, k, dtype)
               for _ in range(operand_count(n, k, 2 if dtype == "bf16" else 1))]
    if dtype == "bf16":
        out = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
        return lambda i: torch.mm(x, weights[i % len(weights)].t(), out=out)
    scale = torch.ones((), device="cuda", dtype=torch.float32)
    return lambda i: torch._scaled_mm(x, weights[i % len(weights)].t(), scale_a=scale,
                                      scale_b=scale, out_dtype=torch.bfloat16,
                                      use_fast_accum=True)


def library_of(torch):
    """(framework, framework_version) of the tables."""
    return "pytorch", f"{torch.__version__} cuda {torch.version.cuda}"
