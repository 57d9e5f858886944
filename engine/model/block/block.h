// A block: a branch of a layer as a short program over named values. Parameters and their shards,
// FLOPs, the tensors that a backward pass keeps, those alive in each of its steps, and the kernels
// of a step are derived from the program by rules of its operations (docs/blocks.md): a new kind
// of block is one function that writes its program.
#ifndef SEXTANT_ENGINE_MODEL_BLOCK_BLOCK_H_
#define SEXTANT_ENGINE_MODEL_BLOCK_BLOCK_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "engine/model/block/block_place.h"

namespace sextant {

// An index into Block::values. The first value is the block's input, the last its output; both
// are hidden_size wide and have the tokens of a sequence parallel rank.
using BlockValueId = uint8_t;
using BlockValueIds = absl::InlinedVector<BlockValueId, 4>;

// Views point to literals. Widths are elements a token of all tensor parallel ranks.
struct BlockValue {
  absl::string_view name;      // "query_key_value"
  absl::string_view gradient;  // "query_key_value_gradient"
  absl::string_view shape;     // "b s 2gN+I"
  int64_t width = 0;
  bool divided = true;  // each rank has a part of it; false: all of it, of its own tokens
};

enum class BlockWeightKind { kMatrix, kFilter, kNorm, kVector };

struct BlockWeight {
  absl::string_view name;
  BlockWeightKind kind = BlockWeightKind::kMatrix;
  int64_t rows = 0;
  int64_t columns = 1;
  bool bias = false;
  bool divided = true;  // of a norm or a vector: each rank has a part of it
};

enum class BlockOpKind {
  kProject,   // reads one value, multiplies it by each of its matrices
  kConvolve,  // along the sequence, channel by channel, with its activation function
  kNorm,      // of the first value it reads, times the gate that it reads second, if any
  kMultiply,  // two values, element by element; of one value, a function
  kCore,      // Block::core
};

// Where an operation stands in its block. The backward pass goes from the last to the first.
enum class BlockStage { kInput, kUp, kBeforeCore, kCore, kAfterCore, kOutput };

struct BlockOp {
  BlockOpKind kind = BlockOpKind::kProject;
  BlockStage stage = BlockStage::kInput;
  absl::string_view name;  // "input"
  BlockValueIds reads = {};
  BlockValueIds writes = {};
  BlockValueIds keeps = {};  // of `reads`: those that its backward pass reads
  std::vector<BlockWeight> weights = {};
};

// A batched product of a chunked recurrence, [m, k] by [k, n] in each chunk of each head, and how
// often a pass has it.
struct ChunkProduct {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  int forward = 0;
  int backward = 0;       // what is computed again included
  bool by_group = false;  // in each group of heads that share keys
};

// A tensor that the core saves, in addition to the values it keeps.
struct SavedTensor {
  absl::string_view name;
  absl::string_view shape;
  int64_t width = 0;  // elements a token of all ranks
  bool fp32 = false;
};

// The recurrence of a block. Without heads: none.
struct BlockCore {
  int64_t heads = 0;
  int64_t groups = 0;
  int64_t chunk = 0;  // tokens
  // The recurrence, as the model's mathematics asks for it: of one token and all heads.
  double forward_flops = 0;
  std::vector<ChunkProduct> products = {};
  std::vector<SavedTensor> saved = {};
  // A state of each head and chunk, which the backward pass makes again.
  int64_t state_elements = 0;  // of one head
  int64_t state_bytes = 0;     // of an element
  // Elements a token, of all heads, that the backward pass makes again.
  int64_t remade_width = 0;
};

struct Block {
  absl::string_view module;  // "gated_delta_net"
  std::vector<BlockValue> values = {};
  std::vector<BlockOp> ops = {};
  BlockCore core = {};

  BlockValueId input() const { return 0; }
  BlockValueId output() const { return static_cast<BlockValueId>(values.size() - 1); }
  const BlockValue& value(BlockValueId id) const { return values[id]; }
  // The axis of `op`'s matrices that ranks divide: rows where parts are made of a whole value,
  // columns where a whole value is made of parts.
  MatrixSplit SplitOf(const BlockOp& op) const;
  // The place of one of `op`'s weights.
  BlockPlace PlaceOf(const BlockOp& op, const BlockWeight& weight) const;
};

// Writes a program, operation by operation.
class BlockBuilder {
 public:
  BlockBuilder(absl::string_view module, int64_t hidden_size);

  BlockValueId input() const { return block_.input(); }
  // A value that ranks divide; and a whole one.
  BlockValueId Make(absl::string_view name, absl::string_view gradient, absl::string_view shape,
                    int64_t width);
  BlockValueId MakeWhole(absl::string_view name, absl::string_view gradient,
                         absl::string_view shape, int64_t width);
  // `matrices` are named, with their rows; their columns are the width of `input`.
  struct Matrix {
    absl::string_view name;
    int64_t rows = 0;
    bool bias = false;
  };
  void Project(BlockStage stage, absl::string_view name, BlockValueId input,
               std::initializer_list<BlockValueId> outputs, std::initializer_list<Matrix> matrices);
  // A depthwise convolution with `taps` weights a channel.
  void Convolve(BlockStage stage, BlockValueId input, BlockValueId output, int64_t taps, bool bias);
  void Norm(BlockStage stage, const BlockValueIds& reads, BlockValueId output,
            const BlockWeight& weight);
  void Multiply(BlockStage stage, absl::string_view name, const BlockValueIds& reads,
                BlockValueId output);
  // `core` runs here.
  void Core(const BlockCore& core, const BlockOp& op);
  // The last operation: makes the block's output of `input`.
  void ProjectOutput(BlockValueId input, bool bias);

  Block Take() { return std::move(block_); }

 private:
  const int64_t hidden_size_;
  Block block_;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_BLOCK_BLOCK_H_
