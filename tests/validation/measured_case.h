// A published run whose memory somebody read, as requests to the service.
#ifndef SEXTANT_TESTS_VALIDATION_MEASURED_CASE_H_
#define SEXTANT_TESTS_VALIDATION_MEASURED_CASE_H_

#include <cstdint>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "absl/types/optional.h"
#include "engine/base/units.h"
#include "sextant/v1/planning_service.pb.h"
#include "tests/validation/measured_memory.h"
#include "tests/validation/open_case.h"

namespace sextant {

struct MeasuredCase {
  std::string source;  // "Megatron-LM CI"
  std::string id;
  std::string series = {};  // runs of one series are likely to be off alike
  // Every field that the source publishes.
  v1::PlanRunRequest all_fields = {};
  // The same without the fields that a framework decides: DefaultsOf().
  v1::PlanRunRequest defaults = {};
  absl::optional<int64_t> stage = {};         // whose GPU was read; absent: the fullest
  std::vector<MeasuredMemory> measured = {};  // none of a job that ran out of memory
  absl::optional<Bytes> between_steps = {};   // allocated after a step: model state and workspaces
  std::string hardware = {};                  // as the source calls it
  bool ran_out = false;
  std::vector<std::string> assumptions = {};  // what the row doesn't say and the answer depends on
  std::set<std::string> traits = {};          // what the causes of errors are looked up by

  bool fully_known() const { return assumptions.empty(); }
};

// Why a row isn't asked about: one reason for all rows alike.
struct LeftOut {
  std::string reason;
};

using Translated = std::variant<MeasuredCase, OpenCase, LeftOut>;

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_MEASURED_CASE_H_
