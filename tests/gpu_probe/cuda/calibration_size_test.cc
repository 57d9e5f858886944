// How many bytes a GPU's calibration takes, packed (binary) and compressed (gzip).
#include <google/protobuf/io/gzip_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <iostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gpu_probe/cuda/attention/gpu_attention_points.h"
#include "gpu_probe/cuda/matmul/gpu_matmul_points.h"
#include "gpu_probe/cuda/matmul/gpu_matmul_type.h"
#include "gpu_probe/cuda/memory/memory_points.h"
#include "gpu_probe/statistics.h"
#include "proto/matmul_kind.h"
#include "tests/gpu_probe/cuda/fake_cublaslt.h"
#include "tests/gpu_probe/cuda/fake_cudnn.h"
#include "tests/gpu_probe/cuda/fake_session.h"

namespace sextant::probe {
namespace {

constexpr size_t kMaxStandardBytes = 20'000;

// Measures nothing: writes points down with times whose every digit is noise, which compresses
// least, as far as Summarise() keeps digits. Texts are as long as cuBLASLt's algorithms make them,
// and differ from point to point.
class CalibrationSizeTest : public FakeSessionTest {
 protected:
  CalibrationSizeTest() {
    gpu_.major = 10;  // it multiplies in more types than any other
  }

  v1::Calibration Noisy(v1::ProbeMode mode) {
    const SharedSession session = Open();
    std::vector<std::string> notes;
    std::vector<Point> points = GpuMatmulPoints(mode, session, cublaslt_.Table(), &notes);
    for (Point& point : GpuMemoryPoints(mode, session)) points.push_back(std::move(point));
    for (Point& point : GpuAttentionPoints(mode, session, cudnn_.Table(), &notes)) {
      points.push_back(std::move(point));
    }
    v1::Calibration out;
    out.set_mode(mode);
    *out.mutable_device() = session->device();
    for (const Point& point : points) point.record(Time(point), &out);
    SummariseGpuMemory(&out);
    for (v1::MatmulMeasurement& matmul : *out.mutable_matmuls()) {
      NameKernels(TrialSeconds(mode) > 0, &matmul);
    }
    for (int i = 0; i < 4; ++i) out.add_notes(std::string(200, static_cast<char>('a' + Whole(26))));
    FillUnset(out.mutable_device());
    FillUnset(out.mutable_conditions());
    FillUnset(&out);
    return out;
  }

  double Share(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }
  int Whole(int below) { return std::uniform_int_distribution<int>(0, below - 1)(random_); }

 private:
  v1::TimeStatistics Time(const Point& point) {
    const double seconds = point.work > 0 ? point.work / std::exp(Share(20, 35)) : 2e-6;
    std::vector<double> samples(static_cast<size_t>(6 + Whole(40)));
    for (double& sample : samples) sample = seconds * Share(0.9, 1.1);
    return Summarise(samples, 1 + Whole(2000));
  }

  std::string KernelText() {
    return absl::StrFormat("tile %dx%d stages %dxauto split-k %d cluster %dx%d waves %.1f",
                           8 << Whole(6), 8 << Whole(6), 16 << Whole(4), 1 + Whole(16),
                           1 << Whole(4), 1 << Whole(3), Share(0, 100));
  }

  void NameKernels(bool others_tried, v1::MatmulMeasurement* matmul) {
    matmul->set_kernel(KernelText());
    if (!others_tried) return;
    matmul->set_best_kernel(KernelText());
    matmul->set_best_flops_per_second(matmul->flops_per_second() * Share(1, 1.1));
  }

  // Fills every plain field without a value: those that only a driver, or the end of a run, sets.
  void FillUnset(google::protobuf::Message* message) {
    const auto* const descriptor = message->GetDescriptor();
    const auto* const reflection = message->GetReflection();
    for (int i = 0; i < descriptor->field_count(); ++i) {
      const auto* const field = descriptor->field(i);
      if (field->is_repeated() || reflection->HasField(*message, field)) continue;
      using Field = google::protobuf::FieldDescriptor;
      switch (field->cpp_type()) {
        case Field::CPPTYPE_DOUBLE:
          reflection->SetDouble(message, field, Share(0, 1e9));
          break;
        case Field::CPPTYPE_INT64:
          reflection->SetInt64(message, field, 1 + Whole(1'000'000'000));
          break;
        case Field::CPPTYPE_INT32:
          reflection->SetInt32(message, field, 1 + Whole(1'000'000));
          break;
        case Field::CPPTYPE_BOOL:
          reflection->SetBool(message, field, true);
          break;
        case Field::CPPTYPE_STRING:
          reflection->SetString(message, field, absl::StrCat(Share(0, 1), Share(0, 1)));
          break;
        default:
          break;
      }
    }
  }

  FakeCublasLt cublaslt_{host_};
  FakeCudnn cudnn_{host_};
  std::mt19937_64 random_{20261123};
};

// As `protoc --encode` and `gzip -9` would.
size_t CompressedBytes(const v1::Calibration& calibration) {
  std::string out;
  google::protobuf::io::StringOutputStream to(&out);
  google::protobuf::io::GzipOutputStream::Options options;
  options.compression_level = 9;
  google::protobuf::io::GzipOutputStream gzip(&to, options);
  EXPECT_TRUE(calibration.SerializeToZeroCopyStream(&gzip));
  EXPECT_TRUE(gzip.Close());
  return out.size();
}

size_t Print(const char* mode, const v1::Calibration& calibration) {
  std::string json;
  EXPECT_TRUE(google::protobuf::util::MessageToJsonString(calibration, &json).ok());
  const size_t compressed = CompressedBytes(calibration);
  std::cout << mode << ": " << calibration.matmuls_size() << " multiplications, "
            << calibration.attentions_size() << " attentions; bytes: " << compressed
            << " packed and compressed, " << calibration.ByteSizeLong() << " packed, "
            << json.size() << " as JSON\n";
  return compressed;
}

TEST_F(CalibrationSizeTest, StandardFitsInTwentyKilobytes) {
  const v1::Calibration calibration = Noisy(v1::PROBE_MODE_STANDARD);
  int grid_points = 0;
  for (const v1::MatmulMeasurement* matmul : MatmulsWhere(calibration, IsGridBurst)) {
    const bool has_grid =
        matmul->data_type() == v1::DATA_TYPE_BF16 || matmul->data_type() == v1::DATA_TYPE_FP8_E4M3;
    grid_points += has_grid ? 1 : 0;
  }
  EXPECT_GE(grid_points, 2 * 92);
  EXPECT_LE(Print("standard", calibration), kMaxStandardBytes);
}

TEST_F(CalibrationSizeTest, QuickAndFullAreShown) {
  EXPECT_LE(Print("quick", Noisy(v1::PROBE_MODE_QUICK)), kMaxStandardBytes);
  EXPECT_GT(Print("full", Noisy(v1::PROBE_MODE_FULL)), 0u);
}

}  // namespace
}  // namespace sextant::probe
