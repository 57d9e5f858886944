#include "engine/base/checked_math.h"
#include "engine/model/trace/layer_trace.h"

namespace sextant {
namespace {

using Site = ActivationSite;
using Element = TraceElement;

constexpr absl::string_view kRouterMatrix[] = {""};
constexpr absl::string_view kTokenGate[] = {"token_gate"};
constexpr absl::string_view kLatentMatrices[] = {"down", "up"};

class ExpertsTrace {
 public:
  ExpertsTrace(const LayerTraceParts& parts, const ExpertsSpec& experts, const ExpertInputs& inputs)
      : parts_(parts),
        out_(parts.out),
        experts_(experts),
        inputs_(inputs),
        hidden_(out_.context().spec.hidden_size),
        width_(ExpertWidth(experts, hidden_)),
        router_needs_(parts.gradients == nullptr || parts.gradients->router_needs) {}

  uint8_t Add() {
    AddRouter();
    AddRouted(AddLatent(true, inputs_.routed));
    sum_ = AddLatent(false, sum_);
    if (experts_.shared_expert_count > 0) AddShared();
    return sum_;
  }

 private:
  void AddRouter() {
    out_.Enter("router");
    const uint8_t logits = out_.Make(TokenRows::kSequence, RouterSize(experts_));
    const uint8_t probabilities =
        out_.Make(TokenRows::kSequence, RouterSize(experts_), Element::kFp32);
    out_.AddProjection({.module = "router",
                        .op = "logits",
                        .names = kRouterMatrix,
                        .component = FlopsComponent::kRouter,
                        .input = inputs_.router,
                        .input_needs_gradient = parts_.Needs(Site::kFeedForwardInput),
                        .narrow = false,
                        .outputs = {{logits}}});
    out_.RowPass(TracePass::kForward, "route", {{logits}}, {{probabilities}});
    if (!router_needs_) return;
    out_.RowPass(TracePass::kInputGradient, "route", {{probabilities}, {probabilities, true}},
                 {{logits, true}});
  }

  // One of the matrices, which every rank has whole, between the residual's width and narrower
  // experts. Returns `input` where the experts are as wide. Source: NVIDIA/Megatron-LM,
  // megatron/core/transformer/moe/moe_layer.py, from memory: before tokens are sent, and after the
  // sum of a token's experts.
  uint8_t AddLatent(bool into, uint8_t input) {
    if (experts_.latent_size == 0) return input;
    out_.Enter("expert_latent");
    const uint8_t output = out_.Make(TokenRows::kSequence, into ? width_ : hidden_);
    const Site reads = into ? Site::kFeedForwardInput : Site::kExpertSum;
    const auto names = absl::MakeConstSpan(kLatentMatrices).subspan(into ? 0 : 1, 1);
    out_.AddProjection({.module = "expert_latent",
                        .op = into ? "latent_down" : "latent_up",
                        .names = names,
                        .component = FlopsComponent::kRoutedExperts,
                        .input = input,
                        .input_needs_gradient = parts_.Needs(reads),
                        .keeps_computed = into || parts_.KeepsComputed(reads),
                        .outputs = {{output}}});
    return output;
  }

  // Tokens are copied to their experts: permuted by rank, sent, gathered by the ranks that share
  // an expert, and sorted by expert; and all of it back. Source: Megatron-LM,
  // megatron/core/transformer/moe/token_dispatcher.py, all-to-all.
  void AddRouted(uint8_t input) {
    const CheckedInt slots =
        ExpertSlotsPerSequence(experts_, out_.context().layout, out_.batch(), out_.length());
    out_.SetRows(TokenRows::kSlots, (slots * out_.batch().sequence_count).value());
    out_.Enter("experts");
    if (const int64_t ranks = TokenGatheringRanks(out_.context().layout, out_.batch()); ranks > 1) {
      return AddGathered(ranks);
    }
    const int64_t copies = experts_.experts_per_token * width_;
    const uint8_t received = out_.Make(TokenRows::kSlots, width_);
    const bool exchanges =
        out_.context().layout.expert_parallel_size > 1 || out_.tensor_ranks() > 1;
    if (!exchanges) {
      AddMove("permute", input, received, PermutedSite());
      return AddCombination(AddFeedForwardTrace(parts_, Routed(), received));
    }
    const uint8_t sent = out_.Make(TokenRows::kSequence, copies);
    const uint8_t returned = out_.Make(TokenRows::kSequence, copies);
    AddMove("permute", input, sent, PermutedSite());
    AddExchange(sent, Site::kExpertInput);
    AddMove("sort_by_expert", sent, received, Site::kExpertInput);
    const uint8_t output = AddFeedForwardTrace(parts_, Routed(), received);
    out_.Enter("experts");
    AddMove("sort_by_rank", output, returned, Site::kLayerOutput);
    AddExchange(returned, Site::kLayerOutput);
    AddCombination(returned);
  }

  // Each rank gathers the tokens of all, with their probabilities and experts, takes those of its
  // own experts, adds up their outputs token by token, and gets its own tokens' sums.
  // Source: Megatron-LM, megatron/core/transformer/moe/token_dispatcher.py,
  // MoEAllGatherTokenDispatcher @d98e8a64; docs/memory.md, "A layer".
  void AddGathered(int64_t ranks) {
    const uint8_t own = out_.Make(TokenRows::kSequence, width_);
    const uint8_t gathered = out_.Make(TokenRows::kSequence, ranks * width_);
    const uint8_t summed = out_.Make(TokenRows::kSequence, ranks * width_);
    const uint8_t selected = out_.Make(TokenRows::kSlots, width_);  // rows of `gathered`
    const uint8_t received = out_.Make(TokenRows::kSlots, width_);
    const uint8_t returned = out_.Make(TokenRows::kSlots, width_);  // rows of `summed`
    AddRoutes();
    AddGather(out_.bytes_of(own), "gather", Site::kExpertInput);
    if (parts_.Needs(Site::kExpertInput)) {
      out_.Pass(TracePass::kInputGradient, "select", {{received, true}}, {{gathered, true}});
    }
    out_.Pass(TracePass::kForward, "select", {{selected}}, {{received}});
    const uint8_t output = AddFeedForwardTrace(parts_, Routed(), received);
    out_.Enter("experts");
    if (parts_.Needs(Site::kLayerOutput)) {
      out_.Pass(TracePass::kInputGradient, "add_up", {{returned, true}}, {{output, true}});
    }
    out_.Pass(TracePass::kForward, "add_up", {{output}}, {{summed}});
    sum_ = own;
    AddGather(out_.bytes_of(own), "scatter", Site::kLayerOutput);
  }

  // A rank's columns of all tokens' probabilities and experts: E / x of x x_t times as many tokens.
  void AddRoutes() {
    const int64_t width = experts_.expert_count * ExpertTensorParallelSize(out_.context().layout);
    const uint8_t probabilities = out_.Make(TokenRows::kSequence, experts_.expert_count);
    const uint8_t map = out_.Make(TokenRows::kSequence, experts_.expert_count, Element::kMask);
    const uint8_t local = out_.Make(TokenRows::kSequence, width);
    const uint8_t local_map = out_.Make(TokenRows::kSequence, width, Element::kMask);
    const double bytes = out_.bytes_of(probabilities);
    AddCollectives(TracePass::kForward, "gather_routes", CollectiveKind::kAllGather,
                   bytes + out_.bytes_of(map));
    if (router_needs_) {
      AddCollectives(TracePass::kInputGradient, "gather_routes", CollectiveKind::kReduceScatter,
                     bytes);
      out_.Pass(TracePass::kInputGradient, "select_routes", {{local}, {local_map}},
                {{local, true}});
    }
    out_.Pass(TracePass::kForward, "select_routes", {{local}, {local_map}}, {{local}, {local_map}});
  }

  // `bytes` of a rank from or to all ranks of its experts, those that share one first: together
  // they carry what one exchange among all of them would.
  void AddCollectives(TracePass pass, absl::string_view name, CollectiveKind kind, double bytes) {
    const ParallelLayout& layout = out_.context().layout;
    const auto sharing = static_cast<double>(ExpertTensorParallelSize(layout));
    const auto all = sharing * static_cast<double>(layout.expert_parallel_size);
    out_.Collective(pass, name, {kind, TraceGroup::kExpertTensor, bytes * sharing});
    out_.Collective(pass, name, {kind, TraceGroup::kExpert, bytes * all});
  }

  void AddGather(double bytes, absl::string_view name, Site moved) {
    const bool back = moved == Site::kLayerOutput;
    const auto kind = [back](bool gathers) {
      return gathers != back ? CollectiveKind::kAllGather : CollectiveKind::kReduceScatter;
    };
    if (parts_.Needs(moved)) {
      AddCollectives(TracePass::kInputGradient, name, kind(false), bytes);
    }
    AddCollectives(TracePass::kForward, name, kind(true), bytes);
  }

  // The gradient of the routed experts' input, where it is a tensor of its own.
  Site PermutedSite() const {
    return experts_.latent_size > 0 || inputs_.routed != inputs_.router ? Site::kExpertInput
                                                                        : Site::kFeedForwardInput;
  }

  InnerTrace Routed() const {
    const MicroBatchSpec& batch = out_.batch();
    const bool before = batch.expert_scaling == ExpertScaling::kBeforeDown;
    return {.module = "experts",
            .kind = experts_.expert.kind,
            .width = experts_.expert.size / ExpertTensorParallelSize(out_.context().layout),
            .output_width = width_,
            .rows = TokenRows::kSlots,
            .component = FlopsComponent::kRoutedExperts,
            .input_site = Site::kExpertInput,
            .inner_site = Site::kExpertInner,
            .inner_needs = parts_.Needs(Site::kExpertInner) || (before && router_needs_),
            .unfused = before && !batch.fused_expert_activation,
            .scales = router_needs_};
  }

  // Copies rows; its gradient copies them back.
  void AddMove(absl::string_view name, uint8_t from, uint8_t to, Site moved) {
    if (parts_.Needs(moved)) {
      out_.Pass(TracePass::kInputGradient, name, {{to, true}}, {{from, true}});
    }
    out_.Pass(TracePass::kForward, name, {{from}}, {{to}});
  }

  // The tokens of `sent` to or from the ranks of their experts.
  void AddExchange(uint8_t sent, Site moved) {
    const double bytes = out_.bytes_of(sent);
    const CollectiveWork exchange = {CollectiveKind::kAllToAll, TraceGroup::kExpert, bytes};
    const auto ranks = static_cast<double>(ExpertTensorParallelSize(out_.context().layout));
    const CollectiveWork gather = {CollectiveKind::kAllGather, TraceGroup::kExpertTensor,
                                   bytes * ranks};
    const CollectiveWork sum = {CollectiveKind::kReduceScatter, TraceGroup::kExpertTensor,
                                bytes * ranks};
    const bool back = moved == Site::kLayerOutput;
    if (parts_.Needs(moved)) {
      out_.Collective(TracePass::kInputGradient, "exchange_gradient", exchange);
      out_.Collective(TracePass::kInputGradient, "expert_tensor_gradient", back ? gather : sum);
    }
    out_.Collective(TracePass::kForward, "exchange", exchange);
    out_.Collective(TracePass::kForward, "expert_tensor", back ? sum : gather);
  }

  // Sums the outputs of a token's experts, scaled by its probabilities unless they were before.
  void AddCombination(uint8_t returned) {
    out_.Enter("experts");
    sum_ = out_.Make(TokenRows::kSequence, width_);
    const bool after = out_.batch().expert_scaling == ExpertScaling::kAfterDown;
    if (parts_.Needs(Site::kLayerOutput)) {
      TraceOperands reads = {{sum_, true}};
      if (after && router_needs_) reads.Add({returned});
      out_.Pass(TracePass::kInputGradient, "combine", reads, {{returned, true}});
    }
    out_.Pass(TracePass::kForward, "combine", {{returned}}, {{sum_}});
  }

  void AddShared() {
    const uint8_t output = AddFeedForwardTrace(
        parts_,
        {.module = "shared_experts",
         .kind = experts_.shared_expert.kind,
         .width = experts_.shared_expert_count * experts_.shared_expert.size / out_.tensor_ranks(),
         .component = FlopsComponent::kSharedExperts,
         .input_site = Site::kFeedForwardInput,
         .inner_site = Site::kSharedExpertInner,
         .inner_needs = parts_.Needs(Site::kSharedExpertInner),
         .input_kept_as_computed = true},
        inputs_.router);
    if (experts_.shared_expert_gate) AddTokenGate(output);
    out_.Enter("shared_experts");
    out_.Pass(TracePass::kForward, "add", {{output}, {sum_}}, {{sum_}});
  }

  void AddTokenGate(uint8_t output) {
    out_.Enter("shared_experts");
    const uint8_t gate = out_.Make(TokenRows::kSequence, 1);
    out_.AddProjection({.module = "shared_experts",
                        .op = "token_gate",
                        .names = kTokenGate,
                        .component = FlopsComponent::kSharedExperts,
                        .input = inputs_.router,
                        .input_needs_gradient = parts_.Needs(Site::kFeedForwardInput),
                        .narrow = false,
                        .outputs = {{gate}}});
    out_.Pass(TracePass::kForward, "scale", {{output}, {gate}}, {{output}});
    const bool needs = parts_.gradients == nullptr || parts_.gradients->token_gate_needs;
    if (!needs && !parts_.Needs(Site::kSharedExpertInner)) return;
    TraceOperands reads = {{gate}, {output, true}};
    if (needs) reads.Add({output});
    out_.Pass(TracePass::kInputGradient, "scale", reads, {{output, true}});
  }

  const LayerTraceParts& parts_;
  TraceBuilder& out_;
  const ExpertsSpec& experts_;
  const ExpertInputs inputs_;
  const int64_t hidden_;
  const int64_t width_;  // of the routed experts' inputs and outputs
  const bool router_needs_;
  uint8_t sum_ = 0;
};

}  // namespace

uint8_t AddExpertsTrace(const LayerTraceParts& parts, const ExpertsSpec& experts,
                        const ExpertInputs& inputs) {
  return ExpertsTrace(parts, experts, inputs).Add();
}

}  // namespace sextant
