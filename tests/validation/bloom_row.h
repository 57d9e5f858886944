// The trials before BLOOM's training: Megatron-DeepSpeed on nodes of eight A100.
#ifndef SEXTANT_TESTS_VALIDATION_BLOOM_ROW_H_
#define SEXTANT_TESTS_VALIDATION_BLOOM_ROW_H_

#include "absl/status/statusor.h"
#include "tests/support/csv.h"
#include "tests/validation/measured_case.h"

namespace sextant {

// Source of the fields that rows lack: bigscience-workshop/bigscience @9e64edec2ad1,
// `train/tr11-176B-ml/chronicles-prequel.md`: ZeRO stage 1 with buckets of DeepSpeed's default
// 5e8 numbers, each layer recomputed, tied embeddings on first and last stage.
absl::StatusOr<MeasuredCase> BloomCase(const CsvRow& row);

// A trial of which the number of heads isn't published, and maybe not that of layers either.
absl::StatusOr<OpenCase> OpenBloomCase(const CsvRow& row);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_BLOOM_ROW_H_
