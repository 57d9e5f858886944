// The flags of a PlanRunRequest, which all commands about runs take, and the defaults for adapters.
#ifndef SEXTANT_CLIENT_FLAGS_PLAN_FLAGS_H_
#define SEXTANT_CLIENT_FLAGS_PLAN_FLAGS_H_

#include <string>

#include "absl/types/span.h"
#include "client/flags/field_flag.h"
#include "client/io/call_error.h"
#include "sextant/v1/model.pb.h"

namespace sextant::client {

// All flags, in the order of --help.
absl::Span<const FieldFlag> PlanFlags();

// FieldWordsOf() and DescriptionWordsOf() these flags, and of messages that they are below.
std::string PlanFieldWords(const std::string& field);
std::string PlanDescriptionWords(const std::string& text);

// Advice on an error about the default targets, which the user may not have given; "" where
// `changes` has other targets, or for another error.
std::string DefaultTargetsHint(const v1::ModelChanges& changes, const CallError& error);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_FLAGS_PLAN_FLAGS_H_
