// Megatron-LM's arguments as people write them, right and wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "server/launcher/launcher.h"
#include "server/launcher/megatron.h"
#include "tests/launcher/sample_launch.h"

namespace sextant::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

LauncherRead ReadArguments(const std::string& text, bool with_model = true) {
  const absl::StatusOr<LauncherRead> read = ReadMegatron(text, with_model);
  EXPECT_TRUE(read.ok()) << text << ": " << read.status();
  return read.ok() ? *read : LauncherRead{};
}

constexpr char kModel[] =
    "--num-layers 24 --hidden-size 1024 --num-attention-heads 16 --vocab-size 50304 "
    "--max-position-embeddings 2048 ";

TEST(ReadMegatron, TakesItsDefaults) {
  const v1::PlanRunRequest request =
      ReadArguments(absl::StrCat(kModel, "--seq-length 2048")).request;
  const v1::Architecture& model = request.model().architecture();
  EXPECT_EQ(model.norm(), v1::NORM_VARIANT_LAYER_NORM);
  EXPECT_EQ(model.output().head(), v1::OUTPUT_HEAD_TIED);
  EXPECT_EQ(model.decoder().learned_position_count(), 2048);
  EXPECT_EQ(model.layer_kinds(0).feed_forward().size(), 4096);  // 4 h
  EXPECT_EQ(model.layer_kinds(0).feed_forward().kind(), v1::FeedForward::KIND_PLAIN);
  EXPECT_TRUE(model.layer_kinds(0).attention().output_bias());
  EXPECT_EQ(model.layer_kinds(0).attention().query_key_head_size(), 64);
  EXPECT_EQ(request.training().precision().compute_data_type(), v1::DATA_TYPE_FP32);
  EXPECT_TRUE(request.layout().kernels().dropout());
  EXPECT_EQ(request.layout().sharding().zero_stage(), v1::ZERO_STAGE_NONE);
}

// No rows for positions, and kernels that flash attention does not use.
TEST(ReadMegatron, ReadsScriptsOfExperts) {
  const LauncherRead read = ReadArguments(absl::StrCat(kModel,
                                                       "--seq-length 2048 --no-position-embedding "
                                                       "--no-masked-softmax-fusion"));
  EXPECT_EQ(read.request.model().architecture().decoder().learned_position_count(), 0);
  EXPECT_THAT(read.ignored, IsEmpty());
}

// 4096 x 8 / 3 is 10922.7, down to a multiple of 64: 10880.
TEST(ReadMegatron, NarrowsGatedFeedForwards) {
  const LauncherRead read = ReadArguments(
      "--num-layers 2 --hidden-size 4096 --num-attention-heads 32 --vocab-size 1 --swiglu "
      "--position-embedding-type rope");
  EXPECT_EQ(read.request.model().architecture().layer_kinds(0).feed_forward().size(), 10880);
}

TEST(ReadMegatron, SplitsAsShellsDo) {
  const LauncherRead read = ReadArguments(
      "--tensor-model-parallel-size=4\n --data-path \"/a b/c\" 'x' --micro-batch-size \"2\" "
      "--lr 1e-4 --micro-batch-size 3 --min-lr=-1e-5");
  EXPECT_EQ(read.request.layout().parallel().tensor_parallel_size(), 4);
  EXPECT_EQ(read.request.layout().micro_batch_size(), 3);  // the last one counts
  EXPECT_FALSE(read.request.layout().sequence_parallel());
  EXPECT_THAT(read.passed, ElementsAre("--data-path", "--lr", "--min-lr"));
  EXPECT_THAT(read.ignored, IsEmpty());
}

TEST(ReadMegatron, ComputesTheBatchAndTokensOnceDevicesAreKnown) {
  v1::PlanRunRequest devices;
  devices.mutable_cluster()->set_device_count(64);
  const LauncherRead read = ReadArguments(
      "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 4 --micro-batch-size 2 "
      "--seq-length 1000 --train-iters 10 --use-distributed-optimizer "
      "--num-distributed-optimizer-instances 2");
  const v1::PlanRunRequest request = RequestAsRead(read, devices);
  EXPECT_EQ(request.layout().global_batch_size(), 16);  // 2 on each of 64 / 8 ranks
  EXPECT_EQ(request.training().token_count(), 160'000);
  EXPECT_EQ(request.layout().sharding().shard_group_size(), 4);
}

// BLOOM's: 116 batches, each over 84,186.4 samples. The first takes 439 steps, to 84,288, and the
// second 405 of 208, past 168,373.
TEST(ReadMegatron, ReadsARampOfTheBatch) {
  const LauncherRead read = ReadArguments(
      "--seq-length 2048 --global-batch-size 2048 --rampup-batch-size 192 16 9_765_625 "
      "--train-samples 220_000_000");
  const auto& ramp = read.request.layout().batch_ramp();
  ASSERT_EQ(ramp.size(), 116);
  EXPECT_EQ(ramp[0].global_batch_size(), 192);
  EXPECT_EQ(ramp[0].token_count(), int64_t{84'288} * 2048);
  EXPECT_EQ(ramp[1].token_count(), int64_t{405} * 208 * 2048);
  EXPECT_EQ(ramp[115].global_batch_size(), 2032);
  EXPECT_THAT(read.ignored, IsEmpty());
}

// 3 steps have 2 sequences, 1 has 4, and 6 have 6: 46 sequences of 10 tokens.
TEST(ReadMegatron, CountsStepsThatHaveSmallerBatches) {
  const LauncherRead read = ReadArguments(
      "--seq-length 10 --global-batch-size 6 --rampup-batch-size 2 2 10 --train-iters 10");
  EXPECT_EQ(read.request.layout().batch_ramp_size(), 2);
  EXPECT_EQ(read.request.training().token_count(), 460);
  EXPECT_THAT(ReadArguments("--seq-length 10 --rampup-batch-size 2 2 10").ignored,
              ElementsAre("--rampup-batch-size"));
}

TEST(ReadMegatron, KnowsEveryWayToCutAPipeline) {
  const std::string model = absl::StrCat(kModel, "--pipeline-model-parallel-size 4 ");
  const auto layout = [&](const std::string& text) {
    return ReadArguments(model + text).request.layout().parallel();
  };
  EXPECT_EQ(layout("--num-layers-per-virtual-pipeline-stage 2").virtual_stage_count(), 3);
  EXPECT_THAT(layout("--decoder-first-pipeline-num-layers 3").layers_per_chunk(),
              ElementsAre(3, 7, 7, 7));
  EXPECT_THAT(layout("--pipeline-model-parallel-layout Et*5|(t|)*6t*13m,L").layers_per_chunk(),
              ElementsAre(5, 1, 1, 1, 1, 1, 1, 13));
  const std::string both =
      "--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split ";
  const LauncherRead read = ReadArguments(
      absl::StrCat(model, both, "--num-virtual-stages-per-pipeline-rank 2 --num-layers 30"));
  EXPECT_THAT(read.request.layout().parallel().layers_per_chunk(),
              ElementsAre(3, 4, 4, 4, 4, 4, 4, 3));
}

TEST(ReadMegatron, ReadsWhatContextParallelRanksExchange) {
  const auto kind = [](const std::string& text) {
    return ReadArguments("--context-parallel-size 4 " + text)
        .request.layout()
        .context_parallel_kind();
  };
  EXPECT_EQ(kind(""), v1::CONTEXT_PARALLEL_KIND_UNSPECIFIED);
  EXPECT_EQ(kind("--cp-comm-type p2p"), v1::CONTEXT_PARALLEL_KIND_RING);
  EXPECT_EQ(kind("--cp-comm-type a2a"), v1::CONTEXT_PARALLEL_KIND_ALL_TO_ALL);
  EXPECT_EQ(kind("--cp-comm-type a2a a2a a2a"), v1::CONTEXT_PARALLEL_KIND_ALL_TO_ALL);
}

TEST(ReadMegatron, LeavesTheModelWhereAFlagGivesOne) {
  EXPECT_FALSE(
      ReadArguments("--num-layers 32 --hidden-size 64", false).request.model().has_architecture());
}

TEST(ReadMegatron, ListsWhatNoFieldStandsFor) {
  EXPECT_THAT(ReadArguments("--recompute-granularity full --recompute-method block").ignored,
              ElementsAre("--recompute-granularity full --recompute-method block"));
  EXPECT_THAT(
      ReadArguments("--recompute-granularity selective --recompute-modules mlp core_attn").ignored,
      ElementsAre("--recompute-modules mlp"));
  EXPECT_THAT(ReadArguments("--fp8-format hybrid --fp8-recipe blockwise --bf16").ignored,
              ElementsAre("--fp8-recipe blockwise"));
  EXPECT_THAT(ReadArguments("pretrain_gpt.py --bf16").ignored, ElementsAre("pretrain_gpt.py"));
}

v1::SoftwareStack SoftwareIn(const std::string& text) {
  return ReadArguments(text).request.layout().software();
}

// Its default hides nothing. Gradients of 4 bytes and weights of 2: two thirds of the exchange, of
// which the stack hides 0.9; of bf16 gradients half.
TEST(ReadMegatron, PricesExchangesThatAreNotHidden) {
  const std::string divided = "--bf16 --use-distributed-optimizer ";
  const std::string gradients = divided + "--overlap-grad-reduce ";
  EXPECT_EQ(SoftwareIn(divided).data_exchange_overlap(), 0);
  EXPECT_TRUE(SoftwareIn(divided).has_data_exchange_overlap());
  EXPECT_FALSE(SoftwareIn("--overlap-grad-reduce").has_data_exchange_overlap());
  EXPECT_DOUBLE_EQ(SoftwareIn(gradients).data_exchange_overlap(), 0.9 * 4 / 6);
  EXPECT_DOUBLE_EQ(SoftwareIn(gradients + "--grad-reduce-in-bf16").data_exchange_overlap(), 0.45);
  EXPECT_FALSE(SoftwareIn(gradients + "--overlap-param-gather").has_data_exchange_overlap());
  const std::string whole =
      "--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params ";
  EXPECT_EQ(SoftwareIn(whole).overlap_contention(), 1);
  EXPECT_EQ(SoftwareIn(whole + "--overlap-grad-reduce").overlap_contention(), 1);
  EXPECT_FALSE(
      SoftwareIn(whole + "--overlap-grad-reduce --overlap-param-gather").has_overlap_contention());
  const std::string tensor = "--tensor-model-parallel-size 2 --sequence-parallel ";
  EXPECT_FALSE(SoftwareIn(tensor).has_tensor_exchange_exposure());
  EXPECT_LT(SoftwareIn(tensor + "--tp-comm-overlap").tensor_exchange_exposure(), 1);
  EXPECT_TRUE(SoftwareIn(tensor + "--tp-comm-overlap").has_tensor_exchange_exposure());
  const std::string part = "--tp-comm-overlap --disable-tp-comm-overlap-rs";
  EXPECT_FALSE(SoftwareIn(tensor + part).has_tensor_exchange_exposure());
  EXPECT_THAT(ReadArguments(tensor + part).ignored,
              ElementsAre("--tp-comm-overlap with --disable-tp-comm-overlap-rs"));
}

TEST(ReadMegatron, SendsTokensAsItsDispatcherDoes) {
  const auto dispatch = [](const std::string& text) {
    return ReadArguments("--num-experts 8 " + text).request.layout().kernels().expert_dispatch();
  };
  using Kernels = v1::KernelChoices;
  EXPECT_EQ(dispatch(""), Kernels::EXPERT_DISPATCH_ALL_GATHER);
  EXPECT_EQ(dispatch("--moe-token-dispatcher-type alltoall"), Kernels::EXPERT_DISPATCH_UNSPECIFIED);
  EXPECT_EQ(ReadArguments("").request.layout().kernels().expert_dispatch(),
            Kernels::EXPERT_DISPATCH_UNSPECIFIED);  // no experts
  const std::string flex = "--num-experts 8 --moe-token-dispatcher-type flex ";
  EXPECT_TRUE(SoftwareIn(flex + "--moe-enable-deepep").one_copy_per_node());
  EXPECT_TRUE(SoftwareIn(flex + "--moe-flex-dispatcher-backend hybridep").one_copy_per_node());
  EXPECT_FALSE(SoftwareIn("--num-experts 8").one_copy_per_node());
}

TEST(ReadMegatron, CapturesWholeLayers) {
  const auto captured = [](const std::string& text) {
    return ReadArguments(text).request.layout().framework().captured_graphs();
  };
  EXPECT_FALSE(captured(""));
  EXPECT_TRUE(captured("--cuda-graph-impl local"));
  EXPECT_TRUE(captured("--external-cuda-graph"));
  EXPECT_TRUE(captured("--enable-cuda-graph --cuda-graph-scope full_iteration"));
  EXPECT_FALSE(captured("--cuda-graph-impl transformer_engine --cuda-graph-scope attn"));
}

TEST(ReadMegatron, ReadsFusedLosses) {
  const auto loss = [](const std::string& text) {
    return ReadArguments(text).request.layout().kernels().loss();
  };
  EXPECT_EQ(loss("--cross-entropy-fusion-impl te"), v1::KernelChoices::LOSS_UNSPECIFIED);
  EXPECT_EQ(loss("--cross-entropy-loss-fusion"),
            v1::KernelChoices::LOSS_VOCABULARY_PARALLEL_COMPILED);
  EXPECT_EQ(loss("--cross-entropy-loss-fusion --cross-entropy-fusion-impl te"),
            v1::KernelChoices::LOSS_FUSED);
}

TEST(ReadMegatron, SaysWhatMayLowerMemory) {
  const std::string block = "--recompute-granularity full --recompute-method block";
  EXPECT_THAT(LoweringOf(ReadArguments(block + " --lr 1 --distribute-saved-activations")),
              UnorderedElementsAre(block, "--distribute-saved-activations"));
  EXPECT_THAT(LoweringOf(ReadArguments(block), true), IsEmpty());
  EXPECT_THAT(
      LoweringOf(ReadArguments("--recompute-granularity full --recompute-method uniform --lr 1")),
      IsEmpty());
}

// As examples/academic_paper_scripts/sc21/CONFIG.sh and BLOOM's script have it.
TEST(ReadMegatron, ReadsOldNamesOfRecomputation) {
  const auto policy = [](const std::string& text) {
    return ReadArguments(text).request.training().recompute();
  };
  EXPECT_EQ(policy("--activations-checkpoint-method uniform"), v1::RECOMPUTE_POLICY_FULL);
  EXPECT_EQ(policy("--checkpoint-activations"), v1::RECOMPUTE_POLICY_FULL);
  EXPECT_EQ(policy("--activations-checkpoint-method block"), v1::RECOMPUTE_POLICY_UNSPECIFIED);
  EXPECT_EQ(
      ReadArguments("--activations-checkpoint-method uniform --activations-checkpoint-num-layers 2")
          .request.layout()
          .kernels()
          .recomputed_layers_per_block(),
      2);
}

// A part of an offloaded optimizer stays: no share of it is known, so that none counts as gone.
TEST(ReadMegatron, OffloadsAWholeOptimizerAlone) {
  const auto offloads = [](const std::string& share) {
    return ReadArguments("--optimizer-cpu-offload --optimizer-offload-fraction " + share)
        .request.layout()
        .sharding()
        .offload_optimizer();
  };
  EXPECT_TRUE(offloads("1.0"));
  EXPECT_FALSE(offloads("0.5"));
  EXPECT_THAT(LoweringOf(ReadArguments("--optimizer-cpu-offload --optimizer-offload-fraction 0.5")),
              ElementsAre("--optimizer-offload-fraction"));
}

TEST(ReadMegatron, SaysWhatToWriteInstead) {
  const auto error_of = [](const std::string& text) { return ReadMegatron(text, true).status(); };
  ExpectUnread("megatron unread", error_of);
  ExpectSays(
      error_of(absl::StrCat(kModel, "--num-experts 8 --moe-layer-freq ", std::string(9999, '('))),
      "a list of 24 times");
}

TEST(ReadMegatron, SurvivesAnyCut) {
  TryEveryCut(
      "experts.megatron", std::string("\0(*|\"-9", 7),
      [](const std::string& text) { (void)ReadMegatron(text, true); }, 3);
}

TEST(ExpertLayers, AreThoseOfTheExpression) {
  EXPECT_THAT(*ExpertLayers("2", 5), ElementsAre(true, false, true, false, true));
  EXPECT_THAT(*ExpertLayers("([0]*1+[1]*2)*2", 6),
              ElementsAre(false, true, true, false, true, true));
  EXPECT_THAT(*ExpertLayers("[0,1]+[1]", 3), ElementsAre(false, true, true));
  EXPECT_EQ(ExpertLayersText({false, false, true}), "([0]*2+[1]*1)");
  for (const char* wrong : {"", "0", "-1", "[", "[2]", "[0]*", "[0]*x", "([0]", "[0]]", "[0]*3+",
                            "[0]*99999999999999999999", "[0]*65536*65536"}) {
    EXPECT_FALSE(ExpertLayers(wrong, 3).ok()) << wrong;
  }
}

}  // namespace
}  // namespace sextant::server
