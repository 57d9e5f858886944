// What each GPU holds of a model, for people.
#ifndef SEXTANT_CLIENT_STAGE_TEXT_H_
#define SEXTANT_CLIENT_STAGE_TEXT_H_

#include <google/protobuf/repeated_ptr_field.h>

#include <string>

#include "sextant/v1/model_count.pb.h"

namespace sextant {

// A line for each stage, or for neighbours that hold as much, with the fullest one marked. Starts
// with an empty line and its title; "" where there are no stages.
std::string StagesSection(const google::protobuf::RepeatedPtrField<v1::StageParameters>& stages);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_STAGE_TEXT_H_
