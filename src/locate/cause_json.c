/* A cause (cause.h) as JSON, written and read. */
#include "locate/cause.h"

const char *cause_kind_name(enum cause_kind kind)
{
    static const char *const names[] = {
        [CAUSE_UNKNOWN] = "unknown",
        [CAUSE_PARAMETER] = "parameter",
        [CAUSE_SET] = "set",
        [CAUSE_OPERATOR] = "operator",
    };
    return names[kind];
}

const char *cause_rerun_name(enum cause_rerun rerun)
{
    static const char *const names[] = {
        [RERUN_NONE] = "none",
        [RERUN_RIGHT] = "right",
        [RERUN_ELSEWHERE] = "elsewhere",
        [RERUN_SAME] = "same",
    };
    return names[rerun];
}

const char *cause_end_name(enum cause_end end)
{
    static const char *const names[] = {
        [CHANGE_INVALID] = "invalid",
        [CHANGE_UNCLEAR] = "unclear",
        [CHANGE_KEEPS] = "keeps",
        [CHANGE_CURES] = "cures",
    };
    return names[end];
}

static void json_value(struct json *json, const struct cause_value *value)
{
    json_object(json, NULL);
    json_int(json, "node", (int64_t)value->node);
    json_string(json, "parameter", value->parameter);
    json_string(json, "value", value->value);
    json_end(json);
}

static void json_values(struct json *json, const char *name, const struct cause_value *values, size_t count)
{
    json_array(json, name);
    for (size_t i = 0; i < count; i++)
        json_value(json, &values[i]);
    json_end(json);
}

static void json_tries(struct json *json, const char *name, const struct cause *cause, enum cause_end end)
{
    json_array(json, name);
    for (size_t i = 0; i < cause->n_tries; i++) {
        const struct cause_try *tried = &cause->tries[i];
        if (tried->end != end)
            continue;
        json_object(json, NULL);
        json_int(json, "node", (int64_t)tried->to.node);
        json_string(json, "parameter", tried->to.parameter);
        json_string(json, "value", tried->to.value);
        json_bool(json, "equivalent", tried->equivalent);
        json_string(json, "rewriting", tried->rule);
        json_end(json);
    }
    json_end(json);
}

void cause_json(const struct cause *cause, struct json *json)
{
    json_object(json, "cause");
    json_string(json, "kind", cause_kind_name(cause->kind));
    json_bool(json, "certain", cause->certain);
    json_string(json, "text", cause->text);
    json_values(json, "parameters", cause->parameters, cause->n_parameters);
    json_values(json, "conditions", cause->conditions, cause->n_conditions);
    json_string(json, "cured_by", cause->cure);
    json_string(json, "rerun", cause_rerun_name(cause->rerun));
    json_string(json, "next", cause->next);
    json_string(json, "form", cause->form);
    json_bool(json, "by_data", cause->by_data);
    json_tries(json, "cures", cause, CHANGE_CURES);
    json_tries(json, "keeps", cause, CHANGE_KEEPS);
    json_tries(json, "unclear", cause, CHANGE_UNCLEAR);
    json_int(json, "runs", (int64_t)cause->runs);
    json_end(json);
}
