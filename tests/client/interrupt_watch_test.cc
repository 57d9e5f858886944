#include "client/io/interrupt_watch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <latch>
#include <stop_token>

#include "tests/client/default_signals.h"

namespace sextant::client {
namespace {

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
