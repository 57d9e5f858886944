// The service's answers about a step's time.
#ifndef SEXTANT_TESTS_VALIDATION_STEP_PREDICTION_H_
#define SEXTANT_TESTS_VALIDATION_STEP_PREDICTION_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "tests/validation/step_row.h"

namespace sextant {

// Values of fields of layout.software, by name; and of kRecomputedShare, which is no field.
using StepOverrides = std::map<std::string, double>;

// StepRow::point_share, of rows whose recomputation isn't published.
inline constexpr char kRecomputedShare[] = "recomputed_share";

// Seconds of a step.
struct StepPrediction {
  double expected = 0;
  double low = 0;  // of the 80 % interval
  double high = 0;
  double centre = 0;    // of it: the expected time of the answer that has it
  double span_low = 0;  // of the expected times of the choices; expected where nothing is open
  double span_high = 0;
  std::vector<std::pair<std::string, double>> parts = {};  // of the first choice

  // Predicted over measured, less 1. error: of the expected time; span_error: 0 within the span,
  // else of its nearer end.
  double ErrorOf(double measured) const { return expected / measured - 1; }
  double SpanErrorOf(double measured) const;
  bool Covers(double measured) const { return low <= measured && measured <= high; }
  // Where it is in the interval, of logarithms: -1 at the low end, 0 at the centre, 1 at the high.
  double PositionOf(double measured) const;
};

// Other estimates of the same answer, in seconds.
struct StepBaselines {
  double constant_mfu = 0;  // 6 N + 12 L H Q T at 45 % of the peak
  double roofline = 0;      // all that is computed at the datasheet's peak
  double ideal = 0;         // 6 N + 12 L H Q T at the peak
};

// Asks for rows, each question once.
class StepAsker {
 public:
  // With the stack's own values but for `overrides`; the row's scales apply to either.
  absl::StatusOr<StepPrediction> Ask(const StepRow& row, const StepOverrides& overrides);

  int64_t calls() const { return calls_; }

 private:
  struct Answer {
    double expected = 0;
    double low = 0;
    double high = 0;
    std::vector<std::pair<std::string, double>> parts = {};
  };

  absl::StatusOr<Answer> AskOne(v1::PlanRunRequest request, const StepOverrides& overrides);
  absl::StatusOr<StepOverrides> Scaled(const StepRow& row, StepOverrides overrides);

  absl::flat_hash_map<std::string, Answer> answers_;
  absl::flat_hash_map<std::string, StepOverrides> defaults_;
  int64_t calls_ = 0;
};

absl::StatusOr<StepBaselines> StepBaselinesOf(const StepRow& row);

// Where recomputation isn't published: whether there is none is asked by memory. A stack that
// recomputes nothing by default is taken to do so where that fits; else recomputation is open. What
// does not fit is not the fastest possible choice.
absl::Status CloseRecomputation(StepRow& row);

// Sets StepRow::left_open where the service can leave open what is open.
void LeaveOpen(StepRow& row);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_STEP_PREDICTION_H_
