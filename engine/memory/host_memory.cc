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

Bytes HostServer::ShareOf(int64_t devices) const {
  if (whole || devices >= device_count) return *memory;
  return Bytes(memory->value() / device_count * devices);
}

Verdict HostVerdictOf(Bytes need, const HostServer& server, int64_t devices) {
  if (need == Bytes(0)) return Verdict::kFits;
  if (!server.memory.has_value()) return Verdict::kTight;
  const auto share = static_cast<double>(server.ShareOf(devices).value());
  if (static_cast<double>(need.value()) <= kHostMemoryShare * share) return Verdict::kFits;
  return need <= *server.memory ? Verdict::kTight : Verdict::kDoesNotFit;
}

}  // namespace sextant
