#include "tests/client/sample_kernel_rates.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

namespace sextant::client {
namespace {

constexpr char kRates[] = R"(
device: "toy"
curves {
  kind: KERNEL_KIND_SQUARE_MATMUL data_type: DATA_TYPE_BF16
  source: RATE_SOURCE_REFERENCE citation: "a table <A & B>" form: "grid"
  error {
    shape_count: 40 p10_ratio: 0.95 median_ratio: 1 p90_ratio: 1.06
    median_absolute_error_ratio: 0.031 p90_absolute_error_ratio: 0.08
  }
  peak_flops_per_second: 1e15
  points {
    size: 256 expected_seconds: 1e-6 low_seconds: 0.8e-6 high_seconds: 1.25e-6
    flops_per_second: 1e14 datasheet_mfu: 0.1 basis: KERNEL_BASIS_OUTSIDE_GRID
  }
  points {
    size: 2048 expected_seconds: 2e-5 low_seconds: 1.6e-5 high_seconds: 2.5e-5
    flops_per_second: 5e14 datasheet_mfu: 0.5 basis: KERNEL_BASIS_WITHIN_GRID
  }
  points {
    size: 16384 expected_seconds: 1e-2 low_seconds: 0.8e-2 high_seconds: 1.25e-2
    flops_per_second: 8e14 datasheet_mfu: 0.8 basis: KERNEL_BASIS_WITHIN_GRID
  }
}
curves {
  kind: KERNEL_KIND_SQUARE_MATMUL data_type: DATA_TYPE_FP8
  source: RATE_SOURCE_DATASHEET citation: "a sheet" form: "roofs"
  peak_flops_per_second: 2e15
  points {
    size: 256 expected_seconds: 1e-6 low_seconds: 0.5e-6 high_seconds: 2e-6
    flops_per_second: 1e14 datasheet_mfu: 0.05 basis: KERNEL_BASIS_DATASHEET
  }
  points {
    size: 16384 expected_seconds: 1e-2 low_seconds: 0.5e-2 high_seconds: 2e-2
    flops_per_second: 1e15 datasheet_mfu: 0.5 basis: KERNEL_BASIS_DATASHEET
  }
}
curves {
  kind: KERNEL_KIND_CAUSAL_ATTENTION data_type: DATA_TYPE_BF16
  source: RATE_SOURCE_MEASURED_DEVICE citation: "measured" form: "roofs"
  points {
    size: 1024 expected_seconds: 1e-3 low_seconds: 0.9e-3 high_seconds: 1.1e-3
    flops_per_second: 2e12 basis: KERNEL_BASIS_MEASURED_RATE
  }
  points {
    size: 8192 expected_seconds: 2e-2 low_seconds: 1.8e-2 high_seconds: 2.2e-2
    flops_per_second: 4e12 basis: KERNEL_BASIS_MEASURED_RATE
  }
}
assumptions: "Times are of short bursts."
engine_version: "0.1.0"
)";

}  // namespace

v1::GetKernelRatesResponse SampleKernelRates() {
  v1::GetKernelRatesResponse out;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(kRates, &out));
  return out;
}

}  // namespace sextant::client
