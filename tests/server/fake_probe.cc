#include "tests/server/fake_probe.h"

#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "sextant/v1/calibration.pb.h"
#include "tests/server/sample_calibration.h"

namespace sextant::server {
namespace {

std::string WriteEvent(const v1::ProbeEvent& event) {
  std::string text;
  EXPECT_TRUE(google::protobuf::util::MessageToJsonString(event, &text).ok());
  return absl::StrCat("echo '", text, "'\n");
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

v1::Calibration FakeCalibration() { return CalibrationInFile(1); }

v1::Device FakeDevice() { return FakeCalibration().device(); }

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

std::string ListsAnd(absl::string_view commands, const std::vector<v1::Device>& devices) {
  std::string list;
  for (const v1::Device& device : devices) list += WriteDevice(device);
  return absl::StrCat("if [ \"$1\" = --list ]; then\n", list, "exit 0\nfi\n", commands);
}

Latch::Latch(const TemporaryFolder& folder) : path_(folder.File("latch")) {
  EXPECT_EQ(mkfifo(path_.c_str(), 0600), 0);
}

std::string Latch::WaitCommand() const { return absl::StrCat("read -r go <'", path_, "'\n"); }

void Latch::Open() const { WriteFile(path_, "go\n"); }

}  // namespace sextant::server
