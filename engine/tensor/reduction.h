// How several numbers become one.
#ifndef SEXTANT_ENGINE_TENSOR_REDUCTION_H_
#define SEXTANT_ENGINE_TENSOR_REDUCTION_H_

namespace sextant {

enum class ReductionKind { kSum, kMean, kMax, kMin, kProduct };

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TENSOR_REDUCTION_H_
