// The launchers that runs are written for, as people name them.
#ifndef SEXTANT_PROTO_WORDS_LAUNCHERS_H_
#define SEXTANT_PROTO_WORDS_LAUNCHERS_H_

namespace sextant::words {

// ExportRunRequest.launcher, and --emit.
inline constexpr char kLaunchers[] = "megatron|torchtitan|deepspeed|slurm";

}  // namespace sextant::words

#endif  // SEXTANT_PROTO_WORDS_LAUNCHERS_H_
