#include <google/protobuf/util/time_util.h>

#include <set>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/report/lines.h"
#include "client/report/memory_text.h"
#include "client/report/plan_text.h"
#include "client/report/planned_run.h"
#include "client/report/size_text.h"
#include "client/report/whole_run_text.h"
#include "client/text/layout_words.h"
#include "client/text/text.h"

namespace sextant::client {
namespace {

bool IsPriced(const v1::SizedCluster& cluster) {
  return absl::c_any_of(cluster.plan().estimates(),
                        [](const v1::TimeEstimate& e) { return e.has_cost_usd(); });
}

std::string ClusterTable(const v1::SizeClusterResponse& response) {
  using Cluster = v1::SizedCluster;
  const auto met = [](auto of) {
    return [of](const Cluster& c) -> std::string { return c.met() ? of(c) : kNoValue; };
  };
  const auto of_plan = [&met](std::string (*cell)(const v1::Plan&)) {
    return met([cell](const Cluster& c) { return cell(c.plan()); });
  };
  return TableOf<Cluster>(
             {{"product", [](const Cluster& c) { return c.accelerator(); }},
              {">devices",
               [](const Cluster& c) -> std::string {
                 return c.met() ? Grouped(c.device_count()) : c.has_status() ? "refused" : "none";
               }},
              {">servers", met([](const Cluster& c) { return Grouped(c.server_count()); })},
              {">days", of_plan(DaysCell)},
              {">dev-hours", of_plan(DeviceHoursCell)},
              {">USD", of_plan(CostCell), nullptr, absl::c_any_of(response.clusters(), IsPriced)},
              {">MFU", of_plan(MfuCell)},
              {"limit", met([](const Cluster& c) { return SizeLimitWords(c.limit()); })}},
             response.clusters())
      .Text();
}

const v1::TriedCount* FindTried(const v1::SizedCluster& cluster) {
  for (const v1::TriedCount& tried : cluster.tried()) {
    if (tried.device_count() == cluster.device_count()) return &tried;
  }
  return nullptr;
}

// "nearest of 12 numbers tried: 512 devices, deadline missed, 105.2 days".
std::string NearestMiss(const v1::SizedCluster& cluster) {
  std::string out = absl::StrCat("nearest of ", Counted(cluster.tried_size(), "number"),
                                 " tried: ", Counted(cluster.device_count(), "device"), ", ",
                                 SizeMissWords(cluster.limit()));
  const v1::TriedCount* const tried = FindTried(cluster);
  if (tried != nullptr && tried->has_elapsed_seconds()) {
    absl::StrAppend(&out, ", ", DaysText(tried->elapsed_seconds()), " days");
    if (tried->has_cost_usd()) absl::StrAppend(&out, ", ", Grouped(tried->cost_usd(), 0), " USD");
  } else if (cluster.has_plan()) {
    absl::StrAppend(&out, ", ", Gib(cluster.plan().memory().peak_bytes().expected()),
                    " on a device");
  }
  if (cluster.least_device_count() > cluster.device_count()) {
    absl::StrAppend(&out, "; fewer than ", Grouped(cluster.least_device_count()),
                    " can't be enough");
  }
  return out;
}

std::string ClusterLine(const v1::SizedCluster& cluster, FieldWords words) {
  const std::string first = absl::StrCat("  ", cluster.accelerator(), "  ");
  std::string out;
  if (cluster.has_status()) return Wrap(first, ReasonOf(cluster.status(), words), 4);
  if (!cluster.met()) out = Wrap(first, NearestMiss(cluster), 4);
  if (cluster.met() && cluster.plan().has_search()) {
    const v1::Plan& plan = cluster.plan();
    out = Wrap(first,
               absl::StrCat(Gib(plan.memory().peak_bytes().expected()), " on a device, a step of ",
                            TimeToThreeDigits(plan.step_time().seconds().expected()), ", ",
                            LayoutFlags(plan.search().chosen())),
               4);
  }
  if (cluster.basis() == v1::SIZE_BASIS_LAYOUTS && !cluster.network_known()) {
    out += Wrap(first,
                absl::StrCat("no link beyond ", Counted(cluster.server_device_count(), "device"),
                             " is known, so that this is the most: give --network, or a server "
                             "that has one (sextant nodes)"),
                4);
  }
  return out;
}

double SecondsOf(const v1::TimeEstimate& estimate) { return estimate.elapsed_seconds().expected(); }

double CostOf(const v1::TimeEstimate& estimate) { return estimate.cost_usd(); }

// The index of the product that meets everything with the least of a figure; -1: none does, or one
// of them has no price.
int LeastProductBy(double (*figure)(const v1::TimeEstimate&),
                   const v1::SizeClusterResponse& response) {
  int out = -1;
  double least = 0;
  for (int i = 0; i < response.clusters_size(); ++i) {
    const v1::SizedCluster& cluster = response.clusters(i);
    const v1::TimeEstimate* const estimate = BasisEstimate(cluster.plan());
    if (!cluster.met()) continue;
    if (estimate == nullptr || (figure == CostOf && !estimate->has_cost_usd())) return -1;
    if (out >= 0 && figure(*estimate) >= least) continue;
    out = i;
    least = figure(*estimate);
  }
  return out;
}

// "h100-sxm, 1,024 devices (166.9 days, 10.25M USD)".
std::string FiguresOf(const v1::SizedCluster& cluster, bool by_energy) {
  std::string out =
      absl::StrCat(cluster.accelerator(), ", ", Counted(cluster.device_count(), "device"));
  const v1::TimeEstimate* const estimate = BasisEstimate(cluster.plan());
  if (estimate == nullptr) return out;
  absl::StrAppend(&out, " (", DaysText(SecondsOf(*estimate)), " days");
  if (estimate->has_cost_usd()) absl::StrAppend(&out, ", ", ShortNumber(CostOf(*estimate)), " USD");
  if (by_energy) absl::StrAppend(&out, ", ", Energy(estimate->energy_joules()));
  return absl::StrCat(out, ")");
}

std::string BestWords(v1::SizeObjective objective) {
  static constexpr Worded<v1::SizeObjective> kWords[] = {
      {v1::SIZE_OBJECTIVE_LEAST_TIME, "fastest"},
      {v1::SIZE_OBJECTIVE_LEAST_COST, "cheapest"},
      {v1::SIZE_OBJECTIVE_LEAST_ENERGY, "least energy"}};
  return WordsOf(kWords, objective, "fewest devices");
}

// The best of several products, then the cheapest and the fastest; "" if there is one.
std::string BestLine(const v1::SizeClusterResponse& response) {
  if (!response.has_best() || response.clusters_size() < 2) return "";
  if (response.best() < 0 || response.best() >= response.clusters_size()) return "";
  const std::pair<std::string, int> named[] = {{BestWords(response.objective()), response.best()},
                                               {"cheapest", LeastProductBy(CostOf, response)},
                                               {"fastest", LeastProductBy(SecondsOf, response)}};
  WordGroups groups;  // what each product is
  const bool by_energy = response.objective() == v1::SIZE_OBJECTIVE_LEAST_ENERGY;
  for (const auto& [words, index] : named) {
    if (index >= 0) groups.Add(FiguresOf(response.clusters(index), by_energy), words);
  }
  std::string out = groups.WordsFirst();
  out.front() = absl::ascii_toupper(static_cast<unsigned char>(out.front()));
  return Wrap("  ", absl::StrCat(out, "."), 2);
}

std::string ObjectiveWords(v1::SizeObjective objective) {
  static constexpr Worded<v1::SizeObjective> kWords[] = {
      {v1::SIZE_OBJECTIVE_LEAST_TIME, "The fastest number of devices that fits"},
      {v1::SIZE_OBJECTIVE_LEAST_COST, "The cheapest number of devices that fits"},
      {v1::SIZE_OBJECTIVE_LEAST_ENERGY, "The number of devices that fits with the least energy"}};
  return WordsOf(kWords, objective, "The fewest devices that fit");
}

}  // namespace

const v1::SizedCluster* NearestCluster(const v1::SizeClusterResponse& response) {
  if (response.has_best() && response.best() >= 0 && response.best() < response.clusters_size()) {
    return &response.clusters(response.best());
  }
  const auto rank = [](const v1::SizedCluster& cluster) {
    if (cluster.met()) return 0;
    if (cluster.has_status()) return 3;
    return ExitCodeOfMiss(cluster.limit()) == kExitLate ? 1 : 2;
  };
  const auto nearest = absl::c_min_element(
      response.clusters(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  return nearest == response.clusters().end() || rank(*nearest) == 3 ? nullptr : &*nearest;
}

std::string MissSentence(const v1::Plan& plan, bool met, v1::SizeLimit limit) {
  if (!met && ExitCodeOfMiss(limit) != kExitLate) return "";
  std::string words = MissWords(plan);
  if (words.empty() && !met) words = absl::AsciiStrToUpper(SizeMissWords(limit));
  return words.empty() ? "" : absl::StrCat(words, ". ");
}

std::string SizeLimitWords(v1::SizeLimit limit) {
  static constexpr Worded<v1::SizeLimit> kWords[] = {{v1::SIZE_LIMIT_LAYOUT, "layout"},
                                                     {v1::SIZE_LIMIT_MEMORY, "memory"},
                                                     {v1::SIZE_LIMIT_DEADLINE, "deadline"},
                                                     {v1::SIZE_LIMIT_BUDGET, "budget"}};
  return WordsOf(kWords, limit, kNoValue);
}

std::string SizeMissWords(v1::SizeLimit limit) {
  static constexpr Worded<v1::SizeLimit> kWords[] = {{v1::SIZE_LIMIT_LAYOUT, "no layout allowed"},
                                                     {v1::SIZE_LIMIT_MEMORY, "does not fit"},
                                                     {v1::SIZE_LIMIT_DEADLINE, "deadline missed"},
                                                     {v1::SIZE_LIMIT_BUDGET, "budget missed"}};
  return WordsOf(kWords, limit, "");
}

std::string GoalWords(const v1::PlanRunRequest& run,
                      const google::protobuf::Duration& max_duration) {
  std::string out;
  const double seconds = static_cast<double>(max_duration.seconds()) + 1e-9 * max_duration.nanos();
  if (seconds > 0) absl::StrAppend(&out, ", within ", Duration(seconds));
  if (run.economics().has_deadline()) {
    absl::StrAppend(&out, ", until ",
                    google::protobuf::util::TimeUtil::ToString(run.economics().deadline()));
  }
  if (run.economics().has_budget_usd()) {
    absl::StrAppend(&out, ", for ", Grouped(run.economics().budget_usd(), 0), " USD");
  }
  return out;
}

const char* SizeBasisWords(v1::SizeBasis basis) {
  return basis == v1::SIZE_BASIS_LAYOUTS
             ? "Each with the fastest layout of a bounded search, and its predicted time."
             : "Model state alone, shared evenly, and no exchanges: activations were not "
               "counted, so that this is a lower limit: do not launch on it.";
}

std::string SizeClusterText(const v1::SizeClusterRequest& request,
                            const v1::SizeClusterResponse& response, absl::Time now,
                            FieldWords words) {
  std::vector<const v1::Plan*> plans;
  std::set<std::string> times;  // what "days" are
  std::string model;
  v1::SizeBasis basis = v1::SIZE_BASIS_UNSPECIFIED;
  std::string lines;
  for (const v1::SizedCluster& cluster : response.clusters()) {
    if (model.empty() && cluster.has_plan()) model = ModelWords(cluster.plan());
    if (cluster.has_plan()) plans.push_back(&cluster.plan());
    if (const auto* const estimate = BasisEstimate(cluster.plan())) {
      times.insert(EstimateWords(estimate->kind()));
    }
    if (!cluster.has_status()) basis = cluster.basis();
    lines += ClusterLine(cluster, words);
  }
  const v1::SizedCluster* const nearest = NearestCluster(response);
  const std::string head = absl::StrCat(
      nearest == nullptr ? "" : MissSentence(nearest->plan(), nearest->met(), nearest->limit()),
      ObjectiveWords(response.objective()), GoalWords(request.run(), request.max_duration()),
      model.empty() ? "" : ": ", model, ", ",
      Counted(request.run().training().token_count(), "token"));
  const std::string servers = AssumedNodesWords(plans);
  return absl::StrCat(
      Wrap("", head, 2), UnreadLines("  model  ", plans), Paragraph(servers),
      ClusterTable(response), BestLine(response), lines,
      basis == v1::SIZE_BASIS_UNSPECIFIED ? "" : Wrap("  ", SizeBasisWords(basis), 2),
      basis == v1::SIZE_BASIS_STATE_ALONE ? Wrap("  days   ", absl::StrJoin(times, " or "), 9) : "",
      RatesLines("  rates  ", plans, now));
}

}  // namespace sextant::client
