#include "engine/hardware/known_rates.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "engine/base/fingerprint.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/kernels/matmul_calibration.h"
#include "engine/hardware/links/host_copy_rate.h"

namespace sextant {
namespace {

constexpr double kMinRate = 1;
constexpr double kMaxRate = 1e18;
constexpr int64_t kMinMemory = int64_t{1} << 30;
constexpr int64_t kMaxMemory = 10'000'000'000'000;
// A pass in main memory: beyond every cache.
constexpr int64_t kCopyBytes = int64_t{1} << 30;

template <typename A, typename B>
double Ratio(A a, B b) {
  return a.value() / b.value();
}

absl::Status CheckRate(const char* what, double rate, const DatasheetValue& peak) {
  if (!(rate >= kMinRate && rate <= kMaxRate)) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " is ", rate, ", no rate of ", kMinRate, " to ", kMaxRate));
  }
  if (peak && rate > kMaxOfPeak * peak.value) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " is ", rate, ", more than the datasheet's ", peak.value));
  }
  return absl::OkStatus();
}

absl::Status Check(const KnownRates& rates) {
  const Accelerator& accelerator = *rates.accelerator;
  const auto check = [](const char* what, const auto& rate, const DatasheetValue& peak) {
    return rate.has_value() ? CheckRate(what, rate->value(), peak) : absl::OkStatus();
  };
  const DatasheetValue bf16 = PeakFlopsPerSecond(accelerator, DataType::kBf16);
  const DatasheetValue fp8 = PeakFlopsPerSecond(accelerator, DataType::kFp8E4m3);
  const DatasheetValue& memory = accelerator.memory_bandwidth_bytes_per_second;
  SEXTANT_RETURN_IF_ERROR(check("the burst rate in bf16", rates.bf16_burst, bf16));
  SEXTANT_RETURN_IF_ERROR(check("the sustained rate in bf16", rates.bf16_sustained, bf16));
  SEXTANT_RETURN_IF_ERROR(check("the sustained rate in fp8", rates.fp8_sustained, fp8));
  SEXTANT_RETURN_IF_ERROR(check("the rate of copies in memory", rates.memory_copy, memory));
  SEXTANT_RETURN_IF_ERROR(check("the rate of copies to the device", rates.copy_to_device, {}));
  SEXTANT_RETURN_IF_ERROR(check("the rate of copies from it", rates.copy_from_device, {}));
  if (rates.memory.has_value() &&
      (*rates.memory < Bytes(kMinMemory) || *rates.memory > Bytes(kMaxMemory))) {
    return absl::InvalidArgumentError(absl::StrCat("the memory is ", rates.memory->value(),
                                                   " bytes, not ", kMinMemory, " to ", kMaxMemory));
  }
  if (!rates.bf16_burst.has_value() && !rates.bf16_sustained.has_value()) {
    return absl::InvalidArgumentError("no rate in bf16 is known");
  }
  return absl::OkStatus();
}

// The rate of the fastest large product of `curves` in `type`; absent where it has no products in
// it.
absl::StatusOr<absl::optional<FlopsPerSecond>> BurstOf(const DeviceModel& curves, DataType type) {
  absl::optional<FlopsPerSecond> out;
  if (const MeasuredMatmul* const burst = curves.calibration().BurstIn(type)) {
    out = burst->rate;
    return out;
  }
  SEXTANT_ASSIGN_OR_RETURN(const MatmulPredictor* const matmuls, curves.Matmuls(type));
  if (matmuls == nullptr) return out;
  for (const int64_t size : {4096, 8192, 16384}) {
    const MatmulShape square = {size, size, size};
    const FlopsPerSecond rate(Ratio(MatmulFlops(square), matmuls->Predict(square).expected));
    out = std::max(out.value_or(rate), rate);
  }
  return out;
}

absl::StatusOr<absl::optional<FlopsPerSecond>> SustainedOf(const DeviceModel& curves,
                                                           DataType type) {
  SEXTANT_ASSIGN_OR_RETURN(absl::optional<FlopsPerSecond> out, BurstOf(curves, type));
  if (!out.has_value()) return out;
  SEXTANT_ASSIGN_OR_RETURN(const Derating derating, curves.SustainedDerating(type));
  out = FlopsPerSecond(out->value() / derating.expected);
  return out;
}

absl::StatusOr<absl::optional<BytesPerSecond>> CopyRateOf(const DeviceModel& curves) {
  absl::optional<BytesPerSecond> out;
  if (const auto& copy = curves.calibration().memory_copy(); copy.has_value()) {
    out = BytesPerSecond(copy->per_second);
    return out;
  }
  SEXTANT_ASSIGN_OR_RETURN(const StreamPredictor* const streams, curves.Streams(DataType::kBf16));
  if (streams == nullptr) return out;
  const StreamWork copy = {.read_bytes = kCopyBytes, .written_bytes = kCopyBytes};
  out = BytesPerSecond(copy.bytes() /
                       streams->Predict(copy, StreamKind::kElementwise).expected.value());
  return out;
}

Derating DeratingBetween(FlopsPerSecond burst, FlopsPerSecond sustained,
                         const std::string& origin) {
  const double factor = std::max(1.0, Ratio(burst, sustained));
  return {.low = factor,
          .expected = factor,
          .high = factor,
          .citation = absl::StrCat("a burst over a second of products, both by ", origin)};
}

absl::StatusOr<DeviceScales> ScalesOf(const KnownRates& rates, const DeviceModel& curves) {
  DeviceScales out;
  SEXTANT_ASSIGN_OR_RETURN(const auto burst, BurstOf(curves, DataType::kBf16));
  SEXTANT_ASSIGN_OR_RETURN(const auto sustained, SustainedOf(curves, DataType::kBf16));
  if (!burst.has_value()) {
    return absl::InvalidArgumentError("nothing is known of the product's multiplications in bf16");
  }
  out.wide.work = rates.bf16_burst.has_value() ? Ratio(*burst, *rates.bf16_burst)
                                               : Ratio(*sustained, *rates.bf16_sustained);
  if (rates.bf16_burst.has_value() && rates.bf16_sustained.has_value()) {
    out.wide_derating = DeratingBetween(*rates.bf16_burst, *rates.bf16_sustained, rates.origin);
  }
  if (rates.memory_copy.has_value()) {
    SEXTANT_ASSIGN_OR_RETURN(const auto copy, CopyRateOf(curves));
    if (copy.has_value()) out.wide.bytes = Ratio(*copy, *rates.memory_copy);
  }
  out.narrow = out.wide;
  if (rates.fp8_sustained.has_value()) {
    SEXTANT_ASSIGN_OR_RETURN(const auto fp8, SustainedOf(curves, DataType::kFp8E4m3));
    if (fp8.has_value()) out.narrow.work = Ratio(*fp8, *rates.fp8_sustained);
  }
  return out;
}

// A device's memory as its driver reports it, else by the datasheet; 0: neither is known.
Bytes MemoryOf(const Accelerator& accelerator) {
  const DatasheetValue& reported = accelerator.reported_memory_bytes;
  return Bytes(static_cast<int64_t>(reported ? reported.value : accelerator.memory_bytes.value));
}

// The identity of the device and its rates as a probe's calibration has them.
class Identity {
 public:
  Identity(const KnownRates& rates, const DeviceModel& curves, const DeviceScales& scales)
      : rates_(rates), curves_(curves), scales_(scales) {
    out_.uuid = rates.uuid;
    out_.hostname = rates.hostname;
    out_.product_name = rates.product_name;
    out_.accelerator = rates.accelerator;
    out_.memory = rates.memory.value_or(MemoryOf(*rates.accelerator));
    out_.measured_unix_seconds = rates.measured_unix_seconds;
    out_.probe_version = rates.origin;
  }

  absl::StatusOr<DeviceCalibration> Take() {
    Add(DataType::kBf16, rates_.bf16_burst, false);
    Add(DataType::kBf16, rates_.bf16_sustained, true);
    Add(DataType::kFp8E4m3, rates_.fp8_sustained, true);
    for (const DataType type :
         {DataType::kFp16, DataType::kTf32, DataType::kFp32, DataType::kFp8E4m3, DataType::kFp8,
          DataType::kFp8E5m2, DataType::kMxfp8, DataType::kMxfp4, DataType::kNvfp4}) {
      SEXTANT_RETURN_IF_ERROR(AddScaled(type));
    }
    if (rates_.memory_copy.has_value()) {
      out_.ConsiderPass(StreamPattern::kCopy, {.per_second = rates_.memory_copy->value(),
                                               .array_bytes = kCopyBytes,
                                               .stable = rates_.stable});
    }
    out_.fingerprint = FingerprintOfAll();
    return std::move(out_);
  }

 private:
  void Add(DataType type, const absl::optional<FlopsPerSecond>& rate, bool sustained) {
    if (!rate.has_value()) return;
    out_.KeepIfBetter(
        {.data_type = type, .rate = *rate, .stable = rates_.stable, .sustained = sustained});
  }

  // The curves' rate in a long run, where the device's own is not known.
  absl::Status AddScaled(DataType type) {
    if (out_.MatmulIn(type) != nullptr) return absl::OkStatus();
    SEXTANT_ASSIGN_OR_RETURN(const auto sustained, SustainedOf(curves_, type));
    if (!sustained.has_value()) return absl::OkStatus();
    const double ratio = scales_.Of(type).work;
    out_.KeepIfBetter({.data_type = type,
                       .rate = FlopsPerSecond(sustained->value() / ratio),
                       .stable = rates_.stable,
                       .sustained = true,
                       .engine = absl::StrCat("computed from that of its product over ", ratio)});
    return absl::OkStatus();
  }

  std::string FingerprintOfAll() const {
    Fingerprint fingerprint;
    fingerprint.Add(out_.uuid);
    fingerprint.Add(static_cast<double>(out_.measured_unix_seconds));
    fingerprint.Add(static_cast<double>(out_.memory.value()));
    for (const MeasuredMatmul& matmul : out_.matmuls) fingerprint.Add(matmul.rate.value());
    for (const MeasuredMatmul& burst : out_.bursts) fingerprint.Add(burst.rate.value());
    if (rates_.memory_copy.has_value()) fingerprint.Add(rates_.memory_copy->value());
    return fingerprint.ToString();
  }

  const KnownRates& rates_;
  const DeviceModel& curves_;
  const DeviceScales& scales_;
  DeviceCalibration out_;
};

std::vector<MeasuredHostCopy> HostCopiesOf(const KnownRates& rates) {
  std::vector<MeasuredHostCopy> out;
  const auto add = [&out](HostCopyDirection direction, const auto& rate) {
    if (!rate.has_value()) return;
    out.push_back({.direction = direction,
                   .bytes = kCopyBytes,
                   .time = Seconds(static_cast<double>(kCopyBytes) / rate->value())});
  };
  add(HostCopyDirection::kToDevice, rates.copy_to_device);
  add(HostCopyDirection::kFromDevice, rates.copy_from_device);
  return out;
}

// Points of bf16 products, the most that a plan's time depends on.
size_t PointCount(const DeviceModel& model) {
  for (const MeasuredMatmulPoints& of_type : model.kernels().matmuls) {
    if (of_type.data_type == DataType::kBf16) return of_type.matmuls.size();
  }
  return 0;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const DeviceModel>> DeviceOfRates(
    const KnownRates& rates, std::shared_ptr<const DeviceModel> curves) {
  if (curves->accelerator() != rates.accelerator) {
    return absl::InvalidArgumentError("the curves are of another product");
  }
  SEXTANT_RETURN_IF_ERROR(Check(rates));
  SEXTANT_ASSIGN_OR_RETURN(DeviceScales scales, ScalesOf(rates, *curves));
  SEXTANT_ASSIGN_OR_RETURN(DeviceCalibration identity, Identity(rates, *curves, scales).Take());
  return std::make_shared<const DeviceModel>(std::move(curves), std::move(scales),
                                             std::move(identity), HostCopiesOf(rates));
}

std::shared_ptr<const DeviceModel> BestCurvesOf(
    const Accelerator& accelerator, absl::Span<const std::shared_ptr<const DeviceModel>> measured) {
  std::shared_ptr<const DeviceModel> best;
  size_t most = kMinMatmulPoints - 1;
  for (const std::shared_ptr<const DeviceModel>& model : measured) {
    if (model->accelerator() != &accelerator || PointCount(*model) <= most) continue;
    most = PointCount(*model);
    best = model;
  }
  if (best != nullptr) return best;
  // The process owns it.
  return {std::shared_ptr<const DeviceModel>(), &DeviceModel::OfProduct(accelerator)};
}

}  // namespace sextant
