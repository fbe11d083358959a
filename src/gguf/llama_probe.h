/*
 * What the parts of a graph between products compute, found out and proven by evaluating them
 * (llama_form.h). Each function fails with ERROR_UNSUPPORTED when the part is not of that form.
 */
#ifndef GGUF_LLAMA_PROBE_H
#define GGUF_LLAMA_PROBE_H

#include "gguf/llama_form.h"

/* Between `from` and `to` is an RMS norm: its weight, an initialiser, and its epsilon. */
int llama_probe_norm(const struct llama_form *form, const struct model_index *index, const char *from,
                     const char *to, const char **weight, float *epsilon, struct error *err);

/* `sum` is x plus y. */
int llama_probe_sum(const struct llama_form *form, const struct model_index *index, const char *x,
                    const char *y, const char *sum, struct error *err);

/* Between gate, up and down is silu(gate) * up; exchanges gate and up where it is the other way round. */
int llama_probe_gate(const struct llama_form *form, const struct model_index *index,
                     struct llama_layer *layer, struct error *err);

/* Tells which of the first three products of the layer gives queries, keys and values, and puts them into
 * that order; of the first layer also how positions turn pairs. */
int llama_probe_heads(struct llama_form *form, const struct model_index *index, size_t layer,
                      struct error *err);

/* Between queries, keys, values and o is causal attention behind that turning. */
int llama_probe_attention(const struct llama_form *form, const struct model_index *index,
                          const struct llama_layer *layer, struct error *err);

#endif
