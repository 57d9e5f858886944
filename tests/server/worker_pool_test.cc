#include "server/call/worker_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>

#include "server/call/status.h"
#include "tests/support/status_matchers.h"

namespace sextant::server {
namespace {

// A task that reports its start, and waits until it is released.
struct Held {
  std::promise<void> started;
  std::promise<void> released;

  std::function<void(const absl::Status&)> Task() {
    return [this](const absl::Status& status) {
      EXPECT_THAT(status, IsOk());
      started.set_value();
      released.get_future().wait();
    };
  }
};

TEST(WorkerPool, RunsWhatIsPostedAndEndsWhenAllIsDone) {
  std::atomic<int> done{0};
  {
    WorkerPool pool({.threads = 2, .max_waiting = 100});
    for (int i = 0; i < 100; ++i) {
      pool.Post([&done](const absl::Status& status) { done += status.ok() ? 1 : 1000; });
    }
  }
  EXPECT_EQ(done, 100);
}

TEST(WorkerPool, RefusesAtOnceWhereTooManyWait) {
  Held held;
  {
    WorkerPool pool({.threads = 1, .max_waiting = 1});
    pool.Post(held.Task());
    held.started.get_future().wait();
    std::promise<absl::Status> waiting;
    pool.Post([&waiting](const absl::Status& status) { waiting.set_value(status); });
    absl::Status refused;
    pool.Post([&refused](const absl::Status& status) { refused = status; });
    EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
    EXPECT_TRUE(RetryDelaySecondsOf(refused).has_value());
    held.released.set_value();
    EXPECT_THAT(waiting.get_future().get(), IsOk());
  }
}

TEST(WorkerPool, RunsAsManyAtOnceAsItHasThreads) {
  Held first;
  Held second;
  WorkerPool pool({.threads = 2});
  pool.Post(first.Task());
  pool.Post(second.Task());
  first.started.get_future().wait();
  second.started.get_future().wait();  // while the first still runs
  first.released.set_value();
  second.released.set_value();
}

}  // namespace
}  // namespace sextant::server
