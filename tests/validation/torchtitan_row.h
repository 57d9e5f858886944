// torchtitan's benchmarks: FSDP2 on H100 and H200.
#ifndef SEXTANT_TESTS_VALIDATION_TORCHTITAN_ROW_H_
#define SEXTANT_TESTS_VALIDATION_TORCHTITAN_ROW_H_

#include "absl/status/statusor.h"
#include "tests/support/csv.h"
#include "tests/validation/measured_case.h"

namespace sextant {

// Rows that recompute all layers. The API can't describe which operators its selective
// recomputation keeps. Weights, gradients and Adam's moments are fp32 shards and bf16 is computed
// in; the loss is PyTorch's on logits in fp32; a micro-batch of a pipeline is one sequence,
// torchtitan's default, and 1F1B its schedule (pytorch/torchtitan, `torchtitan/train.py`, from
// memory). Under a pipeline weights stay gathered (`reshard_after_forward = not pp_enabled` of its
// `parallelize_llama.py`), and gradients add up unsharded in fp32 until the last micro-batch
// (pytorch/pytorch, set_requires_gradient_sync(last_backward) of `distributed/pipelining/stage.py`,
// to_accumulated_grad_if_needed() of FSDP2). None of these rows is fully known.
absl::StatusOr<MeasuredCase> TorchtitanCase(const CsvRow& row);

// Runs that recompute operator by operator, and torchao's runs of torchtitan.
absl::StatusOr<OpenCase> OpenTorchtitanCase(const CsvRow& row);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_TORCHTITAN_ROW_H_
