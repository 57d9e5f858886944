#include "gpu_probe/clock_limit.h"

namespace sextant::probe {
namespace {

struct DenseRate {
  const char* compute_capability;
  v1::DataType type;
  double flops;
};

constexpr DenseRate kDenseRates[] = {
    {"8.0", v1::DATA_TYPE_FP16, 2048},       {"8.0", v1::DATA_TYPE_BF16, 2048},
    {"8.0", v1::DATA_TYPE_TF32, 1024},       {"8.0", v1::DATA_TYPE_INT8, 4096},
    {"8.0", v1::DATA_TYPE_FP64, 128},        {"9.0", v1::DATA_TYPE_FP16, 4096},
    {"9.0", v1::DATA_TYPE_BF16, 4096},       {"9.0", v1::DATA_TYPE_TF32, 2048},
    {"9.0", v1::DATA_TYPE_INT8, 8192},       {"9.0", v1::DATA_TYPE_FP8_E4M3, 8192},
    {"9.0", v1::DATA_TYPE_FP8_E5M2, 8192},   {"9.0", v1::DATA_TYPE_FP64, 256},
    {"10.0", v1::DATA_TYPE_FP16, 8192},      {"10.0", v1::DATA_TYPE_BF16, 8192},
    {"10.0", v1::DATA_TYPE_TF32, 4096},      {"10.0", v1::DATA_TYPE_FP8_E4M3, 16384},
    {"10.0", v1::DATA_TYPE_FP8_E5M2, 16384},
};

}  // namespace

double DenseFlopsPerClock(absl::string_view compute_capability, v1::DataType type) {
  for (const DenseRate& rate : kDenseRates) {
    if (rate.compute_capability == compute_capability && rate.type == type) return rate.flops;
  }
  return 0;
}

double ClockLimit(const v1::Device& device, v1::DataType type, double hertz) {
  return DenseFlopsPerClock(device.compute_capability(), type) *
         static_cast<double>(device.compute_unit_count()) * hertz;
}

}  // namespace sextant::probe
