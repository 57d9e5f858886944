#include "engine/model/block/block.h"

#include <utility>

namespace sextant {

MatrixSplit Block::SplitOf(const BlockOp& op) const {
  const bool in = value(op.reads[0]).divided;
  const bool out = value(op.writes[0]).divided;
  if (in == out) return MatrixSplit::kNone;
  return out ? MatrixSplit::kRows : MatrixSplit::kColumns;
}

BlockPlace Block::PlaceOf(const BlockOp& op, const BlockWeight& weight) const {
  BlockPlace out = {.reads_input = op.reads[0] == input(),
                    .makes_output = op.writes[0] == output(),
                    .is_filter = weight.kind == BlockWeightKind::kFilter};
  if (weight.kind == BlockWeightKind::kMatrix) {
    out.split = SplitOf(op);
  } else if (weight.divided && value(op.writes[0]).divided) {
    out.split = MatrixSplit::kRows;
  }
  return out;
}

BlockBuilder::BlockBuilder(absl::string_view module, int64_t hidden_size)
    : hidden_size_(hidden_size) {
  block_.module = module;
  MakeWhole("input", "input_gradient", "b s h", hidden_size);
}

BlockValueId BlockBuilder::Make(absl::string_view name, absl::string_view gradient,
                                absl::string_view shape, int64_t width) {
  block_.values.push_back({.name = name, .gradient = gradient, .shape = shape, .width = width});
  return block_.output();
}

BlockValueId BlockBuilder::MakeWhole(absl::string_view name, absl::string_view gradient,
                                     absl::string_view shape, int64_t width) {
  const BlockValueId id = Make(name, gradient, shape, width);
  block_.values.back().divided = false;
  return id;
}

void BlockBuilder::Project(BlockStage stage, absl::string_view name, BlockValueId input,
                           std::initializer_list<BlockValueId> outputs,
                           std::initializer_list<Matrix> matrices) {
  BlockOp op = {.kind = BlockOpKind::kProject,
                .stage = stage,
                .name = name,
                .reads = {input},
                .writes = outputs,
                .keeps = {input}};
  for (const Matrix& matrix : matrices) {
    op.weights.push_back({.name = matrix.name,
                          .rows = matrix.rows,
                          .columns = block_.value(input).width,
                          .bias = matrix.bias});
  }
  block_.ops.push_back(std::move(op));
}

void BlockBuilder::Convolve(BlockStage stage, BlockValueId input, BlockValueId output, int64_t taps,
                            bool bias) {
  block_.ops.push_back({.kind = BlockOpKind::kConvolve,
                        .stage = stage,
                        .name = "convolution",
                        .reads = {input},
                        .writes = {output},
                        .keeps = {input},
                        .weights = {{.name = "convolution",
                                     .kind = BlockWeightKind::kFilter,
                                     .rows = block_.value(input).width,
                                     .columns = taps,
                                     .bias = bias}}});
}

void BlockBuilder::Norm(BlockStage stage, const BlockValueIds& reads, BlockValueId output,
                        const BlockWeight& weight) {
  block_.ops.push_back({.kind = BlockOpKind::kNorm,
                        .stage = stage,
                        .name = weight.name,
                        .reads = reads,
                        .writes = {output},
                        .keeps = reads,
                        .weights = {weight}});
}

void BlockBuilder::Multiply(BlockStage stage, absl::string_view name, const BlockValueIds& reads,
                            BlockValueId output) {
  block_.ops.push_back({.kind = BlockOpKind::kMultiply,
                        .stage = stage,
                        .name = name,
                        .reads = reads,
                        .writes = {output},
                        .keeps = reads});
}

void BlockBuilder::Core(const BlockCore& core, const BlockOp& op) {
  block_.core = core;
  block_.ops.push_back(op);
  block_.ops.back().kind = BlockOpKind::kCore;
  block_.ops.back().stage = BlockStage::kCore;
}

void BlockBuilder::ProjectOutput(BlockValueId input, bool bias) {
  const BlockValueId output = MakeWhole("output", "output_gradient", "b s h", hidden_size_);
  Project(BlockStage::kOutput, "output", input, {output},
          {{.name = "output", .rows = hidden_size_, .bias = bias}});
}

}  // namespace sextant
