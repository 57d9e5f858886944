#include "server/probe/probe_process.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "server/base/log.h"
#include "server/probe/child_process.h"
#include "server/probe/probe_events.h"

namespace sextant::server {
namespace {

constexpr size_t kReadBytes = size_t{64} << 10;
constexpr size_t kMaxTailBytes = size_t{4} << 10;
constexpr size_t kMaxTailTextBytes = 400;  // of an error's message

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Session {
 public:
  Session(const ProbeRun& run, ChildProcess child, ProbeEventCallback on_event)
      : run_(run), child_(std::move(child)), output_(std::move(on_event), run.output_bytes) {}

  absl::Status Run(const Cancellation& cancellation) {
    while (true) {
      const bool ended = Wait(cancellation);
      if (cancellation.cancelled()) return ProbeCancelled();
      // Other processes of the group may hold the pipes open, which would then never end.
      if (ended) child_.Kill();
      do {
        errors_open_ = errors_open_ && ReadErrors();
        SEXTANT_ASSIGN_OR_RETURN(output_open_, ReadOutput());
      } while (ended && output_open_ && read_count_ > 0);
      if (ended) return output_.End(ExitStatus());
      SEXTANT_RETURN_IF_ERROR(CheckTime());
    }
  }

 private:
  // Waits until there is something to read, the child has ended (true), a time limit is reached, or
  // the call is cancelled.
  bool Wait(const Cancellation& cancellation) const {
    std::array<pollfd, 4> polled = {};
    const std::array<int, 4> descriptors = {child_.end_fd(), cancellation.fd(),
                                            output_open_ ? child_.stdout_fd() : -1,
                                            errors_open_ ? child_.stderr_fd() : -1};
    for (size_t i = 0; i < polled.size(); ++i) {
      polled[i] = {.fd = descriptors[i], .events = POLLIN, .revents = 0};
    }
    const double left_seconds = std::min(run_.deadline_seconds - SecondsSince(start_),
                                         run_.silence_seconds - SecondsSince(last_line_));
    const double left_milliseconds = std::clamp(std::ceil(left_seconds * 1e3), 0.0, 1e6);
    poll(polled.data(), polled.size(), static_cast<int>(left_milliseconds));
    return (polled[0].revents & POLLIN) != 0;
  }

  // Reads at most kReadBytes into buffer_; false at the stream's end.
  bool Read(int fd) {
    const ssize_t count = read(fd, buffer_.data(), buffer_.size());
    read_count_ = count > 0 ? static_cast<size_t>(count) : 0;
    return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
  }

  bool ReadErrors() {
    const bool open = Read(child_.stderr_fd());
    tail_.append(buffer_.data(), read_count_);
    if (tail_.size() > kMaxTailBytes) tail_.erase(0, tail_.size() - kMaxTailBytes);
    return open;
  }

  absl::StatusOr<bool> ReadOutput() {
    read_count_ = 0;
    if (!output_open_) return false;
    const bool open = Read(child_.stdout_fd());
    const size_t lines_before = output_.line_count();
    SEXTANT_RETURN_IF_ERROR(output_.Add({buffer_.data(), read_count_}));
    if (output_.line_count() > lines_before) last_line_ = Clock::now();
    return open;
  }

  absl::Status CheckTime() {
    if (SecondsSince(start_) >= run_.deadline_seconds) {
      child_.Kill();
      return ProbeTimeout(
          absl::StrCat("the probe had not ended after ", run_.deadline_seconds, " s and was killed",
                       child_.End().has_value() ? "" : ", but hangs within the kernel",
                       ": is the host busy? ", run_.late_advice, TailText()));
    }
    if (SecondsSince(last_line_) >= run_.silence_seconds) {
      return ProbeFault("silent",
                        absl::StrCat("the probe said nothing for ", run_.silence_seconds,
                                     " s and was killed: is the host busy? Try again", TailText()));
    }
    return absl::OkStatus();
  }

  absl::Status ExitStatus() {
    const auto end = child_.End();
    if (!end.has_value()) return ProbeFault("crashed", "how the probe ended is unknown: try again");
    if (end->signaled) {
      return ProbeFault(
          "crashed",
          absl::StrCat("the probe was ended by signal ", end->code, " (", strsignal(end->code),
                       "): ",
                       end->code == SIGKILL ? "someone killed it, or the host ran out of memory"
                                            : "please report this, with the server's host",
                       TailText()));
    }
    if (end->code == 0) return absl::OkStatus();
    return ProbeFault(
        "exited", absl::StrCat("the probe ended with exit code ", end->code, " and no result; run ",
                               PrintableText(run_.program), " by hand to see why", TailText()));
  }

  // Returns the end of the child's standard error, for a message.
  std::string TailText() const {
    const absl::string_view all(tail_);
    const std::string text =
        PrintableText(all.substr(all.size() - std::min(all.size(), kMaxTailTextBytes)));
    return text.empty() ? "" : absl::StrCat("; its last words: ", text);
  }

  const ProbeRun& run_;
  ChildProcess child_;
  ProbeOutput output_;
  std::array<char, kReadBytes> buffer_{};
  size_t read_count_ = 0;
  std::string tail_;  // the last bytes of standard error
  bool output_open_ = true;
  bool errors_open_ = true;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point last_line_ = start_;
};

absl::Status CannotStart(const absl::Status& why) {
  if (absl::IsNotFound(why)) {
    return ProbeFault("absent", absl::StrCat(why.message(),
                                             ": install sextant-probe there, or say where it "
                                             "is with --probe_program"));
  }
  return ProbeFault("unstartable", absl::StrCat(why.message(),
                                                ": the server's host has no room for it now: try "
                                                "again, or raise the limit that it met"));
}

}  // namespace

Cancellation::Cancellation() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Cancellation::~Cancellation() {
  if (fd_ >= 0) close(fd_);
}

void Cancellation::Cancel() {
  cancelled_ = true;
  if (fd_ >= 0) eventfd_write(fd_, 1);
}

absl::Status RunProbe(const ProbeRun& run, const Cancellation& cancellation,
                      ProbeEventCallback on_event) {
  if (cancellation.cancelled()) return ProbeCancelled();
  absl::StatusOr<ChildProcess> child = ChildProcess::Start(run.program, run.arguments);
  if (!child.ok()) return CannotStart(child.status());
  return Session(run, *std::move(child), std::move(on_event)).Run(cancellation);
}

}  // namespace sextant::server
