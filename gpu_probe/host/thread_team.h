// One thread a core, kept between tasks.
#ifndef SEXTANT_GPU_PROBE_HOST_THREAD_TEAM_H_
#define SEXTANT_GPU_PROBE_HOST_THREAD_TEAM_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "gpu_probe/host/host_facts.h"

namespace sextant::probe {

// A task; its argument is the thread's place in the team, 0 to size() - 1.
using TeamTask = absl::FunctionRef<void(int index)>;

// The caller of Run() is the thread of place 0. The others wait between tasks, first spinning (a
// task follows within microseconds while samples are taken), then asleep. Each is pinned to its
// core, the caller only while it runs a task. Threads run unpinned where the cores are shared with
// other processes, or where the system refuses to pin. Run() must not be called by two threads at
// once.
class ThreadTeam {
 public:
  // Starts one thread for each of `cores` (at least one), the caller included; pinned where the
  // cores are.
  //
  // Errors: kResourceExhausted: that many threads can't be started.
  static absl::StatusOr<std::unique_ptr<ThreadTeam>> Create(CoreSet cores);

  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int size() const { return static_cast<int>(cores_.numbers.size()); }

  // Calls task(i) for each place i, each on its own thread; returns when all have returned.
  // The task must not throw. Allocates nothing.
  void Run(TeamTask task);

 private:
  explicit ThreadTeam(CoreSet cores) : cores_(std::move(cores)) {}

  void Work(int index);

  // The core of one place; -1: any.
  int CoreOf(int index) const {
    return cores_.pinned ? cores_.numbers[static_cast<size_t>(index)] : -1;
  }

  const CoreSet cores_;
  std::vector<std::thread> threads_;
  const TeamTask* task_ = nullptr;
  bool stopping_ = false;
  // Counts tasks; a new value starts the waiting threads.
  std::atomic<uint32_t> generation_ = 0;
  // Threads, without the caller, that have not finished the task.
  std::atomic<uint32_t> busy_count_ = 0;
};

// The part of `count` elements that place `index` of `size` works on: [begin, end), in whole blocks
// of `block` except for the last.
struct Part {
  int64_t begin = 0;
  int64_t end = 0;
};
Part PartOf(int64_t count, int index, int size, int64_t block);

// One thread's part of an array of `count` elements, in whole blocks of kThreadPartBlock: a page of
// doubles, so that threads share no page.
inline constexpr int64_t kThreadPartBlock = 512;
Part ThreadPart(int64_t count, int index, int thread_count);

// Piece `segment` of `segment_count` of that part; equal pieces of all threads form a segment.
Part SegmentPart(const Part& part, int64_t segment, int64_t segment_count);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_HOST_THREAD_TEAM_H_
