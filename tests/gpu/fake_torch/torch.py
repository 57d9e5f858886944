"""PyTorch as tests/gpu calls it, on a GPU of given rates that computes nothing.

Time goes on by what the GPU would take, and by that alone: time.monotonic() and time.sleep() are
those of this GPU as well, so that a step which measures for minutes is over in a second. With
--multiply in the command line (busy_gpu.py's background) it is real, and the file
$SEXTANT_FAKE_BUSY has the number of the process that works.
"""

import contextlib
import functools
import json
import os
import pathlib
import sys
import time
import types

__version__ = "0.0.fake"
bfloat16, float32, float8_e4m3fn, uint8 = "bf16", "fp32", "fp8", "uint8"
SIZES = {bfloat16: 2, float32: 4, float8_e4m3fn: 1}
BF16_RATE, FP8_RATE, MEMORY_RATE, HOST_RATE = 7.1e14, 1.3e15, 4.1e12, 5.3e10
MOST_SEQUENCES = 32  # a batch of as many does not fit

GAP_SECONDS = 1e-6  # of each kernel's time that the profiler does not see

_real_sleep, _now, _recording, _traces = time.sleep, [1000.0], [], []


def _spend(seconds, kernel=None):
    """`kernel` is the name of what a profiler shows."""
    if kernel and _traces:
        _traces[-1].append({"ph": "X", "cat": kernel.split()[0], "name": kernel,
                            "ts": 1e6 * _now[0], "dur": 1e6 * (seconds - GAP_SECONDS)})
    if _recording:
        _recording[-1].seconds += seconds
    else:
        _now[0] += seconds


class Tensor:
    def __init__(self, *shape, device="cpu", dtype=float32, requires_grad=False):
        del requires_grad
        self.shape, self.device, self.dtype = shape, device, dtype

    def _like(self, *shape, **other):
        return Tensor(*shape, **{"device": self.device, "dtype": self.dtype, **other})

    def numel(self):
        out = 1
        for size in self.shape:
            out *= size
        return out

    def t(self):
        return self._like(*reversed(self.shape))

    def transpose(self, first, second):
        shape = list(self.shape)
        shape[first], shape[second] = shape[second], shape[first]
        return self._like(*shape)

    def to(self, dtype):
        return self._like(*self.shape, dtype=dtype)

    def clamp(self, low, high):
        assert low < high
        return self

    def __mul__(self, _):
        return self

    def pin_memory(self):
        return self._like(*self.shape, device="pinned")

    def copy_(self, source, non_blocking=False):
        assert non_blocking and self.shape == source.shape
        size = self.numel() * SIZES[self.dtype]
        within = self.device == source.device == "cuda"
        _spend(3e-6 + (2 * size / MEMORY_RATE if within else size / HOST_RATE), "gpu_memcpy DtoD")


def randn(*shape, **how):
    return Tensor(*(shape[0] if shape and isinstance(shape[0], tuple) else shape), **how)


def randn_like(like):
    return Tensor(*like.shape, device=like.device, dtype=like.dtype)


ones = empty = randn
empty_like = randn_like


def randint(most, shape, device="cpu"):
    assert most > 0
    return Tensor(*shape, device=device)


def _multiply(a, b, rate):
    (m, k), (k_too, n) = a.shape, b.shape
    assert k == k_too, (a.shape, b.shape)
    _spend(3e-6 + max(2 * m * n * k / rate, (m * k + n * k) * SIZES[a.dtype] / MEMORY_RATE),
           "kernel gemm")


def mm(a, b, out):
    assert out.shape == (a.shape[0], b.shape[1])
    _multiply(a, b, BF16_RATE)


def _scaled_mm(a, b, scale_a, scale_b, out_dtype, use_fast_accum):
    assert a.dtype == b.dtype == float8_e4m3fn and use_fast_accum and out_dtype == bfloat16
    assert scale_a.shape == scale_b.shape == ((),) or scale_a.shape == ()
    _multiply(a, b, FP8_RATE)


def _attention(q, k, v, is_causal, enable_gqa=False):
    assert k.shape == v.shape and (enable_gqa or q.shape == k.shape)
    batch, heads, sequence, size = q.shape
    _spend(4e-6 + 4 * size * sequence * sequence * batch * heads / (2 if is_causal else 1) / 5e14,
           "kernel attention")
    return q


def _gradients(out, inputs, gradient, retain_graph):
    assert retain_graph and gradient.shape == out.shape and len(inputs) == 3
    batch, heads, sequence, size = out.shape
    _spend(1e-5 + 10 * size * sequence * sequence * batch * heads / 4e14)


class OutOfMemoryError(RuntimeError):
    pass


class Event:
    def __init__(self, enable_timing):
        assert enable_timing

    def record(self):
        self.seconds = _now[0]

    def synchronize(self):
        pass

    def elapsed_time(self, end):
        return 1e3 * (end.seconds - self.seconds)


class CUDAGraph:
    seconds = 0.0

    def capture_begin(self):
        _recording.append(self)

    def capture_end(self):
        assert _recording.pop() is self

    def replay(self):
        _spend(self.seconds)


@contextlib.contextmanager
def _profile(activities):
    """With events on the host's side as well, as PyTorch's have."""
    assert activities == ["cuda"]
    _traces.append([{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 0,
                     "dur": 5}])
    trace = _traces[-1]
    yield types.SimpleNamespace(export_chrome_trace=lambda path: pathlib.Path(path).write_text(
        json.dumps({"traceEvents": trace}), encoding="utf-8"))
    _traces.pop()


@functools.lru_cache(maxsize=None)
def _name_process():
    """Once, and whole: others read it meanwhile."""
    path = os.environ["SEXTANT_FAKE_BUSY"]
    pathlib.Path(f"{path}.new").write_text(str(os.getpid()), encoding="utf-8")
    os.replace(f"{path}.new", path)


def _synchronize():
    if "--multiply" in sys.argv:
        _name_process()
        _real_sleep(0.01)


class Module:
    """A model that takes a hundredth of a second a step and has one parameter."""

    def __init__(self):
        self.weight = Tensor(3, 5)

    def parameters(self):
        return [self.weight]

    def to(self, _):
        return self

    def __call__(self, tokens, targets):
        assert tokens.shape == targets.shape
        if tokens.shape[0] >= MOST_SEQUENCES:
            raise OutOfMemoryError("CUDA out of memory.\nmore lines")
        _spend(0.01)
        return _Loss()


class _Loss:
    def backward(self):
        _spend(0.02)

    def detach(self):
        return self

    def item(self):
        return 9.5


class AdamW:
    def __init__(self, parameters, lr, fused):
        assert len(list(parameters)) == 1 and lr > 0 and fused

    def step(self):
        _spend(0.005)

    def zero_grad(self, set_to_none):
        assert set_to_none


def _anything(*_, **__):
    return types.SimpleNamespace(weight=None)


def _namespace(name, **members):
    out = types.ModuleType(name)
    out.__dict__.update(members)
    sys.modules[name] = out
    return out


def compile(model):  # its name in PyTorch
    return model


def autocast(device, dtype):
    assert device == "cuda" and dtype == bfloat16
    return contextlib.nullcontext()


def manual_seed(_):
    pass


def device(name):
    assert name == "cuda"
    return contextlib.nullcontext()


functional = _namespace("torch.nn.functional", scaled_dot_product_attention=_attention)
backends = types.SimpleNamespace(CUDNN_ATTENTION="cudnn", FLASH_ATTENTION="flash")
attention = _namespace("torch.nn.attention", SDPBackend=backends,
                       sdpa_kernel=lambda backend: contextlib.nullcontext())
nn = _namespace("torch.nn", functional=functional, attention=attention, Module=Module,
                Linear=_anything, Embedding=_anything, LayerNorm=_anything, ModuleList=list,
                Parameter=_anything, init=types.SimpleNamespace(normal_=_anything))
checkpointing = _namespace("torch.utils.checkpoint", checkpoint=None)
utils = _namespace("torch.utils", checkpoint=checkpointing)
_dynamo = types.SimpleNamespace(reset=lambda: None)
optim = types.SimpleNamespace(AdamW=AdamW)
profiler = _namespace("torch.profiler", profile=_profile,
                      ProfilerActivity=types.SimpleNamespace(CUDA="cuda"))
autograd = types.SimpleNamespace(grad=_gradients)
version = types.SimpleNamespace(cuda="13.0")
cuda = types.SimpleNamespace(
    is_available=lambda: True, get_device_name=lambda: "NVIDIA H200",
    get_device_capability=lambda: (9, 0), Event=Event, CUDAGraph=CUDAGraph,
    Stream=object, _sleep=lambda cycles: _spend(cycles / 1.98e9), stream=contextlib.nullcontext,
    synchronize=_synchronize, reset_peak_memory_stats=lambda: None, empty_cache=lambda: None,
    max_memory_allocated=lambda: 3 << 30, max_memory_reserved=lambda: 4 << 30,
    OutOfMemoryError=OutOfMemoryError)

if "--multiply" not in sys.argv:
    time.monotonic = lambda: _now[0]
    time.sleep = _spend
