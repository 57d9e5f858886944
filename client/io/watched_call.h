// Calls that take long: their line of progress on a terminal, and Ctrl-C as a request to stop, for
// those that have to be cancelled rather than dropped.
#ifndef SEXTANT_CLIENT_IO_WATCHED_CALL_H_
#define SEXTANT_CLIENT_IO_WATCHED_CALL_H_

#include <array>
#include <atomic>
#include <csignal>
#include <ostream>
#include <stop_token>
#include <string>
#include <thread>

#include "sextant/v1/probe.pb.h"

namespace sextant::client {

// The line of progress at the cursor; shows nothing without a terminal.
class ProgressBar {
 public:
  // `columns` is the width of the terminal that `out` writes to; 0 where it is not a terminal.
  ProgressBar(std::ostream& out, int columns) : out_(out), columns_(columns) {}
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar() { Erase(); }

  // Replaces the line shown before.
  void Show(double fraction, const std::string& words);
  void Show(const v1::ProbeProgress& progress);

  // Clears the line and leaves the cursor at its start.
  void Erase();

 private:
  void ShowLine(const std::string& line);

  std::ostream& out_;
  const int columns_;
  bool shown_ = false;
};

// While it lives, the first SIGINT or SIGTERM requests a stop; a second one ends the program as
// usual. A signal that the program ignored before stays ignored. Only one may exist at a time.
class InterruptWatch {
 public:
  InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;
  ~InterruptWatch();

  std::stop_token stop_token() const { return stop_.get_token(); }

  // The signal that came; 0 if none.
  int signal_number() const { return signal_number_.load(); }

 private:
  static constexpr std::array<int, 2> kSignals = {SIGINT, SIGTERM};

  void Install();
  void Listen();

  std::stop_source stop_;
  std::atomic<int> signal_number_ = 0;
  std::array<int, 2> pipe_ = {-1, -1};  // read end, write end
  std::array<struct sigaction, kSignals.size()> before_ = {};
  std::thread listener_;
};

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_IO_WATCHED_CALL_H_
