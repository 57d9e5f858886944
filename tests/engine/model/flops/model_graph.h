// A model as a graph of operations, written from its description alone.
#ifndef SEXTANT_TESTS_ENGINE_MODEL_FLOPS_MODEL_GRAPH_H_
#define SEXTANT_TESTS_ENGINE_MODEL_FLOPS_MODEL_GRAPH_H_

#include <set>
#include <string>
#include <vector>

#include "engine/model/architecture/architecture_spec.h"
#include "engine/operation/graph.h"

namespace sextant {

class GraphWriter {
 public:
  // A parameter that is made when it is first asked for, and found again by its name.
  std::string Parameter(const std::string& name, const Shape& shape, bool frozen);
  std::string Ids(const Shape& shape);

  std::string Do(Operation operation, std::vector<std::string> inputs);
  std::string Rearrange(const std::string& x, const std::string& expression,
                        std::vector<AxisSize> sizes = {});

  std::string Add(const std::string& x, const std::string& y);
  std::string Multiply(const std::string& x, const std::string& y);
  // Anything elementwise that learns nothing.
  std::string Activate(const std::string& x);
  // x [rows, columns] w, without a bias.
  std::string Project(const std::string& x, const std::string& weight);
  std::string Einsum(const std::string& expression, std::vector<std::string> inputs);
  // Rows of a table, itself a parameter or made: as many as `ids` has.
  std::string Lookup(const Shape& ids, const std::string& table);
  // `count` columns gathered from those of x [rows, columns]: a slice, a copy for each head.
  std::string Columns(const std::string& x, int64_t count);

  const GraphSpec& spec() const { return spec_; }
  bool IsParameter(const std::string& name) const { return parameters_.count(name) > 0; }
  // A bias or a norm's weights, which are not operands of a product.
  bool IsVector(const std::string& name) const { return vectors_.count(name) > 0; }

 private:
  std::string NewName();

  GraphSpec spec_ = {.data_type = DataType::kFp32};
  std::set<std::string> parameters_;
  std::set<std::string> vectors_;
  int made_ = 0;
};

// `count` sequences of `length` tokens, and `encoder_length` where there are two stacks.
struct GraphBatch {
  int64_t count = 1;
  int64_t length = 1;
  int64_t encoder_length = 0;
};

// A training step of `spec` on `batch`: each layer by itself, every token's products alone, all
// masks full. Of a mixture every token passes experts_per_token experts; the others are
// parameters that nothing reads.
GraphWriter ModelGraph(const ArchitectureSpec& spec, const GraphBatch& batch);

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_MODEL_FLOPS_MODEL_GRAPH_H_
