// The computing of a fake host's GPUs: they do nothing, in the time given by their rates. Memory
// beyond a mebibyte consists of addresses only.
#ifndef SEXTANT_TESTS_GPU_PROBE_CUDA_FAKE_CUDA_H_
#define SEXTANT_TESTS_GPU_PROBE_CUDA_FAKE_CUDA_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gpu_probe/cuda/cuda_driver.h"

namespace sextant::probe {

struct FakeGpu;
class FakeHost;

// The behaviour of a kernel: returns the seconds of a launch of `thread_count` threads with
// `arguments`. It may write to memory that its arguments point to.
using FakeKernel = std::function<double(FakeGpu& gpu, double thread_count, void** arguments)>;

// Work of a stream: run at once, or later where a recording is made.
using FakeWork = std::function<cuda::Result()>;

class FakeCuda {
 public:
  explicit FakeCuda(FakeHost& host);

  // Adds all functions for measuring to `driver`.
  void AddTo(CudaDriver* driver);

  // Kernels that do more than take 5 us. Those named check_... find nothing wrong, unless the GPU's
  // wrong_kernels name them.
  std::map<std::string, FakeKernel> kernels;

  // Runs `work` now, or adds it to the recording of `stream`. For libraries of kernels.
  cuda::Result Queue(cuda::Stream stream, const FakeWork& work);
  // Makes the GPU of `stream` work for `seconds`.
  cuda::Result Spend(cuda::Stream stream, double seconds);
  // The GPU of a stream.
  FakeGpu& GpuOf(cuda::Stream stream);
  // The bytes stored at `address`; null where there are none.
  void* Memory(cuda::Address address);

  int64_t allocated_bytes() const { return allocated_bytes_; }
  int64_t live_object_count() const { return live_object_count_; }
  int64_t launch_count() const { return launch_count_; }

 private:
  struct Stream {
    FakeGpu* gpu = nullptr;
    bool recording = false;
    std::vector<FakeWork> recorded;
  };
  struct Block {
    std::size_t size_bytes = 0;
    std::vector<unsigned char> bytes;  // empty: addresses only
  };
  void AddContexts(CudaDriver* driver);
  void AddMemory(CudaDriver* driver);
  void AddCopies(CudaDriver* driver);
  void AddStreams(CudaDriver* driver);
  void AddLaunches(CudaDriver* driver);
  void AddGraphs(CudaDriver* driver);
  cuda::Result Launch(const std::string& kernel, FakeGpu& gpu, double thread_count,
                      void** arguments);
  void CopyBytes(void* to, const void* from, std::size_t size_bytes) const;

  FakeHost& host_;
  FakeGpu* current_ = nullptr;
  std::map<cuda::Address, Block> blocks_;
  cuda::Address next_address_ = cuda::Address{1} << 40;
  int64_t allocated_bytes_ = 0;
  int64_t live_object_count_ = 0;  // streams, events, recordings, modules
  int64_t launch_count_ = 0;
};

// Adds the probe's kernels of passes over memory and of clocks: they take the time of FakeGpu's
// rates, and write results that the host itself reads, hashes and clocks. `host` must outlive its
// kernels.
void AddMemoryKernels(FakeHost& host);

}  // namespace sextant::probe

#endif  // SEXTANT_TESTS_GPU_PROBE_CUDA_FAKE_CUDA_H_
