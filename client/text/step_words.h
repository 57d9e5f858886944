// Shared by pictures and tables of a step's time: its parts, the longest first, and words for
// their causes. plot/charts.h draws them.
#ifndef SEXTANT_CLIENT_TEXT_STEP_WORDS_H_
#define SEXTANT_CLIENT_TEXT_STEP_WORDS_H_

#include <string>
#include <vector>

#include "sextant/v1/step_time.pb.h"

namespace sextant::client {

// "pipeline bubble"; the API's name of a cause that this client does not know.
std::string CauseWords(v1::StepCause cause);

// "memory bandwidth", of a rate that could be higher.
std::string RateWords(v1::StepSensitivity::Rate rate);

// The parts, the longest first; equal ones in the order of the answer.
std::vector<v1::StepPart> PartsByTime(const v1::StepTime& step);

// The sensitivities that save at least 0.05 %, which is the least that is shown.
std::vector<v1::StepSensitivity> ShownSensitivities(const v1::StepTime& step);

// "63.4", of percent; "< 0.1" for less that is not 0.
std::string ShareText(double share);

// True where the answer says that there are several stages.
bool HasPipeline(const v1::StepTime& step);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_TEXT_STEP_WORDS_H_
