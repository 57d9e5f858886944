#include "gpu_probe/cuda/matmul/gpu_matmul_type.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace sextant::probe {
namespace {

constexpr int kAda = 89;
constexpr int kBlackwell = 100;

// The first cuBLAS with block scales: 12.8.
constexpr int kBlockScalesVersion = 1208;

// The relative value of a result's last bit.
constexpr double kBf16Rounding = 0x1p-8;
constexpr double kFp16Rounding = 0x1p-11;

// Before Blackwell, tensor cores sum products of e4m3 with 13 bits of fraction, 32 at a time.
// Source: DeepSeek-V3 Technical Report, arXiv 2412.19437, section 3.3.2.
constexpr double kShortSumRounding = 0x1p-13;
constexpr double kShortSumStep = 32;

// The largest sum of random errors of the expected size, in standard deviations: by Hoeffding's
// inequality 1 row's block in 3e7 exceeds it.
constexpr double kGpuCheckDeviations = 6;

// "13.1.0" as 1301.
int MajorAndMinor(const std::string& version) {
  const std::vector<std::string> parts = absl::StrSplit(version, '.');
  int major = 0;
  int minor = 0;
  if (parts.size() < 2 || !absl::SimpleAtoi(parts[0], &major) ||
      !absl::SimpleAtoi(parts[1], &minor)) {
    return 0;
  }
  return major * 100 + minor;
}

// Results of bf16 and of the narrow types are bf16, as in frameworks.
constexpr GpuMatmulType kGpuTypes[] = {
    {.data_type = v1::DATA_TYPE_BF16,
     .format = MatrixFormat::kBf16,
     .output = MatrixFormat::kBf16,
     .input_type = cublaslt::kBf16,
     .element_bits = 16,
     .output_rounding = kBf16Rounding},
    {.data_type = v1::DATA_TYPE_FP8_E4M3,
     .oldest_capability = kAda,
     .format = MatrixFormat::kE4m3,
     .output = MatrixFormat::kBf16,
     .input_type = cublaslt::kFp8E4m3,
     .element_bits = 8,
     .scaled_matrices = true,
     .deviation = 64,
     .multiple = 16,
     .output_rounding = kBf16Rounding},
    {.data_type = v1::DATA_TYPE_NVFP4,
     .oldest_capability = kBlackwell,
     .format = MatrixFormat::kNvE2m1,
     .output = MatrixFormat::kBf16,
     .input_type = cublaslt::kFp4E2m1,
     .element_bits = 4,
     .scale_block = 16,
     .deviation = 2,
     .multiple = 32,
     .output_rounding = kBf16Rounding},
    {.data_type = v1::DATA_TYPE_MXFP8,
     .oldest_capability = kBlackwell,
     .format = MatrixFormat::kMxE4m3,
     .output = MatrixFormat::kBf16,
     .input_type = cublaslt::kFp8E4m3,
     .element_bits = 8,
     .scale_block = 32,
     .deviation = 64,
     .multiple = 32,
     .output_rounding = kBf16Rounding},
    {.data_type = v1::DATA_TYPE_TF32,
     .format = MatrixFormat::kTf32,
     .input_type = cublaslt::kFp32,
     .compute_type = cublaslt::kComputeFp32AsTf32,
     .element_bits = 32},
    {.data_type = v1::DATA_TYPE_INT8,
     .format = MatrixFormat::kInt8,
     .output = MatrixFormat::kInt32,
     .wide_output = MatrixFormat::kInt32,
     .input_type = cublaslt::kInt8,
     .compute_type = cublaslt::kComputeInt32,
     .factor_type = cublaslt::kInt32,
     .element_bits = 8,
     .deviation = 32,
     .multiple = 16,
     .sum_rounding = 0},
    {.data_type = v1::DATA_TYPE_FP32,
     .format = MatrixFormat::kFp32,
     .input_type = cublaslt::kFp32,
     .element_bits = 32},
    {.data_type = v1::DATA_TYPE_FP16,
     .format = MatrixFormat::kFp16,
     .output = MatrixFormat::kFp16,
     .input_type = cublaslt::kFp16,
     .element_bits = 16,
     .output_rounding = kFp16Rounding},
    // Twice the rounding of sums: the check's own have the same precision.
    {.data_type = v1::DATA_TYPE_FP64,
     .format = MatrixFormat::kFp64,
     .output = MatrixFormat::kFp64,
     .wide_output = MatrixFormat::kFp64,
     .input_type = cublaslt::kFp64,
     .compute_type = cublaslt::kComputeFp64,
     .factor_type = cublaslt::kFp64,
     .element_bits = 64,
     .sum_rounding = 0x1p-52}};

// The number of grid points and of checks that STANDARD measures.
constexpr size_t kStandardPointCount = 80;
constexpr size_t kStandardCheckCount = 12;

// Types without tensor cores, or with few, are slow: their sizes stay below this.
constexpr double kMaxSlowOperations = 0x1p38;

void AppendFront(std::vector<MatmulSize> from, size_t count, std::vector<MatmulSize>* to) {
  from.resize(std::min(count, from.size()));
  std::move(from.begin(), from.end(), std::back_inserter(*to));
}

bool IsSlow(v1::DataType type) { return type == v1::DATA_TYPE_FP32 || type == v1::DATA_TYPE_FP64; }

std::vector<MatmulSize> FullSizes(v1::DataType type) {
  std::vector<MatmulSize> out;
  AppendFront(MatmulGridPoints(), IsSlow(type) ? kMatmulAnchorCount : kMatmulPointCount, &out);
  if (!IsSlow(type)) AppendFront(MatmulGridChecks(), kMatmulCheckCount, &out);
  std::erase_if(out, [&](const MatmulSize& size) {
    const double operations = 2.0 * static_cast<double>(size.m) * static_cast<double>(size.n) *
                              static_cast<double>(size.k);
    return IsSlow(type) && operations > kMaxSlowOperations;
  });
  return out;
}

std::vector<MatmulSize> StandardSizes(v1::DataType type) {
  std::vector<MatmulSize> out;
  if (!HasGrid(type)) {
    for (const int64_t m : {16, 256, 4096}) {
      for (const int64_t n : {1024, 4096}) {
        for (const int64_t k : {1024, 4096}) out.push_back({m, n, k});
      }
    }
    return out;
  }
  AppendFront(MatmulGridPoints(), kStandardPointCount, &out);
  AppendFront(MatmulGridChecks(), kStandardCheckCount, &out);
  return out;
}

}  // namespace

absl::Span<const GpuMatmulType> GpuMatmulTypes() { return kGpuTypes; }

const GpuMatmulType* FindGpuMatmulType(v1::DataType type) {
  for (const GpuMatmulType& known : GpuMatmulTypes()) {
    if (known.data_type == type) return &known;
  }
  return nullptr;
}

absl::Status CheckGpuMultiplies(v1::DataType type, int capability, const std::string& version) {
  const GpuMatmulType* const known = FindGpuMatmulType(type);
  if (known == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("A GPU is not measured in ", v1::DataType_Name(type),
                     ": ask for BF16, FP16, TF32, FP32, FP64, INT8, FP8_E4M3, MXFP8 or NVFP4."));
  }
  const std::string name = absl::AsciiStrToUpper(known->label());
  if (capability < known->oldest_capability) {
    return absl::UnimplementedError(
        absl::StrCat(name, " needs compute capability ", known->oldest_capability / 10, ".",
                     known->oldest_capability % 10, ", and this GPU's is ", capability / 10, ".",
                     capability % 10, ", so it is not measured."));
  }
  if (known->scale_block > 0 && MajorAndMinor(version) < kBlockScalesVersion) {
    return absl::UnimplementedError(absl::StrCat(name, " needs cuBLASLt 12.8, and here is ",
                                                 version, ", so it is not measured."));
  }
  return absl::OkStatus();
}

OutputElement OutputElementOf(MatrixFormat output) {
  switch (output) {
    case MatrixFormat::kFp64:
      return {.cuda_type = cublaslt::kFp64, .bytes = 8};
    case MatrixFormat::kFp16:
      return {.cuda_type = cublaslt::kFp16, .bytes = 2};
    case MatrixFormat::kBf16:
      return {.cuda_type = cublaslt::kBf16, .bytes = 2};
    case MatrixFormat::kInt32:
      return {.cuda_type = cublaslt::kInt32};
    default:
      return {};
  }
}

MatmulTolerance ToleranceOf(const GpuMatmulType& type, int64_t k, int capability) {
  const double root_k = std::sqrt(static_cast<double>(k));
  double sums = type.sum_rounding * root_k;
  if (type.format == MatrixFormat::kE4m3 && capability < kBlackwell) {
    sums = kShortSumRounding * std::max(root_k / kShortSumStep, 1 / root_k);
  }
  return {.sums = kGpuCheckDeviations * sums, .output = kGpuCheckDeviations * type.output_rounding};
}

int64_t ScaleTilesAlongK(const GpuMatmulType& type, int64_t k) {
  if (type.scale_block == 0) return 0;
  return (k + 4 * type.scale_block - 1) / (4 * type.scale_block);
}

int64_t ScaleBytesOf(const GpuMatmulType& type, int64_t rows, int64_t k) {
  return (rows + 127) / 128 * ScaleTilesAlongK(type, k) * 512;
}

bool HasGrid(v1::DataType type) {
  return type == v1::DATA_TYPE_BF16 || type == v1::DATA_TYPE_FP8_E4M3;
}

MatmulSize FirstSize() { return {4096, 4096, 4096}; }

bool IsMeasuredIn(v1::ProbeMode mode, v1::DataType type) {
  if (mode == v1::PROBE_MODE_FULL) return true;
  const bool only_in_full = type == v1::DATA_TYPE_FP16 || type == v1::DATA_TYPE_FP64;
  if (mode == v1::PROBE_MODE_STANDARD) return !only_in_full;
  return !only_in_full && type != v1::DATA_TYPE_FP32 && type != v1::DATA_TYPE_MXFP8;
}

std::vector<MatmulSize> SizesOf(v1::ProbeMode mode, v1::DataType type) {
  std::vector<MatmulSize> out;
  if (!IsMeasuredIn(mode, type)) return out;
  switch (mode) {
    case v1::PROBE_MODE_QUICK:
      if (type == v1::DATA_TYPE_BF16) out.push_back(SustainedSize());
      return out;
    case v1::PROBE_MODE_FULL:
      out = FullSizes(type);
      break;
    default:
      out = StandardSizes(type);
  }
  std::erase(out, FirstSize());
  return out;
}

MatmulSize SustainedSize() { return {8192, 8192, 8192}; }

double SustainedSeconds(v1::ProbeMode mode, v1::DataType type) {
  const bool full = mode == v1::PROBE_MODE_FULL;
  if (type == v1::DATA_TYPE_BF16 && mode != v1::PROBE_MODE_QUICK) return full ? 1.0 : 0.3;
  return type == v1::DATA_TYPE_FP8_E4M3 && full ? 1.0 : 0.0;
}

double TrialSeconds(v1::ProbeMode mode) { return mode == v1::PROBE_MODE_FULL ? 1.5 : 0; }

GpuMatmulProblem ProblemOf(v1::DataType type, const MatmulSize& size) {
  GpuMatmulProblem out;
  out.type = FindGpuMatmulType(type);
  out.m = size.m;
  out.n = size.n;
  out.k = size.k;
  return out;
}

std::vector<GpuMatmulProblem> OtherMatmuls(v1::ProbeMode mode) {
  std::vector<GpuMatmulProblem> out;
  if (mode != v1::PROBE_MODE_FULL) return out;
  for (const auto layout :
       {v1::MatmulMeasurement::LAYOUT_ROW_BY_ROW, v1::MatmulMeasurement::LAYOUT_COLUMN_BY_ROW}) {
    for (const MatmulSize& size : {FirstSize(), SustainedSize(), MatmulSize{2048, 6144, 4096},
                                   MatmulSize{8192, 1024, 4096}}) {
      out.push_back(ProblemOf(v1::DATA_TYPE_BF16, size));
      out.back().layout = layout;
    }
  }
  // Attention's weights by values: 128 heads of sequences of 2,048 tokens.
  out.push_back(ProblemOf(v1::DATA_TYPE_BF16, {2048, 128, 2048}));
  out.back().batch_count = 128;
  out.push_back(ProblemOf(v1::DATA_TYPE_FP8_E4M3, FirstSize()));
  out.back().fast_accumulation = false;
  return out;
}

}  // namespace sextant::probe
