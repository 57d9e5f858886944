#include "gpu_probe/points/memory.h"

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "gpu_probe/fusion_chain.h"

namespace sextant::probe {
namespace {

constexpr int64_t kFloatBytes = sizeof(float);

Point LadderPoint(int64_t multiply_add_count, const Ladder& ladder) {
  const double element_count = static_cast<double>(ladder.array_bytes / kFloatBytes);
  const double flops = 2 * static_cast<double>(multiply_add_count) * element_count;
  const double bytes = 2 * kFloatBytes * element_count;  // read and written
  const auto run_count = static_cast<double>(ladder.segment_count);
  Point point;
  point.phase = "elementwise";
  point.label = absl::StrCat("fp32, ", multiply_add_count, " multiply-adds an element");
  point.work = flops / run_count;
  point.unit = "FLOP/s";
  point.record = [=](const v1::TimeStatistics& time, v1::Calibration* out) {
    v1::ElementwiseMeasurement* const measured = out->add_elementwise();
    measured->set_multiply_add_count(multiply_add_count);
    measured->set_flops_per_byte(flops / bytes);
    measured->set_array_bytes(ladder.array_bytes);
    *measured->mutable_time() = TimeOfPass(time, run_count);
    measured->set_flops_per_second(flops / measured->time().median_seconds());
    measured->set_bytes_per_second(bytes / measured->time().median_seconds());
  };
  return point;
}

Point FusionPoint(bool fused, int64_t array_bytes) {
  Point point;
  point.phase = "fusion";
  point.label = fused ? "fused chain" : "unfused chain";
  point.work = (fused ? kFusedArrayCount : kUnfusedArrayCount) * static_cast<double>(array_bytes);
  point.unit = "B/s";
  point.record = [=](const v1::TimeStatistics& time, v1::Calibration* out) {
    v1::FusionMeasurement* const measured = out->mutable_fusion();
    measured->set_operation_count(kFusionOperationCount);
    measured->set_array_bytes(array_bytes);
    *(fused ? measured->mutable_fused_time() : measured->mutable_unfused_time()) = time;
  };
  return point;
}

}  // namespace

double StreamBytes(StreamOperation operation, int64_t array_bytes) {
  const bool one_array = operation == v1::StreamMeasurement::OPERATION_READ ||
                         operation == v1::StreamMeasurement::OPERATION_WRITE;
  const int count = one_array ? 1 : operation == v1::StreamMeasurement::OPERATION_TRIAD ? 3 : 2;
  return count * static_cast<double>(array_bytes);
}

Point StreamPoint(const StreamPass& pass, const MakeOne<StreamPass>& make) {
  const std::string name = absl::AsciiStrToLower(
      absl::StripPrefix(v1::StreamMeasurement::Operation_Name(pass.operation), "OPERATION_"));
  const double bytes = StreamBytes(pass.operation, pass.array_bytes);
  const auto run_count = static_cast<double>(pass.segment_count);
  Point point;
  point.phase = pass.main_memory ? "memory" : "cache";
  point.label = pass.array_bytes > 0 ? absl::StrCat(name, " ", pass.array_bytes / 1024, " KiB")
                                     : absl::StrCat(name, " in ", point.phase);
  point.work = bytes / run_count;
  point.unit = "B/s";
  point.make = [=] { return make(pass); };
  point.record = [=](const v1::TimeStatistics& time, v1::Calibration* out) {
    v1::StreamMeasurement* const measured = out->add_streams();
    measured->set_operation(pass.operation);
    measured->set_array_bytes(pass.array_bytes);
    measured->set_main_memory(pass.main_memory);
    *measured->mutable_time() = TimeOfPass(time, run_count);
    measured->set_bytes_per_second(bytes / measured->time().median_seconds());
  };
  return point;
}

std::vector<Point> MainMemoryPoints(v1::ProbeMode mode, const StreamPass& copy,
                                    const MakeOne<StreamPass>& make) {
  std::vector<Point> points = {StreamPoint(copy, make)};
  points.front().first = true;
  if (mode == v1::PROBE_MODE_QUICK) return points;
  StreamPass other = copy;
  for (const auto operation :
       {v1::StreamMeasurement::OPERATION_READ, v1::StreamMeasurement::OPERATION_WRITE,
        v1::StreamMeasurement::OPERATION_SCALE, v1::StreamMeasurement::OPERATION_TRIAD}) {
    other.operation = operation;
    points.push_back(StreamPoint(other, make));
  }
  return points;
}

std::vector<Point> LadderPoints(const Ladder& ladder, const MakeOne<int64_t>& make) {
  std::vector<Point> points;
  for (int64_t count = ladder.fewest; count <= ladder.most; count *= 2) {
    points.push_back(LadderPoint(count, ladder));
    points.back().make = [=] { return make(count); };
  }
  return points;
}

std::vector<Point> FusionPair(int64_t array_bytes, const MakeOne<bool>& make) {
  std::vector<Point> points;
  for (const bool fused : {false, true}) {
    points.push_back(FusionPoint(fused, array_bytes));
    points.back().make = [=] { return make(fused); };
  }
  return points;
}

void FillRidge(int64_t fewest, int64_t most, v1::Calibration* calibration) {
  double flops_per_second = 0;
  double bytes_per_second = 0;
  bool has_fewest = false;
  bool has_most = false;
  for (const v1::ElementwiseMeasurement& step : calibration->elementwise()) {
    flops_per_second = std::max(flops_per_second, step.flops_per_second());
    bytes_per_second = std::max(bytes_per_second, step.bytes_per_second());
    has_fewest |= step.multiply_add_count() == fewest;
    has_most |= step.multiply_add_count() == most;
  }
  if (!has_fewest || !has_most) return;
  calibration->set_ridge_flops_per_byte(flops_per_second / bytes_per_second);
}

void FillFusionSpeedup(v1::Calibration* calibration) {
  if (!calibration->has_fusion()) return;
  v1::FusionMeasurement* const fusion = calibration->mutable_fusion();
  if (!fusion->has_unfused_time() || !fusion->has_fused_time()) {
    calibration->clear_fusion();
    return;
  }
  fusion->set_speedup_ratio(fusion->unfused_time().median_seconds() /
                            fusion->fused_time().median_seconds());
}

v1::TimeStatistics TimeOfPass(const v1::TimeStatistics& time, double run_count) {
  v1::TimeStatistics out = time;
  out.set_median_seconds(time.median_seconds() * run_count);
  out.set_p10_seconds(time.p10_seconds() * run_count);
  out.set_p90_seconds(time.p90_seconds() * run_count);
  return out;
}

}  // namespace sextant::probe
