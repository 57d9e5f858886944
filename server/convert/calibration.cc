#include "server/convert/calibration.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/fingerprint.h"
#include "engine/base/text.h"
#include "engine/hardware/catalogue.h"
#include "engine/run/run_spec.h"
#include "proto/check/calibration.h"
#include "proto/matmul_kind.h"
#include "proto/stable_points.h"
#include "server/convert/annotate_calibration.h"
#include "server/convert/enums.h"

namespace sextant::server {
namespace {

// An answer names at most 16; a request of a megabyte could hold a million.
constexpr size_t kMaxViolations = 48;

// Returns the catalogue's limits of the named product; none where the catalogue lacks it.
check::ProductLimits LimitsOf(const std::string& product_name) {
  const Accelerator* accelerator = AcceleratorReportedAs(product_name);
  if (accelerator == nullptr) return {};
  check::ProductLimits out;
  out.peak_flops_per_second = [accelerator](v1::DataType type) {
    return DatasheetPeakFlopsPerSecond(accelerator, type);
  };
  if (accelerator->memory_bandwidth_bytes_per_second) {
    out.memory_bytes_per_second = accelerator->memory_bandwidth_bytes_per_second.value;
  }
  return out;
}

constexpr int64_t kLastUnixSecond = 253'402'300'799;  // 9999-12-31, google.protobuf.Timestamp's

using StreamPatternPair = OneLater<StreamPattern::kTriad, v1::StreamMeasurement::Operation_MAX>;

std::string FingerprintOfBytes(const v1::Calibration& calibration) {
  // No maps and one version of protobuf a build: the bytes depend on the fields alone.
  Fingerprint fingerprint;
  fingerprint.AddLong(calibration.SerializeAsString());
  return fingerprint.ToString();
}

void ConsiderMatmuls(const v1::Calibration& calibration, DeviceCalibration& out) {
  for (const v1::MatmulMeasurement& m : calibration.matmuls()) {
    if (IsRequested(m)) ++out.requested_matmul_count;
    if (!IsOfGrid(m)) continue;
    out.KeepIfBetter({.data_type = DataTypePair::Known(m.data_type()),
                      .m = m.m(),
                      .n = m.n(),
                      .k = m.k(),
                      .rate = FlopsPerSecond(m.flops_per_second()),
                      .relative_spread = m.time().relative_spread(),
                      .sample_count = m.time().sample_count(),
                      .stable = m.time().stable(),
                      .sustained = IsSustained(m),
                      .engine = m.engine(),
                      .power_watts = m.has_power_watts() ? absl::make_optional(m.power_watts())
                                                         : absl::nullopt});
  }
}

MeasuredPass PassOf(const v1::TimeStatistics& time, double per_second, int64_t array_bytes) {
  return {.per_second = per_second,
          .array_bytes = array_bytes,
          .relative_spread = time.relative_spread(),
          .sample_count = time.sample_count(),
          .stable = time.stable()};
}

void ConsiderPasses(const v1::Calibration& calibration, DeviceCalibration& out) {
  for (const v1::StreamMeasurement& s : calibration.streams()) {
    if (!s.main_memory()) continue;
    out.ConsiderPass(StreamPatternPair::Known(s.operation()),
                     PassOf(s.time(), s.bytes_per_second(), s.array_bytes()));
  }
  for (const v1::ElementwiseMeasurement& e : calibration.elementwise()) {
    MeasuredPass pass = PassOf(e.time(), e.flops_per_second(), e.array_bytes());
    pass.multiply_adds = e.multiply_add_count();
    out.ConsiderElementwise(pass);
  }
}

DeviceCalibration BestOf(const v1::Calibration& calibration, std::string fingerprint) {
  const v1::Device& device = calibration.device();
  DeviceCalibration out;
  out.uuid = device.uuid();
  out.hostname = device.hostname();
  out.product_name = device.product_name();
  out.processor = device.kind() == v1::DEVICE_KIND_CPU;
  out.accelerator = AcceleratorReportedAs(device.product_name());
  out.memory = Bytes(device.memory_bytes());
  out.compute_unit_count = device.compute_unit_count();
  if (device.has_power_limit_watts()) out.power_limit_watts = device.power_limit_watts();
  out.measured_unix_seconds = calibration.measured_time().seconds();
  out.probe_version = calibration.probe_version();
  out.fingerprint = std::move(fingerprint);
  out.coverage_ratio = calibration.coverage_ratio();
  const PointCounts points = CountPoints(calibration);
  out.point_count = points.all;
  out.stable_point_count = points.stable;
  if (calibration.has_drift_ratio()) out.drift_ratio = calibration.drift_ratio();
  ConsiderMatmuls(calibration, out);
  ConsiderPasses(calibration, out);
  return out;
}

// The one of `all` in the type of `wire`, made where there is none yet.
template <typename OfType, typename Measurement>
OfType& InType(const Measurement& wire, std::vector<OfType>& all) {
  const DataType type = DataTypePair::Known(wire.data_type());
  const auto found = std::find_if(all.begin(), all.end(),
                                  [type](const OfType& each) { return each.data_type == type; });
  if (found != all.end()) return *found;
  all.push_back({.data_type = type});
  return all.back();
}

Seconds TimeOf(const v1::TimeStatistics& time) { return Seconds(time.median_seconds()); }

// The multiplications by data type, in order of each type's first point. Bursts of all shapes,
// those asked for by a caller included, each shape once.
std::vector<MeasuredMatmulPoints> MatmulsFrom(const v1::Calibration& calibration) {
  std::vector<MeasuredMatmulPoints> out;
  for (const v1::MatmulMeasurement& m : calibration.matmuls()) {
    if (!IsShapeBurst(m)) continue;
    const DataType type = DataTypePair::Known(m.data_type());
    auto of_type = std::find_if(out.begin(), out.end(),
                                [type](const auto& each) { return each.data_type == type; });
    if (of_type == out.end()) of_type = out.insert(out.end(), {.data_type = type, .matmuls = {}});
    const MatmulShape shape = {m.m(), m.n(), m.k()};
    const bool known = std::any_of(of_type->matmuls.begin(), of_type->matmuls.end(),
                                   [&](const MatmulPoint& g) { return g.shape == shape; });
    if (!known) of_type->matmuls.push_back({shape, Seconds(m.time().median_seconds())});
  }
  return out;
}

std::vector<MeasuredAttentions> AttentionsFrom(const v1::Calibration& calibration) {
  std::vector<MeasuredAttentions> out;
  for (const v1::AttentionMeasurement& wire : calibration.attentions()) {
    MeasuredAttentions& of_type = InType(wire, out);
    const bool backward = wire.training_pass() == v1::AttentionMeasurement::PASS_BACKWARD;
    (backward ? of_type.backward : of_type.forward)
        .push_back({.shape = ShapeFrom(wire), .time = TimeOf(wire.time())});
  }
  return out;
}

std::vector<MeasuredExperts> ExpertsFrom(const v1::Calibration& calibration) {
  std::vector<MeasuredExperts> out;
  for (const v1::ExpertsMeasurement& wire : calibration.experts()) {
    InType(wire, out).points.push_back({.shape = ShapeFrom(wire), .time = TimeOf(wire.time())});
  }
  return out;
}

std::vector<MeasuredCollective> CollectivesFrom(const v1::Calibration& calibration) {
  std::vector<MeasuredCollective> out;
  for (const v1::CollectiveMeasurement& wire : calibration.collectives()) {
    out.push_back({.op = CollectiveOpPair::Known(wire.operation()),
                   .ranks = wire.rank_count(),
                   .bytes = wire.size_bytes(),
                   .seconds = wire.time().median_seconds()});
  }
  return out;
}

std::vector<MeasuredHostCopy> HostCopiesFrom(const v1::Calibration& calibration) {
  std::vector<MeasuredHostCopy> out;
  for (const v1::HostCopyMeasurement& wire : calibration.host_copies()) {
    const bool to_device = wire.direction() == v1::HostCopyMeasurement::DIRECTION_HOST_TO_DEVICE;
    out.push_back(
        {.direction = to_device ? HostCopyDirection::kToDevice : HostCopyDirection::kFromDevice,
         .pageable = wire.pageable(),
         .bytes = wire.size_bytes(),
         .time = TimeOf(wire.time())});
  }
  return out;
}

// Where the ladder is missing, arithmetic is the registers'.
StreamCalibration StreamPassesFrom(const v1::Calibration& calibration) {
  StreamCalibration out = {.processor = calibration.device().kind() == v1::DEVICE_KIND_CPU};
  if (calibration.device().has_cache_bytes()) {
    out.cache_bytes = static_cast<double>(calibration.device().cache_bytes());
  }
  for (const v1::StreamMeasurement& m : calibration.streams()) {
    out.streams.push_back({.pattern = StreamPatternPair::Known(m.operation()),
                           .array_bytes = m.array_bytes(),
                           .main_memory = m.main_memory(),
                           .time = Seconds(m.time().median_seconds())});
  }
  for (const v1::ElementwiseMeasurement& m : calibration.elementwise()) {
    out.ladder.push_back({.multiply_adds = m.multiply_add_count(),
                          .array_bytes = m.array_bytes(),
                          .time = Seconds(m.time().median_seconds())});
  }
  for (const v1::RegisterMeasurement& m : calibration.registers()) {
    if (m.data_type() == v1::DATA_TYPE_FP32) out.arithmetic = FlopsPerSecond(m.flops_per_second());
  }
  return out;
}

}  // namespace

AttentionShape ShapeFrom(const v1::AttentionMeasurement& wire) {
  return {.batch = wire.batch(),
          .sequence = wire.sequence_length(),
          .heads = wire.heads(),
          .key_value_heads = wire.kv_heads(),
          .query_key_head_size = wire.head_size(),
          .value_head_size = wire.value_head_size(),
          .causal = wire.causal(),
          .window = wire.window()};
}

GroupedMatmulShape ShapeFrom(const v1::ExpertsMeasurement& wire) {
  return {.tokens = wire.tokens(),
          .hidden = wire.hidden_size(),
          .intermediate = wire.feed_forward_size(),
          .experts_per_token = wire.experts_per_token(),
          .experts = wire.expert_count(),
          .expert_parallel = wire.expert_parallel_size(),
          .gated = wire.gated()};
}

void CheckCalibration(const v1::Calibration& calibration, absl::string_view path,
                      FieldViolations& violations) {
  check::CheckCalibration(
      calibration, path,
      {.limits = LimitsOf(calibration.device().product_name()),
       .most_faults = static_cast<int>(kMaxViolations) - static_cast<int>(violations.all().size()),
       .reader = "this server",
       .program = "sextantd"},
      [&](const std::string& field, absl::string_view description) {
        violations.Add(field, description);
      });
}

void CheckNotAhead(const v1::Calibration& calibration, absl::string_view path, absl::Time now,
                   FieldViolations& violations) {
  const std::string field = FieldPath(path, "measured_time");
  const auto& wire = calibration.measured_time();
  if (violations.Mentions(field) || wire.seconds() > kLastUnixSecond) return;  // no instant
  const absl::Time measured =
      absl::FromUnixSeconds(wire.seconds()) + absl::Nanoseconds(wire.nanos());
  if (measured <= now + kMaxClockSkew) return;
  violations.Add(field, absl::StrCat("is ", UtcText(wire.seconds()), ", and this server's clock ",
                                     "says ", UtcText(absl::ToUnixSeconds(now)),
                                     ": compare the clocks, or measure the device again"));
}

std::string CalibrationFingerprint(const v1::Calibration& calibration) {
  if (!IsAnnotated(calibration)) return FingerprintOfBytes(calibration);
  v1::Calibration measured = calibration;
  ClearAnnotations(&measured);
  return FingerprintOfBytes(measured);
}

std::shared_ptr<const DeviceModel> DeviceModelFrom(const v1::Calibration& calibration,
                                                   std::string fingerprint) {
  return std::make_shared<const DeviceModel>(
      BestOf(calibration, std::move(fingerprint)),
      MeasuredKernels{.matmuls = MatmulsFrom(calibration),
                      .attentions = AttentionsFrom(calibration),
                      .experts = ExpertsFrom(calibration),
                      .collectives = CollectivesFrom(calibration),
                      .host_copies = HostCopiesFrom(calibration),
                      .passes = StreamPassesFrom(calibration)});
}

std::shared_ptr<const DeviceModel> CheckedModelFrom(const v1::Calibration& calibration,
                                                    absl::string_view path,
                                                    FieldViolations& violations) {
  static const auto* const kEmpty =
      new auto(std::make_shared<const DeviceModel>(DeviceCalibration(), MeasuredKernels()));
  if (violations.all().size() >= kMaxViolations) return *kEmpty;
  const size_t faults_before = violations.found_count();
  CheckCalibration(calibration, path, violations);
  if (violations.found_count() > faults_before) return *kEmpty;
  return DeviceModelFrom(calibration, CalibrationFingerprint(calibration));
}

}  // namespace sextant::server
