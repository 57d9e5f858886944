#include "gpu_probe/cuda/memory/sm_clock.h"

#include <cmath>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/memory/multiprocessors.h"

namespace sextant::probe {
namespace {

// A millisecond at 2 GHz: a timer that ticks once a microsecond then has an error of at most 0.1 %.
// At an idle clock of 300 MHz it is 7 ms.
constexpr int64_t kCountedCycles = 2'000'000;

// Launches between two readings of the clock: some 4 ms at full speed; at the lowest clocks six
// times that, still less than may be queued.
constexpr int kLaunchesOfRound = 200;
constexpr int kMaxRounds = 100;  // whatever the GPU's clock is

// As in kernels/clock.cu.
struct ClockReading {
  int64_t cycles = 0;
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
};
static_assert(sizeof(ClockReading) == 24);

class ClockCounter {
 public:
  static absl::StatusOr<ClockCounter> Create(const SharedSession& session) {
    SEXTANT_ASSIGN_OR_RETURN(DeviceMemory memory,
                             DeviceMemory::Allocate(session, sizeof(ClockReading)));
    return ClockCounter(session, std::move(memory));
  }

  // Errors: kInternal where a clock stands still; GpuSession's.
  absl::StatusOr<ClockReading> Read() {
    SEXTANT_RETURN_IF_ERROR(session_->Fill(memory_.address(), 0, sizeof(ClockReading)));
    SEXTANT_RETURN_IF_ERROR(session_->Launch("measure_clock", {.block_count = 1, .thread_count = 1},
                                             memory_.address(), kCountedCycles));
    ClockReading reading;
    SEXTANT_RETURN_IF_ERROR(
        session_->CopyToHost(&reading, memory_.address(), sizeof(ClockReading)));
    if (reading.cycles > 0 && reading.end_ns > reading.start_ns) return reading;
    return absl::InternalError(absl::StrCat("a clock of the GPU stands: ", reading.cycles,
                                            " cycles from nanosecond ", reading.start_ns, " to ",
                                            reading.end_ns));
  }

 private:
  ClockCounter(SharedSession session, DeviceMemory memory)
      : session_(std::move(session)), memory_(std::move(memory)) {}

  SharedSession session_;
  DeviceMemory memory_;
};

double HertzOf(const ClockReading& reading) {
  return static_cast<double>(reading.cycles) * 1e9 /
         static_cast<double>(reading.end_ns - reading.start_ns);
}

}  // namespace

absl::StatusOr<SmClockCounter> SmClockCounter::Create(const SharedSession& session) {
  SEXTANT_ASSIGN_OR_RETURN(DeviceMemory memory,
                           DeviceMemory::Allocate(session, sizeof(ClockStamp)));
  return SmClockCounter(session, std::move(memory));
}

absl::Status SmClockCounter::Stamp() {
  before_ = last_;
  // Enough blocks for each multiprocessor to get one.
  const auto blocks = static_cast<unsigned>(2 * session_->multiprocessor_count());
  SEXTANT_RETURN_IF_ERROR(session_->Fill(memory_.address(), 0, sizeof(ClockStamp)));
  SEXTANT_RETURN_IF_ERROR(session_->Launch(
      "stamp_clock", {.block_count = blocks, .thread_count = 1}, memory_.address()));
  return session_->CopyToHost(&last_, memory_.address(), sizeof(ClockStamp));
}

absl::optional<double> SmClockCounter::HertzBetweenStamps() const {
  if (before_.cycles <= 0 || last_.cycles <= before_.cycles || last_.ns <= before_.ns) {
    return absl::nullopt;
  }
  return static_cast<double>(last_.cycles - before_.cycles) * 1e9 /
         static_cast<double>(last_.ns - before_.ns);
}

absl::StatusOr<AwakeGpu> WakeUp(const SharedSession& session) {
  SEXTANT_ASSIGN_OR_RETURN(ClockCounter counter, ClockCounter::Create(session));
  SEXTANT_ASSIGN_OR_RETURN(const MultiprocessorRun work, MultiprocessorRun::Create(session));
  SEXTANT_ASSIGN_OR_RETURN(const ClockReading first, counter.Read());
  AwakeGpu awake = {.sm_clock_hertz = HertzOf(first)};
  for (int round = 0; round < kMaxRounds && awake.seconds < kMaxWakeSeconds; ++round) {
    for (int i = 0; i < kLaunchesOfRound; ++i) SEXTANT_RETURN_IF_ERROR(work.Enqueue(*session));
    SEXTANT_ASSIGN_OR_RETURN(const ClockReading last, counter.Read());
    const double before_hertz = std::exchange(awake.sm_clock_hertz, HertzOf(last));
    awake.steady = std::abs(awake.sm_clock_hertz - before_hertz) < kSteadyClockRatio * before_hertz;
    awake.seconds = static_cast<double>(last.end_ns - first.start_ns) * 1e-9;
    if (awake.steady && awake.seconds >= kMinWakeSeconds) break;
  }
  return awake;
}

}  // namespace sextant::probe
