// The sections of a plan that say where its numbers come from. Each starts with an empty
// line and its title, and is "" where the plan has nothing for it.
#ifndef SEXTANT_CLIENT_PLAN_NOTES_H_
#define SEXTANT_CLIENT_PLAN_NOTES_H_

#include <google/protobuf/repeated_ptr_field.h>

#include <string>

#include "absl/time/time.h"
#include "sextant/v1/plan.pb.h"

namespace sextant {

// Each rate with its source; below them, of each measured one, its spread, its device, and how
// old it is at `now`.
std::string RatesSection(const v1::Plan& plan, absl::Time now);

std::string AssumptionsSection(const v1::Plan& plan);

// The fields of a config.json that were not read, which a count of its model has too.
std::string IgnoredFieldsSection(const google::protobuf::RepeatedPtrField<std::string>& fields);

// symbol = formula, = its numbers, = value unit [source].
std::string DerivationSection(const v1::Plan& plan);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_PLAN_NOTES_H_
