// Times of exchanges from the caller's own calibrations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/handler/link_times_answer.h"
#include "tests/server/message_matchers.h"
#include "tests/server/planning_server.h"
#include "tests/server/sample_calibration.h"
#include "tests/support/status_matchers.h"

namespace sextant::server {
namespace {

using ::testing::_;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kOwnMiB = 1 << 20;

// One call in a calibration.
struct OwnCall {
  v1::CollectiveOperation operation;
  int64_t ranks;
  int64_t bytes;
  double seconds;
  double wire_share;  // nccl-tests' factor of the bus bandwidth
};

v1::TimeStatistics ExactTime(v1::TimeStatistics time, double seconds) {
  time.set_median_seconds(seconds);
  time.set_p10_seconds(seconds);
  time.set_p90_seconds(seconds);
  return time;
}

v1::Calibration H100With(const std::vector<OwnCall>& calls) {
  v1::Calibration out = SampleCalibration("GPU-1");
  out.mutable_device()->set_kind(v1::DEVICE_KIND_GPU);
  out.mutable_device()->set_product_name("NVIDIA H100 80GB HBM3");
  out.clear_collectives();
  out.clear_host_copies();
  for (const OwnCall& call : calls) {
    v1::CollectiveMeasurement* m = out.add_collectives();
    m->set_operation(call.operation);
    m->set_rank_count(call.ranks);
    m->set_size_bytes(call.bytes);
    m->set_bus_bytes_per_second(call.wire_share * static_cast<double>(call.bytes) / call.seconds);
    m->set_engine("nccl 2.28.3");
    *m->mutable_time() = ExactTime(out.matmuls(0).time(), call.seconds);
  }
  return out;
}

void AddCopy(v1::HostCopyMeasurement::Direction direction, bool pageable, double seconds,
             v1::Calibration* out) {
  v1::HostCopyMeasurement* m = out->add_host_copies();
  m->set_direction(direction);
  m->set_pageable(pageable);
  m->set_size_bytes(1'000'000'000);
  m->set_bytes_per_second(1e9 / seconds);
  *m->mutable_time() = ExactTime(out->matmuls(0).time(), seconds);
}

// Two sizes of all_reduce among eight.
v1::Calibration SlowH100(double factor) {
  return H100With({{v1::COLLECTIVE_OPERATION_ALL_REDUCE, 8, kOwnMiB, factor * 30e-6, 1.75},
                   {v1::COLLECTIVE_OPERATION_ALL_REDUCE, 8, 64 * kOwnMiB, factor * 500e-6, 1.75}});
}

v1::GetLinkTimesRequest OnDgx(const std::vector<v1::Calibration>& calibrations) {
  v1::GetLinkTimesRequest request;
  request.mutable_nodes()->set_node_type("dgx-h100");
  auto* device = request.mutable_nodes()->mutable_device();
  for (const v1::Calibration& c : calibrations) {
    v1::Calibration* added = device->mutable_calibrations()->add_calibrations();
    *added = c;
    added->mutable_device()->set_uuid(
        absl::StrCat("GPU-", device->calibrations().calibrations_size()));
  }
  request.add_operations(v1::COLLECTIVE_OPERATION_ALL_REDUCE);
  request.add_sizes_bytes(kOwnMiB);
  request.add_sizes_bytes(2 * kOwnMiB);
  return request;
}

absl::StatusOr<v1::GetLinkTimesResponse> AnswerTo(const v1::GetLinkTimesRequest& request,
                                                  const CalibrationSnapshot& host = NoHost()) {
  SuppliedCalibrations supplied;
  v1::GetLinkTimesResponse response;
  const absl::Status status = AnswerLinkTimes(request, FinderOf(supplied, host), &response);
  if (!status.ok()) return status;
  return response;
}

// 30 us at 1 MiB and 500 us at 64 MiB: a line over bytes has 30 + 470 / 63 at 2 MiB.
TEST(MeasuredLinks, GoBeforePublishedOnes) {
  const auto response = AnswerTo(OnDgx({SlowH100(1)}));
  ASSERT_THAT(response, IsOk());
  const auto& times = response->exchanges(0).times();
  EXPECT_NEAR(times[0].duration_seconds().expected(), 30e-6, 1e-12);
  EXPECT_EQ(times[0].basis(), v1::KERNEL_BASIS_MEASURED);
  EXPECT_NEAR(times[1].duration_seconds().expected(), 30e-6 + 470e-6 / 63, 1e-12);
  EXPECT_EQ(times[1].basis(), v1::KERNEL_BASIS_WITHIN_GRID);
  for (const v1::LinkTime& time : times) {
    EXPECT_EQ(time.source(), v1::RATE_SOURCE_MEASURED_SUPPLIED);
    EXPECT_EQ(SourceAt(response->sources(), time.source_number()), "a calibration in the request");
  }
  EXPECT_EQ(response->nodes().device().accelerator(), "h100-sxm");
  EXPECT_THAT(response->assumptions(),
              Not(Contains(IsWireNote(v1::NOTE_KIND_COLLECTIVE_NOT_MEASURED, _))));
}

TEST(MeasuredLinks, LeaveTheRestToPublishedOnes) {
  v1::GetLinkTimesRequest request = OnDgx({SlowH100(1)});
  request.set_operations(0, v1::COLLECTIVE_OPERATION_ALL_GATHER);
  const auto response = AnswerTo(request);
  ASSERT_THAT(response, IsOk());
  // aiconfigurator's table of H100, NCCL 2.29.2.
  EXPECT_NEAR(response->exchanges(0).times(0).duration_seconds().expected(), 17.13e-6, 1e-12);
  EXPECT_EQ(response->exchanges(0).times(0).source(), v1::RATE_SOURCE_REFERENCE);
  EXPECT_THAT(
      response->assumptions(),
      Contains(IsWireNote(v1::NOTE_KIND_COLLECTIVE_NOT_MEASURED,
                          HasSubstr("hold no all_gather that would tell its times among 8 ranks: "
                                    "published times stand in"))));
  EXPECT_THAT(response->assumptions().rbegin()->fields(),
              ElementsAre("nodes.device.calibrations.calibrations"));
}

// 1 GB in 20 ms one way and 25 ms the other; pageable memory is another matter.
TEST(MeasuredLinks, OfHostCopiesAreTheSlowerWayOfTheSlowestDevice) {
  v1::Calibration fast = SlowH100(1);
  AddCopy(v1::HostCopyMeasurement::DIRECTION_HOST_TO_DEVICE, false, 18e-3, &fast);
  v1::Calibration slow = SlowH100(1);
  AddCopy(v1::HostCopyMeasurement::DIRECTION_HOST_TO_DEVICE, false, 20e-3, &slow);
  AddCopy(v1::HostCopyMeasurement::DIRECTION_DEVICE_TO_HOST, false, 25e-3, &slow);
  AddCopy(v1::HostCopyMeasurement::DIRECTION_HOST_TO_DEVICE, true, 100e-3, &slow);
  v1::GetLinkTimesRequest request = OnDgx({fast, slow});
  request.clear_sizes_bytes();
  request.add_sizes_bytes(1'000'000'000);
  request.set_host_copies(true);
  const auto response = AnswerTo(request);
  ASSERT_THAT(response, IsOk());
  const v1::LinkTime& copy = response->host_copies(0);
  EXPECT_NEAR(copy.duration_seconds().expected(), 25e-3, 1e-9);
  EXPECT_EQ(copy.basis(), v1::KERNEL_BASIS_MEASURED_RATE);
  EXPECT_EQ(copy.source(), v1::RATE_SOURCE_MEASURED_SUPPLIED);
}

// 1 GiB x 7 / 8 at 450 GB/s take 2.1 ms; 1 GB at 63 GB/s 16 ms.
TEST(MeasuredLinks, ThatTheNodesCannotHaveAreRefused) {
  v1::Calibration wrong =
      H100With({{v1::COLLECTIVE_OPERATION_ALL_GATHER, 8, 1024 * kOwnMiB, 1e-3, 0.875},
                {v1::COLLECTIVE_OPERATION_ALL_GATHER, 8, 2048 * kOwnMiB, 5e-3, 0.875},
                {v1::COLLECTIVE_OPERATION_ALL_GATHER, 16, kOwnMiB, 1e-3, 0.9375}});
  AddCopy(v1::HostCopyMeasurement::DIRECTION_HOST_TO_DEVICE, false, 10e-3, &wrong);
  wrong.mutable_device()->set_product_name("NVIDIA A100-SXM4-80GB");
  const std::string path = "nodes.device.calibrations.calibrations[0]";
  EXPECT_THAT(
      AnswerTo(OnDgx({wrong})),
      NamesFields(ElementsAre(
          path + ".device.product_name", path + ".collectives[0].time.median_seconds",
          path + ".collectives[2].rank_count", path + ".host_copies[0].time.median_seconds")));
  // Two products.
  EXPECT_THAT(AnswerTo(OnDgx({SlowH100(1), wrong})),
              NamesFields(ElementsAre("nodes.device.calibrations.calibrations[1]")));
}

// --- The product of the devices ---------------------------------------------------------

// A GB200 comes in one kind of server, an H100 in several, an RTX 3090 in none that is known.
TEST(MeasuredLinks, SayTheKindOfServer) {
  const auto on = [](const char* product_name) {
    v1::Calibration calibration = SlowH100(1);
    calibration.mutable_device()->set_product_name(product_name);
    v1::GetLinkTimesRequest request = OnDgx({calibration});
    request.mutable_nodes()->clear_node_type();
    return AnswerTo(request);
  };
  const auto gb200 = on("NVIDIA GB200");
  ASSERT_THAT(gb200, IsOk());
  EXPECT_EQ(gb200->nodes().node_type(), "gb200-nvl72");
  EXPECT_EQ(gb200->nodes().device().accelerator(), "gb200");
  EXPECT_THAT(on("NVIDIA H100 80GB HBM3"), NamesFields(ElementsAre("nodes.node_type")));
  EXPECT_THAT(on("GeForce RTX 5090"),
              NamesFields(ElementsAre("nodes.device.calibrations.calibrations[0]."
                                      "device.product_name")));
  EXPECT_THAT(on("A Product Of Tomorrow"), NamesFields(ElementsAre("nodes.node_type")));
}

v1::GetLinkTimesRequest OnDevices(const std::vector<std::string>& names) {
  v1::GetLinkTimesRequest request = OnDgx({});
  auto* devices = request.mutable_nodes()->mutable_device()->mutable_host_devices();
  for (const std::string& name : names) devices->add_devices(name);
  return request;
}

TEST(MeasuredLinks, OfTheHostsDevicesAreTheirKeptOnes) {
  v1::Calibration second = SlowH100(1.5);
  second.mutable_device()->set_uuid("GPU-2");
  CalibrationSnapshot host = SnapshotOf({SlowH100(1), second});
  const auto both = AnswerTo(OnDevices({"GPU-1", "GPU-2"}), host);
  ASSERT_THAT(both, IsOk());
  EXPECT_NEAR(both->exchanges(0).times(0).duration_seconds().expected(), 45e-6, 1e-12);
  EXPECT_EQ(both->exchanges(0).times(0).source(), v1::RATE_SOURCE_MEASURED_DEVICE);
  EXPECT_EQ(SourceAt(both->sources(), both->exchanges(0).times(0).source_number()),
            "the slowest of 2 devices of this host");
  const auto one = AnswerTo(OnDevices({"GPU-1"}), host);
  ASSERT_THAT(one, IsOk());
  EXPECT_EQ(SourceAt(one->sources(), one->exchanges(0).times(0).source_number()),
            "the calibration in use of GPU-1");

  v1::GetLinkTimesRequest elsewhere = OnDevices({"GPU-1"});
  elsewhere.mutable_nodes()->set_node_type("dgx-b200");
  const auto refused = AnswerTo(elsewhere, host);
  EXPECT_THAT(refused, NamesFields(ElementsAre("nodes.device.host_devices.devices[0]")));
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("none of the devices of nodes"));
}

TEST(MeasuredLinks, OfTheHostsDevicesNeedAMeasurement) {
  CalibrationSnapshot host = SnapshotOf({SlowH100(1)});
  EXPECT_THAT(AnswerTo(OnDevices({"GPU-9"}), host),
              Fails(absl::StatusCode::kNotFound, "DEVICE_UNKNOWN"));
  v1::GetLinkTimesRequest open = OnDevices({"GPU-9"});
  open.mutable_nodes()->clear_node_type();  // which the device would tell
  EXPECT_THAT(AnswerTo(open, host), Fails(absl::StatusCode::kNotFound, "DEVICE_UNKNOWN"));
  host.calibrations.clear();
  EXPECT_THAT(AnswerTo(OnDevices({"GPU-1"}), host),
              Fails(absl::StatusCode::kFailedPrecondition, "RATES_NOT_MEASURED"));
}

}  // namespace
}  // namespace sextant::server
