#include "server/convert/check_kernels.h"

#include <set>
#include <string>
#include <tuple>

#include "absl/strings/str_format.h"
#include "engine/hardware/kernels/check_attention.h"
#include "engine/hardware/kernels/kernel_limits.h"
#include "engine/hardware/links/collective_points.h"
#include "engine/hardware/reported_names.h"
#include "server/convert/annotate_calibration.h"
#include "server/convert/measured_kernels.h"
#include "server/convert/measurement_checker.h"

namespace sextant {
namespace {

constexpr FieldViolations::RealRange kKernelSeconds = {
    .low = 0, .high = kMostKernelSeconds, .above_low = true};
constexpr FieldViolations::RealRange kCollectiveSeconds = {.low = kLeastCollectiveSeconds,
                                                           .high = kMostCollectiveSeconds};
// Of a forward pass: five products of matrices, not two (AttentionMeasurement).
constexpr double kBackwardFlops = 2.5;

// What `work` can't be faster than.
struct PhysicalLimit {
  absl::optional<double> rate = {};  // of the datasheet; absent: not known
  const char* unit = "";
  const char* what = "";  // it is of
};

class KernelChecker : private MeasurementChecker {
 public:
  KernelChecker(const v1::Calibration& calibration, const MessagePath& path,
                FieldViolations& violations)
      : MeasurementChecker(violations),
        calibration_(calibration),
        path_(path),
        violations_(violations),
        accelerator_(AcceleratorReportedAs(calibration.device().product_name())) {}

  void Check() {
    const auto check = [this](const MessagePath& path, const auto& m) { Sound(path, m); };
    Each(path_, "attentions", calibration_.attentions(), check);
    Each(path_, "experts", calibration_.experts(), check);
    Each(path_, "collectives", calibration_.collectives(), check);
    Each(path_, "host_copies", calibration_.host_copies(), check);
  }

 private:
  void Of(const MessagePath& path, const v1::AttentionMeasurement& m);
  void Of(const MessagePath& path, const v1::ExpertsMeasurement& m);
  void Of(const MessagePath& path, const v1::CollectiveMeasurement& m);
  void Of(const MessagePath& path, const v1::HostCopyMeasurement& m);

  // What can only be said of one whose fields make sense.
  void Whole(const MessagePath& path, const v1::AttentionMeasurement& m);
  void Whole(const MessagePath& path, const v1::ExpertsMeasurement& m);
  void Whole(const MessagePath& path, const v1::CollectiveMeasurement& m);
  void Whole(const MessagePath& path, const v1::HostCopyMeasurement& m);

  template <typename Measurement>
  void Sound(const MessagePath& path, const Measurement& m) {
    const size_t faults_before = violations_.all().size();
    Of(path, m);
    if (violations_.all().size() == faults_before) Whole(path, m);
  }

  void Sizes(const MessagePath& path,
             std::initializer_list<std::pair<absl::string_view, int64_t>> sizes) {
    for (const auto& [name, size] : sizes) check_.Whole({path, name}, size, 1, kMaxCount);
  }

  template <typename Measurement>
  void TimeWithin(const MessagePath& path, const Measurement& m,
                  FieldViolations::RealRange seconds) {
    Time(path, "time", m.has_time(), m.time());
    const MessagePath time(path, "time");
    // Outside kSeconds it is at fault already.
    if (m.time().median_seconds() > 0 && m.time().median_seconds() <= kSeconds.high) {
      check_.Real({time, "median_seconds"}, m.time().median_seconds(), seconds);
    }
  }

  template <typename Key>
  void Once(const MessagePath& path, const Key& key, std::set<Key>& seen) {
    if (seen.insert(key).second) return;
    check_.Fault({path, ""}, "is of the same work as an earlier one: give one measurement of each");
  }

  // `rate` follows from `time` of the message at `path`.
  void Below(const PhysicalLimit& limit, const MessagePath& path, double rate) {
    if (!limit.rate.has_value() || rate <= kMostOfPeak * *limit.rate) return;
    const MessagePath time(path, "time");
    check_.Fault({time, "median_seconds"},
                 absl::StrFormat("is too short: %.4g %s, above the %s of this product, %.4g %s; "
                                 "measure again",
                                 rate, limit.unit, limit.what, *limit.rate, limit.unit));
  }

  PhysicalLimit PeakIn(v1::DataType type) const {
    return {.rate = DatasheetPeakFlopsPerSecond(accelerator_, type),
            .unit = "FLOP/s",
            .what = "dense peak"};
  }

  // All bytes that leave or reach a device pass its memory.
  PhysicalLimit MemoryBandwidth() const {
    PhysicalLimit out = {.unit = "B/s", .what = "memory bandwidth"};
    if (accelerator_ != nullptr && accelerator_->memory_bandwidth_bytes_per_second) {
      out.rate = accelerator_->memory_bandwidth_bytes_per_second.value;
    }
    return out;
  }

  using AttentionKey =
      std::tuple<int, int, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, bool, int64_t>;
  using ExpertsKey = std::tuple<int, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, bool>;

  const v1::Calibration& calibration_;
  const MessagePath& path_;
  FieldViolations& violations_;
  const Accelerator* const accelerator_;  // null: not in the catalogue
  std::set<AttentionKey> attentions_;
  std::set<ExpertsKey> experts_;
  std::set<std::tuple<int, int64_t, int64_t>> collectives_;
  std::set<std::tuple<int, bool, int64_t>> host_copies_;
};

void KernelChecker::Of(const MessagePath& path, const v1::AttentionMeasurement& m) {
  Type(path, m.data_type());
  check_.Enum({path, "pass"}, m.pass(), v1::AttentionMeasurement::Pass_IsValid(m.pass()));
  Sizes(path, {{"batch", m.batch()},
               {"sequence_length", m.sequence_length()},
               {"heads", m.heads()},
               {"kv_heads", m.kv_heads()},
               {"head_size", m.head_size()},
               {"value_head_size", m.value_head_size()}});
  check_.Whole({path, "window"}, m.window(), 0, kMaxCount);
  if (m.kv_heads() >= 1 && m.heads() >= 1 && m.heads() % m.kv_heads() != 0) {
    check_.Fault({path, "kv_heads"}, "must divide heads");
  }
  TimeWithin(path, m, kKernelSeconds);
  const double passes = m.pass() == v1::AttentionMeasurement::PASS_BACKWARD ? kBackwardFlops : 1;
  RateOf({path, "flops_per_second"}, m.flops_per_second(),
         passes * AttentionFlops(ShapeFrom(m)) / m.time().median_seconds());
  Name({path, "engine"}, m.engine());
}

void KernelChecker::Whole(const MessagePath& path, const v1::AttentionMeasurement& m) {
  Once(path,
       AttentionKey(m.data_type(), m.pass(), m.batch(), m.sequence_length(), m.heads(),
                    m.kv_heads(), m.head_size(), m.value_head_size(), m.causal(), m.window()),
       attentions_);
  const double passes = m.pass() == v1::AttentionMeasurement::PASS_BACKWARD ? kBackwardFlops : 1;
  Below(PeakIn(m.data_type()), path,
        passes * LeastAttentionFlops(ShapeFrom(m)) / m.time().median_seconds());
}

void KernelChecker::Of(const MessagePath& path, const v1::ExpertsMeasurement& m) {
  Type(path, m.data_type());
  Sizes(path, {{"tokens", m.tokens()},
               {"hidden_size", m.hidden_size()},
               {"feed_forward_size", m.feed_forward_size()},
               {"expert_count", m.expert_count()},
               {"experts_per_token", m.experts_per_token()},
               {"expert_parallel_size", m.expert_parallel_size()}});
  if (m.experts_per_token() > m.expert_count()) {
    check_.Fault({path, "experts_per_token"}, "must not exceed expert_count");
  }
  if (m.expert_parallel_size() >= 1 && m.expert_count() % m.expert_parallel_size() != 0) {
    check_.Fault({path, "expert_parallel_size"}, "must divide expert_count");
  }
  TimeWithin(path, m, kKernelSeconds);
  RateOf({path, "flops_per_second"}, m.flops_per_second(),
         GroupedGemmFlops(ShapeFrom(m)) / m.time().median_seconds());
  Name({path, "engine"}, m.engine());
}

void KernelChecker::Whole(const MessagePath& path, const v1::ExpertsMeasurement& m) {
  Once(path,
       ExpertsKey(m.data_type(), m.tokens(), m.hidden_size(), m.feed_forward_size(),
                  m.expert_count(), m.experts_per_token(), m.expert_parallel_size(), m.gated()),
       experts_);
  Below(PeakIn(m.data_type()), path, m.flops_per_second());
}

void KernelChecker::Of(const MessagePath& path, const v1::CollectiveMeasurement& m) {
  check_.Enum({path, "operation"}, m.operation(), v1::CollectiveOperation_IsValid(m.operation()));
  check_.Whole({path, "rank_count"}, m.rank_count(), 2, kMostCollectiveRanks);
  check_.Whole({path, "size_bytes"}, m.size_bytes(), 1, kMostCollectiveBytes);
  TimeWithin(path, m, kCollectiveSeconds);
  const double wire_bytes = WireShare(CollectiveOpFrom(m.operation()), m.rank_count()) *
                            static_cast<double>(m.size_bytes());
  RateOf({path, "bus_bytes_per_second"}, m.bus_bytes_per_second(),
         wire_bytes / m.time().median_seconds());
  Name({path, "engine"}, m.engine());
}

void KernelChecker::Whole(const MessagePath& path, const v1::CollectiveMeasurement& m) {
  Once(path, {m.operation(), m.rank_count(), m.size_bytes()}, collectives_);
  Below(MemoryBandwidth(), path, m.bus_bytes_per_second());
}

void KernelChecker::Of(const MessagePath& path, const v1::HostCopyMeasurement& m) {
  check_.Enum({path, "direction"}, m.direction(),
              v1::HostCopyMeasurement::Direction_IsValid(m.direction()));
  check_.Whole({path, "size_bytes"}, m.size_bytes(), 1, kMaxBytes);
  TimeWithin(path, m, kKernelSeconds);
  RateOf({path, "bytes_per_second"}, m.bytes_per_second(),
         static_cast<double>(m.size_bytes()) / m.time().median_seconds());
}

void KernelChecker::Whole(const MessagePath& path, const v1::HostCopyMeasurement& m) {
  Once(path, {m.direction(), m.pageable(), m.size_bytes()}, host_copies_);
  Below(MemoryBandwidth(), path, m.bytes_per_second());
}

}  // namespace

void CheckKernelMeasurements(const v1::Calibration& calibration, const MessagePath& path,
                             FieldViolations& violations) {
  KernelChecker(calibration, path, violations).Check();
}

}  // namespace sextant
