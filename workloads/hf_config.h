/* The config.json of a Hugging Face checkpoint: the numbers of a model, without its weights.
 *
 * Which key means what, and what holds where a key is missing, is taken from the configuration class of each
 * architecture (huggingface/transformers, src/transformers/models/NAME/configuration_NAME.py). */
#ifndef POCKETLOAD_WORKLOADS_HF_CONFIG_H
#define POCKETLOAD_WORKLOADS_HF_CONFIG_H

#include "workloads/model.h"

enum { HF_CONFIG_MAX = 1 << 22 }; /* bytes of a config.json */

/* Reads the shape. An architecture that is not known, a key that changes sizes in a way that shapes cannot say, and a
 * number out of range are STATUS_INPUT, with path and key; a file that cannot be read is STATUS_IO.
 *
 * Windows are those that llama.cpp uses of the architecture, as with GGUF files: of Gemma 2 every second layer, of
 * others none. */
bool hf_config_read(const char *path, struct shape *shape, struct error *err);

#endif
