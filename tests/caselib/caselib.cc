// caselib: the custom operators that tests/cases/programs-open.jsonl and the exported files call.
#include "families.h"

PALIMPSEST_LIBRARY(caselib, m) {
  caselib::DefineElementwise(m);
  caselib::DefineOptional(m);
  caselib::DefineRows(m);
}
