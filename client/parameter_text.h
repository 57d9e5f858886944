// A model's parameters, for people. Sections start with an empty line and their title, and are ""
// where there is nothing for them.
#ifndef SEXTANT_CLIENT_PARAMETER_TEXT_H_
#define SEXTANT_CLIENT_PARAMETER_TEXT_H_

#include <google/protobuf/repeated_ptr_field.h>

#include <string>

#include "sextant/v1/model.pb.h"
#include "sextant/v1/model_count.pb.h"

namespace sextant {

// "mixtral-8x7b: 46,702,792,704 parameters, ...", and how many of them are embeddings.
std::string ParametersHeadline(const std::string& model, const v1::ParameterCounts& parameters);

// By component; active and trained ones in columns of their own where some are not.
std::string ParameterComponents(const v1::ParameterCounts& parameters);

std::string LayerKindsSection(const google::protobuf::RepeatedPtrField<v1::LayerKindCount>& kinds);

std::string TensorsSection(const google::protobuf::RepeatedPtrField<v1::ModelTensor>& tensors);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_PARAMETER_TEXT_H_
