#include "tests/validation/collectives_accuracy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <tuple>
#include <utility>

#include "absl/types/optional.h"
#include "engine/hardware/links/collective_model.h"
#include "engine/hardware/links/link_times.h"
#include "engine/hardware/links/node_type.h"
#include "engine/hardware/reference/reference_collectives.h"

namespace sextant {
namespace {

constexpr std::array kComparisons = {
    CollectiveComparison::kSizesNotKept, CollectiveComparison::kSmallNotKept,
    CollectiveComparison::kOtherVersions, CollectiveComparison::kHalfOfSizes};

struct Errors {
  std::vector<double> ours;
  std::vector<double> link_rate;
  int64_t inside = 0;
};

using Key = std::tuple<CollectiveComparison, std::string, CollectiveOp, std::string, int64_t>;
using ErrorsByKey = std::map<Key, Errors>;

bool IsKept(int64_t bytes) {
  const auto sizes = ReferenceCollectiveSizes();
  return std::find(sizes.begin(), sizes.end(), bytes) != sizes.end();
}

// Every other power of 2, the largest published (2^29) among them.
bool IsInHalf(int64_t bytes) { return std::bit_width(static_cast<uint64_t>(bytes)) % 2 == 0; }

bool IsCompared(CollectiveComparison comparison, bool own_version, int64_t bytes) {
  const bool large = bytes >= kLargeCollectiveBytes;
  switch (comparison) {
    case CollectiveComparison::kSizesNotKept:
      return own_version && large && !IsKept(bytes);
    case CollectiveComparison::kSmallNotKept:
      return own_version && !large && !IsKept(bytes);
    case CollectiveComparison::kOtherVersions:
      return !own_version && large;
    case CollectiveComparison::kHalfOfSizes:
      return large && !IsInHalf(bytes);
  }
  return false;
}

absl::optional<CollectiveModel> ModelOfHalf(const CollectiveTable& table) {
  std::vector<MeasuredCollective> points;
  for (const auto& [ranks, sizes] : table.samples) {
    for (const auto& [bytes, seconds] : sizes) {
      if (IsInHalf(bytes)) points.push_back({table.op, ranks, bytes, MedianOf(seconds)});
    }
  }
  absl::StatusOr<CollectiveModel> out = CollectiveModel::Make(points);
  if (!out.ok()) return absl::nullopt;
  return *std::move(out);
}

void Compare(CollectiveComparison comparison, const CollectiveTable& table,
             const CollectiveModel& model, ErrorsByKey& out) {
  const bool own = table.version == ReferenceCollectivesVersion(table.gpu);
  const std::vector<const NodeType*> nodes = NodeTypesOf(table.gpu);
  for (const auto& [ranks, sizes] : table.samples) {
    for (const auto& [bytes, samples] : sizes) {
      if (!IsCompared(comparison, own, bytes)) continue;
      const Collective call = {table.op, Bytes(bytes), ranks};
      const absl::optional<KernelTime> ours = model.TimeOf(call);
      if (!ours || nodes.empty()) continue;
      const double measured = MedianOf(samples);
      const double link_rate = LinkRateSeconds(*nodes.front(), call).value();
      for (const int64_t key_ranks : {int64_t{0}, ranks}) {
        Errors& errors = out[{comparison, table.gpu, table.op, table.version, key_ranks}];
        errors.ours.push_back(ours->expected.value() / measured - 1);
        errors.link_rate.push_back(link_rate / measured - 1);
        if (ours->low.value() <= measured && measured <= ours->high.value()) ++errors.inside;
      }
    }
  }
}

ErrorsByKey AllErrors(const CollectiveTables& published) {
  ErrorsByKey out;
  for (const CollectiveTable& table : published.tables) {
    const CollectiveModel* const reference = ReferenceCollectives(table.gpu);
    const absl::optional<CollectiveModel> half = ModelOfHalf(table);
    for (const CollectiveComparison comparison : kComparisons) {
      const bool halved = comparison == CollectiveComparison::kHalfOfSizes;
      if (halved && half) Compare(comparison, table, *half, out);
      if (!halved && reference != nullptr) Compare(comparison, table, *reference, out);
    }
  }
  return out;
}

CollectiveScore ScoreOf(const Key& key, const Errors& errors) {
  const auto& [comparison, gpu, op, version, ranks] = key;
  return {
      .comparison = comparison,
      .gpu = gpu,
      .op = op,
      .ranks = ranks,
      .version = version,
      .ours = SummaryOf(errors.ours),
      .link_rate = SummaryOf(errors.link_rate),
      .in_interval = static_cast<double>(errors.inside) / static_cast<double>(errors.ours.size())};
}

void Append(const Errors& from, Errors& to) {
  to.ours.insert(to.ours.end(), from.ours.begin(), from.ours.end());
  to.inside += from.inside;
  to.link_rate.insert(to.link_rate.end(), from.link_rate.begin(), from.link_rate.end());
}

}  // namespace

std::string CollectiveComparisonName(CollectiveComparison comparison) {
  switch (comparison) {
    case CollectiveComparison::kSizesNotKept:
      return "sizes not kept";
    case CollectiveComparison::kSmallNotKept:
      return "below 1 MiB";
    case CollectiveComparison::kOtherVersions:
      return "other versions";
    case CollectiveComparison::kHalfOfSizes:
      return "half of the sizes";
  }
  return "";
}

std::vector<CollectiveScore> ScoreCollectives(const CollectiveTables& published) {
  std::vector<CollectiveScore> out;
  for (const auto& [key, errors] : AllErrors(published)) out.push_back(ScoreOf(key, errors));
  return out;
}

std::vector<CollectiveScore> ScoreCollectivesByGpu(const CollectiveTables& published) {
  ErrorsByKey sums;
  for (const auto& [key, errors] : AllErrors(published)) {
    const auto& [comparison, gpu, op, version, ranks] = key;
    if (ranks != 0) continue;
    Append(errors, sums[{comparison, gpu, CollectiveOp::kAllReduce, "", 0}]);
    // "~" is after every name, so that all GPUs come last.
    Append(errors, sums[{comparison, "~", CollectiveOp::kAllReduce, "", 0}]);
  }
  std::vector<CollectiveScore> out;
  for (const auto& [key, errors] : sums) {
    out.push_back(ScoreOf(key, errors));
    if (out.back().gpu == "~") out.back().gpu.clear();
  }
  return out;
}

std::vector<CollectiveNoise> NoiseOf(const CollectiveTables& published) {
  using Call = std::pair<int64_t, int64_t>;  // ranks, bytes
  std::map<std::pair<std::string, CollectiveOp>, std::map<Call, std::vector<double>>> medians;
  std::map<std::pair<std::string, CollectiveOp>, std::vector<double>> repeats;
  for (const CollectiveTable& table : published.tables) {
    for (const auto& [ranks, sizes] : table.samples) {
      for (const auto& [bytes, samples] : sizes) {
        if (bytes < kLargeCollectiveBytes) continue;
        const double median = MedianOf(samples);
        medians[{table.gpu, table.op}][{ranks, bytes}].push_back(median);
        for (const double sample : samples) {
          if (samples.size() > 1) repeats[{table.gpu, table.op}].push_back(sample / median - 1);
        }
      }
    }
  }
  std::vector<CollectiveNoise> out;
  for (const auto& [key, calls] : medians) {
    std::vector<double> versions;
    for (const auto& [call, seconds] : calls) {
      const auto [fastest, slowest] = std::minmax_element(seconds.begin(), seconds.end());
      if (seconds.size() > 1) versions.push_back(*slowest / *fastest - 1);
    }
    out.push_back({key.first, key.second, SummaryOf(repeats[key]), SummaryOf(versions)});
  }
  return out;
}

}  // namespace sextant
