// Random einsum expressions with their operands, also as named tensors full of whole numbers.
#ifndef SEXTANT_TESTS_ENGINE_TENSOR_EXPRESSION_RANDOM_EINSUM_H_
#define SEXTANT_TESTS_ENGINE_TENSOR_EXPRESSION_RANDOM_EINSUM_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/tensor/shape.h"

namespace sextant {

// A tensor with named axes and whole numbers in it.
struct NamedTensor {
  std::vector<std::string> axes;
  std::map<std::vector<int64_t>, int64_t> at;  // by the index along each axis
};

using AxisSizes = std::map<std::string, int64_t>;

struct CountedContraction {
  NamedTensor result;
  int64_t multiplications = 0;
  int64_t additions = 0;
};

// The product of all `tensors`, summed over the axes that are not in `output`, by a loop over every
// index of every axis, which counts what it does. Every product is
// added to an accumulator that starts at zero, where there is anything to sum.
inline CountedContraction ContractNaively(const std::vector<NamedTensor>& tensors,
                                          const std::vector<std::string>& output,
                                          const AxisSizes& sizes) {
  CountedContraction out;
  out.result.axes = output;
  AxisSizes place;
  const auto index_at = [&place](const std::vector<std::string>& axes) {
    std::vector<int64_t> index;
    for (const std::string& axis : axes) index.push_back(place.at(axis));
    return index;
  };
  // Moves on to the next place; false after the last one.
  const auto go_on = [&sizes, &place] {
    for (auto& [axis, index] : place) {
      if (++index < sizes.at(axis)) return true;
      index = 0;
    }
    return false;
  };
  for (const NamedTensor& tensor : tensors) {
    for (const std::string& axis : tensor.axes) place[axis] = 0;
  }
  const bool sums = place.size() > output.size();
  do {
    int64_t product = tensors[0].at.at(index_at(tensors[0].axes));
    for (size_t i = 1; i < tensors.size(); ++i) {
      product *= tensors[i].at.at(index_at(tensors[i].axes));
      ++out.multiplications;
    }
    out.result.at[index_at(output)] += product;
    if (sums) ++out.additions;
  } while (go_on());
  return out;
}

// An expression, its operands' shapes, and the same as named tensors.
struct EinsumQuestion {
  std::string expression;
  std::vector<Shape> shapes;
  std::vector<NamedTensor> tensors;
  std::vector<std::string> output;
  AxisSizes sizes;  // an axis that "..." stands for is "...0", "...1"
};

class RandomEinsums {
 public:
  explicit RandomEinsums(uint32_t seed) : random_(seed) {}

  // `letters`: in NumPy's style, with diagonals and without outputs; else in einops'.
  EinsumQuestion Next(size_t operand_count, bool letters) {
    EinsumQuestion q;
    letters_ = letters;
    for (const std::string& name : Alphabet()) q.sizes[name] = 1 + Below(3);
    has_ellipsis_ = Below(3) == 0;
    ellipsis_axes_ = has_ellipsis_ ? Below(3) : 0;
    for (int64_t i = 0; i < ellipsis_axes_; ++i) q.sizes[absl::StrCat("...", i)] = 1 + Below(3);
    // One operand shows the sizes that the others stretch to.
    const size_t whole = static_cast<size_t>(Below(static_cast<int64_t>(operand_count)));
    Names texts;
    for (size_t i = 0; i < operand_count; ++i) texts.push_back(AddOperand(i == whole, q));
    q.expression = absl::StrCat(absl::StrJoin(texts, letters ? "," : ", "), AddOutput(texts, q));
    for (NamedTensor& tensor : q.tensors) Fill(q.sizes, tensor);
    return q;
  }

 private:
  using Names = std::vector<std::string>;

  int64_t Below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  Names Alphabet() const {
    return letters_ ? Names{"a", "b", "c", "d", "E"} : Names{"b", "seq1", "seq_2", "hidden", "E"};
  }
  std::string AddOperand(bool whole, EinsumQuestion& q) {
    Names names = Alphabet();
    std::shuffle(names.begin(), names.end(), random_);
    names.resize(static_cast<size_t>(Below(4)));
    if (letters_ && !names.empty() && Below(4) == 0) names.push_back(names[0]);  // a diagonal
    if (has_ellipsis_ && (whole || Below(3) != 0)) {
      names.insert(names.begin() + Below(static_cast<int64_t>(names.size()) + 1), "...");
    }
    Shape shape;
    std::set<std::string> axes;
    for (const std::string& name : names) {
      if (name != "...") {
        axes.insert(name);
        shape.push_back(q.sizes[name]);
        continue;
      }
      // It may stand for fewer axes than elsewhere, aligned at the last, and for ones.
      for (int64_t i = whole ? 0 : Below(ellipsis_axes_ + 1); i < ellipsis_axes_; ++i) {
        const std::string axis = absl::StrCat("...", i);
        shape.push_back(!whole && Below(3) == 0 ? 1 : q.sizes[axis]);
        if (shape.back() == q.sizes[axis]) axes.insert(axis);
      }
    }
    q.shapes.push_back(shape);
    q.tensors.push_back({{axes.begin(), axes.end()}, {}});
    return absl::StrJoin(names, letters_ ? "" : " ");
  }
  std::string AddOutput(const Names& operands, EinsumQuestion& q) {
    for (int64_t i = 0; i < ellipsis_axes_; ++i) q.output.push_back(absl::StrCat("...", i));
    if (letters_ && Below(3) == 0) {
      const std::string all = absl::StrJoin(operands, "");
      for (const char* letter : {"E", "a", "b", "c", "d"}) {
        if (std::count(all.begin(), all.end(), *letter) == 1) q.output.push_back(letter);
      }
      return "";
    }
    Names words;
    for (const std::string& name : Alphabet()) {
      const bool present = std::any_of(q.tensors.begin(), q.tensors.end(), [&](const auto& t) {
        return std::count(t.axes.begin(), t.axes.end(), name) > 0;
      });
      if (present && Below(2) == 0) words.push_back(name);
    }
    std::shuffle(words.begin(), words.end(), random_);
    q.output.insert(q.output.end(), words.begin(), words.end());
    if (has_ellipsis_) words.insert(words.begin(), "...");
    return absl::StrCat(letters_ ? "->" : " -> ", absl::StrJoin(words, letters_ ? "" : " "));
  }
  void Fill(const AxisSizes& sizes, NamedTensor& tensor) {
    std::vector<std::vector<int64_t>> indices = {{}};
    for (const std::string& axis : tensor.axes) {
      std::vector<std::vector<int64_t>> longer;
      for (const auto& index : indices) {
        for (int64_t i = 0; i < sizes.at(axis); ++i) {
          longer.push_back(index);
          longer.back().push_back(i);
        }
      }
      indices = longer;
    }
    for (const auto& index : indices) tensor.at[index] = Below(19) - 9;
  }

  std::mt19937 random_;
  bool letters_ = false;
  bool has_ellipsis_ = false;
  int64_t ellipsis_axes_ = 0;
};

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_TENSOR_EXPRESSION_RANDOM_EINSUM_H_
