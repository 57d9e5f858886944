// The work of one call: its steps, counted so that they can be bounded, and the end of it before
// its result.
#ifndef SEXTANT_ENGINE_BASE_CALL_WORK_H_
#define SEXTANT_ENGINE_BASE_CALL_WORK_H_

#include <cstdint>
#include <limits>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace sextant {

// A step is about ten nanoseconds: a tensor, a run of layers or a chunk is visited once. Loops that
// may be long call Spend() as they go.
class CallWork {
 public:
  // Returns an error where the call is to end. Asked about ten times a millisecond.
  using Stop = absl::FunctionRef<absl::Status()>;

  // Never stops.
  CallWork() : stop_(Continue) {}
  // All that `stop` refers to outlives this.
  explicit CallWork(Stop stop) : stop_(stop) {}
  CallWork(const CallWork&) = delete;
  CallWork& operator=(const CallWork&) = delete;

  // Adds `steps`. Errors: the one with which the call is to end, at this and all later steps.
  absl::Status Spend(int64_t steps) {
    steps_ += steps;
    return steps_ < next_poll_ ? absl::OkStatus() : Poll();
  }

  int64_t steps() const { return steps_; }

  // Models whose weights were counted: one, where all that is planned is of one model.
  void CountModel() { ++models_; }
  int64_t models() const { return models_; }

  // Bounds the steps of one part of the work, such as a plan, as long as it lives.
  class Allowance {
   public:
    Allowance(CallWork& work, int64_t steps) : work_(work), before_(work.allowed_) {
      work.allowed_ = work.steps_ + steps;
    }
    Allowance(const Allowance&) = delete;
    Allowance& operator=(const Allowance&) = delete;
    ~Allowance() { work_.allowed_ = before_; }

   private:
    CallWork& work_;
    const int64_t before_;
  };

  // The rest of the allowance; negative where more was spent. Nothing ends by itself: whoever asks
  // says which field of the request takes that much.
  int64_t left() const { return allowed_ - steps_; }

  // Spend() outside of the allowance, of what is done once for many calls.
  absl::Status SpendApart(int64_t steps) {
    allowed_ += steps;
    return Spend(steps);
  }

 private:
  static constexpr int64_t kStepsAPoll = 8192;

  static absl::Status Continue() { return absl::OkStatus(); }

  absl::Status Poll() {
    if (ended_.ok()) ended_ = stop_();
    if (ended_.ok()) next_poll_ = steps_ + kStepsAPoll;
    return ended_;
  }

  const Stop stop_;
  int64_t steps_ = 0;
  int64_t models_ = 0;
  absl::Status ended_;  // what `stop_` ended it with
  int64_t allowed_ = std::numeric_limits<int64_t>::max() / 2;
  int64_t next_poll_ = 0;  // the first step asks: a call may have ended before it began
};

// To fit a model of a device's kernels: up to some milliseconds.
inline constexpr int64_t kStepsAFit = 300'000;

}  // namespace sextant

#endif  // SEXTANT_ENGINE_BASE_CALL_WORK_H_
