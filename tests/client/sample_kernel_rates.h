// Rates of kernels for tests, in order in every field.
#ifndef SEXTANT_TESTS_CLIENT_SAMPLE_KERNEL_RATES_H_
#define SEXTANT_TESTS_CLIENT_SAMPLE_KERNEL_RATES_H_

#include "sextant/v1/hardware_service.pb.h"

namespace sextant::client {

// Rates of "toy": square products in bf16 with a peak of 1e15 FLOP/s, at 10, 50 and 80 % of it, and
// in fp8; attention without a peak.
v1::GetKernelRatesResponse SampleKernelRates();

}  // namespace sextant::client

#endif  // SEXTANT_TESTS_CLIENT_SAMPLE_KERNEL_RATES_H_
