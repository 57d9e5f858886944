#include "tests/server/fake_probe.h"

#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant::server {
namespace {

std::string WriteEvent(const v1::ProbeEvent& event) {
  std::string text;
  EXPECT_TRUE(google::protobuf::util::MessageToJsonString(event, &text).ok());
  return absl::StrCat("echo '", text, "'\n");
}

void FillTime(double median_seconds, v1::TimeStatistics* out) {
  out->set_median_seconds(median_seconds);
  out->set_relative_spread(0.01);
  out->set_p10_seconds(0.99 * median_seconds);
  out->set_p90_seconds(1.02 * median_seconds);
  out->set_sample_count(10);
  out->set_repetition_count(1);
  out->set_stable(true);
}

// m = n = k = 1000, so 2e9 FLOPs.
void FillMatmul(v1::DataType type, double flops_per_second, v1::MatmulMeasurement* out) {
  out->set_data_type(type);
  out->set_m(1000);
  out->set_n(1000);
  out->set_k(1000);
  FillTime(2e9 / flops_per_second, out->mutable_time());
  out->set_flops_per_second(flops_per_second);
  out->set_engine("builtin");
}

struct Stream {
  v1::StreamMeasurement::Operation operation;
  int moved_arrays;  // read or written by one pass
  bool main_memory;
  double bytes_per_second;
};

void AddStream(const Stream& stream, v1::Calibration& out) {
  v1::StreamMeasurement* added = out.add_streams();
  added->set_operation(stream.operation);
  added->set_array_bytes(stream.main_memory ? 1 << 30 : 1 << 20);
  added->set_main_memory(stream.main_memory);
  const double moved_bytes = stream.moved_arrays * static_cast<double>(added->array_bytes());
  FillTime(moved_bytes / stream.bytes_per_second, added->mutable_time());
  added->set_bytes_per_second(stream.bytes_per_second);
}

void AddElementwise(int64_t count, double bytes_per_second, v1::Calibration& out) {
  v1::ElementwiseMeasurement* step = out.add_elementwise();
  step->set_multiply_add_count(count);
  step->set_flops_per_byte(static_cast<double>(count) / 4);
  step->set_array_bytes(1 << 28);
  FillTime(2 * 268435456 / bytes_per_second, step->mutable_time());
  step->set_bytes_per_second(bytes_per_second);
  step->set_flops_per_second(bytes_per_second * step->flops_per_byte());
}

}  // namespace

void WriteFile(const std::string& path, absl::string_view content) {
  std::ofstream file(path, std::ios::binary);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  EXPECT_TRUE(file.good()) << path;
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

std::string WriteScript(const TemporaryFolder& folder, absl::string_view name,
                        absl::string_view commands) {
  const std::string path = folder.File(name);
  WriteFile(path, absl::StrCat("#!/bin/sh\n", commands));
  EXPECT_EQ(chmod(path.c_str(), 0755), 0);
  return path;
}

v1::Device FakeDevice() {
  v1::Device device;
  device.set_uuid("CPU-0123456789abcdef");
  device.set_kind(v1::DEVICE_KIND_CPU);
  device.set_product_name("Example 9000 8-Core Processor");
  device.set_hostname("node1");
  device.set_memory_bytes(int64_t{64} << 30);
  device.set_cache_bytes(32 << 20);
  device.set_compute_unit_count(8);
  device.add_instruction_sets("avx2");
  return device;
}

v1::Calibration FakeCalibration() {
  v1::Calibration out;
  out.set_schema_version(2);
  *out.mutable_device() = FakeDevice();
  out.mutable_measured_time()->set_seconds(1'700'000'000);
  out.set_probe_version("sextant-probe 0.1.0");
  out.set_mode(v1::PROBE_MODE_STANDARD);
  out.set_duration_seconds(5);
  out.set_coverage_ratio(1);
  out.set_drift_ratio(0.02);
  FillMatmul(v1::DATA_TYPE_FP32, 200e9, out.add_matmuls());
  FillMatmul(v1::DATA_TYPE_FP32, 250e9, out.add_matmuls());
  FillMatmul(v1::DATA_TYPE_BF16, 500e9, out.add_matmuls());
  FillMatmul(v1::DATA_TYPE_INT8, 800e9, out.add_matmuls());
  FillMatmul(v1::DATA_TYPE_BF16, 400e9, out.add_matmuls());
  out.mutable_matmuls(4)->set_window(v1::MatmulMeasurement::WINDOW_SUSTAINED);
  constexpr auto kCopy = v1::StreamMeasurement::OPERATION_COPY;
  AddStream({kCopy, 2, false, 90e9}, out);
  AddStream({kCopy, 2, true, 20e9}, out);
  AddStream({v1::StreamMeasurement::OPERATION_TRIAD, 3, true, 18e9}, out);
  AddElementwise(1, 20e9, out);
  AddElementwise(64, 10e9, out);
  out.set_ridge_flops_per_byte(8);
  out.set_checked_result_count(12);
  return out;
}

std::string WriteDevice(const v1::Device& device) {
  v1::ProbeEvent event;
  *event.mutable_device() = device;
  return WriteEvent(event);
}

std::string WriteCalibration(const v1::Calibration& calibration) {
  v1::ProbeEvent event;
  *event.mutable_calibration() = calibration;
  return WriteEvent(event);
}

std::string WriteProgress(absl::string_view phase, double fraction) {
  v1::ProbeEvent event;
  event.mutable_progress()->set_phase(std::string(phase));
  event.mutable_progress()->set_fraction(fraction);
  event.mutable_progress()->set_elapsed_seconds(fraction);
  return WriteEvent(event);
}

std::string WriteFailure(absl::string_view kind, absl::string_view message,
                         absl::string_view reason) {
  return absl::StrCat("echo '{\"failure\":{\"kind\":\"KIND_", kind, "\",\"message\":\"", message,
                      "\",\"reason\":\"", reason, "\"}}'\n");
}

std::string ListsAnd(absl::string_view commands) {
  return absl::StrCat("if [ \"$1\" = --list ]; then\n", WriteDevice(FakeDevice()), "exit 0\nfi\n",
                      commands);
}

Latch::Latch(const TemporaryFolder& folder) : path_(folder.File("latch")) {
  EXPECT_EQ(mkfifo(path_.c_str(), 0600), 0);
}

std::string Latch::WaitCommand() const { return absl::StrCat("read -r go <'", path_, "'\n"); }

void Latch::Open() const { WriteFile(path_, "go\n"); }

}  // namespace sextant::server
