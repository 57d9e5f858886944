// The tensors that each step of a layer's backward pass makes, as memory counts them, against the
// gradients that are alive by the layer's trace, which knows nothing of steps.
#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "engine/memory/transients/layer_transients.h"
#include "engine/model/presets/presets.h"
#include "gtest/gtest.h"
#include "tests/engine/memory/ledger/random_job.h"
#include "tests/engine/model/trace/trace_gradients.h"
#include "tests/engine/model/trace/traced_model.h"

namespace sextant {
namespace {

constexpr uint32_t kTransientJobs = 500;

bool Exchanges(const Trace& trace) {
  return std::any_of(trace.ops.begin(), trace.ops.end(),
                     [](const TraceOp& op) { return op.name == "sort_by_rank"; });
}

// True in the steps of dense and shared experts after their last matrix, in a branch that ends in
// dropout or a norm: the gradient below it waits for the routed experts.
bool WaitsForRouted(size_t moment, const LayerSpec& layer, const MicroBatchSpec& batch) {
  const auto beside = [](BackwardStep step) {
    return BackwardPosition{LayerBranch::kWithExperts, step}.index();
  };
  return layer.experts.has_value() && (batch.dropout || layer.norms.after_feed_forward) &&
         moment > beside(BackwardStep::kOutput) && moment <= beside(BackwardStep::kInput);
}

// The bytes of one step's rows, with three differences from what a trace has taken out:
//   a copy of each token for each of its experts, where the experts are on the same GPU: the trace
//     sorts tokens by expert as it copies them
//   a second input gradient that waits, of dense and of shared experts: autograd adds the two
//   the gradient that waits for routed experts: counted here, and by the trace
double BytesOf(const LedgerRows& rows, const Trace& trace, bool waits_for_routed) {
  const double hidden_bytes = trace.tensors[0].bytes();
  double bytes = waits_for_routed ? hidden_bytes : 0;
  for (const LedgerRow& row : rows) {
    const bool copies = row.name == "combined_gradient" || row.name == "dispatched_gradient";
    if (copies && !Exchanges(trace)) continue;
    const auto size = static_cast<double>(row.size.value());
    bytes += row.name == "waiting_input_gradient" ? std::min(size, hidden_bytes) : size;
  }
  return bytes;
}

struct MadeSteps {
  BytesByStep bytes;
  std::string rows;  // for messages
};

MadeSteps MadeStepsOf(const TransientContext& context, const ActivationPlace& place,
                      const Trace& trace) {
  const LayerSteps steps = LayerStepsOf(context.activations, place);
  const LayerSpec& layer =
      context.activations.spec.layer_kinds[static_cast<size_t>(place.layer_kind)];
  LayerBackward walk(context, place);
  MadeSteps out;
  for (size_t number = 1;; ++number) {
    LedgerRows rows;
    TransientList list(context, &rows);
    BackwardPeak listed(steps, number, list);
    walk.Walk(listed);
    if (rows.empty()) return out;
    const bool waits = WaitsForRouted(listed.index(), layer, context.activations.batch);
    out.bytes[listed.index()].push_back(BytesOf(rows, trace, waits));
    absl::StrAppend(&out.rows, "\n", listed.index(), ":");
    for (const LedgerRow& row : rows)
      absl::StrAppend(&out.rows, " ", row.name, " ", row.size.value());
  }
}

// Steps are equal one by one where all of a layer is trained. Elsewhere memory counts gradients
// that autograd leaves out (docs/limits.md, "Memory: under a layout"): it counts no fewer.
void CompareSteps(const BytesByStep& traced, const MadeSteps& counted, bool all_trained) {
  if (all_trained) {
    EXPECT_EQ(traced, counted.bytes) << counted.rows;
    return;
  }
  for (const auto& [moment, bytes] : traced) {
    const auto found = counted.bytes.find(moment);
    ASSERT_NE(found, counted.bytes.end()) << moment << counted.rows;
    EXPECT_LE(*std::max_element(bytes.begin(), bytes.end()),
              *std::max_element(found->second.begin(), found->second.end()))
        << moment << counted.rows;
  }
}

struct SeenLayers {
  int64_t all_trained = 0;
  int64_t in_part = 0;
};

void CompareJob(const ArchitectureSpec& spec, const MemoryJob& job, SeenLayers& seen) {
  const GradientFlow flow(spec);
  const ActivationContext activations = {spec, job.layout, job.batch, &flow};
  const LayerPlacement placement(spec, job.layout);
  const DataType gradient = job.state.precision.gradient_data_type;
  const TransientContext context = {activations, placement, job.buffers, gradient};
  const bool all_trained = TrainsEverything(spec);
  const TraceContext traced = {
      .spec = spec, .layout = job.layout, .batch = job.batch, .flow = &flow};
  const TracedModel model(traced);
  for (const TracedModel::Piece& piece : model.pieces()) {
    if (piece.layer_kind < 0 || testing::Test::HasFailure()) continue;
    const ActivationPlace place = {.part = piece.part,
                                   .layer_kind = piece.layer_kind,
                                   .gradients = &flow.Of(piece.part, piece.layer_kind, piece.state),
                                   .state = piece.state};
    if (!place.gradients->needs.Has(ActivationSite::kLayerOutput)) continue;
    SCOPED_TRACE(absl::StrCat(ModelPartName(piece.part), " kind ", piece.layer_kind));
    const TraceGradients gradients(
        piece.trace, static_cast<double>(ComputeBytesOf(job.batch)),
        job.buffers.fused_weight_gradient ? 0 : static_cast<double>(StorageBytes(gradient)));
    CompareSteps(gradients.bytes(), MadeStepsOf(context, place, piece.trace), all_trained);
    EXPECT_TRUE(!all_trained || gradients.unwritten() == 0);
    ++(all_trained ? seen.all_trained : seen.in_part);
  }
}

// Without what is computed again, which is not a gradient. Where ranks divide a key head, memory
// counts the weight gradients of the whole head, and the trace a rank's part: none does here.
MemoryJob Simplified(MemoryJob job) {
  job.batch.recomputation = {};
  job.layout.split_key_value_heads = false;
  return job;
}

ArchitectureSpec AllTrained(ArchitectureSpec spec) {
  spec.frozen_components.clear();
  spec.adapters.reset();
  spec.base_frozen = false;
  for (StackSpec* stack : {&spec.encoder, &spec.decoder}) {
    for (LayerRun& run : stack->layers) run.frozen = false;
  }
  return spec;
}

TEST(TransientsTest, StepsHaveTheGradientsOfTheTrace) {
  SeenLayers seen;
  for (uint32_t seed = 0; seed < kTransientJobs && !HasFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const RandomJob drawn = DrawJob(seed);
    const MemoryJob job = Simplified(drawn.job);
    CompareJob(drawn.spec, job, seen);
    CompareJob(AllTrained(drawn.spec), job, seen);
  }
  EXPECT_GT(seen.all_trained, 1000);
  EXPECT_GT(seen.in_part, 500);
}

// Windows, norms after branches, parallel branches, latents and gates of shared experts.
TEST(TransientsTest, StepsOfPresetsHaveTheGradientsOfTheTrace) {
  for (const char* preset : {"llama-3.1-8b", "falcon-7b", "gemma-2-9b", "mixtral-8x7b",
                             "qwen1.5-moe-a2.7b", "deepseek-v3", "t5-base", "bert-base-cased"}) {
    SCOPED_TRACE(preset);
    const ArchitectureSpec& spec = FindModelPreset(preset).value()->architecture;
    MemoryJob job;
    job.batch.sequence_count = 2;
    job.batch.sequence_length = job.batch.encoder_sequence_length = 512;
    job.state.precision = WithDefaults(PrecisionPolicy());
    for (const AttentionKernel kernel : {AttentionKernel::kFlash, AttentionKernel::kUnfused}) {
      job.batch.attention = kernel;
      SeenLayers seen;
      CompareJob(spec, job, seen);
      EXPECT_GT(seen.all_trained, 0);
    }
  }
}

}  // namespace
}  // namespace sextant
