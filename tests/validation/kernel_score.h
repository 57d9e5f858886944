// How well the times of one kernel are predicted.
#ifndef SEXTANT_TESTS_VALIDATION_KERNEL_SCORE_H_
#define SEXTANT_TESTS_VALIDATION_KERNEL_SCORE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/tensor/data_type.h"
#include "tests/support/csv.h"
#include "tests/validation/error_summary.h"

namespace sextant {

// Errors are predicted over measured time minus 1.
struct KernelScore {
  std::string gpu;
  std::string data_type;    // as in the table
  std::string kernel;       // framework, version and kernel
  std::string domain;       // "sequence 2048 to 16384"
  int64_t point_count = 0;  // that the calibration is made of; none is scored
  ErrorSummary ours = {};
  ErrorSummary datasheet = {};      // its roofline; no rows where it has no figure
  ErrorSummary measured_peak = {};  // a roofline of the best rates among the calibration's points
  double in_interval = 0;           // share of rows within [low, high], which aims at 80 %
};

struct KernelScores {
  std::vector<KernelScore> scores;
  std::vector<std::string> left_out;  // "h100-sxm bf16 ...: 5 rows, too few"
};

// One measured kernel's work, as a roofline needs it.
struct ScoredWork {
  double flops = 0;
  double bytes = 0;
  double seconds = 0;
};

// The slower of arithmetic and memory. Rates are positive.
struct Roofline {
  double flops_per_second = 0;
  double bytes_per_second = 0;

  double Seconds(const ScoredWork& work) const;
};

// Absent: the catalogue lacks the device or one of its figures.
absl::optional<Roofline> DatasheetRoofline(absl::string_view gpu, DataType type);

// The best rates that any of `points` shows.
Roofline RooflineSeen(const std::vector<ScoredWork>& points);

// Collects rows and their predictions.
class Scoring {
 public:
  Scoring(absl::optional<Roofline> datasheet, Roofline seen) : datasheet_(datasheet), seen_(seen) {}

  void Add(const ScoredWork& work, const KernelTime& predicted);
  bool empty() const { return ours_.empty(); }
  void FillIn(KernelScore& score) const;

 private:
  absl::optional<Roofline> datasheet_;
  Roofline seen_;
  std::vector<double> ours_;
  std::vector<double> by_datasheet_;
  std::vector<double> by_seen_;
  int64_t inside_ = 0;
};

// "bf16", "fp8", "fp8_block" (e4m3 both), "nvfp4", "int8".
//
// Errors: kInvalidArgument for any other.
absl::StatusOr<DataType> TableDataType(absl::string_view name);

// Errors: kInvalidArgument naming the column that is absent or no number.
absl::StatusOr<int64_t> IntegerOf(const CsvRow& row, const std::string& column);
absl::StatusOr<double> NumberOf(const CsvRow& row, const std::string& column);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_KERNEL_SCORE_H_
