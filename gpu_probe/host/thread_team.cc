#include "gpu_probe/host/thread_team.h"

#include <sched.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "engine/base/checked_math.h"
#include "engine/base/reason.h"
#include "gpu_probe/host/simd.h"

namespace sextant::probe {
namespace {

// Spins before a waiting thread sleeps, each 40 to 140 cycles: some hundred microseconds, the time
// between two samples. A sleeping thread takes as long to wake.
constexpr int kTeamSpins = 10'000;

// Waits until `value` is no longer `old`.
void WaitWhile(const std::atomic<uint32_t>& value, uint32_t old) {
  for (int i = 0; i < kTeamSpins; ++i) {
    if (value.load(std::memory_order_acquire) != old) return;
    PauseInALoop();
  }
  value.wait(old, std::memory_order_acquire);
}

// Pins the calling thread to one core while this lives; for -1 leaves it unpinned.
class PinnedTo {
 public:
  explicit PinnedTo(int core) {
    if (core < 0 || core >= CPU_SETSIZE || sched_getaffinity(0, sizeof(before_), &before_) != 0)
      return;
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(static_cast<size_t>(core), &only);
    pinned_ = sched_setaffinity(0, sizeof(only), &only) == 0;
  }
  ~PinnedTo() {
    if (pinned_) sched_setaffinity(0, sizeof(before_), &before_);
  }
  PinnedTo(const PinnedTo&) = delete;
  PinnedTo& operator=(const PinnedTo&) = delete;

 private:
  cpu_set_t before_;
  bool pinned_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ThreadTeam>> ThreadTeam::Create(CoreSet cores) {
  auto team = absl::WrapUnique(new ThreadTeam(std::move(cores)));
  for (int i = 1; i < team->size(); ++i) {
    try {
      team->threads_.emplace_back([raw = team.get(), i] { raw->Work(i); });
    } catch (const std::system_error& error) {
      return WithMetadata(
          absl::ResourceExhaustedError(
              absl::StrCat("only ", i, " of ", team->size(), " threads could be started (",
                           error.what(), "): raise the limit of processes, or allow fewer cores")),
          "reason", "threads");
    }
  }
  return team;
}

ThreadTeam::~ThreadTeam() {
  stopping_ = true;
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadTeam::Run(TeamTask task) {
  task_ = &task;
  busy_count_.store(static_cast<uint32_t>(threads_.size()), std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  {
    const PinnedTo pinned(CoreOf(0));
    task(0);
  }
  for (uint32_t busy = busy_count_.load(std::memory_order_acquire); busy != 0;
       busy = busy_count_.load(std::memory_order_acquire)) {
    WaitWhile(busy_count_, busy);
  }
}

void ThreadTeam::Work(int index) {
  const PinnedTo pinned(CoreOf(index));
  uint32_t seen = 0;
  while (true) {
    WaitWhile(generation_, seen);
    ++seen;
    if (stopping_) return;
    (*task_)(index);
    if (busy_count_.fetch_sub(1, std::memory_order_release) == 1) busy_count_.notify_one();
  }
}

Part PartOf(int64_t count, int index, int size, int64_t block) {
  const int64_t blocks = CeilDivide(count, block);
  const auto boundary = [&](int place) {
    // Not blocks * place / size: that could overflow.
    const int64_t whole = blocks / size * place + blocks % size * place / size;
    return std::min(whole * block, count);
  };
  return {.begin = boundary(index), .end = boundary(index + 1)};
}

Part ThreadPart(int64_t count, int index, int thread_count) {
  return PartOf(count, index, thread_count, kThreadPartBlock);
}

Part SegmentPart(const Part& part, int64_t segment, int64_t segment_count) {
  // A cache line of doubles: segments share none, and every start is aligned for streaming stores.
  constexpr int64_t kLine = 8;
  const Part inside = PartOf(part.end - part.begin, static_cast<int>(segment),
                             static_cast<int>(segment_count), kLine);
  return {.begin = part.begin + inside.begin, .end = part.begin + inside.end};
}

}  // namespace sextant::probe
