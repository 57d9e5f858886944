#include "server/convert/enums.h"

#include "absl/strings/str_cat.h"

namespace sextant {
namespace {

// Whether `number` is one of the enum's; adds a violation if not.
bool IsKnown(bool valid, int number, absl::string_view field, FieldViolations& violations) {
  if (!valid) {
    violations.Add(field, UnknownEnumNumber(number));
  }
  return valid;
}

// Where an engine enum lists the wire's values in the wire's order, from 0.
template <typename Engine, typename Wire>
Engine SameOrder(Wire wire, bool valid, absl::string_view field, FieldViolations& violations) {
  return IsKnown(valid, static_cast<int>(wire), field, violations) ? static_cast<Engine>(wire)
                                                                   : Engine{};
}

static_assert(static_cast<int>(DataType::kFp4) == v1::DATA_TYPE_FP4);
static_assert(static_cast<int>(DataType::kInt4) == v1::DATA_TYPE_INT4);
static_assert(v1::DataType_ARRAYSIZE == static_cast<int>(DataType::kInt4) + 1);
static_assert(static_cast<int>(FeedForwardKind::kGated) ==
              v1::TransformerSpec::FEED_FORWARD_KIND_GATED);
static_assert(static_cast<int>(NormKind::kNonParametric) ==
              v1::TransformerSpec::NORM_KIND_NON_PARAMETRIC);
static_assert(static_cast<int>(QueryKeyNorm::kAllHeads) ==
              v1::TransformerSpec::QUERY_KEY_NORM_ALL_HEADS);
static_assert(static_cast<int>(RateSource::kMeasuredSupplied) == v1::RATE_SOURCE_MEASURED_SUPPLIED);
static_assert(static_cast<int>(RateSource::kMeasuredDevice) == v1::RATE_SOURCE_MEASURED_DEVICE);
static_assert(static_cast<int>(RateSource::kMeasuredModel) == v1::RATE_SOURCE_MEASURED_MODEL);
static_assert(static_cast<int>(RateSource::kReference) == v1::RATE_SOURCE_REFERENCE);
static_assert(static_cast<int>(RateSource::kDatasheet) == v1::RATE_SOURCE_DATASHEET);
static_assert(static_cast<int>(RateSource::kRequest) == v1::RATE_SOURCE_REQUEST);
static_assert(static_cast<int>(FlopsConvention::kExactCausalDiagonal) + 1 ==
              v1::FLOPS_CONVENTION_EXACT_CAUSAL_DIAGONAL);
static_assert(static_cast<int>(FlopsConvention::kMegatronCausal) + 1 ==
              v1::FLOPS_CONVENTION_MEGATRON_CAUSAL);
static_assert(static_cast<int>(OptimizerKind::kAdam8bit) + 1 == v1::OptimizerSpec::KIND_ADAM_8BIT);

}  // namespace

std::string UnknownEnumNumber(int number) {
  return absl::StrCat("is number ", number,
                      ", which this version does not know: see the API's enum");
}

DataType DataTypeFrom(v1::DataType wire, absl::string_view field, FieldViolations& violations) {
  return SameOrder<DataType>(wire, v1::DataType_IsValid(wire), field, violations);
}

FeedForwardKind FeedForwardKindFrom(v1::TransformerSpec::FeedForwardKind wire,
                                    absl::string_view field, FieldViolations& violations) {
  return SameOrder<FeedForwardKind>(wire, v1::TransformerSpec::FeedForwardKind_IsValid(wire), field,
                                    violations);
}

NormKind NormKindFrom(v1::TransformerSpec::NormKind wire, absl::string_view field,
                      FieldViolations& violations) {
  return SameOrder<NormKind>(wire, v1::TransformerSpec::NormKind_IsValid(wire), field, violations);
}

QueryKeyNorm QueryKeyNormFrom(v1::TransformerSpec::QueryKeyNorm wire, absl::string_view field,
                              FieldViolations& violations) {
  return SameOrder<QueryKeyNorm>(wire, v1::TransformerSpec::QueryKeyNorm_IsValid(wire), field,
                                 violations);
}

OptimizerKind OptimizerKindFrom(v1::OptimizerSpec::Kind wire, absl::string_view field,
                                FieldViolations& violations) {
  const bool known =
      IsKnown(v1::OptimizerSpec::Kind_IsValid(wire), static_cast<int>(wire), field, violations);
  if (!known || wire == v1::OptimizerSpec::KIND_UNSPECIFIED) return OptimizerKind::kAdamw;
  return static_cast<OptimizerKind>(static_cast<int>(wire) - 1);
}

absl::optional<FlopsConvention> FlopsConventionFrom(v1::FlopsConvention wire,
                                                    absl::string_view field,
                                                    FieldViolations& violations) {
  const bool known =
      IsKnown(v1::FlopsConvention_IsValid(wire), static_cast<int>(wire), field, violations);
  if (!known || wire == v1::FLOPS_CONVENTION_UNSPECIFIED) return absl::nullopt;
  return static_cast<FlopsConvention>(static_cast<int>(wire) - 1);
}

absl::optional<RateSource> RateSourceFrom(v1::RateSource wire, absl::string_view field,
                                          FieldViolations& violations) {
  const bool known =
      IsKnown(v1::RateSource_IsValid(wire), static_cast<int>(wire), field, violations);
  if (!known || wire == v1::RATE_SOURCE_UNSPECIFIED) return absl::nullopt;
  return static_cast<RateSource>(wire);
}

v1::DataType DataTypeTo(DataType type) { return static_cast<v1::DataType>(type); }

v1::FlopsConvention FlopsConventionTo(FlopsConvention convention) {
  return static_cast<v1::FlopsConvention>(static_cast<int>(convention) + 1);
}

v1::RateSource RateSourceTo(RateSource source) { return static_cast<v1::RateSource>(source); }

}  // namespace sextant
