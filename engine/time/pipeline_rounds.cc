// Computes the stages' ends of each round of 1F1B from those of the round before, y' = A y, where A
// is linear over (max, +). When q rounds have added the same times twice (Repeats()), bisection
// finds the largest n for which n times q more rounds add the same (Times()), and Jump() skips
// them. Exchanges make periods of up to p rounds; without them one round is the period.
//
// A round takes O(p) time for p stages; rounds that run, not those skipped, are limited by
// kMaxPipelinePasses. The ends of 2 p + 1 rounds are kept.
#include "engine/time/pipeline_rounds.h"

#include <algorithm>
#include <cmath>

#include "absl/container/inlined_vector.h"

namespace sextant {
namespace {

// Far above what rounding does to times, far below what anybody can measure.
constexpr double kRelativeTolerance = 1e-12;

class Rounds {
 public:
  Rounds(const PipelineInput& in, double send)
      : stages_(in.layout.pipeline_parallel_size),
        count_(in.pipeline.micro_batch_count),
        send_(send),
        rows_(count_ < stages_ ? 2 : 2 * stages_ + 1),
        numbers_(static_cast<size_t>(stages_ * (kRows + rows_))) {
    for (int64_t i = 0; i < stages_; ++i) {
      const ChunkTime& time = in.chunks[static_cast<size_t>(i)];
      Row(kForward)[i] = time.forward.value();
      Row(kBackward)[i] = time.input_gradient.value() + time.weight_gradient.value();
    }
  }

  absl::optional<double> Run() {
    const int64_t rounds = count_ + stages_ - 1;
    int64_t round = 0;
    for (; round < std::min(stages_ - 1, rounds); ++round) EndRound(round);
    if (count_ >= stages_) {
      if (!RunFullRounds(count_ - stages_ + 1)) return absl::nullopt;
      round = count_;
    }
    for (; round < rounds; ++round) EndRound(round);
    return Ends(0)[0] + skipped_;
  }

  // That were run.
  int64_t passes() const { return 2 * stages_ * rounds_run_; }

 private:
  enum : int64_t { kForward, kBackward, kStep, kAhead, kNext, kRows };

  double* Row(int64_t row) { return numbers_.data() + row * stages_; }
  // The stages' ends `ago` rounds before, at most 2 p.
  double* Ends(int64_t ago) {
    const int64_t row = now_ >= ago ? now_ - ago : now_ - ago + rows_;
    return Row(kRows + row);
  }
  double* NewEnds() {
    now_ = now_ + 1 == rows_ ? 0 : now_ + 1;
    return Ends(0);
  }

  // A round at the start or the end of the step, where some stages have only one pass or none.
  void EndRound(int64_t round) {
    ++rounds_run_;
    const double* f = Row(kForward);
    const double* b = Row(kBackward);
    const double* y = Ends(0);
    double* out = NewEnds();
    double forward = -send_;
    for (int64_t i = 0; i < stages_; ++i) {
      double end = y[i];
      if (round < count_) end = forward = std::max(end, forward + send_) + f[i];
      if (round >= stages_ - 1 - i && i <= count_ + stages_ - 2 - round) {
        end = (i + 1 < stages_ ? std::max(end, y[i + 1] + send_) : end) + b[i];
      }
      out[i] = end;
    }
  }

  void FullRound(const double* y, double* out) {
    ++rounds_run_;
    const double* f = Row(kForward);
    const double* b = Row(kBackward);
    double forward = y[0];
    for (int64_t i = 0; i + 1 < stages_; ++i) {
      forward = std::max(y[i], forward) + f[i];
      out[i] = std::max(forward, y[i + 1] + send_) + b[i];
      forward += send_;
    }
    const int64_t last = stages_ - 1;
    out[last] = std::max(y[last], forward) + f[last] + b[last];
  }

  bool RunFullRounds(int64_t left) {
    int64_t since_jump = 0;
    int64_t passes = 0;
    while (left > 0) {
      const double* y = Ends(0);
      FullRound(y, NewEnds());
      --left;
      ++since_jump;
      passes += 2 * stages_;
      if (passes > kMaxPipelinePasses) return false;
      // Without sends one round is the period, else as many as stages between two that exchange.
      const int64_t longest = send_ > 0 && since_jump % stages_ == 0 ? stages_ : 1;
      for (int64_t q = 1; q <= std::min({longest, since_jump / 2, left}); ++q) {
        if (!Repeats(q)) continue;
        const int64_t times = Times(q, left / q);
        passes += 64 * q;
        if (times == 0) continue;
        Jump(times);
        left -= times * q;
        since_jump = 0;
        break;
      }
    }
    return true;
  }

  // True if the last q rounds added the same times as the q rounds before them: `step`.
  bool Repeats(int64_t q) {
    const double* now = Ends(0);
    const double* before = Ends(q);
    const double* first = Ends(2 * q);
    double* step = Row(kStep);
    const double tolerance = kRelativeTolerance * std::abs(now[0]);
    for (int64_t i = 0; i < stages_; ++i) {
      step[i] = now[i] - before[i];
      if (std::abs(step[i] - (before[i] - first[i])) > tolerance) return false;
    }
    return true;
  }

  // The most times, up to `most`, that q rounds add the same.
  int64_t Times(int64_t q, int64_t most) {
    if (Holds(q, most)) return most;
    int64_t low = 0;
    int64_t high = most;  // doesn't hold
    while (high - low > 1) {
      const int64_t middle = low + (high - low) / 2;
      (Holds(q, middle) ? low : high) = middle;
    }
    return low;
  }

  // Sets `ahead` to the ends after q rounds more, `times` times, less what the fastest stage adds.
  void SetAhead(int64_t times) {
    const double* step = Row(kStep);
    most_ = *std::max_element(step, step + stages_);
    for (int64_t i = 0; i < stages_; ++i) {
      Row(kAhead)[i] = Ends(0)[i] + static_cast<double>(times) * (step[i] - most_);
    }
  }

  bool Holds(int64_t q, int64_t times) {
    SetAhead(times - 1);
    for (int64_t round = 0; round < q; ++round) {
      FullRound(Row(kAhead), Row(kNext));
      std::copy_n(Row(kNext), stages_, Row(kAhead));
    }
    const double* step = Row(kStep);
    for (int64_t i = 0; i < stages_; ++i) {
      const double expected =
          Ends(0)[i] + static_cast<double>(times - 1) * (step[i] - most_) + step[i];
      if (std::abs(Row(kAhead)[i] - expected) > kRelativeTolerance * Ends(0)[0]) return false;
    }
    return true;
  }

  void Jump(int64_t times) {
    SetAhead(times);
    skipped_ += static_cast<double>(times) * most_;
    std::copy_n(Row(kAhead), stages_, NewEnds());
  }

  const int64_t stages_;
  const int64_t count_;
  const double send_;
  const int64_t rows_;  // of ends that are kept
  int64_t now_ = 0;     // index of the latest ends
  double most_ = 0;     // the largest of `step`
  double skipped_ = 0;  // what jumps have left out of all ends
  int64_t rounds_run_ = 0;
  absl::InlinedVector<double, 16 * (kRows + 33)> numbers_;
};

}  // namespace

absl::optional<double> OneForwardOneBackwardSeconds(const PipelineInput& in, double send,
                                                    int64_t& passes) {
  const int64_t stages = in.layout.pipeline_parallel_size;
  const int64_t end_rounds = std::min(in.pipeline.micro_batch_count, stages - 1) + stages - 1;
  if (stages * end_rounds > kMaxPipelinePasses) return absl::nullopt;
  Rounds rounds(in, send);
  const absl::optional<double> out = rounds.Run();
  passes += rounds.passes();
  return out;
}

}  // namespace sextant
