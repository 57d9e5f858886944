// The clock of measurements, replaceable in tests.
#ifndef SEXTANT_GPU_PROBE_CLOCK_H_
#define SEXTANT_GPU_PROBE_CLOCK_H_

#include <chrono>

namespace sextant::probe {

// Never goes back. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;

  // Seconds since some fixed instant.
  virtual double NowSeconds() = 0;
};

class SteadyClock : public Clock {
 public:
  double NowSeconds() override {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
  }
};

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_CLOCK_H_
