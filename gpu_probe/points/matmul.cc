#include "gpu_probe/points/matmul.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace sextant::probe {
namespace {

constexpr int64_t kMaxDimension = 1'000'000;

std::string LabelOf(const v1::MatmulMeasurement& what) {
  std::string out =
      absl::StrCat(TypeLabel(what.data_type()), " ", what.m(), "x", what.n(), "x", what.k());
  if (what.batch_count() > 1) absl::StrAppend(&out, " x", what.batch_count());
  if (what.layout() == v1::MatmulMeasurement::LAYOUT_ROW_BY_ROW) out += " NN";
  if (what.layout() == v1::MatmulMeasurement::LAYOUT_COLUMN_BY_ROW) out += " NT";
  if (what.has_fast_accumulation() && !what.fast_accumulation()) out += " precise";
  return out;
}

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

std::string TypeLabel(v1::DataType type) {
  return absl::AsciiStrToLower(absl::StripPrefix(v1::DataType_Name(type), "DATA_TYPE_"));
}

absl::Status CheckMatmulShape(const v1::MatmulShape& shape) {
  for (const int64_t dimension : {shape.m(), shape.n(), shape.k()}) {
    if (dimension >= 1 && dimension <= kMaxDimension) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("a multiplication of ", shape.m(), "x", shape.n(), "x", shape.k(),
                     " was asked for: m, n and k must be 1 to ", kMaxDimension));
  }
  return absl::OkStatus();
}

double OperationCount(const v1::MatmulMeasurement& matmul) {
  return 2.0 * static_cast<double>(std::max<int64_t>(matmul.batch_count(), 1)) *
         static_cast<double>(matmul.m()) * static_cast<double>(matmul.n()) *
         static_cast<double>(matmul.k());
}

Point MatmulPoint(v1::MatmulMeasurement what, double sustained_seconds, MakeWorkload make,
                  CompleteMatmul complete) {
  const bool sustained = sustained_seconds > 0;
  what.set_window(sustained ? v1::MatmulMeasurement::WINDOW_SUSTAINED
                            : v1::MatmulMeasurement::WINDOW_BURST);
  Point point;
  // The first word of a phase names a mismatch.
  point.phase = absl::StrCat("matmul ", sustained ? "sustained " : "",
                             what.purpose() == v1::MatmulMeasurement::PURPOSE_OTHER ? "other " : "",
                             TypeLabel(what.data_type()));
  point.label = LabelOf(what);
  point.work = OperationCount(what);
  point.unit = "FLOP/s";
  point.pass_count = sustained ? 1 : kRevisitPassCount;
  point.sustained_seconds = sustained_seconds;
  point.make = std::move(make);
  point.record = [what = std::move(what), work = point.work, complete = std::move(complete)](
                     const v1::TimeStatistics& time, v1::Calibration* out) {
    v1::MatmulMeasurement* const measured = out->add_matmuls();
    *measured = what;
    *measured->mutable_time() = time;
    measured->set_flops_per_second(work / time.median_seconds());
    complete(time, measured);
  };
  return point;
}

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
