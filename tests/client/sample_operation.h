// An answer of AnalyzeOperation, worked by hand.
#ifndef SEXTANT_TESTS_CLIENT_SAMPLE_OPERATION_H_
#define SEXTANT_TESTS_CLIENT_SAMPLE_OPERATION_H_

#include "sextant/v1/accounting_service.pb.h"

namespace sextant::client {

// A product of 2e9 FLOP that moves 1e7 bytes, 200 FLOP/byte; unfused 1e8 bytes, 20 FLOP/byte;
// backward twice the forward pass. On a device called "toy" of 1e12 FLOP/s, 1e11 FLOP/s of other
// arithmetic and 1e10 B/s: the ridge is at 100 FLOP/byte. Forward in 2.5 ms (8e11 FLOP/s),
// unfused in 10 ms (2e11 FLOP/s), backward in 5 ms (8e11 FLOP/s), achieved in 4 ms
// (5e11 FLOP/s).
v1::AnalyzeOperationResponse SampleOperation();

// The same of no device.
v1::AnalyzeOperationResponse SampleWithoutDevice();

}  // namespace sextant::client

#endif  // SEXTANT_TESTS_CLIENT_SAMPLE_OPERATION_H_
