// Published attention times as points, and which of them make a calibration.
#ifndef SEXTANT_TESTS_VALIDATION_ATTENTION_ROWS_H_
#define SEXTANT_TESTS_VALIDATION_ATTENTION_ROWS_H_

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/hardware/kernels/attention_model.h"
#include "tests/support/csv.h"

namespace sextant {

// Whose times may stand in one calibration: gpu, data type, "framework version kernel".
using KernelKey = std::tuple<std::string, std::string, std::string>;

// Rows of attention_forward_dev.csv, or of mla_context_forward_dev.csv, which lacks columns: its
// heads of keys are 192 wide and those of values 128, causal, as many of either as of queries. The
// order is that of the shapes.
//
// Errors: kInvalidArgument naming the column of the first row that can't be read.
absl::StatusOr<std::map<KernelKey, std::vector<AttentionPoint>>> AttentionTable(
    const std::vector<CsvRow>& rows);

// Points of head sizes, masks and windows of their own.
std::vector<std::vector<AttentionPoint>> AttentionClasses(
    const std::vector<AttentionPoint>& points);

// The calibration's points of one class: at most 6e12 FLOPs each, since a probe has about a second
// for all of them; SpreadPoints() around 4096 tokens, 64 heads in the batch and groups of 4; 30 of
// them, 16 where there is a window, 40 of latent attention, never more than half of the rows.
std::vector<AttentionPoint> AttentionPick(const std::vector<AttentionPoint>& points);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_ATTENTION_ROWS_H_
