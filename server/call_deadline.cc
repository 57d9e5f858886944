#include "server/call_deadline.h"

namespace sextant {

bool DeadlineHadPassed(const CallTimes& call, std::chrono::system_clock::time_point now) {
  constexpr int kLeastRoundedValue = 100;  // of three digits: rounded by up to one part of it
  return now >= call.deadline - (call.deadline - call.start) / kLeastRoundedValue;
}

}  // namespace sextant
