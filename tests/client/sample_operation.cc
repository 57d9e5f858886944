#include "tests/client/sample_operation.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

namespace sextant::client {
namespace {

constexpr char kCosts[] = R"(
name: "matmul"
data_types { input: DATA_TYPE_BF16 output: DATA_TYPE_BF16 accumulation: DATA_TYPE_FP32 }
operands { name: "a" data_type: DATA_TYPE_BF16 shape: [1000, 2000] size_bytes: 4000000 }
operands { name: "b" data_type: DATA_TYPE_BF16 shape: [2000, 500] size_bytes: 4000000 }
outputs { name: "c" data_type: DATA_TYPE_BF16 shape: [1000, 500] size_bytes: 2000000 }
forward {
  steps {
    name: "c = a b"
    arithmetic { name: "product" flops: 2e9 matrix_product: true reason: "2 x 1e9" }
    traffic { array { name: "a" } size_bytes: 4000000 reason: "a is read once" }
    traffic { array { name: "b" } size_bytes: 4000000 reason: "b is read once" }
    traffic { array { name: "c" } written: true size_bytes: 2000000 reason: "c is written once" }
    sum { matrix_flops: 2e9 read_bytes: 8000000 written_bytes: 2000000 arithmetic_intensity: 200 }
  }
  sum { matrix_flops: 2e9 read_bytes: 8000000 written_bytes: 2000000 arithmetic_intensity: 200 }
}
unfused {
  steps {
    name: "first"
    sum { matrix_flops: 1e9 read_bytes: 60000000 arithmetic_intensity: 16.666666 }
  }
  steps {
    name: "second"
    sum { matrix_flops: 1e9 written_bytes: 40000000 arithmetic_intensity: 25 }
  }
  sum { matrix_flops: 2e9 read_bytes: 60000000 written_bytes: 40000000 arithmetic_intensity: 20 }
}
backward {
  cost {
    steps {
      name: "da = dc b^T"
      arithmetic { name: "gradient of a" flops: 2e9 matrix_product: true reason: "2 x 1e9" }
      sum { matrix_flops: 2e9 read_bytes: 6000000 written_bytes: 4000000 arithmetic_intensity: 200 }
    }
    steps {
      name: "db = a^T dc"
      arithmetic { name: "gradient of b" flops: 1.9e9 matrix_product: true reason: "2 x 0.95e9" }
      arithmetic { name: "rest" flops: 1e8 reason: "1 x 1e8" }
      sum {
        matrix_flops: 1.9e9 other_flops: 1e8
        read_bytes: 6000000 written_bytes: 4000000 arithmetic_intensity: 200
      }
    }
    sum {
      matrix_flops: 3.9e9 other_flops: 1e8
      read_bytes: 12000000 written_bytes: 8000000 arithmetic_intensity: 200
    }
  }
  saved { array { name: "b" size_bytes: 4000000 } held_anyway: true reason: "da reads it" }
  saved { array { name: "a" size_bytes: 4000000 } reason: "db reads it" }
  saved_bytes: 4000000
}
backward_without_input {
  cost {
    sum {
      matrix_flops: 1.9e9 other_flops: 1e8
      read_bytes: 6000000 written_bytes: 4000000 arithmetic_intensity: 200
    }
  }
  saved_bytes: 4000000
}
engine_version: "0.1.0"
)";

constexpr char kTime[] = R"(
forward {
  bound: ROOFLINE_BOUND_COMPUTE arithmetic_intensity: 200 ridge_flops_per_byte: 100
  compute_seconds: 0.002 memory_seconds: 0.001 launch_seconds: 4e-6
  total_seconds: 0.0025 least_seconds: 0.002 fraction_of_peak: 0.8
}
unfused {
  bound: ROOFLINE_BOUND_MEMORY arithmetic_intensity: 20 ridge_flops_per_byte: 100
  compute_seconds: 0.002 memory_seconds: 0.01 launch_seconds: 8e-6
  total_seconds: 0.01 least_seconds: 0.01 fraction_of_peak: 0.2
}
backward {
  bound: ROOFLINE_BOUND_COMPUTE arithmetic_intensity: 200 ridge_flops_per_byte: 90
  compute_seconds: 0.004 memory_seconds: 0.002
  total_seconds: 0.005 least_seconds: 0.004 fraction_of_peak: 0.8
}
advice { kind: ADVICE_KIND_LESS_ARITHMETIC text: "compute-bound: do less" }
rows_at_ridge: 310
rates {
  quantity: "peak_flops_per_second" data_type: DATA_TYPE_BF16 value: 1e12 unit: "FLOP/s"
  source: RATE_SOURCE_DATASHEET source_number: 1 device: "toy"
}
rates {
  quantity: "peak_general_flops_per_second" data_type: DATA_TYPE_FP32 value: 1e11 unit: "FLOP/s"
  source: RATE_SOURCE_DATASHEET source_number: 1 device: "toy"
}
rates {
  quantity: "memory_bandwidth_bytes_per_second" value: 1e10 unit: "byte/s"
  source: RATE_SOURCE_REQUEST
}
rates_fingerprint: "feed"
utilisation {
  flops: 2e9 achieved_seconds: 0.004 flops_per_second: 5e11 peak_flops_per_second: 1e12
  ratio: 0.5 reading: UTILISATION_READING_GOOD explanation: "Good: most of it is arithmetic."
}
warnings { kind: NOTE_KIND_NO_MEASUREMENT_LEFT text: "No measured toy is left." }
assumptions {
  kind: NOTE_KIND_LAUNCHES_FREE fields: "device.launch_seconds"
  text: "Kernels launch at once: device.launch_seconds is 0."
}
sources: "sheet <A & B>"
)";

template <typename Message>
void Read(const char* text, Message* message) {
  if (!google::protobuf::TextFormat::ParseFromString(text, message)) ADD_FAILURE() << text;
}

}  // namespace

v1::AnalyzeOperationResponse SampleWithoutDevice() {
  v1::AnalyzeOperationResponse response;
  Read(kCosts, &response);
  return response;
}

v1::AnalyzeOperationResponse SampleOperation() {
  v1::AnalyzeOperationResponse response = SampleWithoutDevice();
  Read(kTime, response.mutable_time());
  return response;
}

}  // namespace sextant::client
