#include "client/flag_words.h"

#include <gtest/gtest.h>

#include <utility>

namespace sextant {
namespace {

TEST(PlanFieldWords, AreThoseOfTheCommandLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"model.preset", "--preset"},
      {"training.sequence_length", "--sequence-length"},
      {"training.encoder_sequence_length", "--encoder-sequence-length"},
      {"cluster.device_count", "--devices"},
      {"cluster.device_uuids[1]", "--device, entry 2"},
      {"layout.parallel.tensor_parallel_size", "--tp"},
      {"layout.parallel.layers_per_chunk[2]", "--layers-per-chunk, entry 3"},
      {"layout.framework.kind", "--framework"},
      {"options.include_ledger", "--ledger"},
      {"model.architecture.layer_kinds[0].name", "--architecture: layer_kinds[0].name"},
      {"model.transformer.layer_count", "--transformer: layer_count"},
      {"model.hugging_face_config.n_layer", "--config: n_layer"},
      {"layout", "layout"},
      {"layout.of_the_future", "layout.of_the_future"}};
  for (const auto& [field, words] : cases) EXPECT_EQ(PlanFieldWords(field), words);
}

TEST(PlanDescriptionWords, AreThoseOfTheCommandLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"must divide the 62 layers: write 2, or say how many go where in layers_per_chunk: such as",
       "must divide the 62 layers: write 2, or say how many go where in --layers-per-chunk: such "
       "as"},
      {"must be a multiple of micro_batch_size x the data parallel size (2 x 8), which 9 is not",
       "must be a multiple of --mbs x the data parallel size (2 x 8), which 9 is not"},
      {"give layout.global_batch_size to have fewer.", "give --gbs to have fewer."},
      {"(layout.sequence_parallel).", "(--sp)."},
      {"within the intervals of docs/memory.md", "within the intervals of docs/memory.md"},
      {"as megatron_lm has them", "as megatron_lm has them"}};
  for (const auto& [text, words] : cases) EXPECT_EQ(PlanDescriptionWords(text), words);
}

}  // namespace
}  // namespace sextant
