#include "server/handler/search_answer.h"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "engine/base/call_work.h"
#include "engine/base/status_macros.h"

namespace sextant::server {
namespace {

// Adds up how far the shards of a search have come, for `watch`, which may be null. Thread-safe.
class ProgressSum {
 public:
  explicit ProgressSum(const SearchWatch& watch) : watch_(watch) {}

  // The watch of one shard.
  SearchWatch ShardWatch() {
    if (!watch_) return nullptr;
    return [this, before = SearchProgress()](const SearchProgress& shard) mutable {
      const std::lock_guard lock(mutex_);
      sum_.searched += shard.searched - before.searched;
      sum_.to_search += shard.to_search - before.to_search;
      sum_.layer_count = shard.layer_count;
      if (shard.best.has_value() && (!sum_.best.has_value() || IsBetter(*shard.best, *sum_.best))) {
        sum_.best = shard.best;
      }
      before = shard;
      if (sum_.to_search > 0) watch_(sum_);
    };
  }

 private:
  const SearchWatch& watch_;
  std::mutex mutex_;
  SearchProgress sum_;
};

// The shards of a search, taken one by one by the threads that work on it.
class SharedSearch {
 public:
  SharedSearch(const RunSpec& run, const FieldViolations& found, SearchShard of,
               absl::FunctionRef<absl::Status()> end, ProgressSum& progress)
      : run_(run), found_(found), of_(of), count_(of.count), end_(end), progress_(progress) {}

  // Searches shards until none is left. Once all are taken, touches nothing but this.
  void Work() {
    for (int64_t index = Take(); index < count_; index = Take()) {
      CallWork work(end_);
      absl::StatusOr<SearchOutcome> part =
          SearchLayouts(run_, ShardAt(index), found_, work, progress_.ShardWatch());
      const std::lock_guard lock(mutex_);
      if (!part.ok()) {
        next_ = count_;  // the others would end alike
        if (status_.ok()) status_ = part.status();
      } else {
        Merge(*std::move(part), outcome_);
      }
      if (--working_ == 0) done_.notify_all();
    }
  }

  // Waits for the shards that others have taken.
  absl::StatusOr<SearchOutcome> Finish() {
    if (IsAtWork()) {
      WorkerPool::OutOfTurn([this] {
        std::unique_lock lock(mutex_);
        done_.wait(lock, [this] { return working_ == 0; });
      });
    }
    if (!status_.ok()) return status_;
    return std::move(outcome_);
  }

 private:
  SearchShard ShardAt(int64_t index) const {
    SearchShard out = of_;
    out.index = index;
    return out;
  }

  bool IsAtWork() {
    const std::lock_guard lock(mutex_);
    return working_ > 0;
  }

  int64_t Take() {
    const std::lock_guard lock(mutex_);
    if (next_ >= count_) return count_;
    ++working_;
    return next_++;
  }

  const RunSpec& run_;
  const FieldViolations& found_;
  const SearchShard of_;
  const int64_t count_;
  const absl::FunctionRef<absl::Status()> end_;
  ProgressSum& progress_;
  std::mutex mutex_;
  std::condition_variable done_;
  int64_t next_ = 0;
  int64_t working_ = 0;
  absl::Status status_;
  SearchOutcome outcome_;
};

// All shards of one space, of which `of` is the first.
absl::StatusOr<SearchOutcome> SearchShards(const RunSpec& run, const FieldViolations& found,
                                           SearchShard of, WorkerPool& workers,
                                           absl::FunctionRef<absl::Status()> end,
                                           ProgressSum& progress) {
  const auto search = std::make_shared<SharedSearch>(run, found, of, end, progress);
  for (int64_t i = 1; i < of.count; ++i) {
    workers.Post(WorkerPool::CallerOfTask(), [search](const absl::Status& status) {
      if (status.ok()) search->Work();
    });
  }
  search->Work();
  return search->Finish();
}

}  // namespace

absl::StatusOr<SearchOutcome> SearchOnWorkers(const RunSpec& run, FieldViolations found,
                                              WorkerPool& workers,
                                              absl::FunctionRef<absl::Status()> end,
                                              const SearchWatch& watch) {
  ProgressSum progress(watch);
  // A bounded search takes less time than its parts would take to begin.
  const bool alone = run.options.search != SearchExtent::kExhaustive || !found.empty();
  SearchShard shard = {.count = alone ? 1 : std::max<int64_t>(workers.thread_count(), 1)};
  SEXTANT_ASSIGN_OR_RETURN(SearchOutcome out,
                           SearchShards(run, found, shard, workers, end, progress));
  if (!HasToOffload(run, out)) return out;
  shard.offloads = true;
  SEXTANT_ASSIGN_OR_RETURN(SearchOutcome away,
                           SearchShards(run, found, shard, workers, end, progress));
  Merge(std::move(away), out);
  return out;
}

}  // namespace sextant::server
