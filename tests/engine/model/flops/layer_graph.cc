#include "tests/engine/model/flops/layer_graph.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace sextant {
namespace {

using Component = WeightComponent;

// Writes one layer; keeps what all of its parts need.
class LayerGraph {
 public:
  LayerGraph(const ArchitectureSpec& spec, const LayerGraphInput& input, GraphWriter& graph)
      : spec_(spec),
        input_(input),
        layer_(input.layer),
        graph_(graph),
        place_(spec, graph, input.place, input.frozen) {}

  std::string Write() {
    std::string x = input_.x;
    const std::string shared = layer_.norms.before_attention ? Norm(x, "before_attention") : x;
    if (layer_.attention.has_value()) {
      const std::string made = Attend(*layer_.attention, {"attention", shared, shared});
      x = graph_.Add(x, layer_.norms.after_attention ? Norm(made, "after_attention") : made);
    }
    if (layer_.cross_attention.has_value()) {
      const std::string y =
          layer_.norms.before_cross_attention ? Norm(x, "before_cross_attention") : x;
      const std::string made =
          Attend(*layer_.cross_attention, {"cross_attention", y, input_.encoder});
      x = graph_.Add(
          x, layer_.norms.after_cross_attention ? Norm(made, "after_cross_attention") : made);
    }
    const LayerNorms& norms = layer_.norms;
    const bool parallel = layer_.attention.has_value() && norms.before_attention &&
                          !norms.after_attention && !norms.before_feed_forward &&
                          !norms.after_feed_forward;
    const std::string z = parallel                    ? shared
                          : norms.before_feed_forward ? Norm(x, "before_feed_forward")
                                                      : x;
    if (layer_.output_scale) graph_.Parameter(input_.place + ".output_scale", {1}, true);
    std::string made = FeedForwards(x, z);
    if (made.empty()) return x;
    if (norms.after_feed_forward) made = Norm(made, "after_feed_forward");
    return graph_.Add(x, made);
  }

 private:
  struct Sources {
    std::string module;
    std::string queries;
    std::string keys;
  };
  struct Heads {
    std::string q;  // [tokens, heads x size]
    std::string k;
    std::string v;
  };

  std::string Norm(const std::string& x, const std::string& name) {
    return place_.Norm(x, absl::StrCat("norm.", name), layer_.norm, spec_.hidden_size);
  }

  GraphMap Of(const std::string& module, const std::string& name, Component component) const {
    return {.module = module, .name = name, .component = component};
  }

  std::string MapTo(const std::string& x, GraphMap map, int64_t in, int64_t out) {
    map.in = in;
    map.out = out;
    return place_.Map(x, map);
  }

  std::string Project(const Sources& s, const std::string& name, int64_t size, bool bias) {
    GraphMap map = Of(s.module, name, Component::kAttentionQueryKeyValue);
    map.bias = bias;
    return MapTo(name == "query" ? s.queries : s.keys, map, spec_.hidden_size, size);
  }

  Heads PlainHeads(const AttentionSpec& a, const Sources& s) {
    const int64_t d = a.query_key_head_size;
    Heads out = {Project(s, "query", a.head_count * d, a.query_bias),
                 Project(s, "key", a.key_value_head_count * d, a.key_bias), ""};
    out.v = a.values_are_keys
                ? out.k
                : Project(s, "value", a.key_value_head_count * a.value_head_size, a.value_bias);
    if (a.query_key_norm == QueryKeyNorm::kNone) return out;
    const NormVariant variant = a.query_key_norm_variant == NormVariant::kUnspecified
                                    ? layer_.norm
                                    : a.query_key_norm_variant;
    out.q = HeadNorm(out.q, {s.module + ".query_norm", a, variant, a.head_count});
    out.k = HeadNorm(out.k, {s.module + ".key_norm", a, variant, a.key_value_head_count});
    return out;
  }

  struct NormOfHeads {
    std::string name;
    const AttentionSpec& attention;
    NormVariant variant;
    int64_t heads;
  };

  std::string HeadNorm(const std::string& x, const NormOfHeads& norm) {
    const int64_t d = norm.attention.query_key_head_size;
    if (norm.attention.query_key_norm == QueryKeyNorm::kAllHeads) {
      return place_.Norm(x, norm.name, norm.variant, norm.heads * d);
    }
    const std::string apart = graph_.Rearrange(x, "t (a d) -> t a d", {{"a", norm.heads}});
    return graph_.Rearrange(place_.Norm(apart, norm.name, norm.variant, d), "t a d -> t (a d)");
  }

  Heads LatentHeads(const AttentionSpec& a, const Sources& s) {
    const LatentSpec& latent = *a.latent;
    const int64_t plain = a.query_key_head_size - latent.rotary_size;
    const int64_t query_size = a.head_count * a.query_key_head_size;
    GraphMap down = Of(s.module, "key_value_down", Component::kAttentionLatent);
    down.bias = latent.down_bias;
    const std::string joint =
        MapTo(s.keys, down, spec_.hidden_size, latent.key_value_rank + latent.rotary_size);
    const std::string narrow =
        place_.Norm(graph_.Columns(joint, latent.key_value_rank),
                    s.module + ".key_value_latent_norm", layer_.norm, latent.key_value_rank);
    const std::string wide =
        MapTo(narrow, Of(s.module, "key_value_up", Component::kAttentionLatent),
              latent.key_value_rank, a.head_count * (plain + a.value_head_size));
    Heads out;
    out.v = graph_.Columns(wide, a.head_count * a.value_head_size);
    out.k = graph_.Columns(wide, query_size);
    if (latent.rotary_size > 0) {
      out.k = graph_.Add(graph_.Columns(graph_.Columns(wide, a.head_count * plain), query_size),
                         graph_.Columns(graph_.Columns(joint, latent.rotary_size), query_size));
    }
    if (latent.query_rank == 0) {
      out.q = Project(s, "query", query_size, false);
      return out;
    }
    GraphMap query_down = down;
    query_down.name = "query_down";
    const std::string query =
        place_.Norm(MapTo(s.queries, query_down, spec_.hidden_size, latent.query_rank),
                    s.module + ".query_latent_norm", layer_.norm, latent.query_rank);
    out.q = MapTo(query, Of(s.module, "query_up", Component::kAttentionLatent), latent.query_rank,
                  query_size);
    return out;
  }

  // A table's rows, looked up for each pair of a query and a key, as a bias of each head.
  std::string AddBias(const std::string& scores, const std::string& table, const AttentionSpec& a,
                      int64_t keys) {
    const std::string rows = graph_.Lookup({input_.sequences * input_.length * keys}, table);
    return graph_.Add(scores, graph_.Rearrange(rows, "(b q k) (g r) -> b g r q k",
                                               {{"b", input_.sequences},
                                                {"q", input_.length},
                                                {"g", a.key_value_head_count}}));
  }

  // Sinks and relative positions, which learn and multiply nothing.
  std::string Biased(std::string scores, const AttentionSpec& a, const std::string& module) {
    const bool cross = module == "cross_attention";
    const int64_t keys = cross ? input_.encoder_length : input_.length;
    if (a.sinks) {
      const std::string sinks =
          graph_.Parameter(absl::StrCat(input_.place, ".", module, ".sinks"), {1, a.head_count},
                           place_.Frozen(Component::kAttentionSinks));
      scores = AddBias(scores, sinks, a, keys);
    }
    if (!cross && !input_.position_table.empty()) {
      scores = AddBias(scores, input_.position_table, a, keys);
    }
    return scores;
  }

  std::string Attend(const AttentionSpec& a, const Sources& s) {
    const Heads heads = a.latent.has_value() ? LatentHeads(a, s) : PlainHeads(a, s);
    const AxisSize sequences = {"b", input_.sequences};
    const AxisSize groups = {"g", a.key_value_head_count};
    const AxisSize shared = {"r", a.head_count / a.key_value_head_count};
    const std::string q =
        graph_.Rearrange(heads.q, "(b t) (g r d) -> b g r t d", {sequences, groups, shared});
    const std::string k = graph_.Rearrange(heads.k, "(b t) (g d) -> b g t d", {sequences, groups});
    const std::string v = graph_.Rearrange(heads.v, "(b t) (g d) -> b g t d", {sequences, groups});
    const std::string scores = graph_.Einsum("b g r q d, b g k d -> b g r q k", {q, k});
    const std::string weights = graph_.Do(Softmax{}, {Biased(scores, a, s.module)});
    const std::string sums = graph_.Einsum("b g r q k, b g k d -> b g r q d", {weights, v});
    std::string joined = graph_.Rearrange(sums, "b g r q d -> (b q) (g r d)");
    if (a.output_gate != OutputGate::kNone) {
      const std::string gate =
          MapTo(s.queries, Of(s.module, "output_gate", Component::kAttentionQueryKeyValue),
                spec_.hidden_size, OutputGateSize(a));
      joined = graph_.Multiply(joined, graph_.Columns(gate, a.head_count * a.value_head_size));
    }
    GraphMap output = Of(s.module, "output", Component::kAttentionOutput);
    output.bias = a.output_bias;
    return MapTo(joined, output, a.head_count * a.value_head_size, spec_.hidden_size);
  }

  // One feed-forward of tokens of `width`; `first` tells where its parameters stand.
  std::string FeedForward(const std::string& z, const FeedForwardSpec& f, const GraphMap& first,
                          int64_t width) {
    GraphMap map = first;
    map.bias = f.input_bias;
    map.name = "up";
    std::string inner = MapTo(z, map, width, f.size);
    map.name = "gate";
    inner = f.kind == FeedForwardKind::kGated
                ? graph_.Multiply(graph_.Activate(MapTo(z, map, width, f.size)), inner)
                : graph_.Activate(inner);
    map.bias = f.output_bias;
    map.name = "down";
    return MapTo(inner, map, f.size, width);
  }

  // An expert that no token of the step meets.
  void UnreadFeedForward(const FeedForwardSpec& f, const GraphMap& first, int64_t width) {
    GraphMap map = first;
    map.bias = f.input_bias;
    map.in = width;
    map.out = f.size;
    for (const std::string name : {"up", "gate"}) {
      if (name == "gate" && f.kind != FeedForwardKind::kGated) continue;
      map.name = name;
      place_.MapUnread(map);
    }
    map.bias = f.output_bias;
    std::swap(map.in, map.out);
    map.name = "down";
    place_.MapUnread(map);
  }

  void Sum(std::string& sum, const std::string& made) {
    sum = sum.empty() ? made : graph_.Add(sum, made);
  }

  // `x` is the residual, and `z` the branch's input.
  std::string FeedForwards(const std::string& x, const std::string& z) {
    const LayerNorms& norms = layer_.norms;
    std::string sum;
    if (layer_.feed_forward.has_value()) {
      sum = FeedForward(z, *layer_.feed_forward,
                        Of("feed_forward", "", Component::kDenseFeedForward), spec_.hidden_size);
      if (norms.before_sum) sum = Norm(sum, "after_dense");
    }
    if (!layer_.experts.has_value()) return sum;
    std::string routed = norms.before_experts ? Norm(x, "before_router") : z;
    routed = Experts(routed, norms.before_experts ? Norm(x, "before_experts") : z, *layer_.experts);
    Sum(sum, norms.before_sum ? Norm(routed, "after_experts") : routed);
    return sum;
  }

  std::string SharedExperts(const std::string& z, const ExpertsSpec& e) {
    std::string sum;
    GraphMap expert = Of("shared_experts", "", Component::kSharedExperts);
    for (expert.copy = 0; expert.copy < e.shared_expert_count; ++expert.copy) {
      Sum(sum, FeedForward(z, e.shared_expert, expert, spec_.hidden_size));
    }
    if (!e.shared_expert_gate) return sum;
    const std::string gate = MapTo(z, Of("shared_experts", "token_gate", Component::kSharedExperts),
                                   spec_.hidden_size, 1);
    return graph_.Multiply(sum, graph_.Columns(gate, spec_.hidden_size));
  }

  std::string Experts(const std::string& z, const std::string& tokens, const ExpertsSpec& e) {
    const int64_t hidden = spec_.hidden_size;
    const int64_t width = e.latent_size > 0 ? e.latent_size : hidden;
    const int64_t routes = e.expert_count + e.zero_expert_count;
    GraphMap router = Of("router", "", Component::kRouter);
    router.bias = e.router_bias;
    const std::string weights = graph_.Columns(MapTo(z, router, hidden, routes), width);
    if (e.router_correction_bias) {
      graph_.Parameter(input_.place + ".router.correction", {routes}, true);
    }
    const bool narrow = e.latent_size > 0;
    const std::string input =
        narrow
            ? MapTo(tokens, Of("expert_latent", "down", Component::kRoutedExperts), hidden, width)
            : tokens;
    std::string sum;
    GraphMap expert = Of("experts", "", Component::kRoutedExperts);
    for (expert.copy = 0; expert.copy < e.expert_count; ++expert.copy) {
      if (expert.copy < e.experts_per_token) {
        Sum(sum, graph_.Multiply(weights, FeedForward(input, e.expert, expert, width)));
      } else {
        UnreadFeedForward(e.expert, expert, width);
      }
    }
    if (narrow) {
      sum = MapTo(sum, Of("expert_latent", "up", Component::kRoutedExperts), width, hidden);
    }
    if (e.shared_expert_count > 0) Sum(sum, SharedExperts(z, e));
    return sum;
  }

  const ArchitectureSpec& spec_;
  const LayerGraphInput& input_;
  const LayerSpec& layer_;
  GraphWriter& graph_;
  PlaceGraph place_;
};

}  // namespace

bool PlaceGraph::Frozen(Component component) const {
  if (component == Component::kAdapter) return false;
  const std::vector<Component>& frozen = spec_.frozen_components;
  return frozen_run_ || spec_.base_frozen ||
         std::find(frozen.begin(), frozen.end(), component) != frozen.end();
}

const WeightName* PlaceGraph::AdapterOf(const GraphMap& map, int64_t columns) const {
  if (!spec_.adapters.has_value() || columns < 2) return nullptr;
  for (const WeightName& target : spec_.adapters->targets) {
    const std::vector<std::string> names = absl::StrSplit(target.name, '+');
    if (target.module == map.module && absl::c_linear_search(names, map.name)) return &target;
  }
  return nullptr;
}

std::string PlaceGraph::Full(const GraphMap& map, const std::string& what) const {
  return absl::StrCat(place_, ".", map.module, ".", map.name, map.copy, ".", what);
}

PlaceGraph::Parameters PlaceGraph::ParametersOf(const GraphMap& map) {
  Parameters out;
  const bool frozen = Frozen(map.component);
  out.weight = graph_.Parameter(Full(map, "w"), {map.in, map.out}, frozen);
  if (map.bias) {
    const bool head = map.component == Component::kOutputHead;
    out.bias = graph_.Parameter(Full(map, "b"), {map.out},
                                Frozen(head ? Component::kOutputHead : Component::kBias));
  }
  const WeightName* const target = AdapterOf(map, map.in);
  if (target == nullptr) return out;
  out.adapter_down = DownOf(map, *target);
  out.adapter_up = graph_.Parameter(Full(map, "c"), {spec_.adapters->rank, map.out}, false);
  return out;
}

std::string PlaceGraph::DownOf(const GraphMap& map, const WeightName& target) {
  const std::string name = absl::StrCat(place_, ".", map.module, ".", target.name, map.copy, ".a");
  if (downs_.insert(name).second) graph_.Parameter(name, {map.in, spec_.adapters->rank}, false);
  return name;
}

void PlaceGraph::MapUnread(const GraphMap& map) { ParametersOf(map); }

std::string PlaceGraph::Map(const std::string& x, const GraphMap& map) {
  const Parameters p = ParametersOf(map);
  const std::string y = p.bias.empty() ? graph_.Project(x, p.weight)
                                       : graph_.Do(Linear{.bias = true}, {x, p.weight, p.bias});
  if (p.adapter_down.empty()) return y;
  std::string& inner = inner_[absl::StrCat(x, " ", p.adapter_down)];
  if (inner.empty()) inner = graph_.Project(x, p.adapter_down);
  return graph_.Add(y, graph_.Project(inner, p.adapter_up));
}

std::string PlaceGraph::Table(int64_t rows, const GraphMap& map) {
  const std::string table =
      graph_.Parameter(Full(map, "w"), {map.in, map.out}, Frozen(map.component));
  const std::string found = graph_.Lookup({rows}, table);
  if (AdapterOf(map, map.out) == nullptr) return found;
  const int64_t rank = spec_.adapters->rank;
  const std::string narrow =
      graph_.Lookup({rows}, graph_.Parameter(Full(map, "a"), {map.in, rank}, false));
  return graph_.Add(
      found, graph_.Project(narrow, graph_.Parameter(Full(map, "c"), {rank, map.out}, false)));
}

std::string PlaceGraph::Norm(const std::string& x, const std::string& name, NormVariant variant,
                             int64_t length) {
  if (variant == NormVariant::kNonParametricLayerNorm) return graph_.Activate(x);
  const bool frozen = Frozen(Component::kNorm);
  const std::string weight =
      graph_.Parameter(absl::StrCat(place_, ".", name, ".w"), {length}, frozen);
  if (variant != NormVariant::kLayerNorm) return graph_.Do(RmsNorm{}, {x, weight});
  const std::string bias =
      graph_.Parameter(absl::StrCat(place_, ".", name, ".b"), {length}, frozen);
  return graph_.Do(LayerNorm{}, {x, weight, bias});
}

std::string AddLayer(const ArchitectureSpec& spec, const LayerGraphInput& input,
                     GraphWriter& graph) {
  return LayerGraph(spec, input, graph).Write();
}

}  // namespace sextant
