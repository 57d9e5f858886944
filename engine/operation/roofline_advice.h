// What to do about an operation's time.
#ifndef SEXTANT_ENGINE_OPERATION_ROOFLINE_ADVICE_H_
#define SEXTANT_ENGINE_OPERATION_ROOFLINE_ADVICE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "engine/operation/analysis.h"
#include "engine/operation/roofline.h"

namespace sextant {

// The fewest rows m (of a matmul, of each product of a batched one, or of a linear layer), or
// tokens of a layer of experts, from which `rates` bind by compute; absent where none up to
// kMaxDimension do, and for operations without such rows. Found by bisection: with them
// arithmetic grows in proportion and bytes by less, so that the intensity only grows.
absl::optional<int64_t> RowsAtRidge(const OperationRequest& request, const DeviceRates& rates);

// One sentence; `analysis` is that of `request`. Errors: those of RooflineOf().
absl::StatusOr<std::string> AdviceFor(const OperationRequest& request,
                                      const OperationAnalysis& analysis, const DeviceRates& rates);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_OPERATION_ROOFLINE_ADVICE_H_
