// Prints the engine's table of frameworks as CSV: a line for each cell, with its source. With
// --stacks: the table of software stacks.
#include <iostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "engine/framework/framework.h"
#include "engine/framework/software_stack.h"

namespace sextant {
namespace {

std::string TextOf(bool value) { return value ? "yes" : "no"; }
std::string TextOf(const std::string& value) { return value; }
std::string TextOf(int64_t value) { return absl::StrCat(value); }

std::string TextOf(StateType value) {
  constexpr absl::string_view kNames[] = {"as computed", "fp32", "fp32 under bf16"};
  return std::string(kNames[static_cast<size_t>(value)]);
}

std::string TextOf(ZeroStage value) { return absl::StrCat(static_cast<int>(value)); }

std::string TextOf(LossKind value) {
  constexpr absl::string_view kNames[] = {"plain", "vocabulary parallel", "fused", "chunked",
                                          "vocabulary parallel, compiled"};
  return std::string(kNames[static_cast<size_t>(value)]);
}

std::string TextOf(ContextParallelKind value) {
  return value == ContextParallelKind::kAllToAll ? "all-to-all" : "ring";
}

std::string TextOf(GradientLifetime value) {
  return value == GradientLifetime::kAlways ? "always" : "from the backward pass";
}

std::string TextOf(GradientReduction value) {
  constexpr absl::string_view kNames[] = {"each", "last under a pipeline", "last"};
  return std::string(kNames[static_cast<size_t>(value)]);
}

std::string TextOf(unsigned schedules) {
  constexpr absl::string_view kNames[] = {"1F1B", "GPipe", "zero bubble", "DualPipe",
                                          "interleaved"};
  std::string out;
  for (size_t i = 0; i < 5; ++i) {
    if ((schedules >> i & 1) != 0) absl::StrAppend(&out, out.empty() ? "" : " ", kNames[i]);
  }
  return out;
}

std::string TextOf(GradientOffload value) {
  constexpr absl::string_view kNames[] = {"once a step", "each, added up on the device",
                                          "each, added up on the host"};
  return std::string(kNames[static_cast<size_t>(value)]);
}

std::string OffloadsText(unsigned set) {
  constexpr absl::string_view kNames[] = {"nothing", "optimizer", "all", "optimizer; all"};
  return std::string(kNames[set]);
}

std::string Quoted(absl::string_view text) {
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

std::string TextOf(OptimizerLoop value) {
  constexpr absl::string_view kNames[] = {"fused", "foreach", "for-loop"};
  return std::string(kNames[static_cast<size_t>(value)]);
}

std::string TextOf(AttentionCode value) {
  constexpr absl::string_view kNames[] = {"FlashAttention or cuDNN from Ampere on, else unfused",
                                          "scaled_dot_product_attention()",
                                          "the same, but for classes that multiply scores"};
  return std::string(kNames[static_cast<size_t>(value)]);
}

std::string TextOf(LogitCopies value) {
  constexpr absl::string_view kNames[] = {"none", "one, the output, and one that is shifted",
                                          "one, and one that is shifted", "one"};
  return std::string(kNames[static_cast<size_t>(value)]);
}

std::string CodesText(unsigned set) {
  std::string out;
  for (int i = 0; i < kModelCodeCount; ++i) {
    const auto code = static_cast<ModelCode>(i);
    if ((set & CodeBit(code)) == 0) continue;
    absl::StrAppend(&out, out.empty() ? "" : " ", ModelCodeName(code));
  }
  return out;
}

// The lines of one framework or code.
class Lines {
 public:
  explicit Lines(absl::string_view name) : name_(name) {}

  template <typename T>
  void Row(absl::string_view field, const Cited<T>& cell) const {
    std::cout << name_ << ',' << Quoted(field) << ',' << Quoted(TextOf(cell.value)) << ','
              << Quoted(cell.source) << '\n';
  }

  void Code(const ModelCodeTraits& traits) const {
    Row("loss", traits.loss);
    Row("attention", traits.attention);
    Row("vocabulary padded to a multiple of tensor ranks x", traits.vocabulary_multiple);
    Row("Transformer Engine's layers", traits.transformer_engine);
    Row("grouped products of experts", traits.grouped_experts);
    Row("one product of query, key and value; of gate and up", traits.fused_projections);
    Row("gated experts in one kernel", traits.fuses_gated_experts);
    Row("global buffer", traits.global_buffer);
    Row("tensor parallel ranks have all logits", traits.whole_logits);
    Row("layers step by step: RMSNorm in fp32, gates activated apart", traits.eager_layers);
    Row("adapters cast their own inputs", traits.adapters_cast_input);
    Row("softmax of attention in fp32, and a cast", traits.wide_softmax);
    Row("fp32 copies of the logits that losses read", traits.logit_copies);
    Row("norms, latents and experts' activations recomputed alone", traits.recomputes_modules);
    Row("all of a layer recomputed but a list of operators", traits.recomputes_operators);
    Row("a loss that overwrites the logits", traits.fused_loss);
    Row("can be cut into pipeline stages", traits.stages);
  }

 private:
  const absl::string_view name_;
};

class Table : private Lines {
 public:
  explicit Table(const FrameworkTraits& traits) : Lines(traits.name), traits_(traits) {}

  void Defaults() const {
    Row("model code",
        Cited<std::string>{std::string(ModelCodeName(traits_.code)), traits_.codes.source});
    Row("model codes that it trains",
        Cited<std::string>{CodesText(traits_.codes.value), traits_.codes.source});
    Row("type of weights", traits_.weights);
    Row("type of gradients", traits_.gradients);
    Row("type of gradients of a run in 8 bits or fewer", traits_.narrow_gradients);
    Row("no fp32 copy of 16-bit weights", traits_.no_master_weights);
    Row("moments without an fp32 copy in the type of the weights", traits_.moments_as_weights);
    Row("ZeRO stage", traits_.zero_stage);
    Code(traits_);
    Row("weights freed after a pipeline's forward pass", traits_.reshards_under_pipeline);
    Row("context parallel ranks attend by", traits_.context_parallel_kind);
  }

  void Memory() const {
    Row("gradients have memory", traits_.gradient_lifetime);
    Row("gradients added to their buffer as computed", traits_.fused_weight_gradient);
    Row("micro-batch after which shards are reduced", traits_.reduction);
    Row("reduced in the type computed with", traits_.reduces_as_computed);
    Row("matrices gathered in fp8 under fp8 by tensor", traits_.gathers_fp8_weights);
    Row("elements of the reduce bucket", traits_.reduce_bucket_elements);
    Row("elements of the gather bucket", traits_.gather_bucket_elements);
    Row("elements that ZeRO stage 3 keeps whole", traits_.live_elements);
    Row("buckets of all gradients stay", traits_.gradient_buckets_stay);
    Row("computed gradients stay next to wider ones", traits_.computed_gradients_stay);
    Row("optimizer step widens gradients", traits_.widens_gradients_at_step);
    Row("optimizer step flattens gradients", traits_.flattens_gradients_at_step);
    Row("optimizer step", traits_.optimizer_loop);
    Row("optimizer step of older releases is foreach", traits_.optimizer_loop_is_open);
    Row("offloaded gradients go to the host", traits_.gradient_offload);
    Row("wide weights cast on use", traits_.autocast);
    Row("returned logits copied to fp32", traits_.wide_outputs);
    Row("pipelines keep a receive buffer a micro-batch, and outputs", traits_.keeps_stage_buffers);
  }

  void Refusals() const {
    Row("highest ZeRO stage", traits_.max_zero_stage);
    Row("highest ZeRO stage under a pipeline", traits_.max_zero_stage_under_pipeline);
    Row("divides weights wherever it divides state", traits_.shards_all_or_nothing);
    Row("pipelines", traits_.pipeline);
    Row("schedules", traits_.schedules);
    Row("one kind of context parallelism", traits_.one_context_parallel_kind);
    Row("gathers tokens for experts", traits_.gathers_tokens);
    Row("exchanges equal heads alone", traits_.exchanges_equal_heads_alone);
    Row("a search may offload",
        Cited<std::string>{OffloadsText(traits_.offloads.value), traits_.offloads.source});
  }

 private:
  const FrameworkTraits& traits_;
};

// A value on all devices, or by generation.
std::string TextOf(const StackValue& value) {
  if (value.before_hopper == value.hopper && value.hopper == value.blackwell) {
    return absl::StrCat(value.hopper);
  }
  return absl::StrCat(value.before_hopper, " / ", value.hopper, " / ", value.blackwell);
}

absl::string_view TextOf(OverlapNeed need) {
  switch (need) {
    case OverlapNeed::kSequenceParallel:
      return "sequence parallelism";
    case OverlapNeed::kDualPipe:
      return "DualPipe";
    case OverlapNeed::kDistributedOptimizer:
      return "distributed optimizer";
    case OverlapNeed::kNothing:
      break;
  }
  return "";
}

void PrintStacks() {
  std::cout << "stack,title,constant,value,needs,source\n";
  for (const SoftwareStack& stack : SoftwareStacks()) {
    const auto row = [&](absl::string_view name, const StackValue& value) {
      if (value.source.empty()) return;
      std::cout << stack.name << ',' << Quoted(stack.title) << ',' << name << ','
                << Quoted(TextOf(value)) << ',' << TextOf(value.needs) << ','
                << Quoted(value.source) << '\n';
    };
    for (size_t i = 0; i < kStackConstantCount; ++i) {
      const auto constant = static_cast<StackConstant>(i);
      row(StackConstantName(constant), stack.of(constant));
    }
    row("narrow_expert_time_ratio", stack.narrow_expert_time_ratio);
  }
}

void PrintCodes() {
  std::cout << "framework,field,value,source\n";
  for (int i = 0; i < kModelCodeCount; ++i) {
    const auto code = static_cast<ModelCode>(i);
    Lines(ModelCodeName(code)).Code(CodeTraitsOf(code));
  }
}

}  // namespace
}  // namespace sextant

int main(int argc, char** argv) {
  if (argc > 1 && absl::string_view(argv[1]) == "--stacks") {
    sextant::PrintStacks();
    return 0;
  }
  if (argc > 1 && absl::string_view(argv[1]) == "--codes") {
    sextant::PrintCodes();
    return 0;
  }
  std::cout << "framework,field,value,source\n";
  for (int i = 0; i < sextant::kFrameworkCount; ++i) {
    const sextant::Table table(sextant::TraitsOf(static_cast<sextant::Framework>(i)));
    table.Defaults();
    table.Memory();
    table.Refusals();
  }
}
