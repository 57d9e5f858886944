// How many pairs of query and key a mask allows.
#ifndef SEXTANT_ENGINE_OPERATION_ATTENDED_PAIRS_H_
#define SEXTANT_ENGINE_OPERATION_ATTENDED_PAIRS_H_

#include <cstdint>

#include "engine/operation/operation.h"

namespace sextant {

// Pairs that one head of one sequence computes, q queries, k keys, window w (k where none).
//
//   not causal      q min(w, k): each query attends to as many keys, wherever they are
//   kWithDiagonal   sum of min(p, w) over the positions p = k - q + 1 .. k: a query attends to
//                   itself and what is before it, w positions in all. Exact for today's masks.
//   kWithoutDiagonal  sum of min(p - 1, w): what is before it alone
//   kPublished      the mean of both, which for q = k = s is s w - w^2/2: half the square
//                   where w = s, as model FLOPs are commonly stated
//
// Divided by q, these are the mean attended lengths w - w (w - 1)/(2 s), and w - w^2/(2 s).
// Source: sums of arithmetic series, docs/operations.md; the published convention is that of
// Megatron-LM's and OLMo-core's FLOP counters.
double AttendedPairs(const Attention& attention);

// Keys of one sequence that some query attends to: the last q + w - 1 at most.
int64_t AttendedKeys(const Attention& attention);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_OPERATION_ATTENDED_PAIRS_H_
