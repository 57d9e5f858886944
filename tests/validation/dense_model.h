// Dense decoders by the columns of a table.
#ifndef SEXTANT_TESTS_VALIDATION_DENSE_MODEL_H_
#define SEXTANT_TESTS_VALIDATION_DENSE_MODEL_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "sextant/v1/architecture.pb.h"
#include "tests/support/csv.h"

namespace sextant {

// A dense decoder of one kind of layer. Without `gated` and `root_mean_square` it is a GPT's.
struct DenseShape {
  int64_t layer_count = 0;
  int64_t hidden_size = 0;
  int64_t feed_forward_size = 0;
  int64_t head_count = 0;
  int64_t vocabulary_size = 0;
  int64_t position_count = 0;  // rows of a learned table
  bool gated = false;
  bool root_mean_square = false;
  bool tied = false;
  bool attention_bias = false;
  bool feed_forward_bias = false;
};

// Errors: kInvalidArgument where heads don't divide the hidden size.
absl::StatusOr<v1::Architecture> DenseArchitecture(const DenseShape& shape);

// A GPT with tied embeddings and a feed-forward of four times the hidden size, from the columns of
// `row`. Errors: kInvalidArgument where one is empty.
absl::StatusOr<DenseShape> GptShapeOf(const CsvRow& row);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_DENSE_MODEL_H_
