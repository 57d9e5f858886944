// Finds the fewest devices by galloping and bisection over numbers of servers. Powers of two are
// tried until one is large enough (Gallop()); the interval below it is halved (Bisect()). Being
// large enough is not monotonic, since a batch may divide among 48 ranks and not among 64, so the
// next kNeighbours numbers are tried as well, and divisors of the batch where a power of two has no
// layout (TryDivisors()). Other objectives compare further numbers afterwards (Compare()).
//
// Each number is planned or searched once, in O(log n) tries for n servers plus a constant number,
// which kMaxGalloped, kMaxTried and kMaxCompared limit.
#include "engine/search/size_cluster.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "engine/run/plan.h"
#include "engine/run/resolve.h"

namespace sextant {
namespace {

// Numbers of servers that are tried below the fewest found, and above where those cost too much.
constexpr int64_t kNeighbourCounts = 3;
// Numbers after which those that divide the batch are no longer tried.
constexpr size_t kMaxGalloped = 45;
// Numbers after which those next to the fewest found are no longer tried.
constexpr size_t kMaxTried = 70;
// Numbers of servers up to which all are tried where others than the fewest may be the best;
// beyond, the numbers after which no further ones are.
constexpr int64_t kFewServers = 32;
constexpr size_t kMaxCompared = 120;

// Tries numbers of devices of one run, each once.
class ClusterSizer {
 public:
  ClusterSizer(RunSpec run, ClusterQuestion question, CallWork& work)
      : run_(std::move(run)),
        max_devices_(question.max_devices),
        objective_(question.objective),
        work_(work) {
    out_.basis = BasisOfRun(run_);
  }

  absl::StatusOr<ClusterSize> Size(FieldViolations found) {
    SEXTANT_RETURN_IF_ERROR(FindServer(std::move(found)));
    SEXTANT_RETURN_IF_ERROR(FindLeast());
    SEXTANT_RETURN_IF_ERROR(Search());
    if (objective_ != SizeObjective::kDevices) SEXTANT_RETURN_IF_ERROR(Compare());
    SEXTANT_RETURN_IF_ERROR(Choose());
    return std::move(out_);
  }

 private:
  using Goal = bool (*)(const SizedRun&);

  // Fits, in time: what more devices help with.
  static bool IsLargeEnough(const SizedRun& run) {
    return run.misses == SizeLimit::kNone || run.misses == SizeLimit::kBudget;
  }
  static bool Meets(const SizedRun& run) { return run.misses == SizeLimit::kNone; }

  // Checks the run's fields, and finds out what its servers are and whether they have a network:
  // without one, a step on several has no time.
  absl::Status FindServer(FieldViolations found) {
    run_.cluster.device_count = std::max<int64_t>(1, named_);
    run_.options.search =
        out_.basis == SizeBasis::kLayouts ? SearchExtent::kBounded : SearchExtent::kNone;
    SEXTANT_ASSIGN_OR_RETURN(one_, Resolve(run_, std::move(found), work_));
    known_ = one_.Known({.layout = true, .device_count = true});
    if (objective_ == SizeObjective::kEnergy && !one_.device_power.has_value()) {
      return InvalidField("economics.device_power_watts",
                          "is required for the least energy: the power of the device is not known");
    }
    if (one_.node != nullptr) out_.server_devices = one_.node->device_count;
    if (out_.basis == SizeBasis::kStateAlone) {
      // No exchange is timed, so that no network is needed.
      const NetworkRequest& network = run_.cluster.network;
      if (network.name.empty() && network.bytes_per_second == 0) run_.cluster.node_type = "";
      return absl::OkStatus();
    }
    RunSpec several = run_;
    several.cluster.device_count = 2 * out_.server_devices;
    const absl::StatusOr<ResolvedRun> two = one_.With(several, {.device_count = true}, work_);
    out_.network_known = two.ok() && two->network.has_value();
    if (!out_.network_known) max_devices_ = std::min(max_devices_, out_.server_devices);
    return absl::OkStatus();
  }

  // The devices whose peak alone, without any loss, is fast enough; without a layout also those
  // whose memory holds all that is counted (FitOf()). Under a layout gradients may be freed and
  // state offloaded, so that no such bound holds.
  absl::Status FindLeast() {
    RunSpec alone = run_;
    alone.layout.reset();
    alone.measured_step.reset();
    alone.interruptions = {};
    alone.options.search = SearchExtent::kNone;
    alone.options.require_activations = false;
    alone.economics.seconds_to_deadline.reset();
    SEXTANT_ASSIGN_OR_RETURN(const Plan plan,
                             PlanRun(alone, {}, work_, one_.Known({.layout = true})));
    out_.least = run_.cluster.device_count;
    if (out_.basis == SizeBasis::kStateAlone) {
      memory_least_ = plan.fit.minimum_device_count;
      out_.least = std::max(out_.least, memory_least_);
    }
    const TimeEstimate* const bound = plan.estimate(EstimateKind::kLowerBound);
    const absl::optional<double> deadline = run_.economics.seconds_to_deadline;
    if (bound == nullptr || !deadline.has_value()) return absl::OkStatus();
    const double devices =
        bound->duration.value() * static_cast<double>(run_.cluster.device_count) / *deadline;
    // A little fewer: the quotient is rounded.
    const double least = std::min(std::ceil(devices * (1 - 1e-12)), double{kMaxDevices} + 1);
    out_.least = std::max(out_.least, static_cast<int64_t>(least));
    return absl::OkStatus();
  }

  // True where `devices` reach `goal`; those below `least` don't and are not tried.
  absl::StatusOr<bool> Reaches(int64_t devices, Goal goal) {
    if (devices < out_.least || devices > max_devices_) return false;
    if (out_.tried.count(devices) == 0) {
      RunSpec run = run_;
      run.cluster.device_count = devices;
      // The first run's errors are the request's.
      const auto try_run = out_.tried.empty() ? TryRun : TryCheckedRun;
      SEXTANT_ASSIGN_OR_RETURN(SizedRun sized, try_run(std::move(run), work_, known_));
      out_.tried.emplace(devices, std::move(sized));
      KeepPlanOfAnswer(devices);
    }
    return goal(out_.tried.at(devices));
  }

  // Drops the plan of `devices`, which were tried last, or the one that was kept.
  void KeepPlanOfAnswer(int64_t devices) {
    const int64_t best = Best();
    const int64_t answer = best > 0 ? best : Nearest();
    for (const int64_t each : {devices, planned_}) {
      if (each != 0 && each != answer) out_.tried.at(each).plan.reset();
    }
    planned_ = answer;
  }

  absl::Status Search() {
    const int64_t most = max_devices_ / out_.server_devices;  // servers
    SEXTANT_ASSIGN_OR_RETURN(int64_t enough, Gallop(most));
    SEXTANT_ASSIGN_OR_RETURN(enough, TryDivisors(enough, most));
    if (enough > 1) return Bisect(enough, most);
    return enough == 1 || most == 0 ? WithinServer() : absl::OkStatus();
  }

  // The first power of two servers, or `most`, that is large enough; 0: none is.
  absl::StatusOr<int64_t> Gallop(int64_t most) {
    for (int64_t servers = 1; servers <= most; servers *= 2) {
      SEXTANT_ASSIGN_OR_RETURN(const bool enough,
                               Reaches(servers * out_.server_devices, IsLargeEnough));
      if (enough) return servers;
    }
    if (most < 1) return 0;
    SEXTANT_ASSIGN_OR_RETURN(const bool enough, Reaches(most * out_.server_devices, IsLargeEnough));
    return enough ? most : 0;
  }

  // `enough` servers are, and the largest power of two below is not: halves the difference until
  // neighbours differ. Then those next to it.
  absl::Status Bisect(int64_t enough, int64_t most) {
    int64_t low = 1;
    while (2 * low < enough) low *= 2;
    while (low + 1 < enough) {
      const int64_t middle = low + (enough - low) / 2;
      SEXTANT_ASSIGN_OR_RETURN(const bool is, Reaches(middle * out_.server_devices, IsLargeEnough));
      (is ? enough : low) = middle;
    }
    for (int64_t less = enough - 1; less >= std::max<int64_t>(1, enough - 1 - kNeighbourCounts);
         --less) {
      if (out_.tried.size() >= kMaxTried) break;
      SEXTANT_ASSIGN_OR_RETURN(const bool is, Reaches(less * out_.server_devices, IsLargeEnough));
      if (is) enough = less;
    }
    SEXTANT_ASSIGN_OR_RETURN(const bool meets, Reaches(enough * out_.server_devices, Meets));
    for (int64_t more = 1; !meets && more <= kNeighbourCounts && enough + more <= most; ++more) {
      SEXTANT_RETURN_IF_ERROR(Try(enough + more));
    }
    return absl::OkStatus();
  }

  absl::Status WithinServer() {
    int64_t devices = 1;
    while (2 * devices < out_.server_devices) devices *= 2;
    for (; devices >= 1; devices /= 2) {
      SEXTANT_RETURN_IF_ERROR(Reaches(devices, Meets).status());
    }
    return absl::OkStatus();
  }

  // Some powers of two below `enough` may have no layout, mostly because the batch does not divide
  // among their ranks. Then tries the divisors of the batch and the numbers half-way between two
  // powers, from the last number that has a layout and is too small up to `enough`. Returns the
  // first that is large enough, else `enough` (0: none is).
  absl::StatusOr<int64_t> TryDivisors(int64_t enough, int64_t most) {
    int64_t low = 0;
    bool skipped = false;
    for (const auto& [devices, sized] : out_.tried) {
      const int64_t servers = devices / out_.server_devices;
      if (enough > 0 && servers >= enough) break;
      skipped = skipped || sized.misses == SizeLimit::kLayout;
      if (sized.misses != SizeLimit::kLayout) low = servers;
    }
    if (!skipped) return enough;
    const int64_t batch = *run_.layout->global_batch_size;
    const int64_t end = enough > 0 ? enough : most + 1;
    for (int64_t servers = low + 1; servers < end && out_.tried.size() < kMaxGalloped; ++servers) {
      if (batch % servers != 0 && !IsRound(servers)) continue;
      SEXTANT_ASSIGN_OR_RETURN(const bool is,
                               Reaches(servers * out_.server_devices, IsLargeEnough));
      if (is) return servers;
    }
    return enough;
  }

  // The quantity to minimise.
  double FigureOf(int64_t devices, const SizedRun& run) const {
    switch (objective_) {
      case SizeObjective::kTime:
        return run.elapsed->value();
      case SizeObjective::kCost:
        return run.cost->value();
      case SizeObjective::kEnergy:
        return run.energy->value();
      case SizeObjective::kDevices:
        break;
    }
    return static_cast<double>(devices);
  }

  // The best of the numbers that meet everything; of equal ones the fewest. 0: none does.
  int64_t Best() const {
    int64_t out = 0;
    double least = 0;
    for (const auto& [devices, sized] : out_.tried) {
      if (!Meets(sized)) continue;
      const double figure = FigureOf(devices, sized);
      if (out != 0 && figure >= least) continue;
      out = devices;
      least = figure;
    }
    return out;
  }

  // The nearest miss.
  int64_t Nearest() const {
    return std::min_element(
               out_.tried.begin(), out_.tried.end(),
               [](const auto& a, const auto& b) { return IsNearer(a.second, b.second); })
        ->first;
  }

  // Tries numbers that may be better than the fewest.
  absl::Status Compare() {
    SEXTANT_RETURN_IF_ERROR(WithinServer());
    const int64_t most = max_devices_ / out_.server_devices;  // servers
    if (most < 1) return absl::OkStatus();
    SEXTANT_RETURN_IF_ERROR(Try(most));
    const int64_t batch = out_.basis == SizeBasis::kLayouts ? *run_.layout->global_batch_size : 0;
    for (int64_t servers = 1; servers < most && out_.tried.size() < kMaxCompared; ++servers) {
      const bool divides = batch > 0 && batch % servers == 0;
      if (most <= kFewServers || divides || IsRound(servers)) SEXTANT_RETURN_IF_ERROR(Try(servers));
    }
    // Those next to the best, until it has no better neighbour.
    for (int64_t before = 0, best = Best(); best != before && out_.tried.size() < kMaxCompared;) {
      before = best;
      const int64_t servers = best / out_.server_devices;
      for (int64_t i = std::max<int64_t>(1, servers - kNeighbourCounts);
           i <= std::min(most, servers + kNeighbourCounts); ++i) {
        SEXTANT_RETURN_IF_ERROR(Try(i));
      }
      best = Best();
    }
    return absl::OkStatus();
  }

  // A power of two, or half-way between two of them.
  static bool IsRound(int64_t servers) {
    const auto number = static_cast<uint64_t>(servers);
    return std::has_single_bit(number) || (number % 3 == 0 && std::has_single_bit(number / 3));
  }

  absl::Status Try(int64_t servers) {
    return Reaches(servers * out_.server_devices, Meets).status();
  }

  // The best that meets everything; else the nearest miss, which without any try is the most.
  absl::Status Choose() {
    if (const int64_t best = Best(); best > 0) {
      out_.met = true;
      out_.device_count = best;
      out_.figure = FigureOf(best, out_.tried.at(best));
      out_.limit = LimitBelow(best);
      return absl::OkStatus();
    }
    if (out_.tried.empty()) {
      RunSpec run = run_;
      run.cluster.device_count = std::max(max_devices_, run_.cluster.device_count);
      SEXTANT_ASSIGN_OR_RETURN(SizedRun sized, TryRun(run, work_, known_));
      out_.tried.emplace(run.cluster.device_count, std::move(sized));
    }
    out_.device_count = Nearest();
    out_.limit = out_.sized().misses;
    return absl::OkStatus();
  }

  // The limit that the largest number below `devices` with a layout misses.
  SizeLimit LimitBelow(int64_t devices) const {
    SizeLimit out = SizeLimit::kNone;
    for (auto below = out_.tried.lower_bound(devices); below != out_.tried.begin();) {
      out = (--below)->second.misses;
      if (out != SizeLimit::kLayout) return out;
    }
    if (out_.least <= std::max<int64_t>(1, named_)) return out;
    return out_.least == memory_least_ ? SizeLimit::kMemory : SizeLimit::kDeadline;
  }

  RunSpec run_;
  ResolvedRun one_;   // run_ on as few devices as it names
  KnownParts known_;  // of run_ on any number of devices
  int64_t max_devices_;
  const SizeObjective objective_;
  CallWork& work_;
  const int64_t named_ = static_cast<int64_t>(run_.cluster.device.named_count());
  int64_t memory_least_ = 1;
  int64_t planned_ = 0;  // the tried number whose plan is kept
  ClusterSize out_;
};

}  // namespace

absl::StatusOr<ClusterSize> FindClusterSize(const RunSpec& run, ClusterQuestion question,
                                            FieldViolations found, CallWork& work) {
  const auto named = static_cast<int64_t>(run.cluster.device.named_count());
  if (question.max_devices >= 1 && question.max_devices < named) {
    found.Add("max_device_count", absl::StrCat("must be at least ", named,
                                               ", as many as the devices that the run names"));
  }
  if (question.objective == SizeObjective::kCost &&
      !run.economics.device_hour_price_usd.has_value()) {
    found.Add("economics.device_hour_price_usd", "is required for the least cost");
  }
  CheckSizedLayout(run, found);
  return ClusterSizer(run, question, work).Size(std::move(found));
}

}  // namespace sextant
