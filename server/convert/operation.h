// Operations, from the wire to the engine.
#ifndef SEXTANT_SERVER_CONVERT_OPERATION_H_
#define SEXTANT_SERVER_CONVERT_OPERATION_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/field_violation.h"
#include "engine/operation/operation.h"
#include "server/convert/enum_pair.h"
#include "sextant/v1/operation.pb.h"

namespace sextant::server {

struct ReadOperation {
  Operation operation;
  std::string path;  // "operation.matmul"
};

// The operation at `path`; absent, with a violation, where it has not exactly one field. Sizes
// that are left out are 0.
absl::optional<ReadOperation> OperationFrom(const v1::Operation& wire, absl::string_view path,
                                            FieldViolations& violations);

// Fills sizes that default to others: key and query heads and lengths equal each other, a sum or
// product has two inputs.
void FillSizeDefaults(Operation& operation);

OperationTypes OperationTypesFrom(const v1::OperationTypes& wire, absl::string_view path,
                                  FieldViolations& violations);
void OperationTypesTo(const OperationTypes& types, v1::OperationTypes* out);

using UpdateRulePair = OneLater<UpdateRule::kLion, v1::UpdateRule_MAX>;

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONVERT_OPERATION_H_
