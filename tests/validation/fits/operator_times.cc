#include <array>
#include <string>

#include "engine/hardware/catalogue.h"
#include "engine/time/operation_pricer.h"
#include "engine/time/stage_compute.h"
#include "tests/validation/fits/kernel_json.h"
#include "tests/validation/fits/kernel_questions.h"

namespace sextant {
namespace {

using nlohmann::json;

TracePass PassNamed(const std::string& name) {
  if (name == "input_gradient") return TracePass::kInputGradient;
  return name == "weight_gradient" ? TracePass::kWeightGradient : TracePass::kForward;
}

struct Operator {
  std::string kernel;
  std::string pass;
  std::array<int64_t, 6> sizes = {};

  TraceOp Work() const {
    const auto& [a, b, c, d, e, f] = sizes;
    TraceOp out = {.module = "", .name = "", .pass = PassNamed(pass)};
    if (kernel == "matmul") {
      out.work = MatmulWork{.m = b, .n = c, .k = d};
    } else if (kernel == "grouped_matmul") {
      out.work = GroupedMatmulWork{a, static_cast<double>(b), c, d};
    } else {
      out.work = AttentionWork{.batch = a,
                               .queries = b,
                               .keys = b,
                               .heads = c,
                               .key_value_heads = d,
                               .query_key_head_size = e,
                               .value_head_size = f,
                               .causal = true};
    }
    return out;
  }

  TraceOp Accumulation(double work_share) const {
    const auto number = [this](size_t i) { return static_cast<double>(sizes[i]); };
    const double numbers =
        kernel == "grouped_matmul" ? number(0) * number(2) * number(3) : number(1) * number(2);
    return {
        .module = "",
        .name = "",
        .pass = TracePass::kWeightGradient,
        .work = FusedAccumulation({numbers, 2, 4, work_share, KernelRatios().gradient_overlap})};
  }
};

KernelTime TimeOf(const OperationPricer& pricer, const Operator& each) {
  const TraceOp op = each.Work();
  KernelTime out = pricer.TimeOf(op);
  if (op.pass != TracePass::kWeightGradient) return out;
  const KernelTime more = pricer.TimeOf(each.Accumulation(pricer.WorkShareOf(op)));
  return {out.expected + more.expected, out.low + more.low, out.high + more.high, out.basis};
}

}  // namespace

json OperatorTimes(const json& question) {
  const Accelerator* const accelerator = AcceleratorNamed(question.at("gpu").get<std::string>());
  if (accelerator == nullptr) return nullptr;
  const auto pricer = OperationPricer::Of(PlacedProduct(*accelerator), {});
  if (!pricer.ok() || !pricer->has_value()) return nullptr;
  json out = json::array();
  for (const json& row : question.at("operators")) {
    const Operator each = {.kernel = row.at(0), .pass = row.at(1), .sizes = row.at(2)};
    out.push_back(TimeOf(**pricer, each));
  }
  return out;
}

}  // namespace sextant
