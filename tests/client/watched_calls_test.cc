// Calls that take long: their progress at a terminal, and the signals that end them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <latch>
#include <ostream>
#include <sstream>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "client/io/watched_call.h"
#include "tests/client/fake_server.h"
#include "tests/client/sample_answers.h"

namespace sextant::client {
namespace {

using ::testing::EndsWith;

// On a terminal the progress is one line, which the answer replaces; elsewhere there is none.
TEST(Search, ShowsItsProgressOnATerminalAndErasesIt) {
  v1::WatchPlanRunResponse progress;
  progress.mutable_progress()->set_searched_count(12288);
  progress.mutable_progress()->set_layout_count(24576);
  *progress.mutable_progress()->mutable_best() = SampleFront().search().chosen();
  v1::WatchPlanRunResponse answer;
  *answer.mutable_answer()->mutable_plan() = SampleFront();
  Answering<v1::PlanRunRequest, v1::PlanRunResponse> unary = {.response = answer.answer()};
  const FakeServer server(PlanningHandlers{
      .plan_run = unary.handler(),
      .watch_plan_run = [&](grpc::ServerContext*, const v1::PlanRunRequest&, auto* writer) {
        writer->Write(progress);
        writer->Write(answer);
        return grpc::Status::OK;
      }});
  const std::vector<std::string> args = {"search", "toy", "--devices=24", "--address",
                                         server.address()};
  const Ran watched = RunWith(args, "", 120);
  EXPECT_EQ(watched.exit_code, 0);
  EXPECT_EQ(watched.err,
            "\r\x1b[K[############............]  50 %  12,288 of 24,576 layouts; 10.00 s: tp 1 pp "
            "1 dp 24 "
            "mbs 1\r\x1b[K");
  const Ran plain = RunWith(args);
  EXPECT_EQ(plain.err, "");
  EXPECT_EQ(plain.out, watched.out);
}

// A text that raises a signal once a search's progress is written to it.
class RaisingText : public std::stringbuf {
 public:
  explicit RaisingText(int signal_number) : signal_number_(signal_number) {}

 private:
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    const bool shows = absl::StrContains({text, static_cast<size_t>(size)}, "layouts");
    if (shows && signal_number_ != 0) kill(getpid(), std::exchange(signal_number_, 0));
    return std::stringbuf::xsputn(text, size);
  }

  int signal_number_;
};

// Sends progress until the client is gone, which gets a signal when it shows the first of it: only
// a cancelled call ends this handler.
TEST(Search, SaysOnASignalHowFarItCame) {
  const DefaultSignals signals;
  v1::WatchPlanRunResponse progress;
  progress.mutable_progress()->set_searched_count(12288);
  progress.mutable_progress()->set_layout_count(24576);
  *progress.mutable_progress()->mutable_best() = SampleFront().search().chosen();
  for (const int signal_number : {SIGINT, SIGTERM}) {
    bool cancelled = false;
    int exit_code = 0;
    std::istringstream in;
    std::ostringstream out;
    RaisingText shown(signal_number);
    std::ostream err(&shown);
    {
      const FakeServer server(
          PlanningHandlers{.watch_plan_run = [&](grpc::ServerContext* context,
                                                 const v1::PlanRunRequest&, auto* writer) {
            while (writer->Write(progress)) continue;
            cancelled = context->IsCancelled();
            return grpc::Status::OK;
          }});
      exit_code = RunClient({"search", "toy", "--devices=24", "--address", server.address()},
                            {.in = in, .out = out, .err = err, .err_columns = 120, .now = [] {
                               return absl::FromUnixSeconds(kNowUnixSeconds);
                             }});
    }  // the handler has ended
    EXPECT_EQ(exit_code, 128 + signal_number);
    EXPECT_TRUE(cancelled);
    EXPECT_EQ(out.str(), "");
    EXPECT_THAT(shown.str(),
                EndsWith("sextant: CANCELLED: interrupted: the server stops the search, "
                         "after 12,288 of 24,576 layouts; 10.00 s: tp 1 pp 1 dp 24 mbs 1\n"));
  }
}

void (*HandlerOf(int signal_number))(int) {
  struct sigaction action = {};
  sigaction(signal_number, nullptr, &action);
  return action.sa_handler;
}

TEST(InterruptWatch, TurnsASignalIntoARequestToStop) {
  const DefaultSignals signals;
  for (const int signal_number : {SIGINT, SIGTERM}) {
    const InterruptWatch watch;
    EXPECT_EQ(watch.signal_number(), 0);
    std::latch stopped(1);
    const std::stop_callback callback(watch.stop_token(), [&stopped] { stopped.count_down(); });
    kill(getpid(), signal_number);
    stopped.wait();
    EXPECT_EQ(watch.signal_number(), signal_number);
    EXPECT_EQ(HandlerOf(signal_number), SIG_DFL);  // the next one ends the program
  }
}

TEST(InterruptWatch, LeavesTheSignalsAsTheyWere) {
  const DefaultSignals signals;
  std::signal(SIGTERM, SIG_IGN);
  {
    const InterruptWatch watch;
    EXPECT_NE(HandlerOf(SIGINT), SIG_DFL);
    EXPECT_EQ(HandlerOf(SIGTERM), SIG_IGN);  // nohup's word stands
  }
  EXPECT_EQ(HandlerOf(SIGINT), SIG_DFL);
  EXPECT_EQ(HandlerOf(SIGTERM), SIG_IGN);
}

}  // namespace
}  // namespace sextant::client
