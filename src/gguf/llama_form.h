/*
 * The form of llama's networks in an ONNX model: an embedding, layers of attention and of a gated network
 * behind RMS norms, each added to what it read, a last norm and the product that gives the logits.
 *
 * It is not told by names of operators, as each exporter writes another graph: products by constant matrices
 * are what the graph is made of, seven in each layer, and what lies between two of them is proven by
 * evaluating it on chosen numbers: that a norm is an RMS norm, with which epsilon; that positions turn pairs
 * of elements, which ones and by which angles; that the rest is causal attention with grouped heads, and a
 * product of SiLU. What is not of that form is refused in words.
 */
#ifndef GGUF_LLAMA_FORM_H
#define GGUF_LLAMA_FORM_H

#include "decode/decoder.h"
#include "model/index.h"

/* A product by a constant matrix. */
struct llama_linear {
    const char *input, *output; /* values of the graph */
    const char *weight;         /* a constant [rows, columns], or [columns, rows]: an initialiser, or
                                   what a node makes of one */
    bool turned;                /* it is [columns, rows] */
    int64_t rows, columns;      /* of what is multiplied, and of the result */
};

enum llama_part { LLAMA_Q, LLAMA_K, LLAMA_V, LLAMA_O, LLAMA_GATE, LLAMA_UP, LLAMA_DOWN, LLAMA_PARTS };

struct llama_layer {
    const char *input; /* the value that its sums add to */
    struct llama_linear parts[LLAMA_PARTS];
    const char *attn_norm, *ffn_norm; /* initialisers */
    const char *attn_sum, *ffn_sum;   /* values */
};

struct llama_form {
    struct arena arena;
    struct decoder decoder;
    enum dtype type; /* of all weights */
    bool levels;     /* some weights are made of levels by a node */
    int64_t hidden, heads, kv_heads, size, inner, vocabulary, context;
    float epsilon, base; /* of the norms; of the angles */
    bool halves;         /* pairs are an element and the one half a head further; else two that follow */
    const char *table, *embedded; /* initialiser [vocabulary, hidden], and the value read from it */
    size_t n_layers;
    struct llama_layer *layers;
    const char *norm; /* initialiser of the last one */
    struct llama_linear head;
};

/* ERROR_UNSUPPORTED: it is of another form; the message says in what. The index must outlive the form.
 * Release it also after a failure. */
int llama_form_find(struct llama_form *form, const struct model_index *index, struct error *err);
void llama_form_release(struct llama_form *form);

/* The angle by which position `position` turns pair `pair`. */
double llama_angle(const struct llama_form *form, int64_t position, int64_t pair);

/* The elements of a head that make pair `pair`. */
void llama_pair(const struct llama_form *form, int64_t pair, int64_t elements[2]);

#endif
