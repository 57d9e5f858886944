// Evaluates attention's graphs, operation by operation in double, and compares them with attention
// itself. The library also accepts wrong graphs, for instance with an inverted mask.
#include "gpu_probe/cuda/attention/cudnn_attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gpu_probe/cuda/attention/cudnn_numbers.h"
#include "tests/gpu_probe/cuda/fake_cudnn.h"

namespace sextant::probe {
namespace {

using Numbers = std::vector<double>;
using Place = std::array<size_t, 4>;

// Runs a graph on memory by the ids of its tensors.
class GraphRunner {
 public:
  using Object = FakeCudnn::Object;

  explicit GraphRunner(std::map<int64_t, Numbers>* memory) : memory_(*memory) {}

  void Run(const FinishedCudnnGraph& graph) {
    const auto* const object = static_cast<const Object*>(graph.graph.get());
    for (const Object* operation : object->objects.at(cudnn::kGraphOperations)) {
      if (operation->kind == cudnn::kMatmulOperation) Matmul(*operation);
      if (operation->kind == cudnn::kPointwiseOperation) Pointwise(*operation);
      if (operation->kind == cudnn::kReductionOperation) Reduce(*operation);
      if (operation->kind == cudnn::kReshapeOperation) {
        Of(Tensor(*operation, cudnn::kReshapeOperationY)) =
            Of(Tensor(*operation, cudnn::kReshapeOperationX));
      }
    }
  }

 private:
  static const Object& Tensor(const Object& operation, int attribute) {
    return *operation.objects.at(attribute).front();
  }
  static size_t Size(const Object& tensor, size_t axis) {
    return static_cast<size_t>(tensor.numbers.at(cudnn::kTensorSizes)[axis]);
  }
  static size_t Offset(const Object& tensor, const Place& place) {
    size_t offset = 0;
    for (size_t axis = 0; axis < 4; ++axis) {
      offset += place[axis] * static_cast<size_t>(tensor.numbers.at(cudnn::kTensorStrides)[axis]);
    }
    return offset;
  }
  Numbers& Of(const Object& tensor) {
    Numbers& numbers = memory_[tensor.numbers.at(cudnn::kTensorId)[0]];
    const size_t last = Offset(tensor, {Size(tensor, 0) - 1, Size(tensor, 1) - 1,
                                        Size(tensor, 2) - 1, Size(tensor, 3) - 1});
    if (numbers.size() <= last) numbers.resize(last + 1);
    return numbers;
  }
  // The element of `tensor` that stands for `place` of a tensor of `like`'s sizes: heads may be
  // shared, and what has one element along an axis has it everywhere.
  double& At(const Object& tensor, const Object& like, Place place) {
    for (size_t axis = 0; axis < 4; ++axis) {
      place[axis] = place[axis] * Size(tensor, axis) / Size(like, axis);
    }
    return Of(tensor)[Offset(tensor, place)];
  }
  template <typename Body>
  static void ForEach(const Object& tensor, Body body) {
    for (size_t a = 0; a < Size(tensor, 0); ++a) {
      for (size_t b = 0; b < Size(tensor, 1); ++b) {
        for (size_t c = 0; c < Size(tensor, 2); ++c) {
          for (size_t d = 0; d < Size(tensor, 3); ++d) body(Place{a, b, c, d});
        }
      }
    }
  }

  void Matmul(const Object& operation) {
    const Object& a = Tensor(operation, cudnn::kMatmulOperationA);
    const Object& b = Tensor(operation, cudnn::kMatmulOperationB);
    const Object& out = Tensor(operation, cudnn::kMatmulOperationC);
    ASSERT_EQ(Size(a, 3), Size(b, 2));
    ASSERT_EQ(Size(a, 2), Size(out, 2));
    ASSERT_EQ(Size(b, 3), Size(out, 3));
    const auto head = [&](const Object& tensor, size_t place) {
      return place * Size(tensor, 1) / Size(out, 1);
    };
    ForEach(out, [&](const Place& at) {
      double sum = 0;
      for (size_t k = 0; k < Size(a, 3); ++k) {
        sum += Of(a)[Offset(a, {at[0], head(a, at[1]), at[2], k})] *
               Of(b)[Offset(b, {at[0], head(b, at[1]), k, at[3]})];
      }
      At(out, out, at) = sum;
    });
  }

  void Pointwise(const Object& operation) {
    const Object& what = Tensor(operation, cudnn::kPointwiseOperationWhat);
    const int64_t mode = what.numbers.at(cudnn::kPointwiseMode)[0];
    const Object& x = Tensor(operation, cudnn::kPointwiseOperationX);
    const Object& out = Tensor(operation, cudnn::kPointwiseOperationY);
    const auto other = [&](int attribute, const Place& at) {
      return At(Tensor(operation, attribute), out, at);
    };
    ForEach(out, [&](const Place& at) {
      const double value = At(x, out, at);
      double& result = At(out, out, at);
      if (mode == cudnn::kExponential) {
        result = std::exp(value);
      } else if (mode == cudnn::kLogarithm) {
        result = std::log(value);
      } else if (mode == cudnn::kIdentity) {
        result = value;
      } else if (mode == cudnn::kIndex) {
        result =
            static_cast<double>(at[static_cast<size_t>(what.numbers.at(cudnn::kPointwiseAxis)[0])]);
      } else {
        const double b = other(cudnn::kPointwiseOperationB, at);
        result = mode == cudnn::kAdd                           ? value + b
                 : mode == cudnn::kSubtract                    ? value - b
                 : mode == cudnn::kMultiply                    ? value * b
                 : mode == cudnn::kDivide                      ? value / b
                 : mode == cudnn::kAtLeast                     ? (value >= b ? 1 : 0)
                 : other(cudnn::kPointwiseOperationT, at) != 0 ? value
                                                               : b;
      }
    });
  }

  void Reduce(const Object& operation) {
    const bool largest = Tensor(operation, cudnn::kReductionOperationWhat)
                             .numbers.at(cudnn::kReductionOperator)[0] == cudnn::kReduceMax;
    const Object& x = Tensor(operation, cudnn::kReductionOperationX);
    const Object& out = Tensor(operation, cudnn::kReductionOperationY);
    std::fill(Of(out).begin(), Of(out).end(), largest ? -INFINITY : 0);
    ForEach(x, [&](const Place& at) {
      double& result = At(out, x, at);
      result = largest ? std::max(result, At(x, x, at)) : result + At(x, x, at);
    });
  }

  std::map<int64_t, Numbers>& memory_;
};

// Attention as a function of its inputs, by its definition.
Numbers OutputsOf(const GpuAttentionShape& shape, const std::map<int64_t, Numbers>& in,
                  Numbers* statistics) {
  const auto at = [&](AttentionTensor which, int64_t heads, int64_t b, int64_t h, int64_t t,
                      int64_t c, int64_t width) {
    return in.at(
        IdOf(which))[static_cast<size_t>(((b * shape.sequence + t) * heads + h) * width + c)];
  };
  Numbers outputs;
  statistics->assign(static_cast<size_t>(shape.tokens() * shape.heads), 0);
  for (int64_t b = 0; b < shape.batch; ++b) {
    for (int64_t t = 0; t < shape.sequence; ++t) {
      for (int64_t h = 0; h < shape.heads; ++h) {
        Numbers weights;
        double sum = 0;
        for (int64_t key = 0; key < (shape.causal ? t + 1 : shape.sequence); ++key) {
          double dot = 0;
          for (int64_t c = 0; c < shape.head_size; ++c) {
            dot += at(AttentionTensor::kQueries, shape.heads, b, h, t, c, shape.head_size) *
                   at(AttentionTensor::kKeys, shape.kv_heads, b, h / shape.group(), key, c,
                      shape.head_size);
          }
          weights.push_back(std::exp(double{shape.scale()} * dot));
          sum += weights.back();
        }
        (*statistics)[static_cast<size_t>((b * shape.heads + h) * shape.sequence + t)] =
            std::log(sum);
        for (int64_t c = 0; c < shape.value_head_size; ++c) {
          double output = 0;
          for (size_t key = 0; key < weights.size(); ++key) {
            output += weights[key] / sum *
                      at(AttentionTensor::kValues, shape.kv_heads, b, h / shape.group(),
                         static_cast<int64_t>(key), c, shape.value_head_size);
          }
          outputs.push_back(output);
        }
      }
    }
  }
  return outputs;
}

class AttentionGraphTest : public ::testing::TestWithParam<GpuAttentionShape> {
 protected:
  void SetUp() override {
    std::mt19937 random(1);
    std::normal_distribution<double> normal;
    const AttentionBytes bytes = AttentionBytesOf(GetParam(), /*backward=*/true);
    for (const AttentionTensor which :
         {AttentionTensor::kQueries, AttentionTensor::kKeys, AttentionTensor::kValues,
          AttentionTensor::kOutputGradients}) {
      Numbers& numbers = memory_[IdOf(which)];
      numbers.resize(static_cast<size_t>(bytes[static_cast<size_t>(which)]) / 2);
      for (double& number : numbers) number = normal(random);
    }
    memory_[static_cast<int64_t>(AttentionNumber::kScale)] = {double{GetParam().scale()}};
    memory_[static_cast<int64_t>(AttentionNumber::kMasked)] = {-INFINITY};
    memory_[static_cast<int64_t>(AttentionNumber::kKept)] = {1};
    const auto forward = ForwardAttentionGraph(cudnn_, GetParam(), options_).value();
    GraphRunner(&memory_).Run(forward);
  }

  FakeHost host_{1};
  FakeCudnn fake_{host_};
  SharedCudnn cudnn_ = std::make_shared<const Cudnn>(fake_.Table());
  CudnnGraphOptions options_ = {.handle = &host_};
  std::map<int64_t, Numbers> memory_;
};

void ExpectNear(const Numbers& got, const Numbers& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-9) << i;
}

TEST_P(AttentionGraphTest, ForwardIsAttention) {
  Numbers statistics;
  const Numbers outputs = OutputsOf(GetParam(), memory_, &statistics);
  ExpectNear(memory_[IdOf(AttentionTensor::kOutputs)], outputs);
  ExpectNear(memory_[IdOf(AttentionTensor::kStatistics)], statistics);
}

// Against differences of the loss, outputs times their gradients, when an input changes.
TEST_P(AttentionGraphTest, BackwardIsItsDerivative) {
  const auto backward = BackwardAttentionGraph(cudnn_, GetParam(), options_).value();
  std::map<int64_t, Numbers> after = memory_;
  GraphRunner(&after).Run(backward);
  const auto loss = [&] {
    Numbers statistics;
    const Numbers outputs = OutputsOf(GetParam(), memory_, &statistics);
    const Numbers& gradients = memory_[IdOf(AttentionTensor::kOutputGradients)];
    double sum = 0;
    for (size_t i = 0; i < outputs.size(); ++i) sum += outputs[i] * gradients[i];
    return sum;
  };
  constexpr double kStep = 1e-5;
  for (const auto& [input, gradient] :
       {std::pair(AttentionTensor::kQueries, AttentionTensor::kQueryGradients),
        std::pair(AttentionTensor::kKeys, AttentionTensor::kKeyGradients),
        std::pair(AttentionTensor::kValues, AttentionTensor::kValueGradients)}) {
    Numbers& numbers = memory_[IdOf(input)];
    ASSERT_EQ(after[IdOf(gradient)].size(), numbers.size());
    for (size_t i = 0; i < numbers.size(); i += 3) {
      const double before = numbers[i];
      numbers[i] = before + kStep;
      const double above = loss();
      numbers[i] = before - kStep;
      const double below = loss();
      numbers[i] = before;
      EXPECT_NEAR(after[IdOf(gradient)][i], (above - below) / (2 * kStep), 1e-7)
          << static_cast<int64_t>(input) << " " << i;
    }
  }
}

// Batch, sequence, heads, KV heads, sizes of heads and of values' heads.
constexpr GpuAttentionShape kShapes[] = {{2, 5, 4, 2, 4, 4, /*causal=*/true},
                                         {1, 4, 2, 2, 6, 4, /*causal=*/true},
                                         {1, 4, 4, 1, 4, 4, /*causal=*/false}};

INSTANTIATE_TEST_SUITE_P(Shapes, AttentionGraphTest, ::testing::ValuesIn(kShapes),
                         [](const auto& shape) {
                           return absl::StrCat("Of", shape.param.head_size, "Over",
                                               shape.param.value_head_size, "Group",
                                               shape.param.group(),
                                               shape.param.causal ? "Causal" : "Full");
                         });

}  // namespace
}  // namespace sextant::probe
