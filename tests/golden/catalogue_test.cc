// The catalogue against the tables of datasheet figures and of what drivers report, figure by
// figure.
#include "engine/hardware/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <set>
#include <string>

#include "tests/golden/golden_files.h"

namespace sextant {
namespace {

using Row = std::map<std::string, std::string>;

struct Column {
  const char* name;
  DatasheetValue Accelerator::*figure;
  double unit;
};

constexpr double kTera = 1e12;
constexpr double kGiga = 1e9;
const Column kColumns[] = {
    {"mem_bytes_nominal_gb", &Accelerator::memory_bytes, kGiga},
    {"mem_bw_gbps", &Accelerator::memory_bandwidth_bytes_per_second, kGiga},
    {"fp64_tflops", &Accelerator::fp64_flops_per_second, kTera},
    {"fp64_tensor_tflops", &Accelerator::fp64_matrix_flops_per_second, kTera},
    {"fp32_tflops", &Accelerator::fp32_flops_per_second, kTera},
    {"tf32_dense_tflops", &Accelerator::tf32_flops_per_second, kTera},
    {"fp16_dense_tflops", &Accelerator::fp16_flops_per_second, kTera},
    {"bf16_dense_tflops", &Accelerator::bf16_flops_per_second, kTera},
    {"fp8_dense_tflops", &Accelerator::fp8_flops_per_second, kTera},
    {"int8_dense_tops", &Accelerator::int8_flops_per_second, kTera},
    {"fp6_dense_tflops", &Accelerator::fp6_flops_per_second, kTera},
    {"fp4_dense_tflops", &Accelerator::fp4_flops_per_second, kTera},
    {"link_gbps_unidir", &Accelerator::link_bandwidth_bytes_per_second, kGiga},
    {"link_gbps_bidir", &Accelerator::link_bidirectional_bandwidth_bytes_per_second, kGiga},
    {"pcie_gen", &Accelerator::pcie_generation, 1},
    {"l2_mb", &Accelerator::cache_bytes, 1024 * 1024},
    {"sm_or_cu", &Accelerator::compute_unit_count, 1},
    {"boost_mhz", &Accelerator::boost_clock_hertz, 1e6},
    {"tdp_w", &Accelerator::thermal_design_power_watts, 1},
};

TEST(CatalogueTable, EveryRowAndFigureIsThere) {
  const std::vector<Row> rows = GoldenRows("gpu_specs.csv");
  ASSERT_EQ(rows.size(), 52u);
  ASSERT_EQ(Accelerators().size(), rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const Accelerator& a = Accelerators()[i];
    const Row& row = rows[i];
    EXPECT_EQ(a.name, row.at("gpu_key"));
    EXPECT_EQ(a.product_name, row.at("name"));
    EXPECT_EQ(a.vendor, row.at("vendor"));
    EXPECT_EQ(a.architecture, row.at("arch"));
    EXPECT_EQ(a.form_factor, row.at("form"));
    EXPECT_EQ(a.memory_type, row.at("mem_type"));
    EXPECT_EQ(a.link_type, row.at("link_type"));
    for (const Column& column : kColumns) {
      const std::string& cell = row.at(column.name);
      const DatasheetValue& figure = a.*column.figure;
      EXPECT_EQ(figure.present, !cell.empty()) << a.name << " " << column.name;
      if (cell.empty()) continue;
      const double expected = std::strtod(cell.c_str(), nullptr) * column.unit;
      EXPECT_NEAR(figure.value, expected, expected * 1e-15) << a.name << " " << column.name;
      // A row that is marked as wholly recalled may not be cited as read.
      if (row.at("from_memory_fields") == "all") {
        EXPECT_EQ(figure.source, FigureSource::kRecall) << a.name << " " << column.name;
      }
    }
  }
}

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
  ASSERT_EQ(rows.size(), 40u);
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
