// The launchers that runs are written for, and the files that they start from, as people name them.
#ifndef SEXTANT_PROTO_WORDS_LAUNCHERS_H_
#define SEXTANT_PROTO_WORDS_LAUNCHERS_H_

#include <string>

namespace sextant::words {

// ExportRunRequest.launcher, and --emit.
inline constexpr char kLaunchers[] =
    "megatron|megatron-bridge|torchtitan|torchtitan-python|deepspeed|accelerate|axolotl|slurm|"
    "pytorchjob|trainjob|jobset";
// Those of them that start a training script on the nodes, of whatever framework.
inline constexpr char kProcessLaunchers[] = "slurm|pytorchjob|trainjob|jobset";

// Between the name of a launcher that cannot express a field and the reason, in the violation.
inline constexpr char kCannotExpress[] = " cannot express: ";

// "an axolotl configuration" of ImportedFile.format.
std::string WithArticle(const std::string& name);

}  // namespace sextant::words

#endif  // SEXTANT_PROTO_WORDS_LAUNCHERS_H_
