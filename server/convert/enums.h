// Enums between the wire and the engine.
#ifndef SEXTANT_SERVER_CONVERT_ENUMS_H_
#define SEXTANT_SERVER_CONVERT_ENUMS_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/field_violation.h"
#include "engine/hardware/rates.h"
#include "engine/memory/training_policy.h"
#include "engine/model/flops/convention.h"
#include "engine/model/transformer_spec.h"
#include "engine/tensor/data_type.h"
#include "sextant/v1/data_type.pb.h"
#include "sextant/v1/model.pb.h"
#include "sextant/v1/plan.pb.h"
#include "sextant/v1/rates.pb.h"
#include "sextant/v1/training.pb.h"

namespace sextant {

// What to say of an enum's `number` that this version lacks.
std::string UnknownEnumNumber(int number);

// From the wire. proto3 lets any number through; one that this version does not know is a
// violation at `field`, and the enum's default is returned.
DataType DataTypeFrom(v1::DataType wire, absl::string_view field, FieldViolations& violations);
FeedForwardKind FeedForwardKindFrom(v1::TransformerSpec::FeedForwardKind wire,
                                    absl::string_view field, FieldViolations& violations);
NormKind NormKindFrom(v1::TransformerSpec::NormKind wire, absl::string_view field,
                      FieldViolations& violations);
QueryKeyNorm QueryKeyNormFrom(v1::TransformerSpec::QueryKeyNorm wire, absl::string_view field,
                              FieldViolations& violations);
OptimizerKind OptimizerKindFrom(v1::OptimizerSpec::Kind wire, absl::string_view field,
                                FieldViolations& violations);
// Absent: unspecified.
absl::optional<FlopsConvention> FlopsConventionFrom(v1::FlopsConvention wire,
                                                    absl::string_view field,
                                                    FieldViolations& violations);
absl::optional<RateSource> RateSourceFrom(v1::RateSource wire, absl::string_view field,
                                          FieldViolations& violations);

// To the wire.
v1::DataType DataTypeTo(DataType type);
v1::FlopsConvention FlopsConventionTo(FlopsConvention convention);
v1::RateSource RateSourceTo(RateSource source);

}  // namespace sextant

#endif  // SEXTANT_SERVER_CONVERT_ENUMS_H_
