// torchtitan's benchmarks: FSDP2 on H100 and H200.
#ifndef SEXTANT_TESTS_VALIDATION_TORCHTITAN_ROW_H_
#define SEXTANT_TESTS_VALIDATION_TORCHTITAN_ROW_H_

#include "absl/status/statusor.h"
#include "tests/support/csv.h"
#include "tests/validation/measured_case.h"

namespace sextant {

// Rows that recompute all: what its selective recomputation keeps, operator by operator, is not
// described. Weights, gradients and Adam's moments are fp32 shards and bf16 is computed in; the
// loss is PyTorch's on logits in fp32; a micro-batch of a pipeline is one sequence, torchtitan's
// default, and 1F1B its schedule. Source: pytorch/torchtitan, `docs/` and `torchtitan/train.py`,
// from memory; so none of these rows is fully known.
absl::StatusOr<MeasuredCase> TorchtitanCase(const CsvRow& row);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_TORCHTITAN_ROW_H_
