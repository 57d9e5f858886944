// Ctrl-C as a request to stop, for calls that have to be cancelled rather than dropped.
#ifndef SEXTANT_CLIENT_IO_INTERRUPT_WATCH_H_
#define SEXTANT_CLIENT_IO_INTERRUPT_WATCH_H_

#include <array>
#include <atomic>
#include <csignal>
#include <stop_token>
#include <thread>

namespace sextant::client {

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

#endif  // SEXTANT_CLIENT_IO_INTERRUPT_WATCH_H_
