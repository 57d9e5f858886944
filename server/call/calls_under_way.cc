#include "server/call/calls_under_way.h"

#include <thread>

#include "engine/base/reason.h"

namespace sextant::server {
namespace {

constexpr std::chrono::milliseconds kLook(5);

}  // namespace

absl::Status Draining() {
  return WithReason(absl::UnavailableError("the server is about to stop: ask another replica"),
                    "DRAINING");
}

absl::Status CallsUnderWay::Admission() const { return closed_ ? Draining() : absl::OkStatus(); }

bool CallsUnderWay::WaitUntilNone(std::chrono::steady_clock::time_point end) const {
  while (count_ > 0) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(kLook);
  }
  return true;
}

}  // namespace sextant::server
