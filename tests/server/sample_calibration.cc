#include "tests/server/sample_calibration.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

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

}  // namespace sextant::server
