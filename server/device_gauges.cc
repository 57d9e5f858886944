#include "server/device_gauges.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/hardware/reported_names.h"
#include "server/calibration_age.h"
#include "server/calibration_figures.h"
#include "server/convert/annotate_calibration.h"
#include "server/convert/short_name.h"

namespace sextant {
namespace {

constexpr GaugeName kMatmul = {
    "sextant_gpu_matmul_flops_per_second",
    "Measured rate of the fastest matrix multiplication, in FLOP/s (int8: integer operations); "
    "window is burst, or sustained for a second or more. gpu=\"cpu\" marks processors."};
constexpr GaugeName kPeak = {
    "sextant_gpu_peak_flops_per_second",
    "Dense datasheet peak, in FLOP/s, of devices that the catalogue knows."};
constexpr GaugeName kEfficiency = {"sextant_gpu_matmul_efficiency_ratio",
                                   "Measured burst rate over the dense datasheet peak."};
constexpr GaugeName kBandwidth = {
    "sextant_gpu_memory_bandwidth_bytes_per_second",
    "Measured rate of passes over main memory, bytes read plus bytes written. gpu=\"cpu\" marks "
    "processors."};
constexpr GaugeName kPeakBandwidth = {
    "sextant_gpu_peak_memory_bandwidth_bytes_per_second",
    "Datasheet bandwidth of memory, of devices that the catalogue knows."};
constexpr GaugeName kHostCopy = {
    "sextant_gpu_host_copy_bytes_per_second",
    "Measured rate of the largest copy between device and host: direction is h2d, to the device, "
    "or d2h; memory is the host's, pinned or pageable."};
constexpr GaugeName kLink = {
    "sextant_gpu_link_bandwidth_bytes_per_second",
    "Highest measured bus rate of exchanges with other devices of the host, as nccl-tests counts "
    "it, but all_reduce's where there are others; link is nvlink or pcie."};
constexpr GaugeName kMemory = {
    "sextant_gpu_memory_total_bytes",
    "Memory that the device may use. gpu=\"cpu\" marks processors: the host's memory, or its "
    "control group's."};
constexpr GaugeName kHealthy = {
    "sextant_gpu_healthy",
    "1 where all results of the last probe were right, 0 where one was wrong. gpu=\"cpu\" marks "
    "processors."};
constexpr GaugeName kLastSuccess = {
    "sextant_gpu_probe_last_success_timestamp_seconds",
    "When the calibration in use was measured, in Unix time. gpu=\"cpu\" marks processors."};
constexpr GaugeName kInfo = {"sextant_gpu_info",
                             "1, labelled with the probe that measured and its library."};
constexpr GaugeName kRidge = {
    "sextant_gpu_ridge_flops_per_byte",
    "Arithmetic intensity above which elementwise fp32 work is bound by arithmetic."};
constexpr GaugeName kVector = {"sextant_gpu_vector_flops_per_second",
                               "Highest measured rate of elementwise work, in FLOP/s."};
constexpr GaugeName kSpread = {
    "sextant_gpu_relative_spread_ratio",
    "Spread of a figure's samples: 1.4826 x median absolute deviation over the median."};
constexpr GaugeName kDrift = {"sextant_gpu_drift_ratio",
                              "Time of the third pass over the multiplications relative to the "
                              "first, less 1."};
constexpr GaugeName kDuration = {"sextant_gpu_probe_duration_seconds",
                                 "What the probe behind the calibration in use took."};
constexpr GaugeName kCoverage = {"sextant_gpu_probe_coverage_ratio",
                                 "Share of what that probe had planned that was measured."};

// The fleet's data types; all that were measured with the full set.
constexpr v1::DataType kFleetTypes[] = {v1::DATA_TYPE_FP32, v1::DATA_TYPE_BF16};

std::string TypeName(v1::DataType type) { return ShortName(v1::DataType_Name(type), "DATA_TYPE_"); }

class DeviceGauges {
 public:
  DeviceGauges(const GaugedDevice& gauged, ProbeMetricsSet set, GaugeFamilies& out)
      : gauged_(gauged),
        full_(set == ProbeMetricsSet::kFull),
        out_(out),
        accelerator_(AcceleratorReportedAs(gauged.device.product_name())) {}

  void AddDatasheet() {
    for (const v1::DataType type : PeakTypes()) {
      const auto peak = DatasheetPeakFlopsPerSecond(accelerator_, type);
      if (peak.has_value()) Add(kPeak, *peak, {{"dtype", TypeName(type)}});
    }
    if (accelerator_ != nullptr && accelerator_->memory_bandwidth_bytes_per_second) {
      Add(kPeakBandwidth, accelerator_->memory_bandwidth_bytes_per_second.value);
    }
    if (gauged_.device.memory_bytes() > 0) {
      Add(kMemory, static_cast<double>(gauged_.device.memory_bytes()));
    }
  }

  void AddMeasured(const v1::Calibration& calibration) {
    AddMatmuls(calibration.matmuls(), "burst");
    AddMatmuls(calibration.sustained_matmuls(), "sustained");
    AddEfficiency(calibration);
    AddStreams(calibration);
    AddHostCopies(calibration);
    if (const auto link = MeasuredLinkOf(calibration, accelerator_); link.has_value()) {
      Add(kLink, link->bytes_per_second, {{"link", link->name}});
    }
    Add(kLastSuccess, MeasuredUnixSeconds(calibration));
    if (full_) AddTheRest(calibration);
  }

  void AddHealth() {
    if (gauged_.distrusted) {
      Add(kHealthy, 0);
    } else if (gauged_.calibration != nullptr) {
      Add(kHealthy, 1);
    }
  }

 private:
  using Matmuls = google::protobuf::RepeatedPtrField<v1::MatmulMeasurement>;

  void Add(const GaugeName& gauge, double value, const Labels& more = {}) {
    Labels labels = gauged_.labels;
    labels.insert(labels.end(), more.begin(), more.end());
    out_.Add(gauge, labels, value);
  }

  bool IsShown(v1::DataType type) const {
    return full_ || std::count(std::begin(kFleetTypes), std::end(kFleetTypes), type) > 0;
  }

  std::vector<v1::DataType> PeakTypes() const {
    std::vector<v1::DataType> out(std::begin(kFleetTypes), std::end(kFleetTypes));
    if (full_) out.push_back(v1::DATA_TYPE_INT8);
    return out;
  }

  void AddMatmuls(const Matmuls& matmuls, const char* window) {
    for (const v1::DataType type : DataTypesOf(matmuls)) {
      if (!IsShown(type)) continue;
      Add(kMatmul, BestMatmul(matmuls, type)->flops_per_second(),
          {{"dtype", TypeName(type)}, {"window", window}});
    }
  }

  void AddEfficiency(const v1::Calibration& calibration) {
    for (const v1::DataType type : DataTypesOf(calibration.matmuls())) {
      const auto peak = DatasheetPeakFlopsPerSecond(accelerator_, type);
      if (!peak.has_value() || !(full_ || type == v1::DATA_TYPE_BF16)) continue;
      Add(kEfficiency, BestMatmul(calibration.matmuls(), type)->flops_per_second() / *peak,
          {{"dtype", TypeName(type)}});
    }
  }

  void AddStreams(const v1::Calibration& calibration) {
    for (int number = v1::StreamMeasurement::OPERATION_READ;
         number <= v1::StreamMeasurement::Operation_MAX; ++number) {
      const auto operation = static_cast<v1::StreamMeasurement::Operation>(number);
      if (!full_ && operation != v1::StreamMeasurement::OPERATION_COPY) continue;
      const v1::StreamMeasurement* stream = MainMemoryStream(calibration, operation);
      if (stream == nullptr) continue;
      const std::string name =
          ShortName(v1::StreamMeasurement::Operation_Name(operation), "OPERATION_");
      Add(kBandwidth, stream->bytes_per_second(), {{"op", name}});
      if (full_) AddSpread(name, stream->time());
    }
  }

  void AddHostCopies(const v1::Calibration& calibration) {
    const std::pair<v1::HostCopyMeasurement::Direction, const char*> directions[] = {
        {v1::HostCopyMeasurement::DIRECTION_HOST_TO_DEVICE, "h2d"},
        {v1::HostCopyMeasurement::DIRECTION_DEVICE_TO_HOST, "d2h"}};
    for (const bool pageable : {false, true}) {
      if (pageable && !full_) continue;
      for (const auto& [direction, name] : directions) {
        const v1::HostCopyMeasurement* copy = LargestHostCopy(calibration, direction, pageable);
        if (copy == nullptr) continue;
        Add(kHostCopy, copy->bytes_per_second(),
            {{"direction", name}, {"memory", pageable ? "pageable" : "pinned"}});
      }
    }
  }

  void AddSpread(const std::string& test, const v1::TimeStatistics& time) {
    Add(kSpread, time.relative_spread(), {{"test", test}});
  }

  void AddTheRest(const v1::Calibration& calibration) {
    for (const v1::DataType type : DataTypesOf(calibration.matmuls())) {
      AddSpread(absl::StrCat("matmul_", TypeName(type)),
                BestMatmul(calibration.matmuls(), type)->time());
    }
    if (calibration.has_ridge_flops_per_byte()) {
      Add(kRidge, calibration.ridge_flops_per_byte(), {{"dtype", "fp32"}});
    }
    double vector_flops_per_second = 0;
    for (const v1::ElementwiseMeasurement& step : calibration.elementwise()) {
      vector_flops_per_second = std::max(vector_flops_per_second, step.flops_per_second());
    }
    if (vector_flops_per_second > 0) Add(kVector, vector_flops_per_second, {{"dtype", "fp32"}});
    if (calibration.has_drift_ratio()) Add(kDrift, calibration.drift_ratio());
    Add(kDuration, calibration.duration_seconds());
    Add(kCoverage, calibration.coverage_ratio());
    Labels info = {{"probe_version", calibration.probe_version()}};
    if (!calibration.matmuls().empty())
      info.emplace_back("engine", calibration.matmuls(0).engine());
    Add(kInfo, 1, info);
  }

  const GaugedDevice& gauged_;
  const bool full_;
  GaugeFamilies& out_;
  const Accelerator* accelerator_;  // null: not in the catalogue
};

}  // namespace

void AddDeviceGauges(const GaugedDevice& gauged, ProbeMetricsSet set, GaugeFamilies& out) {
  DeviceGauges gauges(gauged, set, out);
  gauges.AddDatasheet();
  if (gauged.calibration != nullptr) gauges.AddMeasured(*gauged.calibration);
  gauges.AddHealth();
}

}  // namespace sextant
