// The published formulas of arXiv 2205.05198 as special cases, to the byte. s tokens, b sequences,
// h hidden size, a heads, t tensor parallel size, V vocabulary.
#include <gtest/gtest.h>

#include "tests/engine/memory/activations/activation_cases.h"

namespace sextant {
namespace {

struct GptSizes {
  int64_t hidden;
  int64_t heads;
  int64_t length;
  int64_t sequences;
  int64_t tensor;
};

class PublishedGptTest : public ::testing::TestWithParam<GptSizes> {
 protected:
  PublishedGptTest() : case_(PublishedGpt(p().hidden, p().heads, p().length)) {
    case_.batch.sequence_count = p().sequences;
  }
  static GptSizes p() { return GetParam(); }
  int64_t sbh() const { return p().length * p().sequences * p().hidden; }
  int64_t as2b() const { return p().heads * p().length * p().length * p().sequences; }
  void Cut(bool sequence_parallel) {
    case_.layout.tensor_parallel_size = p().tensor;
    case_.batch.sequence_parallel = sequence_parallel;
  }

  ActivationCase case_;
};

// Section 4.1: sbh (34 + 5 a s / h).
TEST_P(PublishedGptTest, OneGpu) { EXPECT_EQ(LayerBytes(case_), 34 * sbh() + 5 * as2b()); }

// Section 4.2.1: sbh (10 + 24/t + 5 a s / (h t)).
TEST_P(PublishedGptTest, TensorParallel) {
  Cut(false);
  EXPECT_EQ(LayerBytes(case_), 10 * sbh() + (24 * sbh() + 5 * as2b()) / p().tensor);
}

// Section 4.2.2: sbh/t (34 + 5 a s / h).
TEST_P(PublishedGptTest, TensorAndSequenceParallel) {
  Cut(true);
  EXPECT_EQ(LayerBytes(case_), (34 * sbh() + 5 * as2b()) / p().tensor);
}

// Section 5: sbh/t 34; without sequence parallelism sbh (10 + 24/t).
TEST_P(PublishedGptTest, Selective) {
  case_.batch.recomputation.policy = RecomputePolicy::kSelective;
  Cut(true);
  EXPECT_EQ(LayerBytes(case_), 34 * sbh() / p().tensor);
  Cut(false);
  EXPECT_EQ(LayerBytes(case_), 10 * sbh() + 24 * sbh() / p().tensor);
}

// Section 5: 2 sbh, which sequence parallelism cuts like the rest.
TEST_P(PublishedGptTest, Full) {
  case_.batch.recomputation.policy = RecomputePolicy::kFull;
  EXPECT_EQ(LayerBytes(case_), 2 * sbh());
  Cut(false);
  EXPECT_EQ(LayerBytes(case_), 2 * sbh());
  Cut(true);
  EXPECT_EQ(LayerBytes(case_), 2 * sbh() / p().tensor);
}

// Section 4.3: dropout of the embedding sbh/t, final norm and head 4 sbh/t, and fp32 logits
// 4 sbV/t. The token ids, 8 bytes each on all ranks, are ours.
TEST_P(PublishedGptTest, Ends) {
  Cut(true);
  const int64_t tokens = p().length * p().sequences;
  EXPECT_EQ(EndBytes(case_), (5 * sbh() + 4 * tokens * 51200) / p().tensor + 8 * tokens);
}

INSTANTIATE_TEST_SUITE_P(Sizes, PublishedGptTest,
                         ::testing::Values(GptSizes{6144, 64, 2048, 4, 8},  // 22B
                                           GptSizes{12288, 96, 2048, 1, 8},
                                           GptSizes{20480, 128, 2048, 1, 8},
                                           GptSizes{25600, 160, 2048, 1, 8},
                                           GptSizes{64, 4, 16, 3, 2}, GptSizes{8, 1, 5, 1, 1}));

}  // namespace
}  // namespace sextant
