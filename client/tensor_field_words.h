// The words of the command line for fields of requests about tensors and tokens.
#ifndef SEXTANT_CLIENT_TENSOR_FIELD_WORDS_H_
#define SEXTANT_CLIENT_TENSOR_FIELD_WORDS_H_

#include <string>
#include <vector>

namespace sextant {

// "STEP 3, \"select 9 1\" (axis)" for "steps[2].select.axis", `steps` being the steps as they
// were written; "--strides", "SHAPE"; the field itself where there are no words.
std::string TensorFieldWords(const std::vector<std::string>& steps, const std::string& field);

// "--vocabulary" for "vocabulary_size".
std::string TokensFieldWords(const std::string& field);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_TENSOR_FIELD_WORDS_H_
