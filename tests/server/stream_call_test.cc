#include "server/call/stream_call.h"

#include <gtest/gtest.h>

namespace sextant::server {
namespace {

using std::chrono::milliseconds;
using Time = std::chrono::system_clock::time_point;

TEST(DeadlineHadPassed, AllowsForTheWiresRounding) {
  const Time start(std::chrono::seconds(1'700'000'000));
  const struct {
    const char* name;
    Time deadline;
    Time now;
    bool expected;
  } cases[] = {
      {"AtOnce", start + milliseconds(10'000), start, false},
      {"BeforeTheRounding", start + milliseconds(10'000), start + milliseconds(9'899), false},
      {"ByTheCallersClock", start + milliseconds(10'000), start + milliseconds(9'900), true},
      {"ByOurs", start + milliseconds(10'000), start + milliseconds(10'000), true},
      {"LongAgo", start + milliseconds(10'000), start + milliseconds(99'000), true},
      {"PassedFromTheStart", start - milliseconds(1), start, true},
      {"None", Time::max(), start + milliseconds(99'000), false},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(DeadlineHadPassed({.start = start, .deadline = c.deadline}, c.now), c.expected)
        << c.name;
  }
}

}  // namespace
}  // namespace sextant::server
