// One GPU while it is measured: its context, the probe's kernels, one stream of work, a memory
// budget, and checks of results on the GPU itself. Used by one thread.
#ifndef SEXTANT_GPU_PROBE_CUDA_GPU_SESSION_H_
#define SEXTANT_GPU_PROBE_CUDA_GPU_SESSION_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gpu_probe/cuda/cuda_driver.h"
#include "gpu_probe/cuda/gpu_list.h"
#include "gpu_probe/cuda/kernels.h"

namespace sextant::probe {

// Blocks of a launch, and threads of a block.
struct LaunchShape {
  unsigned block_count = 1;
  unsigned thread_count = 256;
  unsigned block_row_count = 1;  // the grid's second dimension
};

// A launch for kernels that loop over `count` tasks: a thread each, in at most `most_blocks`
// blocks.
inline LaunchShape LaunchOver(int64_t count, int64_t most_blocks) {
  constexpr int64_t kThreadCount = 256;
  const int64_t blocks = (count + kThreadCount - 1) / kThreadCount;
  return {.block_count = static_cast<unsigned>(
              std::clamp<int64_t>(blocks, 1, std::max<int64_t>(most_blocks, 1))),
          .thread_count = static_cast<unsigned>(kThreadCount)};
}

class GpuSession : public std::enable_shared_from_this<GpuSession> {
 public:
  struct Parts {
    CudaDriver driver;
    Gpu gpu;
    int64_t memory_cap_bytes = 0;                      // for all allocations together
    std::vector<KernelImage> images = KernelImages();  // of each file the first that loads is used
    bool holds = true;                                 // false: Hold() does nothing
  };

  // Makes the GPU's context, which takes some of its memory, and loads the kernels.
  //
  // Errors: CudaStatus()'s.
  static absl::StatusOr<std::shared_ptr<GpuSession>> Open(Parts parts);
  ~GpuSession();
  GpuSession(const GpuSession&) = delete;
  GpuSession& operator=(const GpuSession&) = delete;

  const Gpu& gpu() const { return parts_.gpu; }
  const v1::Device& device() const { return parts_.gpu.device; }
  // Compute capability, 90 for 9.0.
  int compute_capability() const { return compute_capability_; }
  int64_t multiprocessor_count() const { return device().compute_unit_count(); }
  // Last-level cache; 0 where it is not known.
  int64_t cache_bytes() const { return device().cache_bytes(); }
  const CudaDriver& driver() const { return parts_.driver; }
  const std::vector<KernelImage>& images() const { return parts_.images; }
  cuda::Context context() const { return context_; }
  cuda::Stream stream() const { return stream_; }

  int64_t memory_cap_bytes() const { return parts_.memory_cap_bytes; }
  int64_t allocated_bytes() const { return allocated_bytes_; }
  int64_t peak_bytes() const { return peak_bytes_; }

  // Directs later calls of this thread to this GPU, where there are sessions of several GPUs.
  absl::Status MakeCurrent();

  // Queues the kernel `name` with `arguments`, whose types must be exactly those of its parameters.
  //
  // Errors: kInternal without such a kernel; CudaStatus()'s.
  template <typename... Arguments>
  absl::Status Launch(const char* name, const LaunchShape& shape, Arguments... arguments) {
    void* pointers[] = {&arguments..., nullptr};
    return LaunchPointers(name, shape, pointers);
  }
  // Waits for all queued work.
  absl::Status Synchronize();

  // Queues a kernel that occupies the stream until Release(), and for at most kMaxHoldSeconds:
  // work queued meanwhile then runs without waiting for the host. Between the two calls nothing may
  // wait for the stream, and no kernel may be launched for the first time, since its load may wait
  // for all streams.
  absl::Status Hold();
  void Release();
  bool holds() const { return parts_.holds; }
  // Queues a fill of `size_bytes` bytes with `byte`.
  absl::Status Fill(cuda::Address to, unsigned char byte, int64_t size_bytes);
  // Copies, and waits for the copy.
  absl::Status CopyToHost(void* to, cuda::Address from, int64_t size_bytes);
  absl::Status CopyToDevice(cuda::Address to, const void* from, int64_t size_bytes);

 private:
  friend class DeviceMemory;
  explicit GpuSession(Parts parts) : parts_(std::move(parts)) {}
  absl::Status Start();
  absl::Status LoadKernels();
  absl::StatusOr<cuda::Function> Find(const char* name);
  absl::Status LaunchPointers(const char* name, const LaunchShape& shape, void** pointers);
  absl::Status MakeHold();

  const Parts parts_;
  int compute_capability_ = 0;
  cuda::Context context_ = nullptr;
  cuda::Stream stream_ = nullptr;
  std::vector<cuda::Module> modules_;
  std::map<std::string, cuda::Function> functions_;
  int64_t allocated_bytes_ = 0;
  int64_t peak_bytes_ = 0;
  // In pinned memory, which the GPU reads at the same address: holds up to this number have ended.
  std::atomic<uint32_t>* released_ = nullptr;
  uint32_t hold_count_ = 0;
};

// A hold ends by itself after this time, in case the host never releases it.
inline constexpr double kMaxHoldSeconds = 0.01;

using SharedSession = std::shared_ptr<GpuSession>;

// Memory of a GPU, freed by the destructor.
class DeviceMemory {
 public:
  // Errors: kResourceExhausted beyond the probe's memory cap, or where the GPU has too little
  // memory; CudaStatus()'s.
  static absl::StatusOr<DeviceMemory> Allocate(SharedSession session, int64_t size_bytes);
  DeviceMemory() = default;
  DeviceMemory(DeviceMemory&& other) noexcept { *this = std::move(other); }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept;
  ~DeviceMemory();

  cuda::Address address() const { return address_; }
  int64_t size_bytes() const { return size_bytes_; }

 private:
  SharedSession session_;
  cuda::Address address_ = 0;
  int64_t size_bytes_ = 0;
};

// The buffer for the report of a kernel named check_..., which is the kernel's first parameter.
class GpuCheck {
 public:
  GpuCheck() = default;
  // Errors: DeviceMemory::Allocate()'s.
  static absl::StatusOr<GpuCheck> Create(const SharedSession& session);

  // Runs the kernel `name`, with `arguments` after the report, and waits for it.
  //
  // Errors: GpuSession::Launch()'s.
  template <typename... Arguments>
  absl::StatusOr<GpuCheckReport> Run(const char* name, const LaunchShape& shape,
                                     Arguments... arguments) {
    const absl::Status cleared = Clear();
    if (!cleared.ok()) return cleared;
    const absl::Status launched = session_->Launch(name, shape, memory_.address(), arguments...);
    if (!launched.ok()) return launched;
    return Read();
  }

 private:
  GpuCheck(SharedSession session, DeviceMemory memory)
      : session_(std::move(session)), memory_(std::move(memory)) {}
  absl::Status Clear();
  absl::StatusOr<GpuCheckReport> Read();

  SharedSession session_;
  DeviceMemory memory_;
};

// OK where none of `count` elements is wrong.
//
// Errors: the report's own; kDataLoss: "3 of 4096 elements are wrong, the first of them element 7",
// where `noun` is "element".
absl::Status AllRight(const absl::StatusOr<GpuCheckReport>& report, int64_t count,
                      absl::string_view noun);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_CUDA_GPU_SESSION_H_
