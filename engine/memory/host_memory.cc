#include "engine/memory/host_memory.h"

#include <limits>

#include "engine/base/checked_math.h"

namespace sextant {
namespace {

// `held` and `each` of `devices`, at most the largest int64.
int64_t Plus(int64_t held, int64_t devices, Bytes each) {
  const CheckedInt sum = CheckedInt(held) + CheckedInt(devices) * each.value();
  return sum.ok() ? sum.value() : std::numeric_limits<int64_t>::max();
}

}  // namespace

void FullestServer::Add(int64_t devices, Bytes each) {
  const int64_t on_current = std::min(devices, room_);
  current_ = Plus(current_, on_current, each);
  room_ -= on_current;
  devices -= on_current;
  if (devices == 0) return;
  most_ = std::max(most_, current_);
  // The whole servers of these devices are alike.
  if (devices >= capacity_) most_ = std::max(most_, Plus(0, capacity_, each));
  const int64_t rest = devices % capacity_;
  current_ = Plus(0, rest, each);
  room_ = rest == 0 ? 0 : capacity_ - rest;
}

Verdict HostVerdictOf(Bytes need, absl::optional<Bytes> memory) {
  if (need == Bytes(0)) return Verdict::kFits;
  if (!memory.has_value()) return Verdict::kTight;
  const double share = static_cast<double>(need.value()) / static_cast<double>(memory->value());
  if (share <= kHostMemoryShare) return Verdict::kFits;
  return share <= 1 ? Verdict::kTight : Verdict::kDoesNotFit;
}

}  // namespace sextant
