#include "server/handler/size_cluster_answer.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "engine/base/checked_math.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/base/text.h"
#include "engine/hardware/catalogue.h"
#include "engine/search/size_cluster.h"
#include "proto/check/field_checker.h"
#include "server/call/status.h"
#include "server/convert/message_fields.h"
#include "server/convert/sizing.h"

namespace sextant::server {
namespace {

using SizeObjectivePair = OneLater<SizeObjective::kEnergy, v1::SizeObjective_MAX>;

// The catalogue's name of what a request calls `name`; an unknown one as it is.
std::string NameOfProduct(const std::string& name) {
  const absl::StatusOr<const Accelerator*> found = FindAccelerator(name);
  return found.ok() ? std::string((*found)->name) : name;
}

// Checks the list of products, and that the run leaves out what it asks for.
absl::Status CheckRequest(const v1::SizeClusterRequest& request) {
  FieldViolations violations;
  const v1::ClusterSpec& cluster = request.run().cluster();
  if (cluster.device_count() != 0) {
    violations.Add("run.cluster.device_count", "is what is asked for: leave it out");
  }
  if (!v1::SizeObjective_IsValid(request.objective())) {
    violations.Add("objective", check::UnknownEnumNumber(request.objective()));
  }
  if (request.products_size() > kMaxProducts) {
    violations.Add("products", absl::StrCat("are ", request.products_size(), ": give at most ",
                                            kMaxProducts, " in one call"));
  }
  if (request.products_size() > 0 && cluster.has_device()) {
    violations.Add("products", "and run.cluster.device each name devices: give one of them");
  }
  if (request.products_size() > 0 && !cluster.node_type().empty()) {
    violations.Add("run.cluster.node_type", "differs by product: give products[i].node_type");
  }
  std::set<std::string> names;
  for (int i = 0; i < request.products_size() && i < kMaxProducts; ++i) {
    const std::string field = absl::StrCat("products[", i, "].accelerator");
    const std::string& name = request.products(i).accelerator();
    if (name.empty()) {
      violations.Add(field,
                     "is required: write a name, e.g. h100-sxm (docs/accelerators.md lists them)");
    } else if (!names.insert(NameOfProduct(name)).second) {
      violations.Add(field, "is named twice: name each product once");
    }
  }
  return violations.ToStatus();
}

// InSizeRequest(), of the product at index `product`, whose own fields the run has.
absl::Status InProduct(const absl::Status& status, int product) {
  const std::string path = absl::StrCat("products[", product, "].");
  return WithPaths(status, [&path](absl::string_view run_field) {
    const std::string field = SizeRequestField(run_field);
    if (field == "run.cluster.device.accelerator") return absl::StrCat(path, "accelerator");
    if (field == "run.cluster.node_type") return absl::StrCat(path, "node_type");
    return field;
  });
}

// The run of one product.
v1::PlanRunRequest RunOf(const v1::SizeClusterRequest& request, int product) {
  v1::PlanRunRequest out = request.run();
  if (request.products_size() == 0) return out;
  const v1::ClusterProduct& each = request.products(product);
  out.mutable_cluster()->mutable_device()->set_accelerator(each.accelerator());
  out.mutable_cluster()->set_node_type(each.node_type());
  if (each.has_device_hour_price_usd()) {
    out.mutable_economics()->set_device_hour_price_usd(each.device_hour_price_usd());
  }
  return out;
}

void ClusterTo(const ClusterSize& size, const v1::PlanRunRequest& run, v1::SizedCluster* out) {
  out->set_met(size.met);
  out->set_basis(SizeBasisPair::To(size.basis));
  out->set_device_count(size.device_count);
  out->set_server_device_count(size.server_devices);
  out->set_server_count(CeilDivide(size.device_count, size.server_devices));
  out->set_limit(SizeLimitPair::To(size.limit));
  out->set_least_device_count(size.least);
  out->set_network_known(size.network_known);
  if (size.sized().plan != nullptr) {
    out->set_rates_fingerprint(SizedPlanTo(size.sized(), run, out->mutable_plan()));
  }
  for (const auto& [devices, sized] : size.tried) {
    v1::TriedCount* const tried = out->add_tried();
    tried->set_device_count(devices);
    tried->set_layout_count(sized.layout_count);
    TriedTo(sized, tried);
    if (sized.energy.has_value()) tried->set_energy_joules(sized.energy->value());
  }
}

bool IsPriced(const v1::SizeClusterRequest& request) {
  if (request.run().economics().has_device_hour_price_usd()) return true;
  return request.products_size() > 0 &&
         absl::c_all_of(request.products(), [](const v1::ClusterProduct& product) {
           return product.has_device_hour_price_usd();
         });
}

// The request's objective, or its default.
v1::SizeObjective ObjectiveOf(const v1::SizeClusterRequest& request) {
  if (request.objective() != v1::SIZE_OBJECTIVE_UNSPECIFIED) return request.objective();
  return IsPriced(request) ? v1::SIZE_OBJECTIVE_LEAST_COST : v1::SIZE_OBJECTIVE_FEWEST_DEVICES;
}

// Returns the figure by which products are compared; absent where none of the numbers is enough.
absl::StatusOr<absl::optional<double>> AnswerProduct(const v1::SizeClusterRequest& request,
                                                     const v1::PlanRunRequest& run,
                                                     const DeviceResolver& resolver, CallWork& work,
                                                     v1::SizedCluster* out) {
  static const check::NumberLimits run_limits(*v1::PlanRunRequest::descriptor(),
                                              {"sextant.v1.ClusterSpec.device_count"});
  static const check::NumberLimits limits(
      *v1::SizeClusterRequest::descriptor(),
      {"sextant.v1.SizeClusterRequest.run", "sextant.v1.SizeClusterRequest.products"});
  FieldViolations violations;
  CheckNumbers(run_limits, run, "", violations);
  CheckNumbers(limits, request, "", violations);
  const RunSpec spec = SizedRunFrom(
      run, request.has_max_duration() ? &request.max_duration() : nullptr, resolver, violations);
  ClusterQuestion question = {.objective = SizeObjectivePair::Known(ObjectiveOf(request))};
  if (request.has_max_device_count()) question.max_devices = request.max_device_count();
  SEXTANT_ASSIGN_OR_RETURN(const ClusterSize size,
                           FindClusterSize(spec, question, std::move(violations), work));
  ClusterTo(size, run, out);
  return size.met ? absl::optional<double>(size.figure) : absl::nullopt;
}

}  // namespace

absl::Status AnswerSizeCluster(const v1::SizeClusterRequest& request,
                               const DeviceResolver& resolver, const LongCall& call,
                               v1::SizeClusterResponse* out) {
  SEXTANT_RETURN_IF_ERROR(CheckRequest(request));
  out->set_objective(ObjectiveOf(request));
  const bool listed = request.products_size() > 0;
  const int count = std::max(1, request.products_size());
  for (int i = 0; i < count; ++i) out->add_clusters();
  std::vector<absl::StatusOr<absl::optional<double>>> figures(static_cast<size_t>(count));
  SideBySide(call.workers, count, [&](int64_t i) {
    const InFlight in_flight(call.metrics.plans_in_flight());
    const int product = static_cast<int>(i);
    const v1::PlanRunRequest run = RunOf(request, product);
    v1::SizedCluster& cluster = *out->mutable_clusters(product);
    CallWork work(call.end);
    figures[static_cast<size_t>(i)] = AnswerProduct(request, run, resolver, work, &cluster);
    cluster.set_accelerator(cluster.has_plan() && !listed ? cluster.plan().device()
                                                          : run.cluster().device().accelerator());
  });
  SEXTANT_RETURN_IF_ERROR(call.work.Spend(0));  // the call's own end, not a product's
  double least = 0;
  for (int i = 0; i < count; ++i) {
    const absl::StatusOr<absl::optional<double>>& figure = figures[static_cast<size_t>(i)];
    if (!listed && !figure.ok()) return InSizeRequest(figure.status());
    v1::SizedCluster& cluster = *out->mutable_clusters(i);
    if (!figure.ok()) {
      *cluster.mutable_status() = ToRpcStatus(InProduct(figure.status(), i), "");
      continue;
    }
    if (figure->has_value() && (!out->has_best() || **figure < least)) {
      least = **figure;
      out->set_best(i);
    }
    for (const v1::TriedCount& tried : cluster.tried()) {
      call.metrics.layouts_considered().Increment(static_cast<double>(tried.layout_count()));
    }
  }
  return absl::OkStatus();
}

}  // namespace sextant::server
