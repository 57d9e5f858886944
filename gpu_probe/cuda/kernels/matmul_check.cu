// Checks that C is A B: without multiplying again (Freivalds), and by multiplying again.
//
// Columns of C are summed in blocks of 256 with random signs r, as in host/matmul_workload.h: C r
// is compared with A (B r) in each row and block. All sums are in double.
#include "gpu_probe/cuda/kernels/matmul_formats.cuh"
#include "gpu_probe/cuda/kernels/places.cuh"
#include "gpu_probe/cuda/kernels/random.cuh"

static const int kColumnsOfBlock = 256;

static __device__ double SignOf(unsigned long long seed, long long column) {
  return (RandomBits(seed + column) & 1) != 0 ? 1.0 : -1.0;
}

static __device__ long long LesserOf(long long x, long long y) { return x < y ? x : y; }

template <int kFormat>
static __device__ void SumColumns(const Matrix& b, long long n, long long k,
                                  unsigned long long seed, double* sums, double* squares) {
  const long long block_count = (n + kColumnsOfBlock - 1) / kColumnsOfBlock;
  for (long long task = FirstOfGrid(); task < block_count * k; task += GridStep()) {
    const long long block = task / k;
    const long long p = task % k;
    const long long end = LesserOf((block + 1) * kColumnsOfBlock, n);
    double sum = 0;
    double square = 0;
    for (long long j = block * kColumnsOfBlock; j < end; ++j) {
      const double value = ElementAt<kFormat>(b, j, p) * b.scale;
      sum += SignOf(seed, j) * value;
      square += value * value;
    }
    sums[task] = sum;
    atomicAdd(&squares[block], square);
  }
}

// sums[block][p] = (B r)[p] of the block's columns; squares[block] += the sum of their squares.
extern "C" __global__ void matmul_sum_columns(Matrix b, long long n, long long k,
                                              unsigned long long seed, double* sums,
                                              double* squares) {
  SEXTANT_FOR_FORMAT(b.format, SumColumns, b, n, k, seed, sums, squares)
}

// Rows, and blocks of columns, whose sums a thread keeps in registers.
static const int kRowsAtOnce = 4;
static const int kBlocksAtOnce = 4;

template <int kFormat>
static __device__ void MultiplyRows(const Matrix& a, long long m, long long k,
                                    long long block_count, long long lanes, const double* sums,
                                    double* products, double* squares) {
  const long long row_groups = (m + kRowsAtOnce - 1) / kRowsAtOnce;
  const long long block_groups = (block_count + kBlocksAtOnce - 1) / kBlocksAtOnce;
  const long long task_count = row_groups * block_groups * lanes;
  for (long long task = FirstOfGrid(); task < task_count; task += GridStep()) {
    const long long lane = task % lanes;
    const long long first_block = task / lanes % block_groups * kBlocksAtOnce;
    const long long first_row = task / lanes / block_groups * kRowsAtOnce;
    double partial[kRowsAtOnce][kBlocksAtOnce] = {};
    double square[kRowsAtOnce] = {};
    for (long long p = lane; p < k; p += lanes) {
      double b[kBlocksAtOnce];
      for (int j = 0; j < kBlocksAtOnce; ++j) {
        b[j] = sums[LesserOf(first_block + j, block_count - 1) * k + p];
      }
      for (int i = 0; i < kRowsAtOnce; ++i) {
        const double value = ElementAt<kFormat>(a, LesserOf(first_row + i, m - 1), p) * a.scale;
        square[i] += value * value;
        for (int j = 0; j < kBlocksAtOnce; ++j) partial[i][j] += value * b[j];
      }
    }
    for (int i = 0; i < kRowsAtOnce && first_row + i < m; ++i) {
      if (first_block == 0) atomicAdd(&squares[first_row + i], square[i]);
      for (int j = 0; j < kBlocksAtOnce && first_block + j < block_count; ++j) {
        atomicAdd(&products[(first_row + i) * block_count + first_block + j], partial[i][j]);
      }
    }
  }
}

// products[i][block] += A (B r); squares[i] += the sum of squares of A's row. `lanes` threads share
// the sum over k.
extern "C" __global__ void matmul_multiply_rows(Matrix a, long long m, long long k,
                                                long long block_count, long long lanes,
                                                const double* sums, double* products,
                                                double* squares) {
  SEXTANT_FOR_FORMAT(a.format, MultiplyRows, a, m, k, block_count, lanes, sums, products, squares)
}

// The allowed rounding error of a row's block, relative to the norms of the operands and of C.
struct Tolerance {
  double sums;
  double output;
};

template <int kFormat>
static __device__ void CompareRows(Report* report, const Matrix& c, long long m, long long n,
                                   unsigned long long seed, const double* products,
                                   const double* a_squares, const double* b_squares,
                                   Tolerance tolerance) {
  const long long block_count = (n + kColumnsOfBlock - 1) / kColumnsOfBlock;
  for (long long task = FirstOfGrid(); task < m * block_count; task += GridStep()) {
    const long long row = task / block_count;
    const long long block = task % block_count;
    const long long end = LesserOf((block + 1) * kColumnsOfBlock, n);
    double sum = 0;
    double square = 0;
    for (long long j = block * kColumnsOfBlock; j < end; ++j) {
      const double value = ElementAt<kFormat>(c, row, j);
      sum += SignOf(seed, j) * value;
      square += value * value;
    }
    double off = sum - products[task];
    // Sums of 32 bits wrap around, and both values are whole numbers below 2^53.
    if (kFormat == kInt32Elements) off -= 4294967296.0 * rint(off / 4294967296.0);
    const double allowed =
        tolerance.sums * sqrt(a_squares[row] * b_squares[block]) + tolerance.output * sqrt(square);
    // NaN fails the comparison; an infinite element makes `off` and `allowed` infinite.
    if (!(fabs(off) <= allowed) || !(allowed < 1e300)) Tell(report, task);
  }
}

// The reported place is row * blocks + block. `c` has C's columns along its k.
extern "C" __global__ void check_matmul(Report* report, Matrix c, long long m, long long n,
                                        unsigned long long seed, const double* products,
                                        const double* a_squares, const double* b_squares,
                                        Tolerance tolerance) {
  SEXTANT_FOR_FORMAT(c.format, CompareRows, report, c, m, n, seed, products, a_squares, b_squares,
                     tolerance)
}

template <int kFormat>
static __device__ double RowByColumn(const Matrix& a, const Matrix& b, long long row,
                                     long long column, long long k) {
  double sum = 0;
  for (long long p = 0; p < k; ++p) {
    sum += ElementAt<kFormat>(a, row, p) * ElementAt<kFormat>(b, column, p);
  }
  return sum * a.scale * b.scale;
}

template <int kFormat>
static __device__ void CompareElements(Report* report, const Matrix& a, const Matrix& b,
                                       const Matrix& c, long long m, long long n, long long k) {
  for (long long task = FirstOfGrid(); task < m * n; task += GridStep()) {
    const long long row = task / n;
    const long long column = task % n;
    const double sum = RowByColumn<kFormat>(a, b, row, column, k);
    const double written = c.format == kInt32Elements  ? ElementAt<kInt32Elements>(c, row, column)
                           : c.format == kFp64Elements ? ElementAt<kFp64Elements>(c, row, column)
                                                       : ElementAt<kFp32Elements>(c, row, column);
    if (!(written == sum)) Tell(report, task);
  }
}

// Compares every element of C = A B, where all sums are exact in any order. C is of fp64, fp32 or
// int32. The reported place is row * n + column.
extern "C" __global__ void check_exact_matmul(Report* report, Matrix a, Matrix b, Matrix c,
                                              long long m, long long n, long long k) {
  SEXTANT_FOR_FORMAT(a.format, CompareElements, report, a, b, c, m, n, k)
}

// *hash += a hash of each 16-bit word with its place: independent of the order of threads.
extern "C" __global__ void matmul_hash(const unsigned short* words, unsigned long long count,
                                       unsigned long long* hash) {
  unsigned long long sum = 0;
  for (long long i = FirstOfGrid(); i < (long long)count; i += GridStep()) {
    sum += RandomBits((unsigned long long)i << 16 | words[i]);
  }
  atomicAdd(hash, sum);
}
