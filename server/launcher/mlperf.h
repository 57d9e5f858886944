// Rows of MLPerf's table that are described apart from it: what hides exchanges, and graphs.
#ifndef SEXTANT_SERVER_LAUNCHER_MLPERF_H_
#define SEXTANT_SERVER_LAUNCHER_MLPERF_H_

#include "server/launcher/setting.h"

namespace sextant::server {

// In mlperf_overlap.cc.
void ReadMlperfTensorOverlap(const Setting& setting, Reading& reading);
void ReadMlperfSends(const Setting& setting, Reading& reading);
void ReadMlperfGraphs(const Setting& setting, Reading& reading);

// Once the sharding and the precision are known.
void ReadMlperfDataOverlap(Reading& reading);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LAUNCHER_MLPERF_H_
