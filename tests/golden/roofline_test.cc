// The figures of docs/kernels.md, "Roofline": measured matrix products against both rooflines.
#include "engine/operation/roofline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "engine/operation/analysis.h"
#include "tests/golden/golden_files.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

struct Measured {
  OperationCost cost;
  double seconds = 0;
};

double NumberOf(const std::string& cell) {
  double value = std::nan("");
  EXPECT_TRUE(absl::SimpleAtod(cell, &value)) << cell;
  return value;
}

// gpu,dtype,framework,framework_version,m,n,k,seconds; the bf16 rows by GPU.
std::map<std::string, std::vector<Measured>> Products() {
  std::ifstream in(SharedDirectory() + "/data/kernels/gemm_dev.csv");
  std::map<std::string, std::vector<Measured>> out;
  for (std::string line; std::getline(in, line);) {
    const std::vector<std::string> cells = absl::StrSplit(line, ',');
    if (cells.size() != 8 || cells[1] != "bf16") continue;
    const Matmul op = {.m = static_cast<int64_t>(NumberOf(cells[4])),
                       .n = static_cast<int64_t>(NumberOf(cells[5])),
                       .k = static_cast<int64_t>(NumberOf(cells[6]))};
    const OpKernels kernels = OpKernelsOf(op, {WithDefaults({.input = DataType::kBf16}), {}});
    out[cells[0]].push_back({CostOf(kernels.forward, kEveryOperand).value(), NumberOf(cells[7])});
  }
  return out;
}

// The best that was seen: FLOPs a second, bytes a second of products beyond any cache (50 MB),
// and the shortest time as the launch.
DeviceRates BestSeen(const std::vector<Measured>& products) {
  double flops = 0;
  double bytes = 0;
  double shortest = 1;
  for (const Measured& p : products) {
    const auto moved = static_cast<double>(p.cost.sum.moved().value());
    flops = std::max(flops, p.cost.sum.flops().value() / p.seconds);
    if (moved > 50e6) bytes = std::max(bytes, moved / p.seconds);
    shortest = std::min(shortest, p.seconds);
  }
  return {.matrix = FlopsPerSecond(flops),
          .memory = BytesPerSecond(bytes),
          .launch = Seconds(shortest)};
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<int64_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

struct Errors {
  std::vector<double> smooth;
  std::vector<double> classical;
};

// Errors for products whose two times are within a factor of 3, the longer one being at least 5
// launches.
Errors NearTheRidge(const std::vector<Measured>& products) {
  const DeviceRates rates = BestSeen(products);
  Errors out;
  for (const Measured& p : products) {
    const auto r = RooflineOf(p.cost, rates);
    EXPECT_THAT(r, IsOk());
    const auto [shorter, longer] = std::minmax(r->compute, r->memory);
    if (longer > shorter * 3 || longer < rates.launch * 5) continue;
    out.smooth.push_back(std::abs(r->time.value() / p.seconds - 1));
    out.classical.push_back(std::abs(r->classical.value() / p.seconds - 1));
  }
  return out;
}

TEST(RooflineMeasured, SmoothMaximumIsNearerThanTheClassicalOne) {
  if (SharedDirectory().empty()) GTEST_SKIP() << "no shared tables: set SEXTANT_SHARED_DIR";
  const struct {
    const char* gpu;
    size_t count;
    double smooth;
    double classical;
  } published[] = {{"h100-sxm", 2982, 0.057, 0.118},
                   {"h200-sxm", 2018, 0.062, 0.152},
                   {"b200-sxm", 2061, 0.089, 0.186},
                   {"a100-sxm-80", 2218, 0.171, 0.275}};
  const auto products = Products();
  for (const auto& p : published) {
    ASSERT_EQ(products.count(p.gpu), 1u) << p.gpu;
    const Errors errors = NearTheRidge(products.at(p.gpu));
    EXPECT_NEAR(static_cast<double>(errors.smooth.size()), static_cast<double>(p.count), 2);
    EXPECT_NEAR(Median(errors.smooth), p.smooth, 6e-4) << p.gpu;
    EXPECT_NEAR(Median(errors.classical), p.classical, 6e-4) << p.gpu;
  }
}

}  // namespace
}  // namespace sextant
