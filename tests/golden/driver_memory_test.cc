// The catalogue against the table of what drivers report, product by product.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <set>
#include <string>

#include "engine/hardware/catalogue.h"
#include "tests/golden/golden_files.h"

namespace sextant {
namespace {

constexpr double kMebibyte = 1024 * 1024;
constexpr double kGibibyte = 1024 * kMebibyte;

double Number(const std::string& cell) { return std::strtod(cell.c_str(), nullptr); }

// The least that a printed total was before it was rounded, in bytes: totals have one or two
// decimals.
double RoundingOf(const std::string& gib) {
  const size_t decimals = gib.size() - gib.find('.') - 1;
  return 0.5 * std::pow(10, -static_cast<double>(decimals)) * kGibibyte;
}

TEST(DriverMemory, IsTheTablesRowByRow) {
  const std::vector<CsvRow> rows = GoldenRows("driver_memory.csv");
  ASSERT_EQ(rows.size(), 32u);
  for (const CsvRow& row : rows) {
    const Accelerator* const a = AcceleratorNamed(row.at("gpu_key"));
    ASSERT_NE(a, nullptr) << row.at("gpu_key");
    const double memories = Number(row.at("memories"));  // GCDs of an MI250X
    EXPECT_EQ(a->reported_memory_bytes.value,
              memories * Number(row.at("driver_total_mib")) * kMebibyte)
        << a->name;
    ASSERT_TRUE(a->driver_reserved_bytes) << a->name;
    const std::string& printed = row.at("process_total_gib");
    const double left = a->reported_memory_bytes.value - a->driver_reserved_bytes.value;
    EXPECT_NEAR(left, memories * Number(printed) * kGibibyte,
                memories * (RoundingOf(printed) + kMebibyte))
        << a->name;
  }
}

TEST(DriverMemory, NoOtherRowHasAny) {
  std::set<std::string> keys;
  for (const CsvRow& row : GoldenRows("driver_memory.csv")) keys.insert(row.at("gpu_key"));
  for (const Accelerator& a : Accelerators()) {
    const bool listed = keys.count(std::string(a.name)) > 0;
    EXPECT_EQ(a.reported_memory_bytes.present, listed) << a.name;
    EXPECT_EQ(a.driver_reserved_bytes.present, listed) << a.name;
  }
}

}  // namespace
}  // namespace sextant
