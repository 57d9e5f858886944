#include "tests/gpu_probe/cuda/fake_nccl.h"

#include <algorithm>
#include <cstddef>

namespace sextant::probe {
namespace {

constexpr int kInvalidUsage = 5;
constexpr double kLatencySeconds = 15e-6;
constexpr double kBytesOfBf16 = 2;

double BytesOf(std::size_t count) { return kBytesOfBf16 * static_cast<double>(count); }

}  // namespace

int FakeNccl::Add(const std::string& name, double link_bytes, void* stream) {
  ++call_counts[name];
  // One thread has to call all ranks within a group, or the first would wait for ever.
  if (!group_open_ || stream == nullptr) return kInvalidUsage;
  calls_.push_back({link_bytes, stream});
  return call_code;
}

int FakeNccl::EndGroup() {
  group_open_ = false;
  if (calls_.empty()) return 0;
  std::map<void*, double> bytes_of_streams;
  for (const Call& call : calls_) bytes_of_streams[call.stream] += call.link_bytes;
  calls_.clear();
  if (static_cast<int>(bytes_of_streams.size()) != rank_count_) return kInvalidUsage;
  void* slowest = nullptr;
  double seconds = 0;
  for (const auto& [stream, bytes] : bytes_of_streams) {
    const FakeGpu& gpu = host_.cuda.GpuOf(stream);
    const double its_seconds = kLatencySeconds + bytes / gpu.peer_bytes_per_second;
    if (slowest != nullptr &&
        its_seconds * gpu.slowness <= seconds * host_.cuda.GpuOf(slowest).slowness) {
      continue;
    }
    slowest = stream;
    seconds = its_seconds;
  }
  return host_.cuda.Spend(slowest, seconds);
}

Nccl FakeNccl::Table() {
  Nccl out;
  out.version = "2.28.3";
  out.comm_init_all = [this](void** communicators, int count, const int*) {
    if (init_code != 0) return init_code;
    rank_count_ = count;
    for (int i = 0; i < count; ++i) communicators[i] = new int(i);
    live_communicator_count += count;
    return 0;
  };
  out.comm_abort = [this](void* communicator) {
    delete static_cast<int*>(communicator);
    --live_communicator_count;
    return 0;
  };
  out.group_start = [this] {
    group_open_ = true;
    return 0;
  };
  out.group_end = [this] { return EndGroup(); };
  const auto others = [this] { return static_cast<double>(rank_count_ - 1); };
  out.all_reduce = [=, this](const void*, void*, std::size_t count, int, int, void*, void* stream) {
    return Add("all_reduce", 2 * BytesOf(count) * others() / rank_count_, stream);
  };
  out.reduce_scatter = [=, this](const void*, void*, std::size_t count, int, int, void*,
                                 void* stream) {
    return Add("reduce_scatter", BytesOf(count) * others(), stream);
  };
  out.all_gather = [=, this](const void*, void*, std::size_t count, int, void*, void* stream) {
    return Add("all_gather", BytesOf(count) * others(), stream);
  };
  out.send = [this](const void*, std::size_t count, int, int peer, void* communicator,
                    void* stream) {
    const bool itself = *static_cast<int*>(communicator) == peer;
    return Add("send", itself ? 0 : BytesOf(count), stream);
  };
  out.receive = [this](void*, std::size_t, int, int, void*, void* stream) {
    return Add("receive", 0, stream);
  };
  return out;
}

}  // namespace sextant::probe
