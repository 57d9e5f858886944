// Kinds of servers and times of exchanges for tests, in order in every field.
#ifndef SEXTANT_TESTS_CLIENT_SAMPLE_LINKS_H_
#define SEXTANT_TESTS_CLIENT_SAMPLE_LINKS_H_

#include "sextant/v1/hardware_service.pb.h"

namespace sextant::client {

// "toy-8", of eight, with all figures, and "toy-board" with neither host nor network; a network.
v1::ListNodeTypesResponse SampleNodeTypes();

// Times of two toy-8: all_reduce of three sizes at 1.75, 35 and 150 GB/s on the bus, a broadcast of
// two, and a copy.
v1::GetLinkTimesResponse SampleLinkTimes();

}  // namespace sextant::client

#endif  // SEXTANT_TESTS_CLIENT_SAMPLE_LINKS_H_
