#include "gpu_probe/cuda/memory/multiprocessors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/kernels.h"

namespace sextant::probe {
namespace {

constexpr unsigned char kHashPoison = 0xFF;
constexpr uint32_t kNoMultiprocessor = 0xFFFFFFFF;  // the number that the poison gives
constexpr int64_t kWordBytes = sizeof(uint32_t);

using BlockHashes = std::array<uint32_t, kHashThreadCount>;

BlockHashes ExpectedHashes() {
  BlockHashes hashes;
  for (uint32_t thread = 0; thread < kHashThreadCount; ++thread) {
    hashes[thread] = MultiprocessorHash(thread, kHashStepCount);
  }
  return hashes;
}

// The host's hashes, computed once.
const BlockHashes& HashesOfBlock() {
  static const BlockHashes hashes = ExpectedHashes();
  return hashes;
}

absl::StatusOr<std::unique_ptr<Workload>> MakeMultiprocessors(std::shared_ptr<int64_t> seen,
                                                              const SharedSession& session) {
  SEXTANT_ASSIGN_OR_RETURN(MultiprocessorRun made, MultiprocessorRun::Create(session));
  const auto run = std::make_shared<const MultiprocessorRun>(std::move(made));
  return MakeGpuWorkload(session, {.host_part = HostPart::kQueues,
                                   .poison = [=] { return run->Poison(*session); },
                                   .enqueue = [=] { return run->Enqueue(*session); },
                                   .check = [=]() -> absl::Status {
                                     SEXTANT_ASSIGN_OR_RETURN(const int64_t count,
                                                              run->Check(*session));
                                     *seen = std::max(*seen, count);
                                     return absl::OkStatus();
                                   }});
}

// A millisecond at 2 GHz: a timer that ticks once a microsecond then has an error of at most 0.1 %.
// At an idle clock of 300 MHz it is 7 ms.
constexpr int64_t kCountedCycles = 2'000'000;

// Launches between two readings of the clock: some 4 ms at full speed; at the lowest clocks six
// times that, still less than may be queued.
constexpr int kLaunchesOfRound = 200;
constexpr int kMaxRounds = 100;  // whatever the GPU's clock is

// As in kernels/multiprocessor.cu.
struct ClockReading {
  int64_t cycles = 0;
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
};
static_assert(sizeof(ClockReading) == 24);

// Reads the result of one launch of `kernel`, which writes it to `memory`.
template <typename Reading, typename... Arguments>
absl::StatusOr<Reading> ReadBy(const char* kernel, const LaunchShape& shape,
                               const DeviceMemory& memory, GpuSession& session,
                               Arguments... arguments) {
  Reading reading;
  SEXTANT_RETURN_IF_ERROR(session.Fill(memory.address(), 0, sizeof(reading)));
  SEXTANT_RETURN_IF_ERROR(session.Launch(kernel, shape, memory.address(), arguments...));
  SEXTANT_RETURN_IF_ERROR(session.CopyToHost(&reading, memory.address(), sizeof(reading)));
  return reading;
}

// Errors: kInternal where a clock stands still; GpuSession's.
absl::StatusOr<ClockReading> ReadClock(const DeviceMemory& memory, GpuSession& session) {
  SEXTANT_ASSIGN_OR_RETURN(
      const ClockReading reading,
      ReadBy<ClockReading>("measure_clock", {.block_count = 1, .thread_count = 1}, memory, session,
                           kCountedCycles));
  if (reading.cycles > 0 && reading.end_ns > reading.start_ns) return reading;
  return absl::InternalError(absl::StrCat("a clock of the GPU stands: ", reading.cycles,
                                          " cycles from nanosecond ", reading.start_ns, " to ",
                                          reading.end_ns));
}

double HertzOf(const ClockReading& reading) {
  return static_cast<double>(reading.cycles) * 1e9 /
         static_cast<double>(reading.end_ns - reading.start_ns);
}

}  // namespace

std::vector<Point> MultiprocessorPoints(const SharedSession& session) {
  const auto seen = std::make_shared<int64_t>(0);
  const int64_t count = session->multiprocessor_count();
  Point point;
  point.phase = "multiprocessor";
  point.label = absl::StrCat("the same hashes on ", count, " multiprocessors");
  point.work = static_cast<double>(count * kHashBlocksOfMultiprocessor * kHashThreadCount);
  point.unit = "hashes/s";
  point.make = [=] { return MakeMultiprocessors(seen, session); };
  point.record = [=](const v1::TimeStatistics&, v1::Calibration* out) {
    if (*seen >= count) return;
    out->add_notes(absl::StrFormat(
        "The arithmetic of %d of %d multiprocessors was compared: no block ran on the others.",
        *seen, count));
  };
  return {point};
}

absl::StatusOr<MultiprocessorRun> MultiprocessorRun::Create(const SharedSession& session) {
  MultiprocessorRun run;
  run.block_count_ =
      kHashBlocksOfMultiprocessor * std::max<int64_t>(1, session->multiprocessor_count());
  SEXTANT_ASSIGN_OR_RETURN(
      run.hashes_,
      DeviceMemory::Allocate(session, run.block_count_ * kHashThreadCount * kWordBytes));
  SEXTANT_ASSIGN_OR_RETURN(run.multiprocessors_,
                           DeviceMemory::Allocate(session, run.block_count_ * kWordBytes));
  return run;
}

absl::Status MultiprocessorRun::Enqueue(GpuSession& session) const {
  return session.Launch(
      "multiprocessor_hash",
      {.block_count = static_cast<unsigned>(block_count_), .thread_count = kHashThreadCount},
      hashes_.address(), multiprocessors_.address(), kHashStepCount);
}

absl::Status MultiprocessorRun::Poison(GpuSession& session) const {
  SEXTANT_RETURN_IF_ERROR(session.Fill(hashes_.address(), kHashPoison, hashes_.size_bytes()));
  return session.Fill(multiprocessors_.address(), kHashPoison, multiprocessors_.size_bytes());
}

absl::StatusOr<int64_t> MultiprocessorRun::Check(GpuSession& session) const {
  std::vector<BlockHashes> hashes(static_cast<size_t>(block_count_));
  std::vector<uint32_t> multiprocessors(static_cast<size_t>(block_count_));
  SEXTANT_RETURN_IF_ERROR(
      session.CopyToHost(hashes.data(), hashes_.address(), hashes_.size_bytes()));
  SEXTANT_RETURN_IF_ERROR(session.CopyToHost(multiprocessors.data(), multiprocessors_.address(),
                                             multiprocessors_.size_bytes()));
  for (size_t block = 0; block < hashes.size(); ++block) {
    const BlockHashes& got = hashes[block];
    const auto wrong = std::mismatch(got.begin(), got.end(), HashesOfBlock().begin());
    if (wrong.first == got.end()) continue;
    if (multiprocessors[block] == kNoMultiprocessor) {
      return absl::DataLossError(absl::StrCat("block ", block, " left no result: drain this GPU"));
    }
    return absl::DataLossError(absl::StrFormat(
        "multiprocessor %u computed %08x in thread %d of block %d, not %08x: drain this GPU",
        multiprocessors[block], *wrong.first, wrong.first - got.begin(), block, *wrong.second));
  }
  return static_cast<int64_t>(
      std::set<uint32_t>(multiprocessors.begin(), multiprocessors.end()).size());
}

absl::StatusOr<SmClockCounter> SmClockCounter::Create(const SharedSession& session) {
  SEXTANT_ASSIGN_OR_RETURN(DeviceMemory memory,
                           DeviceMemory::Allocate(session, sizeof(ClockStamp)));
  return SmClockCounter(session, std::move(memory));
}

absl::Status SmClockCounter::Stamp() {
  before_ = last_;
  // Enough blocks for each multiprocessor to get one.
  const auto blocks = static_cast<unsigned>(2 * session_->multiprocessor_count());
  SEXTANT_ASSIGN_OR_RETURN(
      last_, ReadBy<ClockStamp>("stamp_clock", {.block_count = blocks, .thread_count = 1}, memory_,
                                *session_));
  return absl::OkStatus();
}

absl::optional<double> SmClockCounter::HertzBetweenStamps() const {
  if (before_.cycles <= 0 || last_.cycles <= before_.cycles || last_.ns <= before_.ns) {
    return absl::nullopt;
  }
  return static_cast<double>(last_.cycles - before_.cycles) * 1e9 /
         static_cast<double>(last_.ns - before_.ns);
}

absl::StatusOr<AwakeGpu> WakeUp(const SharedSession& session) {
  SEXTANT_ASSIGN_OR_RETURN(const DeviceMemory memory,
                           DeviceMemory::Allocate(session, sizeof(ClockReading)));
  SEXTANT_ASSIGN_OR_RETURN(const MultiprocessorRun work, MultiprocessorRun::Create(session));
  SEXTANT_ASSIGN_OR_RETURN(const ClockReading first, ReadClock(memory, *session));
  AwakeGpu awake = {.sm_clock_hertz = HertzOf(first)};
  for (int round = 0; round < kMaxRounds && awake.seconds < kMaxWakeSeconds; ++round) {
    for (int i = 0; i < kLaunchesOfRound; ++i) SEXTANT_RETURN_IF_ERROR(work.Enqueue(*session));
    SEXTANT_ASSIGN_OR_RETURN(const ClockReading last, ReadClock(memory, *session));
    const double before_hertz = std::exchange(awake.sm_clock_hertz, HertzOf(last));
    awake.steady = std::abs(awake.sm_clock_hertz - before_hertz) < kSteadyClockRatio * before_hertz;
    awake.seconds = static_cast<double>(last.end_ns - first.start_ns) * 1e-9;
    if (awake.steady && awake.seconds >= kMinWakeSeconds) break;
  }
  return awake;
}

}  // namespace sextant::probe
