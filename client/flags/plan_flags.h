// The flags that fill a PlanRunRequest, one a field, and the defaults for adapters. `sextant plan`
// takes all of them, `sextant memory` those that memory depends on, and `sextant count` those that
// change the model.
#ifndef SEXTANT_CLIENT_FLAGS_PLAN_FLAGS_H_
#define SEXTANT_CLIENT_FLAGS_PLAN_FLAGS_H_

#include <string>

#include "absl/types/span.h"
#include "client/flags/field_flag.h"
#include "client/io/call_error.h"
#include "sextant/v1/model.pb.h"

namespace sextant::client {

// The heading of the layout's flags in --help.
inline constexpr char kRunLayoutGroup[] =
    "Layout (any of these and those below: memory by pipeline stage)";

// All flags, in the order of --help. A test compares them with the API's fields.
absl::Span<const FieldFlag> PlanFlags();

// FieldWordsOf() and DescriptionWordsOf() these flags.
std::string PlanFieldWords(const std::string& field);
std::string PlanDescriptionWords(const std::string& text);

// Advice on an error about the default targets, which the user may not have given; "" where
// `changes` has other targets, or for another error.
std::string DefaultTargetsHint(const v1::ModelChanges& changes, const CallError& error);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_FLAGS_PLAN_FLAGS_H_
