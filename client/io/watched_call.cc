#include "client/io/watched_call.h"

#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "client/text/text.h"

namespace sextant::client {
namespace {

// The descriptor that the handler writes to: a handler can't reach its watch otherwise.
std::atomic<int> write_end = -1;
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler reads it");

void WriteByte(int file, int value) {
  const auto byte = static_cast<unsigned char>(value);
  // A full pipe already holds a signal's byte: a failed write is fine.
  [[maybe_unused]] const ssize_t written = write(file, &byte, 1);
}

extern "C" void NoteSignal(int number) {
  const int error = errno;
  WriteByte(write_end.load(), number);
  errno = error;
}

}  // namespace

InterruptWatch::InterruptWatch() {
  // Without a pipe the signals end the program as usual, and the server sees the call cancelled.
  if (pipe(pipe_.data()) != 0) return;
  write_end = pipe_[1];
  listener_ = std::thread([this] { Listen(); });
  Install();
}

InterruptWatch::~InterruptWatch() {
  if (!listener_.joinable()) return;
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
  WriteByte(pipe_[1], 0);
  listener_.join();
  write_end = -1;
  close(pipe_[0]);
  close(pipe_[1]);
}

void InterruptWatch::Install() {
  struct sigaction action = {};
  action.sa_handler = NoteSignal;
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
  }
}

// The destructor's 0 ends the loop.
void InterruptWatch::Listen() {
  unsigned char byte = 0;
  for (ssize_t got = 0; (got = read(pipe_[0], &byte, 1)) != 0;) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 || byte == 0) return;
    signal_number_ = byte;
    stop_.request_stop();
  }
}

void ProgressBar::Show(double fraction, const std::string& words) {
  ShowLine(ProgressLine(fraction, words, columns_));
}

void ProgressBar::Show(const v1::ProbeProgress& progress) {
  ShowLine(ProgressLine(progress, columns_));
}

void ProgressBar::ShowLine(const std::string& line) {
  if (columns_ <= 0) return;
  out_ << text::kEraseLine << line << std::flush;
  shown_ = true;
}

void ProgressBar::Erase() {
  if (shown_) out_ << text::kEraseLine << std::flush;
  shown_ = false;
}

}  // namespace sextant::client
