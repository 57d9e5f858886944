// The kernels of attention.cu, on a processor, against attention in loops of double.
#include "tests/gpu_probe/cuda/kernels/emulation.h"
// After what it stands on.
#include <gtest/gtest.h>

#include <vector>

#include "gpu_probe/cuda/kernels/attention.cu"
#include "gpu_probe/cuda/kernels/random.cuh"

namespace sextant::probe {
namespace {

using Bf16s = std::vector<unsigned short>;

struct Case {
  long long batch = 2;
  AttentionSizes sizes = {.sequence = 40,
                          .heads = 4,
                          .kv_heads = 2,
                          .head_size = 8,
                          .value_head_size = 16,
                          .causal = 1,
                          .scale = 0.3535534};
};

Bf16s Normal(long long count, unsigned long long seed) {
  Bf16s out(static_cast<size_t>(count));
  for (size_t i = 0; i < out.size(); ++i) out[i] = ToBf16(RandomNormal(seed + i));
  return out;
}

double Rounded(double value) { return FromBf16(ToBf16(static_cast<float>(value))); }

// Attention as a fused kernel computes it: weights and gradients of scores rounded to bf16 before
// they are multiplied, sums in more.
class Attention {
 public:
  explicit Attention(const Case& c) : batch_(c.batch), s_(c.sizes) {
    const long long rows = batch_ * s_.sequence * s_.heads;
    const long long kv_rows = batch_ * s_.sequence * s_.kv_heads;
    queries = Normal(rows * s_.head_size, 1'000'000);
    keys = Normal(kv_rows * s_.head_size, 2'000'000);
    values = Normal(kv_rows * s_.value_head_size, 3'000'000);
    output_gradients = Normal(rows * s_.value_head_size, 4'000'000);
    outputs.assign(output_gradients.size(), 0);
    statistics.assign(static_cast<size_t>(rows), 0);
    query_gradients.assign(queries.size(), 0);
    Forward();
    Backward();
  }

  size_t Row(long long heads, long long b, long long h, long long t, long long width) const {
    return static_cast<size_t>(((b * s_.sequence + t) * heads + h) * width);
  }
  float& Statistic(long long b, long long h, long long t) {
    return statistics[static_cast<size_t>((b * s_.heads + h) * s_.sequence + t)];
  }

  Bf16s queries, keys, values, output_gradients;
  Bf16s outputs, query_gradients, key_gradients, value_gradients;
  std::vector<float> statistics;

 private:
  bool Sees(long long query, long long key) const { return s_.causal == 0 || key <= query; }
  double Score(long long b, long long h, long long query, long long key) const {
    const size_t q = Row(s_.heads, b, h, query, s_.head_size);
    const size_t k = Row(s_.kv_heads, b, h / Group(), key, s_.head_size);
    double sum = 0;
    for (size_t i = 0; i < static_cast<size_t>(s_.head_size); ++i) {
      sum += double{FromBf16(queries[q + i])} * FromBf16(keys[k + i]);
    }
    return s_.scale * sum;
  }
  long long Group() const { return s_.heads / s_.kv_heads; }

  template <typename Body>
  void ForEachRow(Body body) {
    for (long long b = 0; b < batch_; ++b) {
      for (long long h = 0; h < s_.heads; ++h) {
        for (long long t = 0; t < s_.sequence; ++t) body(b, h, t);
      }
    }
  }

  void Forward() {
    ForEachRow([&](long long b, long long h, long long t) {
      double sum = 0;
      for (long long key = 0; key < s_.sequence; ++key) {
        if (Sees(t, key)) sum += std::exp(Score(b, h, t, key));
      }
      Statistic(b, h, t) = static_cast<float>(std::log(sum));
      for (long long c = 0; c < s_.value_head_size; ++c) {
        double output = 0;
        for (long long key = 0; key < s_.sequence; ++key) {
          if (!Sees(t, key)) continue;
          const size_t v = Row(s_.kv_heads, b, h / Group(), key, s_.value_head_size);
          output += Rounded(std::exp(Score(b, h, t, key)) / sum) *
                    FromBf16(values[v + static_cast<size_t>(c)]);
        }
        outputs[Row(s_.heads, b, h, t, s_.value_head_size) + static_cast<size_t>(c)] =
            ToBf16(static_cast<float>(output));
      }
    });
  }

  double OutputDot(size_t row, const Bf16s& other, size_t other_row) const {
    double sum = 0;
    for (size_t c = 0; c < static_cast<size_t>(s_.value_head_size); ++c) {
      sum += double{FromBf16(output_gradients[row + c])} * FromBf16(other[other_row + c]);
    }
    return sum;
  }

  void Backward() {
    std::vector<double> query_sums(queries.size());
    std::vector<double> key_sums(keys.size());
    std::vector<double> value_sums(values.size());
    ForEachRow([&](long long b, long long h, long long t) {
      const size_t row = Row(s_.heads, b, h, t, s_.value_head_size);
      const size_t q = Row(s_.heads, b, h, t, s_.head_size);
      const double row_sum = OutputDot(row, outputs, row);
      for (long long key = 0; key < s_.sequence; ++key) {
        if (!Sees(t, key)) continue;
        const size_t v = Row(s_.kv_heads, b, h / Group(), key, s_.value_head_size);
        const size_t k = Row(s_.kv_heads, b, h / Group(), key, s_.head_size);
        const double weight =
            std::exp(Score(b, h, t, key) - static_cast<double>(Statistic(b, h, t)));
        const double gradient = Rounded(weight * (OutputDot(row, values, v) - row_sum));
        for (size_t c = 0; c < static_cast<size_t>(s_.value_head_size); ++c) {
          value_sums[v + c] += Rounded(weight) * FromBf16(output_gradients[row + c]);
        }
        for (size_t c = 0; c < static_cast<size_t>(s_.head_size); ++c) {
          query_sums[q + c] += s_.scale * gradient * FromBf16(keys[k + c]);
          key_sums[k + c] += s_.scale * gradient * FromBf16(queries[q + c]);
        }
      }
    });
    const auto rounded = [](const std::vector<double>& sums) {
      Bf16s out;
      for (const double sum : sums) out.push_back(ToBf16(static_cast<float>(sum)));
      return out;
    };
    query_gradients = rounded(query_sums);
    key_gradients = rounded(key_sums);
    value_gradients = rounded(value_sums);
  }

  long long batch_;
  AttentionSizes s_;
};

// The kernels, launched as gpu_attention_check.cc does.
class Checker {
 public:
  Checker(const Case& c, Attention& attention) : s_(c.sizes), it_(attention) {
    for (long long i = 0; i < kSamples; ++i) {
      samples_.push_back({.batch = i % c.batch, .head = i, .token = (i * 17 + 39) % s_.sequence});
    }
    const size_t rows = static_cast<size_t>(kSamples * s_.heads / s_.kv_heads);
    weights_.assign(rows * static_cast<size_t>(s_.sequence), NAN);
    gradients_ = weights_;
  }

  unsigned long long WrongStatistics() {
    RowWeights();
    return ReportOf(check_attention_statistics, 2, 8, it_.statistics.data(), log_sums_.data(),
                    samples_.data(), kSamples, s_)
        .wrong_count;
  }
  unsigned long long WrongOutputs() {
    RowWeights();
    return Rows(it_.outputs, it_.values, s_.value_head_size, 1);
  }
  unsigned long long WrongQueryGradients() {
    RowWeights();
    Emulate(attention_row_gradients, 3, 8, weights_.data(), it_.output_gradients.data(),
            it_.outputs.data(), it_.values.data(), samples_.data(), kSamples, s_);
    return Rows(it_.query_gradients, it_.keys, s_.head_size, s_.scale);
  }
  unsigned long long WrongValueGradients() {
    ColumnWeights();
    return Columns(it_.value_gradients, weights_, it_.output_gradients, s_.value_head_size, 1);
  }
  unsigned long long WrongKeyGradients() {
    ColumnWeights();
    return Columns(it_.key_gradients, gradients_, it_.queries, s_.head_size, s_.scale);
  }
  unsigned long long WrongAtAll() {
    return WrongStatistics() + WrongOutputs() + WrongQueryGradients() + WrongValueGradients() +
           WrongKeyGradients();
  }
  // The first of the tokens that are looked at, whose head is 0.
  const AttentionSample& first_sample() const { return samples_[0]; }

 private:
  static constexpr long long kSamples = 2;  // heads 0 and 1: of queries as of keys

  void RowWeights() {
    Emulate(attention_row_scores, 3, 8, weights_.data(), it_.queries.data(), it_.keys.data(),
            samples_.data(), kSamples, s_);
    Emulate(attention_row_sums, 1, 8, log_sums_.data(), weights_.data(), kSamples, s_.sequence);
    Emulate(attention_row_weights, 3, 8, weights_.data(), log_sums_.data(), kSamples, s_.sequence);
  }
  void ColumnWeights() {
    Emulate(attention_column_weights, 3, 8, weights_.data(), gradients_.data(), it_.queries.data(),
            it_.keys.data(), it_.values.data(), it_.outputs.data(), it_.statistics.data(),
            it_.output_gradients.data(), samples_.data(), kSamples, s_);
  }
  unsigned long long Rows(const Bf16s& out, const Bf16s& from, long long width, double factor) {
    return ReportOf(check_attention_rows, 2, 8, out.data(), weights_.data(), from.data(),
                    samples_.data(), kSamples, s_, width, factor)
        .wrong_count;
  }
  unsigned long long Columns(const Bf16s& out, const std::vector<double>& weights,
                             const Bf16s& from, long long width, double factor) {
    return ReportOf(check_attention_columns, 2, 8, out.data(), weights.data(), from.data(),
                    samples_.data(), kSamples, s_, width, factor)
        .wrong_count;
  }

  AttentionSizes s_;
  Attention& it_;
  std::vector<AttentionSample> samples_;
  std::vector<double> log_sums_ = std::vector<double>(kSamples, NAN);
  std::vector<double> weights_;
  std::vector<double> gradients_;
};

TEST(AttentionKernelsTest, TakeWhatAFusedKernelComputes) {
  for (const long long causal : {0, 1}) {
    for (const long long kv_heads : {2, 4}) {
      Case c;
      c.sizes.causal = causal;
      c.sizes.kv_heads = kv_heads;
      Attention attention(c);
      EXPECT_EQ(Checker(c, attention).WrongAtAll(), 0) << causal << " " << kv_heads;
    }
  }
}

// Each output is changed at a token that is looked at, by one part in ten of numbers of its kind.
TEST(AttentionKernelsTest, FindWhatIsChanged) {
  const Case c;
  Attention attention(c);
  Checker checker(c, attention);
  const AttentionSample at = checker.first_sample();
  const AttentionSizes& s = c.sizes;
  const auto change = [&](Bf16s& numbers, long long heads, long long width) {
    unsigned short& number = numbers[attention.Row(heads, at.batch, at.head, at.token, width)];
    number = ToBf16(FromBf16(number) + 0.1f);
    return [&number, before = ToBf16(FromBf16(number) - 0.1f)] { number = before; };
  };
  const auto restore_output = change(attention.outputs, s.heads, s.value_head_size);
  EXPECT_EQ(checker.WrongOutputs(), 1);
  restore_output();
  change(attention.query_gradients, s.heads, s.head_size);
  EXPECT_EQ(checker.WrongQueryGradients(), 1);
  change(attention.key_gradients, s.kv_heads, s.head_size);
  EXPECT_EQ(checker.WrongKeyGradients(), 1);
  change(attention.value_gradients, s.kv_heads, s.value_head_size);
  EXPECT_EQ(checker.WrongValueGradients(), 1);
  attention.Statistic(at.batch, at.head, at.token) += 0.002f;
  EXPECT_EQ(checker.WrongStatistics(), 1);
}

TEST(AttentionKernelsTest, FindAMaskThatIsNotTheOneAskedFor) {
  Case causal;
  Attention attention(causal);
  Case full = causal;
  full.sizes.causal = 0;
  Checker checker(full, attention);
  // The last token sees all either way; the others don't.
  EXPECT_GT(checker.WrongOutputs(), 0);
  EXPECT_EQ(checker.WrongStatistics(), 1);
  EXPECT_GT(checker.WrongKeyGradients(), 0);
}

TEST(AttentionKernelsTest, NumbersThatAreNotFiniteAreWrong) {
  const Case c;
  Attention attention(c);
  Checker checker(c, attention);
  attention.outputs.assign(attention.outputs.size(), 0xFFFF);
  attention.key_gradients.assign(attention.key_gradients.size(), 0xFFFF);
  attention.statistics.assign(attention.statistics.size(), NAN);
  EXPECT_EQ(checker.WrongOutputs(), 2 * c.sizes.value_head_size);
  EXPECT_EQ(checker.WrongKeyGradients(), 2 * c.sizes.head_size);
  EXPECT_EQ(checker.WrongStatistics(), 2);
}

TEST(AttentionKernelsTest, FindNumbersThatWereNotWritten) {
  Bf16s numbers(1000, ToBf16(3.5f));
  numbers[500] = 0xFFFF;
  numbers[777] = 0x7F80;  // infinite
  Report report = ReportOf(check_attention_written, 2, 64, numbers.data(), 1000LL, 1LL);
  EXPECT_EQ(report.wrong_count, 2);
  EXPECT_EQ(report.first_wrong, 500);
  std::vector<float> wide(100, -2.0f);
  wide[41] = NAN;
  report = ReportOf(check_attention_written, 2, 64,
                    reinterpret_cast<const unsigned short*>(wide.data()) + 1, 100LL, 2LL);
  EXPECT_EQ(report.wrong_count, 1);
  EXPECT_EQ(report.first_wrong, 41);
}

}  // namespace
}  // namespace sextant::probe
