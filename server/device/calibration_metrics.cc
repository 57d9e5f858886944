#include "server/device/calibration_metrics.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "engine/hardware/catalogue.h"
#include "engine/hardware/links/node_type.h"
#include "proto/matmul_kind.h"
#include "server/convert/annotate_calibration.h"
#include "server/convert/enums.h"
#include "server/convert/message_fields.h"
#include "server/metrics/gauge_families.h"
#include "server/store/calibration_snapshot.h"
#include "sextant/v1/device.pb.h"

namespace sextant::server {
namespace {

// One device of this host, with its labels and calibration.
struct GaugedDevice {
  const v1::Device& device;
  Labels labels;                              // DeviceLabels()'s
  const StoredCalibration* stored = nullptr;  // in use; null: never measured, or withdrawn
  absl::Time last_measured = {};              // where there is one in use: in any mode
  bool last_stable = false;                   // likewise: whether that measurement was stable
  bool distrusted = false;                    // the last probe had a wrong result
};

constexpr GaugeName kAge = {"sextant_calibration_age_seconds",
                            "Age of the calibration in use, by product; the oldest where this "
                            "host has several of a product; negative where its clock was ahead."};
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
constexpr GaugeName kStable = {
    "sextant_gpu_probe_stable",
    "1 where the rates that most plans use were stable in that last measurement, 0 where the "
    "samples of one disagreed. gpu=\"cpu\" marks processors."};
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
                                 "The time that the probe of the calibration in use took."};
constexpr GaugeName kCoverage = {"sextant_gpu_probe_coverage_ratio",
                                 "Share of what that probe had planned that was measured."};

constexpr GaugeName kSmClock = {
    "sextant_gpu_sm_clock_hertz",
    "Median clock of the multiprocessors during the probe's first sustained multiplication."};
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

// The data types that the fleet's set shows of a kind of device; the full set shows all.
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

// The short name of a data type; "fp8" for the 8-bit float that matrices are multiplied in.
std::string TypeName(v1::DataType type) {
  return type == v1::DATA_TYPE_FP8_E4M3 ? "fp8" : EnumLabel(v1::DataType_Name(type), "DATA_TYPE_");
}

// Returns the largest copy in a direction, of pinned or of pageable memory; null without one.
const v1::HostCopyMeasurement* LargestHostCopy(const v1::Calibration& calibration,
                                               v1::HostCopyMeasurement::Direction direction,
                                               bool pageable) {
  const v1::HostCopyMeasurement* largest = nullptr;
  for (const v1::HostCopyMeasurement& copy : calibration.host_copies()) {
    if (copy.direction() != direction || copy.pageable() != pageable) continue;
    if (largest == nullptr || copy.size_bytes() > largest->size_bytes()) largest = &copy;
  }
  return largest;
}

// The link between such GPUs; null where it is not known, or of several kinds.
const char* LinkName(const Accelerator* accelerator) {
  if (accelerator == nullptr) return nullptr;
  int nvlink_count = 0;
  int pcie_count = 0;
  for (const NodeType* node : NodeTypesOf(accelerator->name)) {
    nvlink_count += absl::StartsWith(node->link, "NVLink") ? 1 : 0;
    pcie_count += absl::StartsWith(node->link, "PCIe") ? 1 : 0;
  }
  if ((nvlink_count > 0) == (pcie_count > 0)) return nullptr;
  return nvlink_count > 0 ? "nvlink" : "pcie";
}

// The highest bus rate of any exchange but all_reduce, which a switch that adds up takes beyond its
// link (docs/links.md); all_reduce's where nothing else was measured.
double LinkRateOf(const v1::Calibration& calibration) {
  double best = 0;
  double best_reduced = 0;
  for (const v1::CollectiveMeasurement& measured : calibration.collectives()) {
    const bool reduced = measured.operation() == v1::COLLECTIVE_OPERATION_ALL_REDUCE;
    double& rate = reduced ? best_reduced : best;
    rate = std::max(rate, measured.bus_bytes_per_second());
  }
  return best > 0 ? best : best_reduced;
}

class DeviceGauges {
 public:
  DeviceGauges(const GaugedDevice& gauged, ProbeMetricsSet set, GaugeFamilies& out)
      : gauged_(gauged),
        full_(set == ProbeMetricsSet::kFull),
        out_(out),
        fleet_(FleetTypesOf(gauged.device.kind())),
        accelerator_(AcceleratorReportedAs(gauged.device.product_name())) {}

  // Adds the fleet's set, at most 16 series, or every figure that the calibration holds.
  void AddAll() {
    AddDatasheet();
    if (gauged_.stored != nullptr) AddMeasured(*gauged_.stored);
    if (gauged_.distrusted || gauged_.stored != nullptr) Add(kHealthy, gauged_.distrusted ? 0 : 1);
  }

 private:
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

  void AddMeasured(const StoredCalibration& stored) {
    const v1::Calibration& calibration = stored.calibration;
    const DeviceCalibration& best = stored.model->calibration();
    AddMatmuls(best);
    AddStreams(best);
    AddHostCopies(calibration);
    if (const char* link = LinkName(accelerator_); link && !calibration.collectives().empty()) {
      Add(kLink, LinkRateOf(calibration), {{"link", link}});
    }
    const v1::OperatingConditions& conditions = calibration.conditions();
    if (conditions.has_sm_clock_hertz()) Add(kSmClock, conditions.sm_clock_hertz());
    Add(kLastSuccess, absl::ToDoubleSeconds(gauged_.last_measured - absl::UnixEpoch()));
    Add(kStable, gauged_.last_stable ? 1 : 0);
    if (full_) AddTheRest(stored);
  }

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
      if (!absl::c_linear_search(out, type)) out.push_back(type);
    }
    return out;
  }

  // By data type, in their enum's order.
  static std::map<v1::DataType, const MeasuredMatmul*> InOrder(
      absl::Span<const MeasuredMatmul> matmuls) {
    std::map<v1::DataType, const MeasuredMatmul*> out;
    for (const MeasuredMatmul& each : matmuls) out[DataTypePair::To(each.data_type)] = &each;
    return out;
  }

  void AddMatmuls(const DeviceCalibration& best) {
    for (const auto& [type, burst] : InOrder(best.bursts)) {
      if (full_ || absl::c_linear_search(fleet_.bursts, type)) AddMatmul(type, *burst, "burst");
    }
    for (const auto& [type, matmul] : InOrder(best.matmuls)) {
      const bool shown = full_ || absl::c_linear_search(fleet_.sustained, type);
      if (shown && matmul->sustained) AddMatmul(type, *matmul, "sustained");
    }
    for (const auto& [type, burst] : InOrder(best.bursts)) {
      const auto peak = DatasheetPeakFlopsPerSecond(accelerator_, type);
      if (!peak.has_value() || !(full_ || type == v1::DATA_TYPE_BF16)) continue;
      Add(kEfficiency, burst->rate.value() / *peak, {{"dtype", TypeName(type)}});
    }
  }

  void AddMatmul(v1::DataType type, const MeasuredMatmul& matmul, const char* window) {
    Add(kMatmul, matmul.rate.value(), {{"dtype", TypeName(type)}, {"window", window}});
  }

  void AddStreams(const DeviceCalibration& best) {
    for (size_t i = 0; i < kStreamPatternCount; ++i) {
      const auto pattern = static_cast<StreamPattern>(i);
      const absl::optional<MeasuredPass>& pass = best.memory_passes[i];
      if (!pass.has_value() || !(full_ || pattern == StreamPattern::kCopy)) continue;
      const std::string name(StreamPatternName(pattern));
      Add(kBandwidth, pass->per_second, {{"op", name}});
      if (full_) AddSpread(name, pass->relative_spread);
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
          {{"kind", EnumLabel(v1::LaunchMeasurement::Kind_Name(launch.kind()), "KIND_")}});
    }
  }

  void AddPredictionErrors(const DeviceModel& model) {
    for (const MatmulError& error : model.MatmulErrors()) {
      const std::string type = TypeName(DataTypePair::To(error.data_type));
      Add(kPredictionError, error.median, {{"dtype", type}, {"quantile", "0.5"}});
      Add(kPredictionError, error.p90, {{"dtype", type}, {"quantile", "0.9"}});
    }
  }

  void AddSpread(const std::string& test, double relative_spread) {
    Add(kSpread, relative_spread, {{"test", test}});
  }

  void AddTheRest(const StoredCalibration& stored) {
    const v1::Calibration& calibration = stored.calibration;
    AddPredictionErrors(*stored.model);
    AddLaunches(calibration);
    AddOtherConditions(calibration.conditions());
    for (const auto& [type, burst] : InOrder(stored.model->calibration().bursts)) {
      AddSpread(absl::StrCat("matmul_", TypeName(type)), burst->relative_spread);
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
    const auto& matmuls = calibration.matmuls();
    const auto burst = std::find_if(matmuls.begin(), matmuls.end(), IsShapeBurst);
    if (burst != matmuls.end()) info.emplace_back("engine", burst->engine());
    Add(kInfo, 1, info);
  }

  const GaugedDevice& gauged_;
  const bool full_;
  GaugeFamilies& out_;
  const FleetTypes& fleet_;
  const Accelerator* accelerator_;  // null: not in the catalogue
};

}  // namespace

CalibrationMetrics::CalibrationMetrics(const CalibrationStore& store, ProbeMetricsSet set, Now now)
    : store_(store), set_(set), now_(std::move(now)) {}

std::vector<prometheus::MetricFamily> CalibrationMetrics::Collect() const {
  const auto snapshot = store_.snapshot();
  const std::chrono::system_clock::time_point now = now_();
  const CalibrationQuery query = {.now = absl::FromChrono(now)};
  GaugeFamilies families;
  std::map<std::string, double> age_seconds;  // by product
  const std::vector<Labels> labels = DeviceLabels(snapshot->devices);
  for (size_t i = 0; i < labels.size(); ++i) {
    const v1::Device& device = snapshot->devices[i];
    const DeviceCalibrations* kept = snapshot->FindAll(device.uuid());
    const StoredCalibration* stored = snapshot->Find(device.uuid(), query);
    const GaugedDevice gauged = {
        .device = device,
        .labels = labels[i],
        .stored = stored,
        .last_measured = kept != nullptr ? kept->last_measured : absl::Time(),
        .last_stable = kept != nullptr && kept->last_stable,
        .distrusted = snapshot->distrusted.count(device.uuid()) > 0};
    DeviceGauges(gauged, set_, families).AddAll();
    if (stored == nullptr) continue;
    const double age = CalibrationAgeSeconds(stored->calibration, now);
    double& oldest = age_seconds.emplace(device.product_name(), age).first->second;
    oldest = std::max(oldest, age);
  }
  for (const auto& [product, age] : age_seconds) {
    families.Add(kAge, {{"modelName", product}, {"source", "MEASURED_DEVICE"}}, age);
  }
  return families.Take();
}

}  // namespace sextant::server
