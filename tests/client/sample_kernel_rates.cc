#include "tests/client/sample_kernel_rates.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

namespace sextant::client {
namespace {

constexpr char kRates[] = R"(
device: "toy"
curves {
  kind: KERNEL_KIND_SQUARE_MATMUL data_type: DATA_TYPE_BF16
  source: RATE_SOURCE_REFERENCE source_number: 1 form: PREDICTION_FORM_GRID
  error {
    shape_count: 40 p10_ratio: 0.95 median_ratio: 1 p90_ratio: 1.06
    median_absolute_error_ratio: 0.031 p90_absolute_error_ratio: 0.08
  }
  peak_flops_per_second: 1e15
  points {
    size: 256 duration_seconds { expected: 1e-6 low: 0.8e-6 high: 1.25e-6 }
    flops_per_second: 1e14 datasheet_mfu: 0.1 basis: KERNEL_BASIS_OUTSIDE_GRID
  }
  points {
    size: 2048 duration_seconds { expected: 2e-5 low: 1.6e-5 high: 2.5e-5 }
    flops_per_second: 5e14 datasheet_mfu: 0.5 basis: KERNEL_BASIS_WITHIN_GRID
  }
  points {
    size: 16384 duration_seconds { expected: 1e-2 low: 0.8e-2 high: 1.25e-2 }
    flops_per_second: 8e14 datasheet_mfu: 0.8 basis: KERNEL_BASIS_WITHIN_GRID
  }
}
curves {
  kind: KERNEL_KIND_SQUARE_MATMUL data_type: DATA_TYPE_FP8
  source: RATE_SOURCE_DATASHEET source_number: 2 form: PREDICTION_FORM_ROOFLINE
  peak_flops_per_second: 2e15
  points {
    size: 256 duration_seconds { expected: 1e-6 low: 0.5e-6 high: 2e-6 }
    flops_per_second: 1e14 datasheet_mfu: 0.05 basis: KERNEL_BASIS_DATASHEET
  }
  points {
    size: 16384 duration_seconds { expected: 1e-2 low: 0.5e-2 high: 2e-2 }
    flops_per_second: 1e15 datasheet_mfu: 0.5 basis: KERNEL_BASIS_DATASHEET
  }
}
curves {
  kind: KERNEL_KIND_CAUSAL_ATTENTION data_type: DATA_TYPE_BF16
  source: RATE_SOURCE_MEASURED_DEVICE source_number: 3 form: PREDICTION_FORM_ROOFLINE
  points {
    size: 1024 duration_seconds { expected: 1e-3 low: 0.9e-3 high: 1.1e-3 }
    flops_per_second: 2e12 basis: KERNEL_BASIS_MEASURED_RATE
  }
  points {
    size: 8192 duration_seconds { expected: 2e-2 low: 1.8e-2 high: 2.2e-2 }
    flops_per_second: 4e12 basis: KERNEL_BASIS_MEASURED_RATE
  }
}
warnings { kind: NOTE_KIND_NO_MEASUREMENT_LEFT text: "No measured toy is left." }
assumptions { kind: NOTE_KIND_BURST_TIMES text: "Times are of short bursts." }
sources: "a table <A & B>"
sources: "a sheet"
sources: "measured"
engine_version: "0.1.0"
)";

}  // namespace

v1::GetKernelRatesResponse SampleKernelRates() {
  v1::GetKernelRatesResponse out;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(kRates, &out));
  return out;
}

}  // namespace sextant::client
