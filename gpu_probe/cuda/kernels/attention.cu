// Attention by its definition, for a few tokens at a time, to check a library's results: in double
// from bf16 operands, one thread an element, without synchronization between threads.
//
// Operands are [batch, token, head, feature], statistics [batch, head, token].
#include "gpu_probe/cuda/kernels/narrow.cuh"
#include "gpu_probe/cuda/kernels/places.cuh"

// As in attention/gpu_attention_check.h.
struct AttentionSizes {
  long long sequence;
  long long heads;
  long long kv_heads;
  long long head_size;
  long long value_head_size;
  long long causal;  // 0 or 1
  double scale;      // of scores
};
// A token of one head: of a query, or of keys and values.
struct AttentionSample {
  long long batch;
  long long head;
  long long token;
};

// The largest relative change by rounding to bf16: half a unit in the last of 8 places.
static constexpr double kBf16Rounding = 0x1p-9;

// Where the features of a token of one of `heads` heads start.
static __device__ long long RowOf(const AttentionSizes& sizes, long long heads, long long batch,
                                  long long head, long long token, long long width) {
  return ((batch * sizes.sequence + token) * heads + head) * width;
}

static __device__ double Dot(const unsigned short* a, const unsigned short* b, long long count) {
  double sum = 0;
  for (long long i = 0; i < count; ++i) sum += (double)FromBf16(a[i]) * (double)FromBf16(b[i]);
  return sum;
}

// Scores of sampled queries with all keys; masked pairs have minus infinity.
// scores[sample * sequence + key]
extern "C" __global__ void attention_row_scores(double* scores, const unsigned short* queries,
                                                const unsigned short* keys,
                                                const AttentionSample* samples,
                                                long long sample_count, AttentionSizes sizes) {
  const long long group = sizes.heads / sizes.kv_heads;
  for (long long i = FirstOfGrid(); i < sample_count * sizes.sequence; i += GridStep()) {
    const AttentionSample sample = samples[i / sizes.sequence];
    const long long key = i % sizes.sequence;
    if (sizes.causal != 0 && key > sample.token) {
      scores[i] = -INFINITY;
      continue;
    }
    const long long query_row =
        RowOf(sizes, sizes.heads, sample.batch, sample.head, sample.token, sizes.head_size);
    const long long key_row =
        RowOf(sizes, sizes.kv_heads, sample.batch, sample.head / group, key, sizes.head_size);
    scores[i] = sizes.scale * Dot(queries + query_row, keys + key_row, sizes.head_size);
  }
}

// The logarithm of each row's sum of exponentials.
extern "C" __global__ void attention_row_sums(double* log_sums, const double* scores,
                                              long long sample_count, long long sequence) {
  for (long long i = FirstOfGrid(); i < sample_count; i += GridStep()) {
    const double* row = scores + i * sequence;
    double largest = row[0];
    for (long long key = 1; key < sequence; ++key) largest = fmax(largest, row[key]);
    double sum = 0;
    for (long long key = 0; key < sequence; ++key) sum += exp(row[key] - largest);
    log_sums[i] = largest + log(sum);
  }
}

// Converts scores to the softmax's weights.
extern "C" __global__ void attention_row_weights(double* scores, const double* log_sums,
                                                 long long sample_count, long long sequence) {
  for (long long i = FirstOfGrid(); i < sample_count * sequence; i += GridStep()) {
    scores[i] = exp(scores[i] - log_sums[i / sequence]);
  }
}

// Converts weights to gradients of the scores, before their scale: weight (g . value - g . output)
// with the output's gradient g.
extern "C" __global__ void attention_row_gradients(double* weights,
                                                   const unsigned short* output_gradients,
                                                   const unsigned short* outputs,
                                                   const unsigned short* values,
                                                   const AttentionSample* samples,
                                                   long long sample_count, AttentionSizes sizes) {
  const long long group = sizes.heads / sizes.kv_heads;
  const long long width = sizes.value_head_size;
  for (long long i = FirstOfGrid(); i < sample_count * sizes.sequence; i += GridStep()) {
    const AttentionSample sample = samples[i / sizes.sequence];
    const long long row = RowOf(sizes, sizes.heads, sample.batch, sample.head, sample.token, width);
    const long long value_row =
        RowOf(sizes, sizes.kv_heads, sample.batch, sample.head / group, i % sizes.sequence, width);
    weights[i] *= Dot(output_gradients + row, values + value_row, width) -
                  Dot(output_gradients + row, outputs + row, width);
  }
}

// For sampled keys, the weights that all queries of all heads of their group give them, from the
// library's statistics; and the gradients of these scores.
// weights[(sample * group + head within it) * sequence + query]
extern "C" __global__ void attention_column_weights(
    double* weights, double* gradients, const unsigned short* queries, const unsigned short* keys,
    const unsigned short* values, const unsigned short* outputs, const float* statistics,
    const unsigned short* output_gradients, const AttentionSample* samples, long long sample_count,
    AttentionSizes sizes) {
  const long long group = sizes.heads / sizes.kv_heads;
  const long long count = sample_count * group * sizes.sequence;
  for (long long i = FirstOfGrid(); i < count; i += GridStep()) {
    const AttentionSample sample = samples[i / (group * sizes.sequence)];
    const long long query = i % sizes.sequence;
    const long long head = sample.head * group + i / sizes.sequence % group;
    weights[i] = 0;
    gradients[i] = 0;
    if (sizes.causal != 0 && query < sample.token) continue;
    const unsigned short* query_row =
        queries + RowOf(sizes, sizes.heads, sample.batch, head, query, sizes.head_size);
    const unsigned short* key_row = keys + RowOf(sizes, sizes.kv_heads, sample.batch, sample.head,
                                                 sample.token, sizes.head_size);
    const long long width = sizes.value_head_size;
    const long long row = RowOf(sizes, sizes.heads, sample.batch, head, query, width);
    const unsigned short* value_row =
        values + RowOf(sizes, sizes.kv_heads, sample.batch, sample.head, sample.token, width);
    const double log_sum = statistics[(sample.batch * sizes.heads + head) * sizes.sequence + query];
    weights[i] = exp(sizes.scale * Dot(query_row, key_row, sizes.head_size) - log_sum);
    gradients[i] = weights[i] * (Dot(output_gradients + row, value_row, width) -
                                 Dot(output_gradients + row, outputs + row, width));
  }
}

// A sum of products of weights and bf16 numbers, and a bound of its error where the weights were
// rounded to bf16.
struct RoundedSum {
  double sum;
  double squares;
  double sizes;

  __device__ void Add(double weight, unsigned short number) {
    const double product = weight * (double)FromBf16(number);
    sum += product;
    squares += product * product;
    sizes += fabs(product);
  }

  // Roundings are independent and have mean 0, so their sum exceeds sqrt(2 ln(2 / 1e-15)) = 8.4
  // roots of the sum of their squares with a probability of 1e-15 (Hoeffding). All other
  // operations, in fp32, are within 2^-12 of each product.
  __device__ double Tolerance() const {
    return 8.4 * kBf16Rounding * sqrt(squares) + 0x1p-12 * sizes;
  }
};

// Compares rows of `out`, which has query heads, with `factor` times the sum over keys of weights
// times rows of `from`, which has key heads: outputs from values, or gradients of queries from
// keys. Place: sample * width + feature.
extern "C" __global__ void check_attention_rows(Report* report, const unsigned short* out,
                                                const double* weights, const unsigned short* from,
                                                const AttentionSample* samples,
                                                long long sample_count, AttentionSizes sizes,
                                                long long width, double factor) {
  const long long group = sizes.heads / sizes.kv_heads;
  for (long long i = FirstOfGrid(); i < sample_count * width; i += GridStep()) {
    const AttentionSample sample = samples[i / width];
    const long long feature = i % width;
    RoundedSum total = {0, 0, 0};
    for (long long key = 0; key < sizes.sequence; ++key) {
      const long long row =
          RowOf(sizes, sizes.kv_heads, sample.batch, sample.head / group, key, width);
      total.Add(weights[i / width * sizes.sequence + key], from[row + feature]);
    }
    const long long place =
        RowOf(sizes, sizes.heads, sample.batch, sample.head, sample.token, width) + feature;
    const double wanted = factor * total.sum;
    const double tolerance = factor * total.Tolerance() + 2 * kBf16Rounding * fabs(wanted);
    if (!(fabs((double)FromBf16(out[place]) - wanted) <= tolerance)) Tell(report, i);
  }
}

// Compares rows of `out`, which has key heads, with `factor` times the sum over queries of weights
// times rows of `from`, which has query heads: gradients of keys or values. Each head's sum may
// have been rounded before the sums were added up.
extern "C" __global__ void check_attention_columns(Report* report, const unsigned short* out,
                                                   const double* weights,
                                                   const unsigned short* from,
                                                   const AttentionSample* samples,
                                                   long long sample_count, AttentionSizes sizes,
                                                   long long width, double factor) {
  const long long group = sizes.heads / sizes.kv_heads;
  for (long long i = FirstOfGrid(); i < sample_count * width; i += GridStep()) {
    const AttentionSample sample = samples[i / width];
    const long long feature = i % width;
    double wanted = 0;
    double tolerance = 0;
    for (long long member = 0; member < group; ++member) {
      const double* row = weights + (i / width * group + member) * sizes.sequence;
      RoundedSum total = {0, 0, 0};
      for (long long query = 0; query < sizes.sequence; ++query) {
        total.Add(row[query], from[RowOf(sizes, sizes.heads, sample.batch,
                                         sample.head * group + member, query, width) +
                                   feature]);
      }
      wanted += factor * total.sum;
      tolerance += factor * (total.Tolerance() + 2 * kBf16Rounding * fabs(total.sum));
    }
    tolerance += 2 * kBf16Rounding * fabs(wanted);
    const long long place =
        RowOf(sizes, sizes.kv_heads, sample.batch, sample.head, sample.token, width) + feature;
    if (!(fabs((double)FromBf16(out[place]) - wanted) <= tolerance)) Tell(report, i);
  }
}

// Compares statistics of sampled queries to within 2^-10: 0.1 % of the sum. Place: the sample.
extern "C" __global__ void check_attention_statistics(Report* report, const float* statistics,
                                                      const double* log_sums,
                                                      const AttentionSample* samples,
                                                      long long sample_count,
                                                      AttentionSizes sizes) {
  for (long long i = FirstOfGrid(); i < sample_count; i += GridStep()) {
    const AttentionSample sample = samples[i];
    const double got =
        statistics[(sample.batch * sizes.heads + sample.head) * sizes.sequence + sample.token];
    if (!(fabs(got - log_sums[i]) <= 0x1p-10)) Tell(report, i);
  }
}

// Checks that `count` numbers are finite: before the run all their bits were set, which is not
// finite. `step` is 1 for bf16 numbers; for fp32 numbers it is 2, and `data` points to their upper
// halves.
extern "C" __global__ void check_attention_written(Report* report, const unsigned short* data,
                                                   long long count, long long step) {
  for (long long i = FirstOfGrid(); i < count; i += GridStep()) {
    if ((data[i * step] & 0x7F80) == 0x7F80) Tell(report, i);
  }
}
