/* Published quality of a model by quantisation: "f16:6.2332 q8_0:6.2343 q4_k_m:6.4071". */
#ifndef POCKETLOAD_SIM_PERPLEXITY_H
#define POCKETLOAD_SIM_PERPLEXITY_H

#include <stdbool.h>

#include "base/error.h"

/* Checks such a list: QUANT:NUMBER with blanks between, each quantisation (quant_names) once, numbers of at least 1
 * (a perplexity is the exponential of an entropy) and at most 10^6. STATUS_USAGE, without the place. */
bool perplexity_check(const char *text, struct error *err);

/* The number of one quantisation in a list that was checked; NAN where it has none, or for text NULL. */
double perplexity_of(const char *text, const char *quant);

#endif
