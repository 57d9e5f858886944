#include "gpu_probe/cuda/memory/host_copies.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <new>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/cuda_fault.h"
#include "gpu_probe/cuda/memory/grid.h"

namespace sextant::probe {
namespace {

constexpr int kPreferred = 1;  // MPOL_PREFERRED of linux/mempolicy.h
constexpr std::size_t kBitsOfWord = sizeof(unsigned long) * CHAR_BIT;

constexpr uint64_t kBitsSeed = uint64_t{6} << 40;
constexpr int64_t kBitsBytes = sizeof(uint64_t);
constexpr unsigned char kCopyPoison = 0xA5;

constexpr int64_t kKiB = int64_t{1} << 10;
constexpr int64_t kMiB = int64_t{1} << 20;

struct CopySizes {
  std::vector<int64_t> pinned;
  std::vector<int64_t> pageable;
};

CopySizes CopySizesOf(v1::ProbeMode mode) {
  if (mode == v1::PROBE_MODE_QUICK) return {.pinned = {64 * kMiB}, .pageable = {}};
  const std::vector<int64_t> all = {64 * kKiB, kMiB, 16 * kMiB, 256 * kMiB};
  if (mode == v1::PROBE_MODE_FULL) return {.pinned = all, .pageable = all};
  return {.pinned = {64 * kKiB, 16 * kMiB, 256 * kMiB}, .pageable = {64 * kKiB, 16 * kMiB}};
}

// The buffers, and the sizes of the largest copies that fit.
struct CopySource {
  explicit CopySource(const SharedSession& session)
      : buffers([this, session] {
          return HostCopyBuffers::Create(std::max(pinned_bytes, pageable_bytes), session);
        }) {}

  int64_t pinned_bytes = 0;
  int64_t pageable_bytes = 0;
  SharedData<HostCopyBuffers> buffers;
};

absl::StatusOr<std::unique_ptr<Workload>> MakeCopy(const HostCopy& copy, CopySource* source,
                                                   const SharedSession& session) {
  const int64_t host_bytes = copy.pageable ? source->pageable_bytes : source->pinned_bytes;
  if (copy.size_bytes > host_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("needs twice ", copy.size_bytes,
                                                     " bytes of the GPU's memory, and the probe ",
                                                     "may take ", session->memory_cap_bytes()));
  }
  SEXTANT_ASSIGN_OR_RETURN(std::shared_ptr<HostCopyBuffers> buffers, source->buffers.Get());
  SEXTANT_RETURN_IF_ERROR(buffers->NeedHostMemory(copy.pageable, host_bytes, session));
  return HostCopyWorkload(copy, std::move(buffers), session);
}

Point CopyPoint(const HostCopy& copy, std::shared_ptr<CopySource> source,
                const SharedSession& session) {
  Point point;
  point.phase = "host_copy";
  point.label =
      absl::StrCat(copy.to_device() ? "host to device, " : "device to host, ",
                   copy.size_bytes / kKiB, " KiB, ", copy.pageable ? "pageable" : "pinned");
  point.work = static_cast<double>(copy.size_bytes);
  point.unit = "B/s";
  point.make = [=] { return MakeCopy(copy, source.get(), session); };
  point.record = [=](const v1::TimeStatistics& time, v1::Calibration* out) {
    v1::HostCopyMeasurement* const measured = out->add_host_copies();
    measured->set_direction(copy.direction);
    measured->set_pageable(copy.pageable);
    measured->set_size_bytes(copy.size_bytes);
    *measured->mutable_time() = time;
    measured->set_bytes_per_second(static_cast<double>(copy.size_bytes) / time.median_seconds());
  };
  return point;
}

absl::Status Enqueue(const HostCopy& copy, const HostCopyBuffers& buffers, GpuSession& session) {
  const CudaDriver& cuda = session.driver();
  void* const host = buffers.host(copy.pageable);
  const size_t size = static_cast<size_t>(copy.size_bytes);
  if (copy.to_device()) {
    return cuda.to_device.Checked(buffers.target.address(), host, size, session.stream());
  }
  return cuda.to_host.Checked(host, buffers.source.address(), size, session.stream());
}

absl::Status PoisonTarget(const HostCopy& copy, const HostCopyBuffers& buffers,
                          GpuSession& session) {
  return session.Fill(buffers.target.address(), kCopyPoison, copy.size_bytes);
}

absl::Status Poison(const HostCopy& copy, const HostCopyBuffers& buffers, GpuSession& session) {
  if (copy.to_device()) return PoisonTarget(copy, buffers, session);
  // A copy may still be writing to the target of the poison.
  const absl::Status waited = session.Synchronize();
  std::memset(buffers.host(copy.pageable), kCopyPoison, static_cast<size_t>(copy.size_bytes));
  return waited;
}

absl::Status Check(const HostCopy& copy, HostCopyBuffers& buffers, GpuSession& session) {
  const cuda::Address target = buffers.target.address();
  if (!copy.to_device()) {
    SEXTANT_RETURN_IF_ERROR(PoisonTarget(copy, buffers, session));
    SEXTANT_RETURN_IF_ERROR(
        session.CopyToDevice(target, buffers.host(copy.pageable), copy.size_bytes));
  }
  const int64_t count = copy.size_bytes / kBitsBytes;
  return AllRight(buffers.check.Run("check_bits", GridOver(count, session), target,
                                    static_cast<uint64_t>(count), kBitsSeed),
                  count, "8-byte word");
}

}  // namespace

absl::optional<int> NumaNodeOf(const std::string& pci_bus_id, const std::string& folder) {
  // The system writes hexadecimal digits in lower case, CUDA in upper case.
  std::ifstream file(absl::StrCat(folder, "/", absl::AsciiStrToLower(pci_bus_id), "/numa_node"));
  int node = -1;
  if (pci_bus_id.empty() || !(file >> node) || node < 0) return absl::nullopt;
  return node;
}

PreferNode::PreferNode(absl::optional<int> node) {
  NodeMask nodes = {};
  const std::size_t bit_count = nodes.size() * kBitsOfWord;
  if (!node || *node < 0 || static_cast<std::size_t>(*node) >= bit_count) return;
  const std::size_t bit = static_cast<std::size_t>(*node);
  nodes[bit / kBitsOfWord] = 1UL << bit % kBitsOfWord;
  if (syscall(SYS_get_mempolicy, &mode_before_, nodes_before_.data(), bit_count, nullptr, 0) != 0) {
    return;
  }
  active_ = syscall(SYS_set_mempolicy, kPreferred, nodes.data(), bit_count) == 0;
}

PreferNode::~PreferNode() {
  if (!active_) return;
  // Restoring the former policy is always allowed.
  (void)syscall(SYS_set_mempolicy, mode_before_, nodes_before_.data(),
                nodes_before_.size() * kBitsOfWord);
}

absl::StatusOr<HostMemory> AllocateOnHost(bool pageable, int64_t size_bytes,
                                          const SharedSession& session) {
  const PreferNode near(NumaNodeOf(session->device().pci_bus_id()));
  const size_t size = static_cast<size_t>(size_bytes);
  HostMemory memory;
  if (pageable) {
    memory = HostMemory(new (std::nothrow) unsigned char[size],
                        [](unsigned char* data) { delete[] data; });
    if (memory == nullptr) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the host has not ", size_bytes, " bytes of memory to copy from"));
    }
  } else {
    void* pinned = nullptr;
    SEXTANT_RETURN_IF_ERROR(
        CudaStatus(session->driver().pin_host(&pinned, size, cuda::kPlainHostMemory),
                   absl::StrCat("cuMemHostAlloc of ", size_bytes, " bytes")));
    memory = HostMemory(static_cast<unsigned char*>(pinned), [session](unsigned char* data) {
      (void)session->driver().free_host(data);
    });
  }
  std::memset(memory.get(), 0, size);
  return memory;
}

absl::StatusOr<std::shared_ptr<HostCopyBuffers>> HostCopyBuffers::Create(
    int64_t size_bytes, const SharedSession& session) {
  auto buffers = std::make_shared<HostCopyBuffers>();
  SEXTANT_ASSIGN_OR_RETURN(buffers->check, GpuCheck::Create(session));
  SEXTANT_ASSIGN_OR_RETURN(buffers->source, DeviceMemory::Allocate(session, size_bytes));
  SEXTANT_ASSIGN_OR_RETURN(buffers->target, DeviceMemory::Allocate(session, size_bytes));
  const int64_t count = size_bytes / kBitsBytes;
  SEXTANT_RETURN_IF_ERROR(session->Launch("fill_bits", GridOver(count, *session),
                                          buffers->source.address(), static_cast<uint64_t>(count),
                                          kBitsSeed));
  return buffers;
}

absl::Status HostCopyBuffers::NeedHostMemory(bool is_pageable, int64_t size_bytes,
                                             const SharedSession& session) {
  HostMemory& memory = is_pageable ? pageable : pinned;
  if (memory != nullptr) return absl::OkStatus();
  SEXTANT_ASSIGN_OR_RETURN(HostMemory made, AllocateOnHost(is_pageable, size_bytes, session));
  SEXTANT_RETURN_IF_ERROR(session->CopyToHost(made.get(), source.address(), size_bytes));
  memory = std::move(made);
  return absl::OkStatus();
}

std::unique_ptr<Workload> HostCopyWorkload(const HostCopy& copy,
                                           std::shared_ptr<HostCopyBuffers> buffers,
                                           const SharedSession& session) {
  return MakeGpuWorkload(session,
                         {.host_part = copy.pageable ? HostPart::kBlocks : HostPart::kRecords,
                          .poison = [=] { return Poison(copy, *buffers, *session); },
                          .enqueue = [=] { return Enqueue(copy, *buffers, *session); },
                          .check = [=] { return Check(copy, *buffers, *session); }});
}

std::vector<Point> HostCopyPoints(v1::ProbeMode mode, const SharedSession& session) {
  const CopySizes sizes = CopySizesOf(mode);
  const int64_t most_bytes = MostArrayBytes(/*array_count=*/2, *session);
  const auto source = std::make_shared<CopySource>(session);
  std::vector<Point> points;
  for (const bool pageable : {false, true}) {
    int64_t& largest_bytes = pageable ? source->pageable_bytes : source->pinned_bytes;
    for (const int64_t bytes : pageable ? sizes.pageable : sizes.pinned) {
      if (bytes <= most_bytes) largest_bytes = std::max(largest_bytes, bytes);
      for (const auto direction : {v1::HostCopyMeasurement::DIRECTION_HOST_TO_DEVICE,
                                   v1::HostCopyMeasurement::DIRECTION_DEVICE_TO_HOST}) {
        points.push_back(CopyPoint(
            {.direction = direction, .pageable = pageable, .size_bytes = bytes}, source, session));
      }
    }
  }
  return points;
}

}  // namespace sextant::probe
