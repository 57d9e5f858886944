#include "proto/check/kernels.h"

#include <cmath>
#include <initializer_list>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_format.h"

namespace sextant::check {
namespace {

constexpr RealRange kKernelSeconds = {.low = 0, .high = 86400, .above_low = true};
// No call returns within 100 ns, and a link's measurement does not last an hour. 1 TB in one
// message and 1e6 ranks exceed all known runs.
constexpr RealRange kCollectiveSeconds = {.low = 1e-7, .high = 3600};
constexpr int64_t kMaxCollectiveRanks = 1'000'000;
constexpr int64_t kMaxCollectiveBytes = 1'000'000'000'000;
// Largest plausible share of the datasheet's peak: that of an H100 is stated at 1830 MHz, and it
// runs at 1980 (8 % more); timers of a burst of milliseconds are accurate to 2 %.
constexpr double kMaxOfPeak = 1.10;
// Relative to a forward pass: five products of matrices instead of two (AttentionMeasurement).
constexpr double kBackwardFlops = 2.5;

// The pairs of query and key that one head of one sequence attends to. w is the window, or the
// sequence s without a window:
//   not causal: s w
//   causal, sliding window for each token: w (w + 1) / 2 + (s - w) w
//   causal, the sequence cut into windows: w (w + 1) / 2 for every whole window, the same formula
//   for the rest
struct AttendedPairs {
  double sliding = 0;
  double chunked = 0;  // the fewest pairs that a window leaves
};

AttendedPairs PairsOf(const v1::AttentionMeasurement& m) {
  const auto triangle = [](double side) { return side * (side + 1) / 2; };
  const auto sequence = static_cast<double>(m.sequence_length());
  const bool windowed = m.window() > 0 && m.window() < m.sequence_length();
  const double window = windowed ? static_cast<double>(m.window()) : sequence;
  if (!m.causal()) return {.sliding = sequence * window, .chunked = sequence * window};
  const double chunks = std::floor(sequence / window);
  return {.sliding = triangle(window) + (sequence - window) * window,
          .chunked = chunks * triangle(window) + triangle(sequence - chunks * window)};
}

// Two products of matrices, a multiplication and an addition each, for every pair and head. Sizes
// become doubles first: products of 2^40 each overflow an int64.
double ForwardFlops(const v1::AttentionMeasurement& m, const AttendedPairs& pairs) {
  return 2 * (static_cast<double>(m.head_size()) + static_cast<double>(m.value_head_size())) *
         static_cast<double>(m.batch()) * static_cast<double>(m.heads()) * pairs.sliding;
}

// The FLOPs of the pass of `m`, in forward passes.
double PassesOf(const v1::AttentionMeasurement& m) {
  return m.training_pass() == v1::AttentionMeasurement::PASS_BACKWARD ? kBackwardFlops : 1;
}

// 2 FLOPs for each weight and row of this device's share of the experts.
double FlopsOf(const v1::ExpertsMeasurement& m) {
  const double rows = static_cast<double>(m.tokens()) * static_cast<double>(m.experts_per_token()) /
                      static_cast<double>(m.expert_parallel_size());
  const double weights = (m.gated() ? 3 : 2) * static_cast<double>(m.hidden_size()) *
                         static_cast<double>(m.feed_forward_size());
  return 2 * rows * weights;
}

// The share of size_bytes that must leave, or reach, a rank: nccl-tests' doc/PERFORMANCE.md calls
// it the bus bandwidth's factor. Invalid operations count as all_reduce.
double WireShareOf(const v1::CollectiveMeasurement& m) {
  if (m.rank_count() < 2) return 0;
  const auto n = static_cast<double>(m.rank_count());
  switch (m.operation()) {
    case v1::COLLECTIVE_OPERATION_BROADCAST:
    case v1::COLLECTIVE_OPERATION_SEND_RECEIVE:
      return 1;
    case v1::COLLECTIVE_OPERATION_ALL_GATHER:
    case v1::COLLECTIVE_OPERATION_REDUCE_SCATTER:
    case v1::COLLECTIVE_OPERATION_ALL_TO_ALL:
      return (n - 1) / n;
    default:
      return 2 * (n - 1) / n;
  }
}

// A rate that a measurement can't exceed.
struct PhysicalLimit {
  absl::optional<double> rate = {};  // of the datasheet; absent: not known
  const char* unit = "";
  const char* what = "";  // the name of the limit
};

class KernelChecker {
 public:
  KernelChecker(const v1::Calibration& calibration, const MessagePath& path,
                const ProductLimits& limits, FieldChecker& check)
      : calibration_(calibration), path_(path), limits_(limits), check_(check) {}

  void Check() {
    const auto check = [this](const MessagePath& path, const auto& m) {
      CheckMeasurement(path, m);
    };
    check_.Each(path_, "attentions", calibration_.attentions(), check, kMaxFitted);
    check_.Each(path_, "experts", calibration_.experts(), check, kMaxFitted);
    check_.Each(path_, "collectives", calibration_.collectives(), check);
    check_.Each(path_, "host_copies", calibration_.host_copies(), check);
  }

 private:
  // Ten times the largest plan's. A fit takes time for each.
  static constexpr int kMaxFitted = 512;

  void CheckFields(const MessagePath& path, const v1::AttentionMeasurement& m);
  void CheckFields(const MessagePath& path, const v1::ExpertsMeasurement& m);
  void CheckFields(const MessagePath& path, const v1::CollectiveMeasurement& m);
  void CheckFields(const MessagePath& path, const v1::HostCopyMeasurement& m);

  // Checks that apply only where all fields are valid.
  void CheckPlausible(const MessagePath& path, const v1::AttentionMeasurement& m);
  void CheckPlausible(const MessagePath& path, const v1::ExpertsMeasurement& m);
  void CheckPlausible(const MessagePath& path, const v1::CollectiveMeasurement& m);
  void CheckPlausible(const MessagePath& path, const v1::HostCopyMeasurement& m);

  template <typename Measurement>
  void CheckMeasurement(const MessagePath& path, const Measurement& m) {
    const int faults_before = check_.fault_count();
    CheckFields(path, m);
    if (check_.fault_count() == faults_before) CheckPlausible(path, m);
  }

  void CheckSizes(const MessagePath& path,
                  std::initializer_list<std::pair<absl::string_view, int64_t>> sizes) {
    for (const auto& [name, size] : sizes) check_.Whole({path, name}, size, 1, kMaxCount);
  }

  template <typename Measurement>
  void CheckTime(const MessagePath& path, const Measurement& m, RealRange seconds) {
    check_.Time({path, "time"}, m.has_time(), m.time());
    const MessagePath time(path, "time");
    // A time outside kSeconds has been reported already.
    if (m.time().median_seconds() > 0 && m.time().median_seconds() <= kSeconds.high) {
      check_.Real({time, "median_seconds"}, m.time().median_seconds(), seconds);
    }
  }

  template <typename Key>
  void RejectDuplicate(const MessagePath& path, const Key& key, std::set<Key>& seen) {
    if (seen.insert(key).second) return;
    check_.Fault({path, ""}, "is of the same work as an earlier one: give one measurement of each");
  }

  // Checks `rate`, which follows from `time` of the message at `path`, against `limit`.
  void CheckLimit(const PhysicalLimit& limit, const MessagePath& path, double rate) {
    if (!limit.rate.has_value() || rate <= kMaxOfPeak * *limit.rate) return;
    const MessagePath time(path, "time");
    check_.Fault({time, "median_seconds"},
                 absl::StrFormat("is too short: %.4g %s, above the %s of this product, %.4g %s; "
                                 "measure again",
                                 rate, limit.unit, limit.what, *limit.rate, limit.unit));
  }

  PhysicalLimit PeakIn(v1::DataType type) const {
    PhysicalLimit out = {.unit = "FLOP/s", .what = "dense peak"};
    if (limits_.peak_flops_per_second) out.rate = limits_.peak_flops_per_second(type);
    return out;
  }

  // All bytes that leave or reach a device pass through its memory.
  PhysicalLimit MemoryBandwidth() const {
    return {.rate = limits_.memory_bytes_per_second, .unit = "B/s", .what = "memory bandwidth"};
  }

  using AttentionKey =
      std::tuple<int, int, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, bool, int64_t>;
  using ExpertsKey = std::tuple<int, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, bool>;

  const v1::Calibration& calibration_;
  const MessagePath& path_;
  const ProductLimits& limits_;
  FieldChecker& check_;
  std::set<AttentionKey> attentions_;
  std::set<ExpertsKey> experts_;
  std::set<std::tuple<int, int64_t, int64_t>> collectives_;
  std::set<std::tuple<int, bool, int64_t>> host_copies_;
};

void KernelChecker::CheckFields(const MessagePath& path, const v1::AttentionMeasurement& m) {
  check_.Type(path, m.data_type());
  check_.Enum({path, "training_pass"}, m.training_pass(),
              v1::AttentionMeasurement::Pass_IsValid(m.training_pass()));
  CheckSizes(path, {{"batch", m.batch()},
                    {"sequence_length", m.sequence_length()},
                    {"heads", m.heads()},
                    {"kv_heads", m.kv_heads()},
                    {"head_size", m.head_size()},
                    {"value_head_size", m.value_head_size()}});
  check_.Whole({path, "window"}, m.window(), 0, kMaxCount);
  if (m.kv_heads() >= 1 && m.heads() >= 1 && m.heads() % m.kv_heads() != 0) {
    check_.Fault({path, "kv_heads"}, "must divide heads");
  }
  CheckTime(path, m, kKernelSeconds);
  check_.Rate({path, "flops_per_second"}, m.flops_per_second(),
              PassesOf(m) * ForwardFlops(m, PairsOf(m)) / m.time().median_seconds());
  check_.Name({path, "engine"}, m.engine());
}

void KernelChecker::CheckPlausible(const MessagePath& path, const v1::AttentionMeasurement& m) {
  RejectDuplicate(
      path,
      AttentionKey(m.data_type(), m.training_pass(), m.batch(), m.sequence_length(), m.heads(),
                   m.kv_heads(), m.head_size(), m.value_head_size(), m.causal(), m.window()),
      attentions_);
  // Counts only FLOPs that no kernel can skip, so that none is refused for cutting the sequence
  // into windows.
  const AttendedPairs pairs = PairsOf(m);
  const double least_flops = ForwardFlops(m, pairs) * pairs.chunked / pairs.sliding;
  CheckLimit(PeakIn(m.data_type()), path, PassesOf(m) * least_flops / m.time().median_seconds());
}

void KernelChecker::CheckFields(const MessagePath& path, const v1::ExpertsMeasurement& m) {
  check_.Type(path, m.data_type());
  CheckSizes(path, {{"tokens", m.tokens()},
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
  CheckTime(path, m, kKernelSeconds);
  check_.Rate({path, "flops_per_second"}, m.flops_per_second(),
              FlopsOf(m) / m.time().median_seconds());
  check_.Name({path, "engine"}, m.engine());
}

void KernelChecker::CheckPlausible(const MessagePath& path, const v1::ExpertsMeasurement& m) {
  RejectDuplicate(
      path,
      ExpertsKey(m.data_type(), m.tokens(), m.hidden_size(), m.feed_forward_size(),
                 m.expert_count(), m.experts_per_token(), m.expert_parallel_size(), m.gated()),
      experts_);
  CheckLimit(PeakIn(m.data_type()), path, m.flops_per_second());
}

void KernelChecker::CheckFields(const MessagePath& path, const v1::CollectiveMeasurement& m) {
  check_.Enum({path, "operation"}, m.operation(), v1::CollectiveOperation_IsValid(m.operation()));
  check_.Whole({path, "rank_count"}, m.rank_count(), 2, kMaxCollectiveRanks);
  check_.Whole({path, "size_bytes"}, m.size_bytes(), 1, kMaxCollectiveBytes);
  CheckTime(path, m, kCollectiveSeconds);
  const double wire_bytes = WireShareOf(m) * static_cast<double>(m.size_bytes());
  check_.Rate({path, "bus_bytes_per_second"}, m.bus_bytes_per_second(),
              wire_bytes / m.time().median_seconds());
  check_.Name({path, "engine"}, m.engine());
}

void KernelChecker::CheckPlausible(const MessagePath& path, const v1::CollectiveMeasurement& m) {
  RejectDuplicate(path, {m.operation(), m.rank_count(), m.size_bytes()}, collectives_);
  CheckLimit(MemoryBandwidth(), path, m.bus_bytes_per_second());
}

void KernelChecker::CheckFields(const MessagePath& path, const v1::HostCopyMeasurement& m) {
  check_.Enum({path, "direction"}, m.direction(),
              v1::HostCopyMeasurement::Direction_IsValid(m.direction()));
  check_.Whole({path, "size_bytes"}, m.size_bytes(), 1, kMaxByteCount);
  CheckTime(path, m, kKernelSeconds);
  check_.Rate({path, "bytes_per_second"}, m.bytes_per_second(),
              static_cast<double>(m.size_bytes()) / m.time().median_seconds());
}

void KernelChecker::CheckPlausible(const MessagePath& path, const v1::HostCopyMeasurement& m) {
  RejectDuplicate(path, {m.direction(), m.pageable(), m.size_bytes()}, host_copies_);
  CheckLimit(MemoryBandwidth(), path, m.bytes_per_second());
}

}  // namespace

void CheckKernels(const v1::Calibration& calibration, const MessagePath& path,
                  const ProductLimits& limits, FieldChecker& check) {
  KernelChecker(calibration, path, limits, check).Check();
}

}  // namespace sextant::check
