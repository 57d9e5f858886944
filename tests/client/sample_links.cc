#include "tests/client/sample_links.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

namespace sextant::client {
namespace {

constexpr char kNodeTypes[] = R"(
node_types {
  name: "toy-8" product_name: "A Toy of Eight" accelerators: "toy-a" accelerators: "toy-b"
  device_count: 8 device_count_citation: "counted" link_name: "ToyLink 3"
  link { bytes_per_second: 450e9 citation: "a sheet <1>" }
  host { bytes_per_second: 31.5e9 citation: "a sheet 2" }
  network { bytes_per_second: 50e9 citation: "a sheet 3" }
  switch_reduces: true notes: "not for sale"
}
node_types {
  name: "toy-board" product_name: "A Board" accelerators: "toy-a"
  device_count: 4 device_count_citation: "also counted" link_name: "ToyLink 2"
  link { bytes_per_second: 300e9 citation: "a sheet 4" }
}
networks {
  name: "toy-net" product_name: "Toy Net, 200 Gb/s" bytes_per_second: 25e9 citation: "its name"
}
engine_version: "0.1.0"
)";

constexpr char kLinkTimes[] = R"(
nodes { node_type: "toy-8" device { accelerator: "toy-a" } node_count: 2 ranks_per_node: 8
  network { bytes_per_second: 50e9 } }
node_type {
  name: "toy-8" product_name: "A Toy of Eight" accelerators: "toy-a" device_count: 8
  link_name: "ToyLink 3" link { bytes_per_second: 450e9 citation: "a sheet <1>" }
}
network { bytes_per_second: 50e9 citation: "toy-8: a sheet 3" }
exchanges {
  operation: COLLECTIVE_OPERATION_ALL_REDUCE
  times {
    size_bytes: 1048576 duration_seconds { expected: 1e-3 low: 0.8e-3 high: 2e-3 }
    bytes_per_second: 1e9 bus_bytes_per_second: 1.75e9
    basis: KERNEL_BASIS_DATASHEET source: RATE_SOURCE_DATASHEET source_number: 1
  }
  times {
    size_bytes: 16777216 duration_seconds { expected: 2e-3 low: 1e-3 high: 4e-3 }
    bytes_per_second: 20e9 bus_bytes_per_second: 35e9
    basis: KERNEL_BASIS_DATASHEET source: RATE_SOURCE_DATASHEET source_number: 1
  }
  times {
    size_bytes: 1073741824 duration_seconds { expected: 12.5e-3 low: 10e-3 high: 15e-3 }
    bytes_per_second: 85.7e9 bus_bytes_per_second: 150e9
    basis: KERNEL_BASIS_DATASHEET source: RATE_SOURCE_DATASHEET source_number: 1
  }
}
exchanges {
  operation: COLLECTIVE_OPERATION_BROADCAST
  times {
    size_bytes: 1048576 duration_seconds { expected: 1e-3 low: 0.8e-3 high: 2e-3 }
    bytes_per_second: 1e9 bus_bytes_per_second: 1e9
    basis: KERNEL_BASIS_OTHER_PASS source: RATE_SOURCE_REFERENCE source_number: 2
  }
  times {
    size_bytes: 1073741824 duration_seconds { expected: 10e-3 low: 8e-3 high: 16e-3 }
    bytes_per_second: 107e9 bus_bytes_per_second: 107e9
    basis: KERNEL_BASIS_OUTSIDE_GRID source: RATE_SOURCE_REFERENCE source_number: 3
  }
}
host_copies {
  size_bytes: 1048576 duration_seconds { expected: 25e-6 low: 24e-6 high: 27e-6 }
  bytes_per_second: 41.9e9
  basis: KERNEL_BASIS_MEASURED_RATE source: RATE_SOURCE_MEASURED_SUPPLIED source_number: 4
}
warnings {
  kind: NOTE_KIND_HOST_LINK_UNKNOWN fields: "nodes.device.calibrations.calibrations"
  text: "Nothing is known of the host; nodes.device.calibrations.calibrations may say."
}
assumptions { kind: NOTE_KIND_LINKS_IDLE text: "Nothing else uses the links." }
sources: "network: <N & M>"
sources: "a table"
sources: "another table"
sources: "a probe"
engine_version: "0.1.0"
)";

}  // namespace

v1::ListNodeTypesResponse SampleNodeTypes() {
  v1::ListNodeTypesResponse out;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(kNodeTypes, &out));
  return out;
}

v1::GetLinkTimesResponse SampleLinkTimes() {
  v1::GetLinkTimesResponse out;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(kLinkTimes, &out));
  return out;
}

}  // namespace sextant::client
