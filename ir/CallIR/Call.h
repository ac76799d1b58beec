//===- Call.h - the call dialect ------------------------------------------===//
#pragma once

#include "ir/LoweredIR/Lowered.h"

#include "ir/CallIR/CallDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "ir/CallIR/CallAttributes.h.inc"

#define GET_OP_CLASSES
#include "ir/CallIR/CallOps.h.inc"
