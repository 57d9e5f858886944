// All points of memory/, from their arguments to their checks, with the kernels' own source: each
// launch on the fake GPU runs it on this processor, on memory that is really there.
#include "tests/gpu_probe/cuda/kernels/emulation.h"
// After what they stand on; headers first, so that each file of kernels may have its own names.
#include "gpu_probe/cuda/kernels/narrow.cuh"
#include "gpu_probe/cuda/kernels/places.cuh"
#include "gpu_probe/cuda/kernels/random.cuh"
#include "gpu_probe/fusion_chain.h"
namespace elementwise {
#include "gpu_probe/cuda/kernels/elementwise.cu"
}
namespace fusion {
#include "gpu_probe/cuda/kernels/fusion.cu"
}
namespace memory_passes {
#include "gpu_probe/cuda/kernels/memory_passes.cu"
}
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "gpu_probe/cuda/kernels/multiprocessor.cu"
#include "gpu_probe/cuda/memory/memory_points.h"
#include "tests/gpu_probe/cuda/fake_session.h"
#include "tests/support/status_matchers.h"

namespace sextant::probe {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr unsigned kThreadsOfBlock = 256;

// Converts a kernel's argument: pointers are addresses on the GPU.
template <typename T>
T Argument(FakeHost& host, void* argument) {
  if constexpr (std::is_pointer_v<T>) {
    return static_cast<T>(host.cuda.Memory(*static_cast<cuda::Address*>(argument)));
  } else {
    return *static_cast<T*>(argument);
  }
}

template <typename... Parameters, size_t... kIndices>
FakeKernel Emulated(FakeHost& host, void (*kernel)(Parameters...),
                    std::index_sequence<kIndices...>) {
  return [&host, kernel](FakeGpu&, double thread_count, void** arguments) {
    Emulate(kernel, static_cast<unsigned>(thread_count) / kThreadsOfBlock, kThreadsOfBlock,
            Argument<Parameters>(host, arguments[kIndices])...);
    return 1e-5;
  };
}

class EmulatedPointsTest : public FakeSessionTest {
 protected:
  template <typename... Parameters>
  void Add(const char* name, void (*kernel)(Parameters...)) {
    host_.cuda.kernels[name] =
        Emulated(host_, kernel, std::make_index_sequence<sizeof...(Parameters)>());
  }

  EmulatedPointsTest() {
    Add("memory_pass_read", memory_passes::memory_pass_read);
    Add("memory_pass_write", memory_passes::memory_pass_write);
    Add("memory_pass_copy", memory_passes::memory_pass_copy);
    Add("memory_pass_scale", memory_passes::memory_pass_scale);
    Add("memory_pass_triad", memory_passes::memory_pass_triad);
    Add("fill_whole_fp32", memory_passes::fill_whole_fp32);
    Add("check_memory_pass", memory_passes::check_memory_pass);
    Add("check_memory_pass_read", memory_passes::check_memory_pass_read);
    Add("fill_bits", memory_passes::fill_bits);
    Add("check_bits", memory_passes::check_bits);
    Add("multiply_adds_2", elementwise::multiply_adds_2);
    Add("multiply_adds_4", elementwise::multiply_adds_4);
    Add("multiply_adds_8", elementwise::multiply_adds_8);
    Add("multiply_adds_16", elementwise::multiply_adds_16);
    Add("multiply_adds_32", elementwise::multiply_adds_32);
    Add("multiply_adds_64", elementwise::multiply_adds_64);
    Add("multiply_adds_128", elementwise::multiply_adds_128);
    Add("multiply_adds_256", elementwise::multiply_adds_256);
    Add("check_multiply_adds", elementwise::check_multiply_adds);
    Add("fusion_scale", fusion::fusion_scale);
    Add("fusion_add_bias", fusion::fusion_add_bias);
    Add("fusion_activate", fusion::fusion_activate);
    Add("fusion_add_residual", fusion::fusion_add_residual);
    Add("fusion_all", fusion::fusion_all);
    Add("check_fusion", fusion::check_fusion);
    Add("multiprocessor_hash", multiprocessor_hash);
    // Arrays of 1 MiB are then memory.
    gpu_.cache_bytes = kMiB / 4;
    gpu_.multiprocessor_count = 8;
  }

  // How many points of `phase` could be made, and were checked as they must be.
  int CheckAll(const SharedSession& session, const std::string& phase) {
    int count = 0;
    for (const Point& point : GpuMemoryPoints(v1::PROBE_MODE_FULL, session)) {
      if (point.phase != phase) continue;
      const auto workload = point.make();
      if (absl::IsResourceExhausted(workload.status())) continue;
      EXPECT_THAT(workload, IsOk()) << point.label;
      if (!workload.ok()) continue;
      for (const int run_count : {2, 1}) {
        (*workload)->Poison();
        EXPECT_THAT((*workload)->Run(run_count), IsOk()) << point.label;
        EXPECT_THAT((*workload)->Check(), IsOk()) << point.label;
      }
      // The ladder's array is poisoned with what it begins with, which is right as long as nothing
      // runs; elementwise_kernels_test.cc has what is missing there.
      if (phase != "elementwise") {
        (*workload)->Poison();
        EXPECT_EQ((*workload)->Check().code(), absl::StatusCode::kDataLoss)
            << point.label << ": nothing ran, and it was not found";
      }
      ++count;
    }
    EXPECT_EQ(session->allocated_bytes(), 0);
    return count;
  }
  // With room for `array_count` arrays of 1 MiB, of more bytes than which the fake GPU has none.
  SharedSession OpenSmall(int array_count) { return Open((16 + array_count) * kMiB); }
};

TEST_F(EmulatedPointsTest, EachWritesWhatItsCheckExpectsAndNothingIsFoundMissing) {
  const SharedSession session = OpenSmall(/*array_count=*/3);
  EXPECT_EQ(CheckAll(session, "memory"), 5);  // all operations
  EXPECT_EQ(CheckAll(session, "cache"), 2);   // copies of 64 and 256 KiB
  EXPECT_EQ(CheckAll(session, "fusion"), 2);
  EXPECT_EQ(CheckAll(session, "host_copy"), 8);  // 64 KiB and 1 MiB
  EXPECT_EQ(CheckAll(session, "multiprocessor"), 1);
}

TEST_F(EmulatedPointsTest, TheLaddersChecksKnowHowOftenItRan) {
  EXPECT_EQ(CheckAll(OpenSmall(/*array_count=*/1), "elementwise"), 8);
}

TEST_F(EmulatedPointsTest, ACopyBackThatGetsLostIsFound) {
  GpuSession::Parts parts = Parts(19 * kMiB);
  bool lost = false;
  const auto to_device = parts.driver.to_device;
  parts.driver.to_device = [&](cuda::Address to, const void* from, size_t size_bytes,
                               cuda::Stream stream) {
    const bool report = size_bytes < 64;  // which is cleared for each check
    return lost && !report ? 0 : to_device(to, from, size_bytes, stream);
  };
  const SharedSession session = OpenParts(std::move(parts));
  for (const Point& point : GpuMemoryPoints(v1::PROBE_MODE_FULL, session)) {
    if (point.label != "device to host, 64 KiB, pinned") continue;
    const auto workload = point.make().value();
    for (lost = false;; lost = true) {
      workload->Poison();
      ASSERT_THAT(workload->Run(1), IsOk());
      const absl::Status checked = workload->Check();
      EXPECT_EQ(checked.ok(), !lost) << checked;
      if (lost) return;
    }
  }
  FAIL() << "there is no such point";
}

}  // namespace
}  // namespace sextant::probe
