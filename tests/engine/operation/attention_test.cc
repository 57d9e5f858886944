// Attention against loops that count, over every pair that a mask allows.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/operation/operation.h"
#include "tests/engine/operation/naive.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using naive::Buffer;
using naive::Has;
using naive::kAccumulationBytes;
using naive::kOutputBytes;
using naive::Naive;
using naive::Number;

constexpr OperandSet kQBit = OperandBit(0);
constexpr OperandSet kKBit = OperandBit(1);
constexpr OperandSet kVBit = OperandBit(2);

// True where query i may attend to key j, both counted from 0; the queries are the last positions.
bool Allowed(const Attention& a, int64_t i, int64_t j) {
  if (!a.causal) return true;
  const int64_t self = i + a.key_length - a.query_length;
  const bool diagonal = a.convention == CausalConvention::kWithDiagonal;
  const int64_t last = diagonal ? self : self - 1;
  return j <= last && (a.window == 0 || j > last - a.window);
}

class NaiveAttention : public Naive {
 public:
  explicit NaiveAttention(const Attention& a)
      : a_(a),
        key_(a.head_size),
        value_(a.value_head_size == 0 ? a.head_size : a.value_head_size),
        scale_(1 / std::sqrt(static_cast<double>(a.head_size))) {
    const int64_t heads = a.batch * a.heads;
    Operand(heads * a.query_length * key_);
    Operand(a.batch * a.kv_heads * a.key_length * key_);
    Operand(a.batch * a.kv_heads * a.key_length * value_);
    Output(heads * a.query_length * value_);
    log_sums_ = New(heads * a.query_length, kAccumulationBytes);
    log_sums_->counted_forward = false;
    const int64_t pairs = heads * a.query_length * a.key_length;
    for (Buffer** square : {&scores_, &p_, &dp_, &ds_}) *square = New(pairs, kOutputBytes);
  }

  void Forward() override {
    ForEachRow([this](int64_t row, int64_t kv, int64_t i) { ForwardFused(row, kv, i); });
  }
  // Gradients of keys and values are summed over rows, hence the sums in addition to the buffers.
  void Backward(OperandSet needed) override {
    StartSums();
    ForEachRow(
        [this, needed](int64_t row, int64_t kv, int64_t i) { BackwardFused(needed, row, kv, i); });
    WriteSums(needed);
  }

 protected:
  // f(row of q and o, row of k's head, query) for all batches and heads.
  void ForEachRow(const std::function<void(int64_t, int64_t, int64_t)>& f) const {
    const int64_t group = a_.heads / a_.kv_heads;
    for (int64_t b = 0; b < a_.batch; ++b) {
      for (int64_t h = 0; h < a_.heads; ++h) {
        for (int64_t i = 0; i < a_.query_length; ++i) {
          f((b * a_.heads + h) * a_.query_length + i, (b * a_.kv_heads + h / group) * a_.key_length,
            i);
        }
      }
    }
  }
  // A row of `of`, whose rows are `width` wide.
  struct Row {
    const Buffer& of;
    int64_t row = 0;
    int64_t width = 0;
    Number operator[](int64_t i) const { return of[row * width + i]; }
  };
  Row KeyWide(const Buffer& of, int64_t row) const { return {of, row, key_}; }
  Row ValueWide(const Buffer& of, int64_t row) const { return {of, row, value_}; }

  static Number Dot(const Row& x, const Row& y) {
    Number sum = 0;
    for (int64_t d = 0; d < x.width; ++d) sum += x[d] * y[d];
    return sum;
  }
  // sums[other] += weight x
  static void Accumulate(std::vector<Number>& sums, int64_t other, Number weight, const Row& x) {
    for (int64_t d = 0; d < x.width; ++d) {
      sums[static_cast<size_t>(other * x.width + d)] += weight * x[d];
    }
  }
  static void Put(Buffer& to, int64_t row, const std::vector<Number>& from) {
    const auto width = static_cast<int64_t>(from.size());
    for (int64_t d = 0; d < width; ++d) to.Set(row * width + d, from[static_cast<size_t>(d)]);
  }
  void StartSums() {
    dk_.assign(static_cast<size_t>(operands[1]->count()), 0);
    dv_.assign(static_cast<size_t>(operands[2]->count()), 0);
  }
  void WriteSums(OperandSet needed) {
    if (Has(needed, 1)) PutAll(gradient(1), dk_);
    if (Has(needed, 2)) PutAll(gradient(2), dv_);
  }
  const Buffer& q() const { return *operands[0]; }
  const Buffer& k() const { return *operands[1]; }
  const Buffer& v() const { return *operands[2]; }
  static std::vector<Number> Zeros(int64_t width) {
    return std::vector<Number>(static_cast<size_t>(width));
  }

  Attention a_;
  int64_t key_;    // numbers of a query and a key
  int64_t value_;  // of a value and an output
  double scale_;
  Buffer* log_sums_;
  Buffer* scores_ = nullptr;
  Buffer* p_ = nullptr;
  Buffer* dp_ = nullptr;
  Buffer* ds_ = nullptr;
  std::vector<Number> dk_;
  std::vector<Number> dv_;

 private:
  static void PutAll(Buffer& to, const std::vector<Number>& from) {
    for (size_t i = 0; i < from.size(); ++i) to.Set(static_cast<int64_t>(i), from[i]);
  }
  void ForwardFused(int64_t row, int64_t kv, int64_t i) {
    std::vector<Number> s(static_cast<size_t>(a_.key_length));
    Number largest = -std::numeric_limits<double>::infinity();
    for (int64_t j = 0; j < a_.key_length; ++j) {
      if (!Allowed(a_, i, j)) continue;
      const Number score = Dot(KeyWide(q(), row), KeyWide(k(), kv + j)) * scale_;
      largest = score > largest ? score : largest;
      s[static_cast<size_t>(j)] = score;
    }
    Number sum = 0;
    for (int64_t j = 0; j < a_.key_length; ++j) {
      if (!Allowed(a_, i, j)) continue;
      Number& e = s[static_cast<size_t>(j)];
      sum += e = naive::Exp(e - largest);
    }
    log_sums_->Set(row, largest.value() + std::log(sum.value()));
    std::vector<Number> o = Zeros(value_);
    for (int64_t j = 0; j < a_.key_length; ++j) {
      if (!Allowed(a_, i, j)) continue;
      Accumulate(o, 0, s[static_cast<size_t>(j)] / sum, ValueWide(v(), kv + j));
    }
    Put(*output, row, o);
  }
  void BackwardFused(OperandSet needed, int64_t row, int64_t kv, int64_t i) {
    const Buffer& d_o = *output_gradient;
    const bool scores_too = (needed & (kQBit | kKBit)) != 0;
    const Number sum = scores_too ? Dot(ValueWide(d_o, row), ValueWide(*output, row)) : 0;
    std::vector<Number> dq = Zeros(key_);
    for (int64_t j = 0; j < a_.key_length; ++j) {
      if (!Allowed(a_, i, j)) continue;
      const Number p =
          naive::Exp(Dot(KeyWide(q(), row), KeyWide(k(), kv + j)) * scale_ - (*log_sums_)[row]);
      if (Has(needed, 2)) Accumulate(dv_, kv + j, p, ValueWide(d_o, row));
      if (!scores_too) continue;
      const Number ds = p * (Dot(ValueWide(d_o, row), ValueWide(v(), kv + j)) - sum) * scale_;
      if (Has(needed, 0)) Accumulate(dq, 0, ds, KeyWide(k(), kv + j));
      if (Has(needed, 1)) Accumulate(dk_, kv + j, ds, KeyWide(q(), row));
    }
    if (Has(needed, 0)) Put(gradient(0), row, dq);
  }
};

// Kernel by kernel, with all pairs in both matrices.
class NaiveUnfused : public NaiveAttention {
 public:
  using NaiveAttention::NaiveAttention;

  void Forward() override {
    ForEachRow([this](int64_t row, int64_t kv, int64_t) {
      for (int64_t j = 0; j < a_.key_length; ++j) {
        scores_->Set(row * a_.key_length + j, Dot(KeyWide(q(), row), KeyWide(k(), kv + j)));
      }
    });
    Kernel();
    ForEachRow([this](int64_t row, int64_t, int64_t i) { SoftmaxRow(row, i); });
    Kernel();
    ForEachRow([this](int64_t row, int64_t kv, int64_t) {
      std::vector<Number> o = Zeros(value_);
      for (int64_t j = 0; j < a_.key_length; ++j) {
        Accumulate(o, 0, (*p_)[row * a_.key_length + j], ValueWide(v(), kv + j));
      }
      Put(*output, row, o);
    });
  }

  void Backward(OperandSet needed) override {
    const Buffer& d_o = *output_gradient;
    StartSums();
    if (Has(needed, 2)) {
      ForEachPair([&](int64_t row, int64_t kv, int64_t at) {
        Accumulate(dv_, kv, (*p_)[at], ValueWide(d_o, row));
      });
      WriteSums(kVBit);
      Kernel();
    }
    if ((needed & (kQBit | kKBit)) == 0) return;
    ForEachPair([&](int64_t row, int64_t kv, int64_t at) {
      dp_->Set(at, Dot(ValueWide(d_o, row), ValueWide(v(), kv)));
    });
    Kernel();
    ForEachRow([this](int64_t row, int64_t, int64_t) { SoftmaxGradientRow(row); });
    Kernel();
    if (Has(needed, 0)) {
      ForEachRow([this](int64_t row, int64_t kv, int64_t) {
        std::vector<Number> dq = Zeros(key_);
        for (int64_t j = 0; j < a_.key_length; ++j) {
          Accumulate(dq, 0, (*ds_)[row * a_.key_length + j], KeyWide(k(), kv + j));
        }
        Put(gradient(0), row, dq);
      });
      Kernel();
    }
    if (!Has(needed, 1)) return;
    ForEachPair([&](int64_t row, int64_t kv, int64_t at) {
      Accumulate(dk_, kv, (*ds_)[at], KeyWide(q(), row));
    });
    WriteSums(kKBit);
  }

 private:
  // f(row of q, row of k, place in the matrices)
  void ForEachPair(const std::function<void(int64_t, int64_t, int64_t)>& f) const {
    ForEachRow([&](int64_t row, int64_t kv, int64_t) {
      for (int64_t j = 0; j < a_.key_length; ++j) f(row, kv + j, row * a_.key_length + j);
    });
  }
  void SoftmaxRow(int64_t row, int64_t i) {
    const double minus_infinity = -std::numeric_limits<double>::infinity();
    std::vector<Number> s;
    for (int64_t j = 0; j < a_.key_length; ++j) {
      s.push_back((*scores_)[row * a_.key_length + j] * scale_);
      if (a_.causal) s.back() += Allowed(a_, i, j) ? 0 : minus_infinity;
    }
    Number largest = minus_infinity;
    for (const Number x : s) largest = x > largest ? x : largest;
    Number sum = 0;
    for (Number& x : s) sum += x = naive::Exp(x - largest);
    for (int64_t j = 0; j < a_.key_length; ++j) {
      p_->Set(row * a_.key_length + j, s[static_cast<size_t>(j)] / sum);
    }
  }
  void SoftmaxGradientRow(int64_t row) {
    const int64_t from = row * a_.key_length;
    Number sum = 0;
    for (int64_t j = 0; j < a_.key_length; ++j) sum += (*dp_)[from + j] * (*p_)[from + j];
    for (int64_t j = 0; j < a_.key_length; ++j) {
      ds_->Set(from + j, (*p_)[from + j] * ((*dp_)[from + j] - sum) * scale_);
    }
  }
};

Attention Case(int64_t queries, int64_t keys, bool causal, int64_t window) {
  return {.batch = 2,
          .heads = 4,
          .kv_heads = 2,
          .query_length = queries,
          .key_length = keys,
          .head_size = 3,
          .causal = causal,
          .window = window};
}

// Latent attention's values are narrower than its keys; nothing says that others can't be wider.
std::vector<Attention> WithValuesOf(std::vector<Attention> cases, int64_t value_head_size) {
  for (Attention& op : cases) op.value_head_size = value_head_size;
  return cases;
}

const std::vector<Attention> kCases = {
    Case(3, 3, false, 0), Case(2, 5, false, 0), Case(4, 4, true, 0),
    Case(1, 1, true, 0),  Case(2, 5, true, 0),  Case(5, 5, true, 2),
    Case(1, 6, true, 3),  Case(2, 6, true, 2),  Case(3, 3, true, 9)};

class AttentionCounted : public ::testing::TestWithParam<int64_t> {};

TEST_P(AttentionCounted, Fused) {
  for (const Attention& op : WithValuesOf(kCases, GetParam())) {
    NaiveAttention naive(op);
    ExpectCounted(op, naive);
  }
}

TEST_P(AttentionCounted, Unfused) {
  for (Attention op : WithValuesOf(kCases, GetParam())) {
    op.fused = false;
    NaiveUnfused naive(op);
    ExpectCounted(op, naive);
  }
}

INSTANTIATE_TEST_SUITE_P(ValueHeadSizes, AttentionCounted, ::testing::Values(0, 2, 5));

// Every mask of up to 12 positions, against a count of the pairs that it allows.
TEST(AttendedPairs, AreThoseThatTheMaskAllows) {
  for (int64_t k = 1; k <= 12; ++k) {
    for (int64_t q = 1; q <= k; ++q) {
      for (int64_t window = 0; window <= 14; ++window) {
        Attention op = Case(q, k, true, window);
        double counted[2] = {};
        for (int i = 0; i < 2; ++i) {
          op.convention =
              i == 0 ? CausalConvention::kWithDiagonal : CausalConvention::kWithoutDiagonal;
          for (int64_t at = 0; at < q * k; ++at) counted[i] += Allowed(op, at / k, at % k) ? 1 : 0;
          EXPECT_EQ(AttendedPairs(op), counted[i]) << q << " " << k << " " << window << " " << i;
        }
        op.convention = CausalConvention::kPublished;
        EXPECT_EQ(AttendedPairs(op), (counted[0] + counted[1]) / 2);
      }
    }
  }
}

// s^2/2 and s w - w^2/2: a common factor of all published counts, though no mask's.
TEST(AttendedPairs, PublishedConventionIsHalfTheSquare) {
  for (int64_t s = 1; s <= 40; ++s) {
    for (int64_t w = 1; w <= s; ++w) {
      Attention op = Case(s, s, true, w);
      op.convention = CausalConvention::kPublished;
      const auto window = static_cast<double>(w);
      EXPECT_EQ(AttendedPairs(op), static_cast<double>(s) * window - window * window / 2);
    }
  }
}

TEST(AttendedPairs, KeepTheirDigitsAtAnyLength) {
  const int64_t length = int64_t{1} << 40;
  EXPECT_EQ(AttendedPairs(Case(1, length, true, 0)), std::ldexp(1, 40));
  EXPECT_EQ(AttendedPairs(Case(2, length, true, 7)), 14);
  EXPECT_EQ(AttendedPairs(Case(length, length, true, std::numeric_limits<int64_t>::max())),
            std::ldexp(1, 39) * (std::ldexp(1, 40) + 1));
}

// The T x T scores and probabilities, written and read: 4 T^2 numbers that fusion saves.
TEST(Attention, FusionSavesTheSquares) {
  const Attention op = {
      .batch = 1, .heads = 1, .kv_heads = 1, .query_length = 64, .key_length = 64, .head_size = 8};
  const auto analysis = naive::Analyze(op, {.input = DataType::kBf16});
  EXPECT_EQ(analysis.forward.sum.moved(), Bytes(4 * 64 * 8 * 2));
  EXPECT_EQ(analysis.unfused->sum.moved(), Bytes(4 * 64 * 8 * 2 + 4 * 64 * 64 * 2));
  // 2.5 times the forward products, against 2 times where the probabilities are kept.
  const Flops forward = analysis.forward.sum.matrix_flops;
  EXPECT_EQ(forward, Flops(2 * 2.0 * 64 * 64 * 8));
  EXPECT_EQ(analysis.backward->cost.sum.matrix_flops, forward * 2.5);
  Attention unfused = op;
  unfused.fused = false;
  const auto kept = naive::Analyze(unfused, {.input = DataType::kBf16});
  EXPECT_EQ(kept.backward->cost.sum.matrix_flops, forward * 2);
}

// DeepSeek-V3 (arXiv 2412.19437, section 4.2): 128 heads, keys of 128 + 64, values of 128. Of 4096
// tokens 4096 x 4097 / 2 pairs a head, each 192 + 128 multiply-adds forward; 3 x 192 + 2 x 128
// back.
TEST(Attention, OfNarrowerValuesIsLatentAttention) {
  const Attention op = {.batch = 1,
                        .heads = 128,
                        .kv_heads = 128,
                        .query_length = 4096,
                        .key_length = 4096,
                        .head_size = 192,
                        .value_head_size = 128,
                        .causal = true};
  const auto analysis = naive::Analyze(op, {.input = DataType::kBf16});
  constexpr double kPairs = 128.0 * 4096 * 4097 / 2;
  EXPECT_EQ(analysis.forward.sum.matrix_flops, Flops(2 * kPairs * 320));
  EXPECT_EQ(analysis.backward->cost.sum.matrix_flops, Flops(2 * kPairs * 832));
  // q, k, v and o, in bf16.
  constexpr int64_t kTokenHeads = 128 * 4096;
  EXPECT_EQ(analysis.forward.sum.moved(), Bytes(2 * kTokenHeads * (192 + 192 + 128 + 128)));
  // The same, and the log-sum-exp of a row in fp32.
  EXPECT_EQ(analysis.backward->saved_bytes, Bytes(kTokenHeads * (2 * 640 + 4)));
  Attention wrong = op;
  wrong.value_head_size = -1;
  EXPECT_THAT(AnalyzeOperation({wrong, {.input = DataType::kBf16}}, "a"),
              NamesFields(::testing::ElementsAre("a.value_head_size")));
  wrong.value_head_size = kMaxDimension + 1;
  EXPECT_THAT(AnalyzeOperation({wrong, {.input = DataType::kBf16}}, "a"),
              NamesFields(::testing::ElementsAre("a.value_head_size")));
}

}  // namespace
}  // namespace sextant
