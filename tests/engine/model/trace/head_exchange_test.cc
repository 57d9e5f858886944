// Context parallelism by all-to-all of heads: the exchanges and kernels of a layer, by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/model/presets/presets.h"
#include "tests/engine/model/trace/traced_model.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// The trace of the first layer of a part.
Trace LayerOf(const std::string& preset, const MicroBatchSpec& batch,
              ModelPart part = ModelPart::kDecoder, int64_t tensor = 1) {
  const ArchitectureSpec& spec = FindModelPreset(preset).value()->architecture;
  const GradientFlow flow(spec);
  const TraceContext context = {
      .spec = spec, .layout = {.tensor_parallel_size = tensor}, .batch = batch, .flow = &flow};
  const TracedModel model(context);
  for (const TracedModel::Piece& piece : model.pieces()) {
    if (piece.layer_kind >= 0 && piece.part == part) return piece.trace;
  }
  ADD_FAILURE() << preset;
  return {};
}

MicroBatchSpec Exchanging(int64_t ranks) {
  return {.sequence_length = 4096,
          .context_parallel_size = ranks,
          .context_parallel_kind = ContextParallelKind::kAllToAll};
}

using Exchange = std::pair<std::string, double>;

// Exchanges among context parallel ranks in one pass, in their order, with their bytes.
std::vector<Exchange> ExchangesOf(const Trace& trace, TracePass pass) {
  std::vector<Exchange> out;
  for (const TraceOp& op : trace.ops) {
    const auto* work = std::get_if<CollectiveWork>(&op.work);
    if (op.pass != pass || work == nullptr || work->group != TraceGroup::kContext) continue;
    const bool heads = absl::StartsWith(op.name, "exchange_");
    EXPECT_EQ(work->kind, heads ? CollectiveKind::kAllToAll : CollectiveKind::kRing);
    EXPECT_EQ(op.launches, 1);
    out.emplace_back(heads ? op.name.substr(9) : op.name, work->bytes);
  }
  return out;
}

double PassBytes(const Trace& trace, TracePass pass, absl::string_view name) {
  double out = 0;
  for (const TraceOp& op : trace.ops) {
    const auto* work = std::get_if<PassWork>(&op.work);
    if (op.pass != pass || op.name != name || work == nullptr) continue;
    out += work->read_bytes + work->written_bytes;
  }
  return out;
}

// Section 3.2 of arXiv 2309.14509: four all-to-alls a layer, N h / P elements of a rank each, and
// as many backward. N = 4096, h = 32 x 128, P = 4.
TEST(HeadExchange, IsFourAllToAllsALayerAndPass) {
  const Trace trace = LayerOf("llama-2-7b", Exchanging(4));
  constexpr double kBytes = 2.0 * 4096 * 4096 / 4;
  EXPECT_THAT(ExchangesOf(trace, TracePass::kForward),
              ElementsAre(Pair("query", kBytes), Pair("key", kBytes), Pair("value", kBytes),
                          Pair("output", kBytes)));
  EXPECT_THAT(ExchangesOf(trace, TracePass::kInputGradient),
              ElementsAre(Pair("output", kBytes), Pair("query", kBytes), Pair("key", kBytes),
                          Pair("value", kBytes)));
  EXPECT_THAT(ExchangesOf(trace, TracePass::kRecompute), IsEmpty());
  // Each is copied once, read and written.
  EXPECT_EQ(PassBytes(trace, TracePass::kForward, "arrange_heads"), 4 * 2 * kBytes);
  EXPECT_EQ(PassBytes(trace, TracePass::kForward, "order_tokens"), 0);
}

TEST(HeadExchange, AttendsOverWholeSequencesOfAPartOfTheHeads) {
  const Trace trace = LayerOf("llama-3.1-8b", Exchanging(4), ModelPart::kDecoder, 2);
  int cores = 0;
  for (const TraceOp& op : trace.ops) {
    const auto* work = std::get_if<AttentionWork>(&op.work);
    if (work == nullptr) continue;
    ++cores;
    EXPECT_EQ(work->queries, 4096);
    EXPECT_EQ(work->keys, 4096);
    EXPECT_EQ(work->heads, 32 / 2 / 4);
    EXPECT_EQ(work->key_value_heads, 8 / 2 / 4);
    EXPECT_TRUE(work->causal);
    EXPECT_EQ(op.launches, 1);
    // Scores and values of the pairs that a causal mask shows, diagonal included; backward twice.
    const double forward = 2 * 2.0 * 128 * 4 * (4096.0 * 4097 / 2);
    EXPECT_EQ(op.flops, op.pass == TracePass::kForward ? forward : 2 * forward);
  }
  EXPECT_EQ(cores, 2);
}

// 8 heads of keys and values: a quarter of the queries' bytes; on 16 ranks copies of each.
TEST(HeadExchange, SendsCopiesOfTooFewKeyHeads) {
  const auto four = ExchangesOf(LayerOf("llama-3.1-8b", Exchanging(4)), TracePass::kForward);
  ASSERT_EQ(four.size(), 4U);
  EXPECT_EQ(four[0].second, 2.0 * 1024 * 32 * 128);
  EXPECT_EQ(four[1].second, 2.0 * 1024 * 8 * 128);
  const Trace trace = LayerOf("llama-3.1-8b", Exchanging(16));
  const auto sixteen = ExchangesOf(trace, TracePass::kForward);
  ASSERT_EQ(sixteen.size(), 4U);
  EXPECT_EQ(sixteen[0].second, 2.0 * 256 * 32 * 128);
  EXPECT_EQ(sixteen[1].second, 2.0 * 256 * 16 * 128);
  // Queries and output read and write 32 heads, keys and values read 8 and write 16.
  EXPECT_EQ(PassBytes(trace, TracePass::kForward, "arrange_heads"),
            2.0 * 256 * 128 * (2 * 64 + 2 * 24));
}

// Its backward pass exchanges the output that it kept once more, and each exchange has another
// pass.
TEST(HeadExchange, OfTransformerEngine) {
  MicroBatchSpec batch = Exchanging(4);
  batch.exchanges_output_again = true;
  const Trace trace = LayerOf("llama-2-7b", batch);
  constexpr double kBytes = 2.0 * 4096 * 4096 / 4;
  EXPECT_EQ(ExchangesOf(trace, TracePass::kForward).size(), 4U);
  EXPECT_EQ(ExchangesOf(trace, TracePass::kInputGradient).size(), 4U);
  EXPECT_THAT(ExchangesOf(trace, TracePass::kRecompute), ElementsAre(Pair("output", kBytes)));
  EXPECT_EQ(PassBytes(trace, TracePass::kForward, "order_tokens"), 4 * 2 * kBytes);
}

// Attention that is computed again is exchanged again where both are one operation.
TEST(HeadExchange, AgainWhereTheCoreIsComputedAgain) {
  MicroBatchSpec batch = Exchanging(4);
  batch.recomputation.policy = RecomputePolicy::kSelective;
  EXPECT_THAT(ExchangesOf(LayerOf("llama-2-7b", batch), TracePass::kRecompute), IsEmpty());
  batch.exchanges_output_again = true;
  constexpr double kBytes = 2.0 * 4096 * 4096 / 4;
  EXPECT_THAT(ExchangesOf(LayerOf("llama-2-7b", batch), TracePass::kRecompute),
              ElementsAre(Pair("query", kBytes), Pair("key", kBytes), Pair("value", kBytes),
                          Pair("output", kBytes), Pair("output", kBytes)));
  batch.exchanges_output_again = false;
  batch.recomputation.policy = RecomputePolicy::kFull;
  EXPECT_EQ(ExchangesOf(LayerOf("llama-2-7b", batch), TracePass::kRecompute).size(), 4U);
}

// Products of unfused attention have all queries of fewer heads.
TEST(HeadExchange, OfUnfusedAttention) {
  MicroBatchSpec batch = Exchanging(4);
  batch.attention = AttentionKernel::kUnfused;
  const Trace trace = LayerOf("llama-3.1-8b", batch);
  for (const TraceOp& op : trace.ops) {
    if (op.name != "scores") continue;
    const auto& work = std::get<MatmulWork>(op.work);
    EXPECT_EQ(work.batch, 2);     // heads of keys
    EXPECT_EQ(work.m, 4096 * 4);  // queries of each
    EXPECT_EQ(work.n, 4096);
    EXPECT_EQ(work.k, 128);
  }
  EXPECT_EQ(ExchangesOf(trace, TracePass::kForward).size(), 4U);
}

// One rank exchanges nothing, and computes what it does under a ring.
TEST(HeadExchange, OfOneRankIsNothing) {
  MicroBatchSpec batch = Exchanging(1);
  batch.exchanges_output_again = true;
  const Trace exchanged = LayerOf("llama-3.1-8b", batch);
  batch.context_parallel_kind = ContextParallelKind::kRing;
  const Trace ring = LayerOf("llama-3.1-8b", batch);
  ASSERT_EQ(exchanged.ops.size(), ring.ops.size());
  for (size_t i = 0; i < ring.ops.size(); ++i) EXPECT_EQ(exchanged.ops[i].name, ring.ops[i].name);
  EXPECT_EQ(KeptBytes(exchanged), KeptBytes(ring));
}

// Cross attention reads keys and values of 512 tokens of the encoder, 256 of which each rank has;
// T5's 12 heads of 64.
TEST(ContextParallelism, CarriesTheEncodersKeysAndValues) {
  MicroBatchSpec batch = {
      .sequence_length = 128, .encoder_sequence_length = 512, .context_parallel_size = 2};
  const Trace ring = LayerOf("t5-base", batch);
  EXPECT_THAT(ExchangesOf(ring, TracePass::kForward),
              ElementsAre(Pair("ring", 2.0 * 64 * 768 * 2), Pair("ring", 2.0 * 256 * 768 * 2)));
  batch.context_parallel_kind = ContextParallelKind::kAllToAll;
  EXPECT_THAT(ExchangesOf(LayerOf("t5-base", batch), TracePass::kForward),
              ElementsAre(Pair("query", 2.0 * 64 * 768), Pair("key", 2.0 * 64 * 768),
                          Pair("value", 2.0 * 64 * 768), Pair("output", 2.0 * 64 * 768),
                          Pair("query", 2.0 * 64 * 768), Pair("key", 2.0 * 256 * 768),
                          Pair("value", 2.0 * 256 * 768), Pair("output", 2.0 * 64 * 768)));
}

}  // namespace
}  // namespace sextant
