/* What a case is made of, for when no checker knows its opset: what is left of a valid model, with nothing
 * else in it, is as valid as the reference finds it. */
#include "reduce/subject.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

/* Hashes of the kinds of nodes of a model. */
struct kinds {
    uint64_t *hashes;
    size_t count, capacity;
};

static uint64_t hash_message(uint64_t hash, const ProtobufCMessage *message)
{
    size_t size = protobuf_c_message_get_packed_size(message);
    uint8_t *packed = memory_zeroed(size, 1);
    protobuf_c_message_pack(message, packed);
    hash = hash_bytes(hash, packed, size);
    free(packed);
    return hash;
}

/* The operator, which inputs and outputs it has, and its attributes; nodes of bodies are counted by
 * themselves. */
static uint64_t hash_node(const Onnx__NodeProto *node)
{
    uint64_t hash = hash_text(node->op_type), all = 0;
    hash = hash_bytes(hash, node->domain, strlen(node->domain));
    for (size_t i = 0; i < node->n_input + node->n_output; i++) {
        const char *name = i < node->n_input ? node->input[i] : node->output[i - node->n_input];
        unsigned char what = (unsigned char)((*name != '\0') | (i < node->n_input ? 2 : 4));
        hash = hash_bytes(hash, &what, 1);
    }
    for (size_t i = 0; i < node->n_attribute; i++) /* in whatever order */
        all += node->attribute[i]->g ? hash_text(node->attribute[i]->name)
                                     : hash_message(1, &node->attribute[i]->base);
    return hash_bytes(hash, &all, sizeof all);
}

static int add_kind(void *context, Onnx__NodeProto *node)
{
    struct kinds *kinds = context;
    kinds->hashes = memory_grow(kinds->hashes, &kinds->capacity, kinds->count + 1, sizeof *kinds->hashes);
    kinds->hashes[kinds->count++] = hash_node(node);
    return 0;
}

static struct kinds kinds_of(const struct subject *subject)
{
    struct kinds kinds = {0};
    model_each_node(subject->model->graph, add_kind, &kinds);
    return kinds;
}

static bool has_kind(const struct kinds *kinds, uint64_t hash)
{
    for (size_t i = 0; i < kinds->count; i++)
        if (kinds->hashes[i] == hash)
            return true;
    return false;
}

static enum dtype leaf_type(const struct subject *subject, size_t leaf)
{
    struct tensor tensor;
    if (subject_leaf(subject, leaf, &tensor))
        return DTYPE_NONE;
    enum dtype type = tensor.type;
    tensor_release(&tensor);
    return type;
}

/* Whether leaves that both have are of one element type. */
static bool same_types(const struct subject *part, const struct subject *whole)
{
    for (size_t i = 0; i < subject_leaves(part); i++)
        for (size_t k = 0; k < subject_leaves(whole); k++)
            if (text_equal(subject_leaf_name(part, i), subject_leaf_name(whole, k)) &&
                leaf_type(part, i) != leaf_type(whole, k))
                return false;
    return true;
}

bool subject_is_part(const struct subject *part, const struct subject *whole)
{
    if (model_opset(part->model) != model_opset(whole->model) || !same_types(part, whole))
        return false;
    struct kinds mine = kinds_of(part), theirs = kinds_of(whole);
    bool all = true;
    for (size_t i = 0; i < mine.count && all; i++)
        all = has_kind(&theirs, mine.hashes[i]);
    free(mine.hashes);
    free(theirs.hashes);
    return all;
}
