// One thread a core, kept from one task to the next.
#ifndef SEXTANT_GPU_PROBE_HOST_THREAD_TEAM_H_
#define SEXTANT_GPU_PROBE_HOST_THREAD_TEAM_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "gpu_probe/host/usable_cores.h"

namespace sextant {

// What a thread does: its place in the team, 0 to size() - 1, is given to it.
using TeamTask = absl::FunctionRef<void(int index)>;

// The caller of Run() is the thread of place 0; the others wait between tasks, first turning
// (a task follows within microseconds while samples are taken), then asleep. Each is pinned
// to its core, the caller only while it runs a task; where the cores are not its own, or the
// system refuses that, they run unpinned. Run() must not be called by two threads at once.
class ThreadTeam {
 public:
  // One thread for each of `cores` (at least one), the caller included; pinned where they are.
  //
  // Errors: kResourceExhausted: so many threads can't be started.
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
  // Counts tasks; a new value tells the waiting threads to begin.
  std::atomic<uint32_t> generation_ = 0;
  // Threads, the caller aside, that have not finished the task.
  std::atomic<uint32_t> busy_count_ = 0;
};

// The part of `count` things that place `index` of `size` works on: [begin, end), in whole
// blocks of `block` but for the last.
struct Part {
  int64_t begin = 0;
  int64_t end = 0;
};
Part PartOf(int64_t count, int index, int size, int64_t block);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HOST_THREAD_TEAM_H_
