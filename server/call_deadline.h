// Whether it was its deadline that ended a call.
#ifndef SEXTANT_SERVER_CALL_DEADLINE_H_
#define SEXTANT_SERVER_CALL_DEADLINE_H_

#include <chrono>

namespace sextant {

// One call, by this host's clock.
struct CallTimes {
  std::chrono::system_clock::time_point start;
  std::chrono::system_clock::time_point deadline;  // the largest there is: none
};

// Whether `call`'s deadline had passed at `now` for its caller, whose clock is a little ahead:
// on its way here gRPC rounds the time that is left up, to three significant digits.
bool DeadlineHadPassed(const CallTimes& call, std::chrono::system_clock::time_point now);

}  // namespace sextant

#endif  // SEXTANT_SERVER_CALL_DEADLINE_H_
