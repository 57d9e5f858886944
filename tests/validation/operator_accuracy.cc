// Scores the times that a plan's operations get against published operators of training steps, in
// the layouts of both gradients.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/hardware/catalogue.h"
#include "engine/time/operation_pricer.h"
#include "engine/time/stage_compute.h"
#include "tests/support/csv.h"

namespace sextant {
namespace {

struct Score {
  std::vector<double> ratios;  // predicted over measured
  int inside = 0;
};

int64_t Whole(const CsvRow& row, const char* column) {
  int64_t out = 0;
  return absl::SimpleAtoi(row.at(column), &out) ? out : 0;
}

TracePass PassNamed(absl::string_view name) {
  for (const TracePass pass : {TracePass::kInputGradient, TracePass::kWeightGradient}) {
    if (name == TracePassName(pass)) return pass;
  }
  return TracePass::kForward;
}

TraceOp OperationOf(const CsvRow& row) {
  TraceOp out = {.module = "", .name = "", .pass = PassNamed(row.at("pass"))};
  const int64_t a = Whole(row, "a");
  const int64_t b = Whole(row, "b");
  const int64_t c = Whole(row, "c");
  const int64_t d = Whole(row, "d");
  if (row.at("kernel") == "matmul") {
    out.work = MatmulWork{.m = b, .n = c, .k = d};
  } else if (row.at("kernel") == "grouped_matmul") {
    out.work = GroupedMatmulWork{a, static_cast<double>(b), c, d};
  } else {
    out.work = AttentionWork{.batch = a,
                             .queries = b,
                             .keys = b,
                             .heads = c,
                             .key_value_heads = d,
                             .query_key_head_size = Whole(row, "e"),
                             .value_head_size = Whole(row, "f"),
                             .causal = true};
  }
  return out;
}

// A gradient of weights is added to fp32 numbers by the product's epilogue.
TraceOp AccumulationOf(const CsvRow& row, double work_share) {
  const bool grouped = row.at("kernel") == "grouped_matmul";
  const double numbers =
      grouped ? static_cast<double>(Whole(row, "a")) * static_cast<double>(Whole(row, "c")) *
                    static_cast<double>(Whole(row, "d"))
              : static_cast<double>(Whole(row, "b")) * static_cast<double>(Whole(row, "c"));
  return {.module = "",
          .name = "",
          .pass = TracePass::kWeightGradient,
          .work = FusedAccumulation({numbers, 2, 4, work_share, KernelRatios().gradient_overlap})};
}

double Quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

void Print(const std::string& name, const Score& score) {
  std::vector<double> errors;
  for (const double ratio : score.ratios) errors.push_back(std::abs(ratio - 1));
  std::printf("| %s | %zu | %.1f / %.1f | %+.1f | %.0f |\n", name.c_str(), errors.size(),
              100 * Quantile(errors, 0.5), 100 * Quantile(errors, 0.9),
              100 * (Quantile(score.ratios, 0.5) - 1),
              100.0 * score.inside / static_cast<double>(errors.size()));
}

int Run(const std::string& path) {
  const auto rows = ReadCsv(path);
  if (!rows.ok()) {
    std::fprintf(stderr, "%s\n", rows.status().ToString().c_str());
    return 1;
  }
  std::map<std::string, Score> scores;
  for (const CsvRow& row : *rows) {
    const auto accelerator = FindAccelerator(row.at("gpu"));
    const auto pricer = OperationPricer::Of(PlacedProduct(**accelerator), {});
    const TraceOp op = OperationOf(row);
    KernelTime time = (*pricer)->TimeOf(op);
    if (op.pass == TracePass::kWeightGradient) {
      const KernelTime more = (*pricer)->TimeOf(AccumulationOf(row, (*pricer)->WorkShareOf(op)));
      time.expected = time.expected + more.expected;
      time.low = time.low + more.low;
      time.high = time.high + more.high;
    }
    double measured = 0;
    if (!absl::SimpleAtod(row.at("seconds"), &measured)) return 1;
    Score& score =
        scores[absl::StrCat(row.at("gpu"), " | ", row.at("kernel"), " | ", row.at("pass"))];
    score.ratios.push_back(time.expected.value() / measured);
    if (time.low.value() <= measured && measured <= time.high.value()) ++score.inside;
  }
  std::printf("| GPU | kernel | pass | rows | median / p90 %% | bias %% | in interval %% |\n");
  std::printf("| --- | --- | --- | ---: | ---: | ---: | ---: |\n");
  for (const auto& [name, score] : scores) Print(name, score);
  return 0;
}

}  // namespace
}  // namespace sextant

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: operator_accuracy training_operators.csv\n");
    return 2;
  }
  return sextant::Run(argv[1]);
}
