// The service's answers about the steps of published runs.
#ifndef SEXTANT_TESTS_VALIDATION_FITS_STEP_ASKER_H_
#define SEXTANT_TESTS_VALIDATION_FITS_STEP_ASKER_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant {

// Values of fields of layout.software, by name; and of kRecomputedShare, which is not a field.
using StepOverrides = std::map<std::string, double>;

// StepRow::point_share, of rows whose recomputation isn't published.
inline constexpr char kRecomputedShare[] = "recomputed_share";

// A published run.
struct StepRow {
  std::string family = {};  // model, framework and format
  std::string model = {};
  bool experts = false;
  double measured = 0;  // seconds of a step
  // One where nothing is open; else one a choice, the likely one first.
  std::vector<v1::PlanRunRequest> requests = {};
  // The request that leaves open what is open. Its answer has the row's interval.
  absl::optional<v1::PlanRunRequest> left_open = {};
  bool recompute_blank = false;
  // The expected time is so far from the first request's time to the last's.
  double point_share = 0;
  // The span of possible times starts so far from the fastest choice to the slowest.
  double low_share = 0;
  // Fields of layout.software times a factor, of the value given, else of the stack's own.
  StepOverrides scales = {};
  std::string stack = {};            // rows of one stack, device and format have the same constants
  std::vector<bool> constants = {};  // true for those that hold for the row
};

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
};

// Asks for rows, each question once.
class StepAsker {
 public:
  // With the stack's own values but for `overrides`; the row's scales apply to either.
  //
  // Errors: those of PlanRun; kFailedPrecondition where a plan has no step time.
  absl::StatusOr<StepPrediction> Ask(const StepRow& row, const StepOverrides& overrides);

 private:
  struct Answer {
    double expected = 0;
    double low = 0;
    double high = 0;
    std::vector<std::pair<std::string, double>> parts = {};
  };

  absl::StatusOr<Answer> AskOne(v1::PlanRunRequest request, const StepOverrides& overrides);
  absl::StatusOr<StepOverrides> Scaled(const StepRow& row, StepOverrides overrides);
  absl::StatusOr<StepOverrides> DefaultsOf(const StepRow& row);

  absl::flat_hash_map<std::string, Answer> answers_;
  absl::flat_hash_map<std::string, StepOverrides> defaults_;
};

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_FITS_STEP_ASKER_H_
