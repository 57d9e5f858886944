#include "tests/validation/step_measured.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "tests/validation/cells.h"

namespace sextant {
namespace {

double Number(const CsvRow& row, const std::string& column) {
  double out = 0;
  return absl::SimpleAtod(Cell(row, column), &out) ? out : 0;
}

// 96 B s l h^2 (1 + s / (6 h) + V / (16 l h)): hardware FLOPs of a step with all layers recomputed
// (arXiv 2104.04473, equation 3). The model's own are three quarters of it but for the logits.
double EquationThree(const CsvRow& row, bool recomputed) {
  const double layers = Number(row, "layers");
  const double hidden = Number(row, "hidden");
  const double length = Number(row, "seq_len");
  const double logits = Number(row, "vocab") / (16 * layers * hidden) * (recomputed ? 1 : 4. / 3);
  const double products = 1 + length / (6 * hidden) + logits;
  return (recomputed ? 96 : 72) * Number(row, "global_batch") * length * layers * hidden * hidden *
         products;
}

// BLOOM's estimate: N are the layers' matrices, 12 l h^2, as the rows that print both show.
double EightN(const CsvRow& row) {
  const double hidden = Number(row, "hidden");
  return 8 * 12 * Number(row, "layers") * hidden * hidden * Number(row, "seq_len") *
         Number(row, "global_batch");
}

}  // namespace

absl::StatusOr<double> MeasuredStepSeconds(const CsvRow& row) {
  for (const char* column : {"step_time_s", "step_time_s_derived"}) {
    const double seconds = Number(row, column);
    if (seconds > 0) return seconds;
  }
  const std::string count = Cell(row, "flops_def");
  const double rate = 1e12 * Number(row, "tflops_per_gpu") * Number(row, "gpus");
  double flops = 0;
  if (absl::StrContains(count, "96*B*s*l*h^2")) flops = EquationThree(row, true);
  if (absl::StrContains(count, "num_floating_point_operations")) flops = EquationThree(row, false);
  if (absl::StrContains(count, "8*N*s*B")) flops = EightN(row);
  if (flops <= 0 || rate <= 0) return absl::InvalidArgumentError("no step time");
  return flops / rate;
}

}  // namespace sextant
