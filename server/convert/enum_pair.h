// An enum of the engine and the wire's of the same values, in the same order.
#ifndef SEXTANT_SERVER_CONVERT_ENUM_PAIR_H_
#define SEXTANT_SERVER_CONVERT_ENUM_PAIR_H_

#include "absl/types/optional.h"
#include "engine/base/field_violation.h"
#include "proto/check/field_checker.h"

namespace sextant::server {

// A pair by its last values. kOffset: the wire's number less the engine's. A value that only one of
// the two has does not compile.
template <auto kLast, auto kWireMax, int kOffset>
class WirePair {
  static_assert(static_cast<int>(kLast) + kOffset == static_cast<int>(kWireMax));

 public:
  using Engine = decltype(kLast);
  using Wire = decltype(kWireMax);

  static Wire To(Engine value) { return static_cast<Wire>(static_cast<int>(value) + kOffset); }

  // Absent where `wire` is unspecified. proto3 lets any number through: one that this version does
  // not know is absent too, and a violation at `field`.
  static absl::optional<Engine> Find(Wire wire, const FieldName& field,
                                     FieldViolations& violations) {
    return FindAt(
        wire, [&] { return field.text(); }, violations);
  }

  // The same with a value in place of an absent one.
  static Engine From(Wire wire, const FieldName& field, FieldViolations& violations,
                     Engine otherwise = {}) {
    return Find(wire, field, violations).value_or(otherwise);
  }
  static Engine From(Wire wire, const check::MessagePath& field, FieldViolations& violations,
                     Engine otherwise = {}) {
    return FindAt(
               wire, [&] { return field.ToString(); }, violations)
        .value_or(otherwise);
  }

  // Converts a number that was checked before; any other becomes the first value.
  static Engine Known(Wire wire) {
    FieldViolations checked;
    return From(wire, "", checked);
  }

 private:
  template <typename Text>
  static absl::optional<Engine> FindAt(Wire wire, const Text& field, FieldViolations& violations) {
    const int number = static_cast<int>(wire);
    if (number > 0 && number <= kWireMax) return static_cast<Engine>(number - kOffset);
    if (number != 0) violations.Add(field(), check::UnknownEnumNumber(number));
    return absl::nullopt;
  }
};

// The engine's enum lacks the wire's unspecified value.
template <auto kLast, auto kWireMax>
using OneLater = WirePair<kLast, kWireMax, 1>;

// The engine's values have the wire's numbers.
template <auto kLast, auto kWireMax>
using SameNumbers = WirePair<kLast, kWireMax, 0>;

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONVERT_ENUM_PAIR_H_
