// Operations without a gradient: optimizer updates and copies between host and device.
#include "absl/strings/str_cat.h"
#include "engine/operation/recipe_parts.h"

namespace sextant {
namespace {

struct UpdateWork {
  Work work;
  int states = 0;
  absl::string_view what;
};

// FLOPs a parameter. Powers of beta and products of constants are done once a step and not
// counted; weight decay is AdamW's and Lion's.
// Sources: torch.optim's documented algorithms of SGD, Adagrad and RMSprop; Kingma, Ba 2015
// (arXiv 1412.6980) algorithm 1; Loshchilov, Hutter 2019 (arXiv 1711.05101) algorithm 2;
// Chen et al. 2023 (arXiv 2302.06675) algorithm 2.
UpdateWork WorkOf(UpdateRule rule) {
  switch (rule) {
    case UpdateRule::kSgd:
      return {{.plain = 2}, 0, "w -= lr g"};
    case UpdateRule::kSgdMomentum:
      return {{.plain = 4}, 1, "m = mu m + g; w -= lr m"};
    case UpdateRule::kAdagrad:
      return {{.plain = 6, .transcendental = 1}, 1, "s += g^2; w -= lr g / (sqrt(s) + eps)"};
    case UpdateRule::kRmsprop:
      return {{.plain = 8, .transcendental = 1},
              1,
              "s = a s + (1 - a) g^2; w -= lr g / (sqrt(s) + eps)"};
    case UpdateRule::kAdam:
      return {{.plain = 13, .transcendental = 1},
              2,
              "m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2; "
              "w -= lr (m / c1) / (sqrt(v / c2) + eps)"};
    case UpdateRule::kAdamw:
      return {{.plain = 14, .transcendental = 1},
              2,
              "w *= 1 - lr decay; m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2; "
              "w -= lr (m / c1) / (sqrt(v / c2) + eps)"};
    case UpdateRule::kLion:
      break;
  }
  return {{.plain = 11}, 1, "w -= lr (sign(b1 m + (1 - b1) g) + decay w); m = b2 m + (1 - b2) g"};
}

Array State(absl::string_view name, const OptimizerUpdate& op, const RecipeInput& in) {
  return {.name = std::string(name),
          .role = ArrayRole::kState,
          .data_type = in.types.accumulation,
          .shape = {op.parameters}};
}

}  // namespace

// A master weight is read and written in place of the weight, which is then written as well.
Recipe OptimizerRecipe(const OptimizerUpdate& op, const RecipeInput& in) {
  const Array gradient = Input("gradient", in.types.input, {op.parameters});
  const Array weight = Parameter("weight", in.types.output, {op.parameters});
  const UpdateWork work = WorkOf(op.rule);
  Recipe out;
  out.operands = {gradient, weight};
  out.outputs = {weight};
  Step step = {.name = "update", .arithmetic = {}, .movements = {Read(gradient), Write(weight)}};
  step.arithmetic = {
      Term({.name = "update", .what = work.what, .work = work.work, .count = Count(op.parameters)},
           in.convention)};
  if (!op.master_weights) step.movements.push_back(Read(weight));
  std::vector<Array> kept;
  if (op.master_weights) kept.push_back(State("master weight", op, in));
  for (int i = 1; i <= work.states; ++i) kept.push_back(State(absl::StrCat("state ", i), op, in));
  for (const Array& array : kept) {
    out.operands.push_back(array);
    step.movements.push_back(Read(array));
    step.movements.push_back(Write(array));
  }
  out.forward = {step};
  return out;
}

// Pageable memory is copied into pinned memory first: its bytes move twice.
Recipe HostCopyRecipe(const HostCopy& op, const RecipeInput&) {
  const Array source = Indices("source", 1, {op.bytes});
  Array target = source;
  target.name = "target";
  target.role = ArrayRole::kOutput;
  Array staged = source;
  staged.name = "pinned staging buffer";
  Recipe out;
  out.operands = {source};
  out.outputs = {target};
  if (op.pinned) {
    out.forward = {{.name = "send", .arithmetic = {}, .movements = {Read(source), Write(target)}}};
  } else {
    out.forward = {{.name = "stage", .arithmetic = {}, .movements = {Read(source), Write(staged)}},
                   {.name = "send", .arithmetic = {}, .movements = {Read(staged), Write(target)}}};
  }
  return out;
}

}  // namespace sextant
