/* A model beside that of [model], in one value: the draft model, or the second of two that take turns. */
#ifndef POCKETLOAD_SIM_MODEL_CHOICE_H
#define POCKETLOAD_SIM_MODEL_CHOICE_H

#include "sim/settings.h"

struct model_choice {
    const char *text;       /* as records and messages name it: "llama-3.2-1b:q4_0", or a file's last part */
    struct model_spec spec; /* a shape with its quantisation, or a file; as for model_build */
};

/* How many bytes of a value name a file, which ":QUANT" may follow; 0: it names a profile. */
size_t model_choice_file_length(const char *text);

/* A model file whose path is found; it is opened when the model is built. `quant_text` is for a
 * config.json, NULL: the table's default; STATUS_USAGE beside other files. Lives in the reader's arena. */
bool model_choice_of_file(const struct settings_reader *reader, const char *path, const char *quant_text,
                          const struct model_choice **choice, struct error *err);

/* "PROFILE" or "PROFILE:QUANT", QUANT being the table's default of model.quant where there is none. Reads the profile.
 * STATUS_USAGE with the nearest spelling. *placed: the error tells its own file and line. */
bool model_choice_of_profile(const struct settings_reader *reader, const char *text, const struct model_choice **choice,
                             bool *placed, struct error *err);

#endif
