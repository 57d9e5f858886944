// sextant-probe: measures the devices of this host.
#include <google/protobuf/util/json_util.h>

#include <cstdio>
#include <string>

#include "engine/base/version.h"
#include "sextant/v1/probe_event.pb.h"

int main() {
  sextant::v1::ProbeEvent event;
  event.mutable_failure()->set_message(std::string(sextant::EngineVersion()));
  std::string line;
  if (!google::protobuf::util::MessageToJsonString(event, &line).ok()) return 1;
  std::puts(line.c_str());
  return 0;
}
