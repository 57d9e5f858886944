// A model's counts for people: parameters by component, layer, pipeline stage and tensor, FLOPs.
// Sections start with an empty line and their title, and are "" where there is nothing to show.
#ifndef SEXTANT_CLIENT_REPORT_COUNT_TEXT_H_
#define SEXTANT_CLIENT_REPORT_COUNT_TEXT_H_

#include <google/protobuf/repeated_ptr_field.h>

#include <string>

#include "sextant/v1/accounting_service.pb.h"
#include "sextant/v1/model.pb.h"
#include "sextant/v1/model_count.pb.h"

namespace sextant::client {

// Sections that are shown on demand, of an answer with FLOPs.
struct CountSections {
  bool conventions = false;  // FLOPs by each published convention
  bool kaplan = false;
  bool architecture_alone = false;  // nothing but the Architecture, in proto JSON
};

// The sums first, then components and layers; FLOPs, stages and tensors where `response` holds
// them.
std::string CountText(const CountSections& sections, const v1::CountModelResponse& response);

// "mixtral-8x7b: 46,702,792,704 parameters, ...", with the number of embeddings among them.
std::string ParametersHeadline(const std::string& model, const v1::ParameterCounts& parameters);

// A line for each stage, or run of neighbours that hold the same, with the fullest one marked.
std::string StagesSection(const google::protobuf::RepeatedPtrField<v1::StageParameters>& stages);

// A line for each total in which such a model may be published.
std::string TotalsSection(const google::protobuf::RepeatedPtrField<v1::PublishedTotal>& totals);

std::string TensorsSection(const google::protobuf::RepeatedPtrField<v1::ModelTensor>& tensors);

// By component and pass, and in total under each convention of counting masks. For a model with
// `two_stacks`, tokens are the decoder's.
std::string ModelFlopsSection(const v1::ModelFlops& flops, bool two_stacks = false);

// Each convention next to the exact count, with the largest difference; below, the conventions that
// don't define how to count this model.
std::string ConventionsSection(const v1::ModelFlops& flops);

// Kaplan's table of forward FLOPs, next to the exact count.
std::string KaplanSection(const v1::ModelFlops& flops);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_REPORT_COUNT_TEXT_H_
