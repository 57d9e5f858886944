// A naive autograd: it runs a graph's operations forward and backward in loops over numbers
// that count each multiplication and addition, and notes what the backward pass reads. It knows
// of engine/operation only the specs.
#ifndef SEXTANT_TESTS_ENGINE_OPERATION_NAIVE_GRAPH_H_
#define SEXTANT_TESTS_ENGINE_OPERATION_NAIVE_GRAPH_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/operation/graph.h"

namespace sextant::naive {

struct NaiveTensor {
  Shape shape;
  std::vector<double> data;
};

// An axis is a letter.
struct Lettered {
  const NaiveTensor* tensor;
  std::string axes;
};

class NaiveGraph {
 public:
  // `spec` has only operations that RandomGraphs makes without row functions.
  explicit NaiveGraph(const GraphSpec& spec);

  void Forward();
  void Backward();
  // The sum of all losses times their gradients.
  double Loss() const;

  std::map<std::string, NaiveTensor> values;
  std::map<std::string, NaiveTensor> gradients;  // of what has one
  std::map<std::string, std::string> base;       // of a view: whose storage it has
  std::set<std::string> read_backward;           // tensors that the backward pass reads
  std::map<std::string, int64_t> gradient_counts;
  double forward_operations = 0;
  double backward_operations = 0;   // without additions of gradients of one tensor
  double parameter_operations = 0;  // of those, for parameters' gradients, views' among them
  double additions_of_gradients = 0;

 private:
  void RunForward(const GraphOperation& op);
  void RunBackward(const GraphOperation& op);
  NaiveTensor GradientOf(const GraphOperation& op, size_t operand);
  const NaiveTensor& Saved(const std::string& name);
  void Arrive(const std::string& name, const NaiveTensor& gradient);
  bool IsParameter(const std::string& name) const;
  bool Wants(const std::string& name) const { return wants_.count(name) > 0; }

  const GraphSpec& spec_;
  std::set<std::string> wants_;
  std::map<std::string, NaiveTensor> loss_gradients_;
};

}  // namespace sextant::naive

#endif  // SEXTANT_TESTS_ENGINE_OPERATION_NAIVE_GRAPH_H_
