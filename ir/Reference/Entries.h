//===- Entries.h - one evaluator for each op family -----------------------===//
#pragma once

#include "ir/Reference/Reference.h"

namespace writ::reference {

void evaluateActivation(Call &call);
void evaluateAttention(Call &call);
void evaluateEmbedding(Call &call);
void evaluateFused(Call &call);
void evaluateGate(Call &call);
void evaluateKvStore(Call &call);
void evaluateL2Norm(Call &call);
void evaluateLayerNorm(Call &call);
void evaluateLinear(Call &call);
void evaluateLogProbability(Call &call);
void evaluateQuantizeActivation(Call &call);
void evaluateResidual(Call &call);
void evaluateRmsNorm(Call &call);
void evaluateRope(Call &call);
void evaluateRopeFrequencies(Call &call);
void evaluateRopeTable(Call &call);
void evaluateSample(Call &call);
void evaluateSelectRows(Call &call);
void evaluateSoftCap(Call &call);

/// Attention whose words say that every score is known before the first value is added.
void evaluateTwoPassAttention(Call &call);

} // namespace writ::reference
