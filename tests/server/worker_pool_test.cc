// Threads that work for many calls, and searches that share them.
#include "server/call/worker_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <latch>
#include <string>
#include <vector>

#include "server/call/status.h"
#include "server/handler/plan_answer.h"
#include "tests/engine/search/searched.h"
#include "tests/support/status_matchers.h"

namespace sextant::server {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

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
      pool.Post("a", [&done](const absl::Status& status) { done += status.ok() ? 1 : 1000; });
    }
  }
  EXPECT_EQ(done, 100);
}

TEST(WorkerPool, RefusesAtOnceWhereTooManyWait) {
  Held held;
  {
    WorkerPool pool({.threads = 1, .max_waiting = 1});
    pool.Post("a", held.Task());
    held.started.get_future().wait();
    std::promise<absl::Status> waiting;
    pool.Post("a", [&waiting](const absl::Status& status) { waiting.set_value(status); });
    absl::Status refused;
    pool.Post("a", [&refused](const absl::Status& status) { refused = status; });
    EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
    EXPECT_TRUE(RetryDelaySecondsOf(refused).has_value());
    held.released.set_value();
    EXPECT_THAT(waiting.get_future().get(), IsOk());
  }
}

// One caller's many calls keep another waiting for one of them, and take no place from it.
TEST(WorkerPool, ServesCallersInTurn) {
  Held held;
  std::vector<std::string> order;  // written by the one thread
  std::vector<std::string> refused;
  {
    WorkerPool pool({.threads = 1, .max_waiting = 3});
    pool.Post("many", held.Task());
    held.started.get_future().wait();
    const auto post = [&](const std::string& caller, const std::string& name) {
      pool.Post(caller, [&, name](const absl::Status& status) {
        (status.ok() ? order : refused).push_back(name);
      });
    };
    for (const char* name : {"m1", "m2", "m3", "m4"}) post("many", name);
    EXPECT_THAT(refused, ElementsAre("m4"));
    post("few", "f1");
    EXPECT_THAT(refused, ElementsAre("m4", "m3"));
    post("few", "f2");  // two of either would be as unfair to the other
    EXPECT_THAT(refused, ElementsAre("m4", "m3", "f2"));
    held.released.set_value();
  }
  EXPECT_THAT(order, ElementsAre("m1", "f1", "m2"));
}

TEST(WorkerPool, RunsAsManyAtOnceAsItHasThreads) {
  Held first;
  Held second;
  WorkerPool pool({.threads = 2});
  pool.Post("a", first.Task());
  pool.Post("a", second.Task());
  first.started.get_future().wait();
  second.started.get_future().wait();  // while the first still runs
  first.released.set_value();
  second.released.set_value();
}

// The steps of tasks, one of each of `callers`, that end their turn after each of `steps`, in the
// order in which the one thread that runs at a time took them.
std::string OrderOfSteps(size_t max_paused, const std::string& callers, int steps) {
  Held held;
  std::string order;  // written by one thread at a time
  {
    WorkerPool pool({.threads = 1, .max_paused = max_paused, .turn = {}});
    pool.Post("held", held.Task());
    held.started.get_future().wait();
    for (const char name : callers) {
      pool.Post(std::string(1, name), [&order, name, steps](const absl::Status&) {
        for (int step = 0; step < steps; ++step) {
          order += name;
          WorkerPool::EndTurn();
        }
      });
    }
    held.released.set_value();
  }
  return order;
}

TEST(WorkerPool, PausesTasksInTurn) { EXPECT_EQ(OrderOfSteps(3, "abc", 3), "abcabcabc"); }

// Where all threads have a task, the task goes on: the others begin later.
TEST(WorkerPool, BeginsNoMoreThanItHasThreads) { EXPECT_EQ(OrderOfSteps(0, "ab", 2), "aabb"); }

// One caller's calls leave a thread to others: `b` begins before one of them ends.
TEST(WorkerPool, KeepsThreadsForCallersWithNothingUnderWay) {
  Held held;
  std::string order;  // of ends; written by one thread at a time
  {
    WorkerPool pool({.threads = 1, .max_paused = 2, .turn = {}});
    pool.Post("held", held.Task());
    held.started.get_future().wait();
    bool posted = false;
    for (int i = 0; i < 3; ++i) {
      pool.Post("a", [&](const absl::Status&) {
        for (int step = 0; step < 20; ++step) WorkerPool::EndTurn();
        if (!posted) pool.Post("b", [&order](const absl::Status&) { order += 'b'; });
        posted = true;
        for (int step = 0; step < 20; ++step) WorkerPool::EndTurn();
        order += 'a';
      });
    }
    held.released.set_value();
  }
  EXPECT_EQ(order, "baaa");
}

// A task that another one waits for runs, whoever posted it.
TEST(WorkerPool, RunsOthersBesideATaskThatWaits) {
  std::promise<void> done;
  WorkerPool pool({.threads = 1, .max_paused = 1});
  std::promise<std::string> caller;
  pool.Post("a", [&](const absl::Status&) {
    pool.Post(WorkerPool::CallerOfTask(), [&](const absl::Status&) { done.set_value(); });
    WorkerPool::OutOfTurn([&] { done.get_future().wait(); });
    caller.set_value(WorkerPool::CallerOfTask());
  });
  EXPECT_EQ(caller.get_future().get(), "a");
  EXPECT_EQ(WorkerPool::CallerOfTask(), "");
}

TEST(TurnOfHost, IsThatOfAnIpv6Network) {
  EXPECT_EQ(TurnOfHost("ipv4:192.0.2.7"), "ipv4:192.0.2.7");
  EXPECT_EQ(TurnOfHost("unix"), "unix");
  EXPECT_EQ(TurnOfHost("ipv6:%5B2001:db8::1%5D"), TurnOfHost("ipv6:[2001:db8::2:3]"));
  EXPECT_NE(TurnOfHost("ipv6:%5B2001:db8::1%5D"), TurnOfHost("ipv6:%5B2001:db8:0:1::1%5D"));
  EXPECT_NE(TurnOfHost("ipv6:[::ffff:192.0.2.7]"), TurnOfHost("ipv6:[::ffff:192.0.2.8]"));
}

// Searches that share a pool find what each finds alone, and their watches see their own progress.
TEST(SearchOnWorkers, FindsTheSameWhateverElseIsSearched) {
  const std::vector<RunSpec> runs = {RunOn("gpt3-6.7b", 16, 32, 2048),
                                     RunOn("llama-3.1-8b", 64, 128, 8192)};
  WorkerPool workers({.threads = 3});
  const auto search = [&workers](const RunSpec& run) {
    int64_t searched = 0;
    const auto end = [] { return absl::OkStatus(); };
    const auto outcome =
        SearchOnWorkers(run, {}, workers, end, [&](const SearchProgress& progress) {
          EXPECT_GE(progress.searched, searched);
          searched = progress.searched;
        });
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    const SearchOutcome found = outcome.value_or(SearchOutcome());
    EXPECT_LE(searched, ProgressOf(found).searched);
    return found;
  };
  std::vector<std::future<SearchOutcome>> outcomes;
  for (const RunSpec& run : runs) {
    outcomes.push_back(std::async(std::launch::async, search, std::cref(run)));
  }
  for (size_t i = 0; i < runs.size(); ++i) {
    const SearchOutcome together = outcomes[i].get();
    const SearchOutcome alone = OutcomeOf(runs[i]);
    EXPECT_EQ(together.considered, alone.considered);
    EXPECT_EQ(together.evaluated, alone.evaluated);
    EXPECT_EQ(together.pruned, alone.pruned);
    ASSERT_EQ(together.best.size(), alone.best.size());
    for (size_t b = 0; b < alone.best.size(); ++b) {
      EXPECT_EQ(together.best[b].choice, alone.best[b].choice);
      EXPECT_EQ(together.best[b].step.expected, alone.best[b].step.expected);
    }
  }
}

// Both parts wait for the other one, of the caller whose task it is.
TEST(SideBySide, UsesFreeThreads) {
  WorkerPool pool({.threads = 2});
  std::promise<void> ended;
  pool.Post("a", [&](const absl::Status&) {
    std::latch both(2);
    SideBySide(pool, 2, [&](int64_t) {
      EXPECT_EQ(WorkerPool::CallerOfTask(), "a");
      both.arrive_and_wait();
    });
    ended.set_value();
  });
  ended.get_future().wait();
}

// Here every thread but one is busy until all parts have run.
TEST(SideBySide, CallsEachPartOnceAndWaitsForNoBusyThread) {
  Held held;
  WorkerPool pool({.threads = 2});
  pool.Post("b", held.Task());
  held.started.get_future().wait();
  std::vector<int> calls(100);
  std::promise<void> ended;
  pool.Post("a", [&](const absl::Status&) {
    SideBySide(pool, 100, [&](int64_t part) { ++calls[static_cast<size_t>(part)]; });
    ended.set_value();
  });
  ended.get_future().wait();
  EXPECT_THAT(calls, Each(1));
  held.released.set_value();
}

}  // namespace
}  // namespace sextant::server
