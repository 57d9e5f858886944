// Experts whose ranks gather the tokens of all of them: the exchanges of a layer, by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "engine/model/presets/presets.h"
#include "tests/engine/model/trace/traced_model.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;

using GatheredExchange = std::tuple<std::string, CollectiveKind, TraceGroup, double>;

// Mixtral's first layer on 8 expert parallel ranks: hidden size 4096, 8 experts.
std::vector<GatheredExchange> ExchangesOf(TracePass pass) {
  const ArchitectureSpec& spec = FindModelPreset("mixtral-8x7b").value()->architecture;
  const GradientFlow flow(spec);
  const MicroBatchSpec batch = {.sequence_length = 1024,
                                .expert_dispatch = ExpertDispatch::kAllGather};
  const TraceContext context = {
      .spec = spec, .layout = {.expert_parallel_size = 8}, .batch = batch, .flow = &flow};
  const TracedModel model(context);
  std::vector<GatheredExchange> out;
  for (const TracedModel::Piece& piece : model.pieces()) {
    if (piece.layer_kind < 0) continue;
    for (const TraceOp& op : piece.trace.ops) {
      const auto* work = std::get_if<CollectiveWork>(&op.work);
      if (op.pass != pass || work == nullptr || work->group != TraceGroup::kExpert) continue;
      out.emplace_back(op.name, work->kind, work->group, work->bytes);
    }
    break;
  }
  return out;
}

// 8 x 1024 tokens: of 4096 numbers of 2 bytes, of 8 probabilities of 2 bytes and 8 marks of one.
TEST(GatheredTokens, AreGatheredAndScatteredOnceAPass) {
  constexpr double kTokens = 8 * 1024;
  EXPECT_THAT(ExchangesOf(TracePass::kForward),
              ElementsAre(GatheredExchange("gather_routes", CollectiveKind::kAllGather,
                                           TraceGroup::kExpert, kTokens * 8 * 3),
                          GatheredExchange("gather", CollectiveKind::kAllGather,
                                           TraceGroup::kExpert, kTokens * 4096 * 2),
                          GatheredExchange("scatter", CollectiveKind::kReduceScatter,
                                           TraceGroup::kExpert, kTokens * 4096 * 2)));
  EXPECT_THAT(ExchangesOf(TracePass::kInputGradient),
              ElementsAre(GatheredExchange("scatter", CollectiveKind::kAllGather,
                                           TraceGroup::kExpert, kTokens * 4096 * 2),
                          GatheredExchange("gather", CollectiveKind::kReduceScatter,
                                           TraceGroup::kExpert, kTokens * 4096 * 2),
                          GatheredExchange("gather_routes", CollectiveKind::kReduceScatter,
                                           TraceGroup::kExpert, kTokens * 8 * 2)));
}

}  // namespace
}  // namespace sextant
