// Signals as a program at a terminal has them: a shell starts its background jobs, tests
// among them, with SIGINT ignored.
#ifndef SEXTANT_TESTS_CLIENT_DEFAULT_SIGNALS_H_
#define SEXTANT_TESTS_CLIENT_DEFAULT_SIGNALS_H_

#include <csignal>

namespace sextant::client {

// SIGINT and SIGTERM end the program for as long as it lives.
class DefaultSignals {
 public:
  DefaultSignals()
      : interrupt_(std::signal(SIGINT, SIG_DFL)), end_(std::signal(SIGTERM, SIG_DFL)) {}
  DefaultSignals(const DefaultSignals&) = delete;
  DefaultSignals& operator=(const DefaultSignals&) = delete;
  ~DefaultSignals() {
    std::signal(SIGINT, interrupt_);
    std::signal(SIGTERM, end_);
  }

 private:
  void (*interrupt_)(int);
  void (*end_)(int);
};

}  // namespace sextant::client

#endif  // SEXTANT_TESTS_CLIENT_DEFAULT_SIGNALS_H_
