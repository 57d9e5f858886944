// Requests of Admit.
#ifndef SEXTANT_TESTS_SERVER_ADMIT_REQUESTS_H_
#define SEXTANT_TESTS_SERVER_ADMIT_REQUESTS_H_

#include <cstdint>
#include <string>

#include "sextant/v1/admit.pb.h"

namespace sextant::server {

// Eight GPUs of one server hold it easily.
inline constexpr char kWordsThatFit[] = "llama-3.1-8b tp=8 gbs=64 sequence-length=8192 tokens=1T";

// `words`, for that many H100s.
inline v1::AdmitRequest AdmitRequestOf(const std::string& words, int64_t devices = 8) {
  v1::AdmitRequest out;
  out.set_words(words);
  out.set_device_count(devices);
  out.set_accelerator("h100-sxm");
  out.mutable_budget()->set_seconds(10);  // this host may be busy
  return out;
}

}  // namespace sextant::server

#endif  // SEXTANT_TESTS_SERVER_ADMIT_REQUESTS_H_
