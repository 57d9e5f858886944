#include "engine/time/pipeline_formula.h"

#include <algorithm>

namespace sextant {
namespace {

// The first micro-batch's way to the last stage, all of that stage's passes, and the last one's
// way back. A stage that sends forward and waits for what comes back adds to that where k stages
// and back take longer than k micro-batches on the last one: of the m + p - 1 passes that the step
// is long, every p in turn are one micro-batch's way through all stages and back, and the rest one
// through as many stages as it has time for.
double OfWholeStages(const EvenPipeline& of, double send) {
  const auto others = static_cast<double>(of.stage_count - 1);
  const double a_stage = of.chunk.all() + 2 * send - of.last_stage();
  const double a_way = others * a_stage + of.first.all();
  const int64_t passes = of.micro_batch_count + of.stage_count - 1;
  const int64_t whole_ways = passes / of.stage_count;
  const auto ways = static_cast<double>(whole_ways - 1);
  const auto rest = static_cast<double>(std::max<int64_t>(passes % of.stage_count - 1, 0));
  return others * (of.chunk.all() + 2 * send) + of.first.all() +
         static_cast<double>(of.micro_batch_count) * of.last_stage() + ways * std::max(0.0, a_way) +
         rest * std::max(0.0, a_stage);
}

// Interleaved stages take p micro-batches through each chunk in turn, just as long as one takes
// through all stages. So each send on the way through all chunks and back adds to the step, or what
// the first chunk adds to p - 1 other micro-batches where that is longer. Where the first stage
// takes longer than the last one, each micro-batch delays it further. The formula holds as long as
// all delays together are shorter than the two passes for which the last stage would wait anyway.
double OfChunks(const EvenPipeline& of, double send) {
  const auto p = static_cast<double>(of.stage_count);
  const double sends = p * static_cast<double>(of.chunk_count - 1) - 1;
  return static_cast<double>(of.micro_batch_count) * of.last_stage() + (p - 1) * of.chunk.all() +
         of.first.all() + std::max((p - 1) * of.first.forward, p * send) +
         std::max((p - 1) * of.first.backward, p * send) + 2 * sends * send;
}

}  // namespace

absl::optional<double> EvenPipelineSeconds(const EvenPipeline& of, double send) {
  if (of.stage_count == 1) return static_cast<double>(of.micro_batch_count) * of.last_stage();
  if (std::min({of.first.forward, of.first.backward, of.last.forward, of.last.backward}) < 0) {
    return absl::nullopt;
  }
  const double behind = std::max(0.0, of.first.all() - of.last.all());
  if (of.chunk_count == 1) {
    if (behind > 0) return absl::nullopt;
    return OfWholeStages(of, send);
  }
  const double to_spare = 2 * (std::min(of.chunk.forward, of.chunk.backward) - send);
  if (behind * static_cast<double>(of.micro_batch_count) > to_spare) return absl::nullopt;
  return OfChunks(of, send);
}

}  // namespace sextant
