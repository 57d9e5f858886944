// litgpt's table of finetuning runs on A10G.
#ifndef SEXTANT_TESTS_VALIDATION_LITGPT_ROW_H_
#define SEXTANT_TESTS_VALIDATION_LITGPT_ROW_H_

#include "absl/status/statusor.h"
#include "tests/support/csv.h"
#include "tests/validation/measured_case.h"

namespace sextant {

// Finetuning of all weights in bf16: weights, gradients and both of Adam's moments, 2 bytes each,
// divided among the GPUs by FSDP. Samples have different lengths, of which the row says only the
// longest. A prediction is therefore an upper bound.
// Source: Lightning-AI/litgpt, `config_hub/finetune/README.md`, and `litgpt/finetune/full.py` from
// memory.
absl::StatusOr<MeasuredCase> LitgptCase(const CsvRow& row);

// Finetuning of adapters, whose rank and places the row doesn't say.
absl::StatusOr<OpenCase> OpenLitgptCase(const CsvRow& row);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_LITGPT_ROW_H_
