// A device's memory in words: how much there is, how much a run takes, and the verdict.
#ifndef SEXTANT_PROTO_TEXT_MEMORY_WORDS_H_
#define SEXTANT_PROTO_TEXT_MEMORY_WORDS_H_

#include <cstdint>
#include <string>

namespace sextant::v1 {
class DeviceCapacity;
class Interval;
class Memory;
enum Verdict : int;
}  // namespace sextant::v1

namespace sextant::text {

// Bytes in GiB, of 2^30 bytes.
double GibOf(int64_t bytes);
double GibOf(double bytes);

// "61.20", in GiB.
std::string GibNumber(int64_t bytes);
std::string GibNumber(double bytes);

// "61.20 GiB (58.90 to 64.03)".
std::string IntervalText(const v1::Interval& interval);

// "at most " or "at least ", where settings that are not modelled make the memory a bound; else "".
std::string BoundText(const v1::Memory& memory);

// "61.20 GiB (58.90 to 64.03) of 79.00 GiB usable on stage 0, which holds the most": the stage with
// the peak.
std::string PeakText(const v1::Memory& memory);

// "2 settings not modelled", which may change the memory; "" without any.
std::string UnmodelledCount(const v1::Memory& memory);
// The same and the first of them: " (2 settings not modelled: x = 1, y)".
std::string UnmodelledText(const v1::Memory& memory);

// "17.80 GiB (14.97 to 20.10) to spare", or how much is missing.
std::string HeadroomText(const v1::Interval& headroom);

// "79.65 GiB (85.52 GB) as its driver reports, less its own 0.47 GiB; nominal 80 GB": how much
// memory a device is taken to have, and by whom. "" where the answer doesn't say.
std::string CapacityText(const v1::DeviceCapacity& capacity);

// "needs 18.50 TB of host memory a server, dgx-a100 has 2.00 TB". `memory` has state there.
std::string HostNeedText(const v1::Memory& memory);

// That and "; " where it makes the verdict what it is; else "".
std::string HostVerdictText(const v1::Memory& memory);

// "FITS", "TIGHT", "DOES NOT FIT", "STATE FITS".
const char* VerdictWords(v1::Verdict verdict);

}  // namespace sextant::text

#endif  // SEXTANT_PROTO_TEXT_MEMORY_WORDS_H_
