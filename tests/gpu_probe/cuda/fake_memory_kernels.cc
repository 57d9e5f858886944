// AddMemoryKernels() of fake_cuda.h.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "gpu_probe/cuda/kernels.h"
#include "tests/gpu_probe/cuda/fake_cuda.h"
#include "tests/gpu_probe/cuda/fake_host.h"

namespace sextant::probe {
namespace {

constexpr double kStartSeconds = 2e-6;
constexpr int kHashThreads = 256;  // of a block

template <typename T>
T Argument(void** arguments, int index) {
  return *static_cast<T*>(arguments[index]);
}

// A pass over `array_count` arrays, whose vectors of 16 bytes argument `count_index` counts.
FakeKernel PassKernel(int array_count, int count_index) {
  return [=](FakeGpu& gpu, double, void** arguments) {
    const double vectors = static_cast<double>(Argument<uint64_t>(arguments, count_index));
    return kStartSeconds + 16 * array_count * vectors / gpu.memory_bytes_per_second;
  };
}

// `step_count` multiply-adds an element, read and written: memory or arithmetic, whichever is
// slower.
FakeKernel LadderKernel(int step_count) {
  return [=](FakeGpu& gpu, double, void** arguments) {
    const double vectors = static_cast<double>(Argument<uint64_t>(arguments, 1));
    return kStartSeconds + std::max(32 * vectors / gpu.memory_bytes_per_second,
                                    8 * step_count * vectors / gpu.fp32_flops_per_second);
  };
}

const std::vector<uint32_t>& HashesOfBlock(uint32_t step_count) {
  static std::map<uint32_t, std::vector<uint32_t>> hashes;
  std::vector<uint32_t>& out = hashes[step_count];
  for (uint32_t thread = static_cast<uint32_t>(out.size()); thread < kHashThreads; ++thread) {
    out.push_back(MultiprocessorHash(thread, step_count));
  }
  return out;
}

FakeKernel HashKernel(FakeHost& host) {
  return [&host](FakeGpu& gpu, double thread_count, void** arguments) {
    auto* const hashes =
        static_cast<uint32_t*>(host.cuda.Memory(Argument<cuda::Address>(arguments, 0)));
    auto* const multiprocessors =
        static_cast<uint32_t*>(host.cuda.Memory(Argument<cuda::Address>(arguments, 1)));
    const uint32_t step_count = Argument<uint32_t>(arguments, 2);
    const std::vector<uint32_t>& expected = HashesOfBlock(step_count);
    const std::size_t blocks = static_cast<std::size_t>(thread_count) / kHashThreads;
    for (std::size_t block = 0; block < blocks; ++block) {
      const int multiprocessor = static_cast<int>(block) % gpu.multiprocessors_in_use;
      multiprocessors[block] = static_cast<uint32_t>(multiprocessor);
      std::copy(expected.begin(), expected.end(), hashes + block * kHashThreads);
      if (multiprocessor == gpu.wrong_multiprocessor) hashes[block * kHashThreads + 3] ^= 0x10;
    }
    return kStartSeconds + 32 * step_count / (1e6 * gpu.sm_megahertz);
  };
}

// As kernels/multiprocessor.cu has it.
struct ClockReading {
  int64_t cycles = 0;
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
};

FakeKernel ClockKernel(FakeHost& host) {
  return [&host](FakeGpu& gpu, double, void** arguments) {
    const int64_t cycles = Argument<int64_t>(arguments, 1);
    const double seconds = static_cast<double>(cycles) / (1e6 * gpu.sm_megahertz);
    const double start_ns = 1e9 * (1 + host.slept_seconds());
    *static_cast<ClockReading*>(host.cuda.Memory(Argument<cuda::Address>(arguments, 0))) = {
        .cycles = cycles,
        .start_ns = static_cast<uint64_t>(start_ns),
        .end_ns = static_cast<uint64_t>(start_ns + 1e9 * seconds * gpu.slowness)};
    return seconds;
  };
}

// As kernels/multiprocessor.cu has it.
struct ClockStamp {
  int64_t cycles = 0;
  uint64_t ns = 0;
};

FakeKernel StampKernel(FakeHost& host) {
  return [&host](FakeGpu& gpu, double, void** arguments) {
    const double now_seconds = 1 + host.slept_seconds();
    *static_cast<ClockStamp*>(host.cuda.Memory(Argument<cuda::Address>(arguments, 0))) = {
        .cycles = static_cast<int64_t>(now_seconds * 1e6 * gpu.sm_megahertz),
        .ns = static_cast<uint64_t>(now_seconds * 1e9)};
    return kStartSeconds;
  };
}

}  // namespace

void AddMemoryKernels(FakeHost& host) {
  std::map<std::string, FakeKernel>& kernels = host.cuda.kernels;
  kernels["memory_pass_read"] = PassKernel(1, 2);
  kernels["memory_pass_write"] = PassKernel(1, 1);
  kernels["memory_pass_copy"] = PassKernel(2, 2);
  kernels["memory_pass_scale"] = PassKernel(2, 2);
  kernels["memory_pass_triad"] = PassKernel(3, 3);
  kernels["fusion_scale"] = PassKernel(2, 2);
  kernels["fusion_add_bias"] = PassKernel(2, 2);
  kernels["fusion_activate"] = PassKernel(2, 1);
  kernels["fusion_add_residual"] = PassKernel(3, 2);
  kernels["fusion_all"] = PassKernel(3, 4);
  for (int step_count = 2; step_count <= 256; step_count *= 2) {
    kernels["multiply_adds_" + std::to_string(step_count)] = LadderKernel(step_count);
  }
  kernels["multiprocessor_hash"] = HashKernel(host);
  kernels["measure_clock"] = ClockKernel(host);
  kernels["stamp_clock"] = StampKernel(host);
  kernels["do_nothing"] = [](FakeGpu&, double, void**) { return kStartSeconds; };
}

}  // namespace sextant::probe
