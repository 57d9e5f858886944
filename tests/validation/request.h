// Requests for published runs: what all translators set, and what a framework decides.
#ifndef SEXTANT_TESTS_VALIDATION_REQUEST_H_
#define SEXTANT_TESTS_VALIDATION_REQUEST_H_

#include <cstdint>
#include <string>

#include "sextant/v1/planning_service.pb.h"

namespace sextant {

// A request for a run on `accelerator`, a name of the catalogue. The number of tokens is any:
// memory doesn't depend on it.
v1::PlanRunRequest RequestOn(const std::string& accelerator);

// Sizes that requests give as products with other sizes.
struct RunSizes {
  int64_t data_parallel_size = 1;
  int64_t micro_batch_count = 1;
};

// Sets the number of devices and the global batch, by `sizes` and the sizes that `request` has.
void SetSizes(const RunSizes& sizes, v1::PlanRunRequest& request);

// The number of devices over the product of the other parallel sizes.
int64_t DataParallelSize(const v1::PlanRunRequest& request);

// Sets the first chunks of layers one larger than the last ones, where stages don't divide the
// layers.
void SetUnevenStages(int64_t layer_count, v1::ParallelLayout& out);

// The number formats of mixed precision: `compute` for weights too, their copies and Adam's moments
// in fp32.
void SetMixedPrecision(v1::DataType compute, v1::DataType gradient, v1::PlanRunRequest& request);

// `request` without the fields that a framework decides where a caller doesn't: number formats of
// weights, gradients and optimizer, padding of the vocabulary, the loss, copies of attention's
// output, fusion of experts' activations, gathered weights after the forward pass, and all settings
// of the framework. Its kind stays.
v1::PlanRunRequest DefaultsOf(v1::PlanRunRequest request);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_REQUEST_H_
