// SimuMax's runs of Megatron-LM on one node of eight B200.
#ifndef SEXTANT_TESTS_VALIDATION_SIMUMAX_ROW_H_
#define SEXTANT_TESTS_VALIDATION_SIMUMAX_ROW_H_

#include "absl/status/statusor.h"
#include "tests/support/csv.h"
#include "tests/validation/measured_case.h"

namespace sextant {

// Source of what rows don't say: MooreThreads/SimuMax @1b8ca90bec07, the launchers
// `simu_tools/megatron_scripts/scripts/run_pretrain_{llama3,deepseekv2}.sh` and
// `docs/b200/b200_real_repro_guide.md`. The first of DeepSeek's layers is dense, dispatch pads
// experts to equal shares, and the loss is Transformer Engine's ("cef"), which works on the logits
// in place.
absl::StatusOr<MeasuredCase> SimumaxCase(const CsvRow& row);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_SIMUMAX_ROW_H_
