#include "tests/server/sample_calibration.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "proto/matmul_kind.h"
#include "tests/support/source_folder.h"

namespace sextant::server {

v1::Calibration CalibrationInFile(int index) {
  static const auto* const all = [] {
    std::ifstream file(SourceFolder() + "/tests/server/calibrations.textproto");
    const std::string text(std::istreambuf_iterator<char>(file), {});
    auto* const out = new v1::SuppliedCalibrations();
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, out));
    return out;
  }();
  return all->calibrations(index);
}

v1::Calibration SampleCalibration(const std::string& uuid) {
  v1::Calibration out = CalibrationInFile(0);
  out.mutable_device()->set_uuid(uuid);
  return out;
}

void AddMainMemoryCopy(int64_t array_bytes, v1::Calibration* calibration) {
  v1::StreamMeasurement* const copy = calibration->add_streams();
  copy->set_operation(v1::StreamMeasurement::OPERATION_COPY);
  copy->set_array_bytes(array_bytes);
  copy->set_main_memory(true);
  *copy->mutable_time() = SampleCalibration().matmuls(0).time();
  copy->set_bytes_per_second(2 * static_cast<double>(array_bytes) / copy->time().median_seconds());
}

v1::Calibration CalibrationOfH200(const std::string& uuid, double seconds) {
  v1::Calibration out = SampleCalibration(uuid);
  AddMainMemoryCopy(1'000'000'000, &out);
  out.mutable_device()->set_kind(v1::DEVICE_KIND_GPU);
  out.mutable_device()->set_product_name("NVIDIA H200");
  for (v1::MatmulMeasurement& m : *out.mutable_matmuls()) {
    if (IsOther(m)) continue;
    const double flops =
        2.0 * static_cast<double>(m.m()) * static_cast<double>(m.n()) * static_cast<double>(m.k());
    m.mutable_time()->set_median_seconds(seconds);
    m.mutable_time()->set_p10_seconds(seconds);
    m.mutable_time()->set_p90_seconds(seconds);
    m.set_flops_per_second(flops / seconds);
    m.clear_register_ratio();
  }
  return out;
}

}  // namespace sextant::server
