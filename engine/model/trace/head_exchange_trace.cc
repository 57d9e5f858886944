#include "engine/model/trace/head_exchange_trace.h"

namespace sextant {

using Site = ActivationSite;

namespace {
constexpr absl::string_view kOutput = "exchange_output";
}

HeadExchange::HeadExchange(const AttentionCoreTrace& core)
    : core_(core),
      out_(core.parts.out),
      exchanges_(ExchangesHeads(out_.batch())),
      query_(core.query),
      key_(core.key),
      value_(core.value),
      output_(core.output) {
  if (!exchanges_) return;
  const AttentionSpec& attention = core.attention;
  const int64_t keys =
      core.key_tokens * AttendedKeyHeads(attention, out_.context().layout, out_.batch());
  query_ = out_.Make(TokenRows::kAll, core.heads * attention.query_key_head_size);
  key_ = out_.MakeWhole(keys * attention.query_key_head_size);
  value_ = out_.MakeWhole(keys * attention.value_head_size);
  output_ = out_.Make(TokenRows::kAll, core.heads * attention.value_head_size);
}

// One copy into the order that is sent, or from the order that came; Transformer Engine makes
// another one, which puts tokens in order. Sources: deepspeedai/DeepSpeed,
// deepspeed/sequence/layer.py @25493c74, single_all_to_all(); NVIDIA/TransformerEngine,
// transformer_engine/pytorch/attention/dot_product_attention/context_parallel.py @015d2257,
// flash_attn_a2a_communicate().
void HeadExchange::Add(TracePass pass, const Exchanged& exchanged) {
  const TraceOperand from = {exchanged.from, exchanged.gradient};
  const TraceOperand to = {exchanged.to, exchanged.gradient};
  out_.Pass(pass, "arrange_heads", {from}, {to});
  out_.Collective(pass, exchanged.name,
                  {CollectiveKind::kAllToAll, TraceGroup::kContext, out_.bytes_of(exchanged.whole)},
                  {from}, {to});
  if (!ExchangesOutputAgain(out_.batch())) return;
  out_.Pass(pass, "order_tokens", {to}, {to});
}

void HeadExchange::AddInputs() {
  if (!exchanges_) return;
  const struct {
    absl::string_view name;
    Site site;
    uint8_t own;
    uint8_t whole;
  } operands[] = {{"exchange_query", Site::kQuery, core_.query, query_},
                  {"exchange_key", Site::kKey, core_.key, key_},
                  {"exchange_value", Site::kValue, core_.value, value_}};
  for (const auto& each : operands) {
    Add(TracePass::kForward,
        {.name = each.name, .from = each.own, .to = each.whole, .whole = each.whole});
  }
  out_.AddInOrder([&] {
    for (const auto& each : operands) {
      if (!Needs(each.site)) continue;
      Add(TracePass::kInputGradient, {.name = each.name,
                                      .from = each.whole,
                                      .to = each.own,
                                      .whole = each.whole,
                                      .gradient = true});
    }
  });
}

void HeadExchange::AddInputsAgain() {
  if (!exchanges_) return;
  const TracePass pass = TracePass::kRecompute;
  Add(pass, {.name = "exchange_query", .from = core_.query, .to = query_, .whole = query_});
  Add(pass, {.name = "exchange_key", .from = core_.key, .to = key_, .whole = key_});
  Add(pass, {.name = "exchange_value", .from = core_.value, .to = value_, .whole = value_});
}

void HeadExchange::AddOutput() {
  if (!exchanges_) return;
  Add(TracePass::kForward,
      {.name = kOutput, .from = output_, .to = core_.output, .whole = output_});
  if (!Needs(Site::kHeads)) return;
  out_.AddInOrder([&] {
    Add(TracePass::kInputGradient,
        {.name = kOutput, .from = core_.output, .to = output_, .whole = output_, .gradient = true});
  });
}

void HeadExchange::AddOutputBack(uint8_t whole, uint8_t own) {
  Add(TracePass::kRecompute, {.name = kOutput, .from = whole, .to = own, .whole = whole});
}

void HeadExchange::AddOutputForth(uint8_t own, uint8_t whole) {
  Add(TracePass::kRecompute, {.name = kOutput, .from = own, .to = whole, .whole = whole});
}

}  // namespace sextant
