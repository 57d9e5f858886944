#include "server/device_gauges.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/hardware/reported_names.h"
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
    "When the device was last measured in any mode, in Unix time: the calibration in use may be an "
    "earlier one. gpu=\"cpu\" marks processors."};
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

constexpr GaugeName kSmClock = {
    "sextant_gpu_sm_clock_hertz",
    "Median clock of the multiprocessors during the probe's first sustained multiplication."};
constexpr GaugeName kPower = {"sextant_gpu_power_watts",
                              "Power drawn during the probe's first sustained multiplication."};
constexpr GaugeName kTemperature = {"sextant_gpu_temperature_celsius",
                                    "Highest temperature while the probe measured."};
constexpr GaugeName kThrottle = {
    "sextant_gpu_throttle_ratio",
    "Share of the probe's readings in which the clock was held down: by the power limit, which is "
    "usual under load, by heat, or by the hardware's own protection."};
constexpr GaugeName kLaunch = {
    "sextant_gpu_launch_seconds",
    "What it takes to start a kernel that does nothing, one of many in a row: kind is stream, a "
    "call each, or graph, recorded once."};
constexpr GaugeName kPredictionError = {
    "sextant_gpu_matmul_prediction_error_ratio",
    "Predicted over measured time of matrix multiplications, less 1, without its sign, over shapes "
    "of the calibration that the prediction had not seen."};

// What the fleet's set shows of each device; all that was measured with the full set.
struct FleetTypes {
  std::vector<v1::DataType> peaks;
  std::vector<v1::DataType> bursts;
  std::vector<v1::DataType> sustained;
};

const FleetTypes& FleetTypesOf(v1::DeviceKind kind) {
  static const FleetTypes* const gpu =
      new FleetTypes{.peaks = {v1::DATA_TYPE_BF16, v1::DATA_TYPE_FP8_E4M3},
                     .bursts = {v1::DATA_TYPE_BF16},
                     .sustained = {v1::DATA_TYPE_BF16, v1::DATA_TYPE_FP8_E4M3}};
  static const FleetTypes* const processor =
      new FleetTypes{.peaks = {v1::DATA_TYPE_FP32, v1::DATA_TYPE_BF16},
                     .bursts = {v1::DATA_TYPE_FP32, v1::DATA_TYPE_BF16},
                     .sustained = {v1::DATA_TYPE_FP32, v1::DATA_TYPE_BF16}};
  return kind == v1::DEVICE_KIND_GPU ? *gpu : *processor;
}

bool Has(const std::vector<v1::DataType>& types, v1::DataType type) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

// The 8-bit float that matrices are multiplied in goes by its short name.
std::string TypeName(v1::DataType type) {
  return type == v1::DATA_TYPE_FP8_E4M3 ? "fp8" : ShortName(v1::DataType_Name(type), "DATA_TYPE_");
}

class DeviceGauges {
 public:
  DeviceGauges(const GaugedDevice& gauged, ProbeMetricsSet set, GaugeFamilies& out)
      : gauged_(gauged),
        full_(set == ProbeMetricsSet::kFull),
        out_(out),
        fleet_(FleetTypesOf(gauged.device.kind())),
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
    AddMatmuls(calibration.matmuls(), fleet_.bursts, "burst");
    AddMatmuls(calibration.sustained_matmuls(), fleet_.sustained, "sustained");
    AddEfficiency(calibration);
    AddStreams(calibration);
    AddHostCopies(calibration);
    if (const auto link = MeasuredLinkOf(calibration, accelerator_); link.has_value()) {
      Add(kLink, link->bytes_per_second, {{"link", link->name}});
    }
    AddClockAndPower(calibration.conditions());
    Add(kLastSuccess, absl::ToDoubleSeconds(gauged_.last_measured - absl::UnixEpoch()));
    if (full_) AddTheRest(calibration);
  }

  void AddHealth() {
    if (gauged_.distrusted) {
      Add(kHealthy, 0);
    } else if (gauged_.stored != nullptr) {
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

  std::vector<v1::DataType> PeakTypes() const {
    std::vector<v1::DataType> out = fleet_.peaks;
    if (!full_) return out;
    for (const v1::DataType type :
         {v1::DATA_TYPE_FP32, v1::DATA_TYPE_TF32, v1::DATA_TYPE_FP16, v1::DATA_TYPE_INT8}) {
      if (!Has(out, type)) out.push_back(type);
    }
    return out;
  }

  void AddMatmuls(const Matmuls& matmuls, const std::vector<v1::DataType>& fleet_types,
                  const char* window) {
    for (const v1::DataType type : DataTypesOf(matmuls)) {
      if (!full_ && !Has(fleet_types, type)) continue;
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

  void AddClockAndPower(const v1::OperatingConditions& conditions) {
    if (conditions.has_sm_clock_hertz()) Add(kSmClock, conditions.sm_clock_hertz());
    if (conditions.has_power_watts()) Add(kPower, conditions.power_watts());
  }

  void AddOtherConditions(const v1::OperatingConditions& conditions) {
    if (conditions.has_maximum_temperature_celsius()) {
      Add(kTemperature, conditions.maximum_temperature_celsius());
    }
    const auto throttle = [&](const char* reason, bool told, double share) {
      if (told) Add(kThrottle, share, {{"reason", reason}});
    };
    throttle("power", conditions.has_power_throttle_ratio(), conditions.power_throttle_ratio());
    throttle("thermal", conditions.has_thermal_throttle_ratio(),
             conditions.thermal_throttle_ratio());
    throttle("hardware", conditions.has_hardware_throttle_ratio(),
             conditions.hardware_throttle_ratio());
  }

  void AddLaunches(const v1::Calibration& calibration) {
    for (const v1::LaunchMeasurement& launch : calibration.launches()) {
      Add(kLaunch, launch.time().median_seconds(),
          {{"kind", ShortName(v1::LaunchMeasurement::Kind_Name(launch.kind()), "KIND_")}});
    }
  }

  void AddPredictionErrors() {
    for (const MatmulError& error : gauged_.matmul_errors) {
      const std::string type = TypeName(error.data_type);
      Add(kPredictionError, error.median, {{"dtype", type}, {"quantile", "0.5"}});
      Add(kPredictionError, error.p90, {{"dtype", type}, {"quantile", "0.9"}});
    }
  }

  void AddSpread(const std::string& test, const v1::TimeStatistics& time) {
    Add(kSpread, time.relative_spread(), {{"test", test}});
  }

  void AddTheRest(const v1::Calibration& calibration) {
    AddPredictionErrors();
    AddLaunches(calibration);
    AddOtherConditions(calibration.conditions());
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
  const FleetTypes& fleet_;
  const Accelerator* accelerator_;  // null: not in the catalogue
};

}  // namespace

void AddDeviceGauges(const GaugedDevice& gauged, ProbeMetricsSet set, GaugeFamilies& out) {
  DeviceGauges gauges(gauged, set, out);
  gauges.AddDatasheet();
  if (gauged.stored != nullptr) gauges.AddMeasured(gauged.stored->calibration);
  gauges.AddHealth();
}

}  // namespace sextant
