#include "locate/node_sets.h"

#include "base/memory.h"
#include "model/build.h"

#include <stdlib.h>
#include <string.h>

bool nodes_contain(const size_t *nodes, size_t size, size_t number)
{
    for (size_t i = 0; i < size; i++)
        if (nodes[i] == number)
            return true;
    return false;
}

bool *nodes_reached(const struct model_index *index, size_t start)
{
    size_t count = index->model->graph->n_node;
    bool *reached = memory_zeroed(count, sizeof *reached);
    reached[start] = true;
    for (size_t p = start + 1; p < count; p++) {
        size_t number = index->order[p];
        for (size_t i = 0; i < index->n_uses[number] && !reached[p]; i++) {
            const struct index_value *value = &index->values[index->uses[number][i]];
            reached[p] = value->source == SOURCE_NODE && reached[index->position[value->number]];
        }
    }
    return reached;
}

bool *nodes_ancestors(const struct model_index *index, size_t end, size_t first)
{
    bool *wanted = memory_zeroed(end + 1, sizeof *wanted);
    wanted[end] = true;
    for (size_t p = end + 1; p-- > first;) {
        if (!wanted[p])
            continue;
        size_t number = index->order[p];
        for (size_t i = 0; i < index->n_uses[number]; i++) {
            const struct index_value *value = &index->values[index->uses[number][i]];
            if (value->source == SOURCE_NODE)
                wanted[index->position[value->number]] = true;
        }
    }
    return wanted;
}

bool nodes_ending_at(const struct model_index *index, size_t end, size_t size, size_t *nodes)
{
    bool *wanted = nodes_ancestors(index, end, 0);
    size_t found = 0;
    for (size_t p = end + 1; p-- > 0 && found < size;)
        if (wanted[p])
            nodes[found++] = index->order[p];
    free(wanted);
    return found == size;
}

size_t nodes_between(const struct model_index *index, const bool *reached, size_t start, size_t end,
                     size_t *nodes, size_t room)
{
    bool *wanted = nodes_ancestors(index, end, start);
    size_t found = 0;
    for (size_t p = start; p <= end; p++)
        if (wanted[p] && reached[p] && found++ < room)
            nodes[found - 1] = index->order[p];
    free(wanted);
    return found;
}

size_t nodes_with_constants(const struct model_index *index, const size_t *nodes, size_t size, size_t *all)
{
    size_t count = size;
    memcpy(all, nodes, size * sizeof *nodes);
    for (size_t i = 0; i < size; i++)
        for (size_t k = 0; k < index->n_uses[nodes[i]]; k++) {
            const struct index_value *value = &index->values[index->uses[nodes[i]][k]];
            if (value->source == SOURCE_NODE && !nodes_contain(all, count, value->number) &&
                node_is_constant(index->model->graph->node[value->number]))
                all[count++] = value->number;
        }
    return count;
}

bool nodes_at_border(const struct model_index *index, const size_t *nodes, size_t size, size_t i)
{
    bool uses = false, used = false;
    for (size_t j = 0; j < size; j++)
        for (size_t k = 0; j != i && k < index->n_uses[nodes[j]]; k++) {
            const struct index_value *value = &index->values[index->uses[nodes[j]][k]];
            used |= value->source == SOURCE_NODE && value->number == nodes[i];
        }
    for (size_t k = 0; k < index->n_uses[nodes[i]]; k++) {
        const struct index_value *value = &index->values[index->uses[nodes[i]][k]];
        uses |= value->source == SOURCE_NODE && nodes_contain(nodes, size, value->number);
    }
    return !uses || !used;
}

size_t nodes_around(const struct model_index *index, size_t position, size_t *nodes, size_t room)
{
    size_t count = 1;
    nodes[0] = index->order[position];
    const Onnx__NodeProto *node = index->model->graph->node[nodes[0]];
    for (size_t k = 0; k < node->n_output; k++) {
        size_t value;
        if (!*node->output[k] || !map_get(&index->names, node->output[k], &value))
            continue;
        for (size_t i = 0; i < index->values[value].consumers; i++) {
            size_t user = index->values[value].consumer[i];
            if (!nodes_contain(nodes, count, user) && count < room)
                nodes[count++] = user;
        }
    }
    return count > 2 ? count : 1;
}

size_t nodes_from(const struct model_index *index, const bool *starts, size_t end, size_t *nodes, size_t room)
{
    bool *wanted = nodes_ancestors(index, end, 0), *inside = memory_zeroed(end + 1, sizeof *inside);
    size_t found = 0;
    for (size_t start = 0; start <= end; start++) {
        bool *reached = starts[start] ? nodes_reached(index, start) : NULL;
        for (size_t p = start; reached && p <= end; p++)
            inside[p] |= reached[p] && wanted[p];
        free(reached);
    }
    for (size_t p = 0; p <= end; p++)
        if (inside[p] && found++ < room)
            nodes[found - 1] = index->order[p];
    free(inside);
    free(wanted);
    return found <= room ? found : 0;
}

bool nodes_inside(const struct model_index *index, const size_t *set, size_t count, size_t end, size_t size,
                  size_t *nodes)
{
    size_t last = index->position[end], found = 0;
    bool *wanted = nodes_ancestors(index, last, 0);
    for (size_t p = last + 1; p-- > 0 && found < size;)
        if (wanted[p] && nodes_contain(set, count, index->order[p]))
            nodes[found++] = index->order[p];
    free(wanted);
    return found == size;
}
