/* What engines tell of what they did: kept small and clean, found by value, named for keys, sent and read. */
#include "engine/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static struct trace *example(void)
{
    struct trace *trace = trace_new();
    trace_add(trace, &(struct trace_step){.kind = TRACE_PASS, .name = "ConvActivationFusion"});
    trace_add(trace, &(struct trace_step){.kind = TRACE_KERNEL,
                                          .name = "FusedConv",
                                          .device = "CPU",
                                          .pass = "ConvActivationFusion",
                                          .n_outputs = 1,
                                          .outputs = (const char *[]){"y"}});
    trace_add(trace, &(struct trace_step){.kind = TRACE_KERNEL,
                                          .name = "Gemm",
                                          .device = "CPU",
                                          .n_outputs = 2,
                                          .outputs = (const char *[]){"z", "rest"}});
    trace_add(trace, &(struct trace_step){.kind = TRACE_KERNEL, .name = "Gemm", .device = "CPU"});
    return trace;
}

static void assert_words(const struct trace *trace, const char *value, const char *expected)
{
    struct str words;
    str_init(&words);
    trace_words(trace, value, &words);
    assert_string_equal(words.data, expected);
    str_release(&words);
}

static void values_are_found(void **state)
{
    (void)state;
    struct trace *trace = example();
    assert_string_equal(trace_find(trace, "y")->name, "FusedConv");
    assert_string_equal(trace_find(trace, "rest")->name, "Gemm");
    assert_null(trace_find(trace, "x"));
    assert_null(trace_find(trace, NULL));
    assert_null(trace_find(NULL, "y"));
    assert_words(trace, "y", "computed by FusedConv, CPU, after ConvActivationFusion");
    assert_words(trace, NULL, "computed by FusedConv and Gemm, CPU, after ConvActivationFusion");
    assert_words(NULL, NULL, "");
    trace_free(trace);
}

static void many_names_are_cut_short(void **state)
{
    (void)state;
    struct trace *trace = trace_new();
    static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
    for (size_t i = 0; i < 5; i++)
        trace_add(trace, &(struct trace_step){.name = names[i]});
    assert_words(trace, NULL, "computed by a, b, c, d and e");
    trace_add(trace, &(struct trace_step){.name = names[5]});
    assert_words(trace, NULL, "computed by a, b, c, d, e and others");
    trace_free(trace);
}

static void names_are_a_sorted_set(void **state)
{
    (void)state;
    static const char *const expected[] = {"kernel FusedConv", "kernel Gemm", "pass ConvActivationFusion"};
    struct trace *trace = example();
    struct arena arena;
    size_t count;
    arena_init(&arena);
    const char *const *names = trace_names(trace, &arena, &count);
    assert_int_equal(count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(names[i], expected[i]);
    trace_names(NULL, &arena, &count);
    assert_int_equal(count, 0);
    arena_release(&arena);
    trace_free(trace);
}

static void hostile_text_is_tamed(void **state)
{
    (void)state;
    struct trace *trace = trace_new();
    char *large = malloc(100001);
    assert_non_null(large);
    memset(large, 'k', 100000);
    large[100000] = '\0';
    trace_add(trace, &(struct trace_step){.name = "a\033[2J\nb", .device = large, .pass = "\xFF"});
    trace_add(trace, &(struct trace_step){
                         .name = large, .n_outputs = 3, .outputs = (const char *[]){"y\n", large, "z"}});
    trace_add(trace, &(struct trace_step){.name = ""});
    trace_add(trace, &(struct trace_step){.name = NULL});
    assert_int_equal(trace->count, 2);
    assert_int_equal(trace->left_out, 2);
    assert_string_equal(trace->steps[0].name, "a?[2J b");
    assert_string_equal(trace->steps[0].pass, "?");
    assert_true(strlen(trace->steps[0].device) < TRACE_NAME && strlen(trace->steps[1].name) < TRACE_NAME);
    assert_int_equal(trace->steps[1].n_outputs, 1); /* the only one that can be a value of the model */
    assert_string_equal(trace->steps[1].outputs[0], "z");
    free(large);
    trace_free(trace);
}

static void floods_are_cut(void **state)
{
    (void)state;
    struct trace *trace = trace_new();
    const char *outputs[20];
    for (size_t i = 0; i < 20; i++)
        outputs[i] = "y";
    for (size_t i = 0; i < TRACE_STEPS + 7; i++)
        trace_add(trace, &(struct trace_step){.name = "k", .n_outputs = 20, .outputs = outputs});
    assert_int_equal(trace->count, TRACE_STEPS);
    assert_int_equal(trace->left_out, 7);
    assert_int_equal(trace->n_outputs, TRACE_OUTPUTS);
    trace_free(trace);
}

/* A reply that was sent with this trace. */
static void assert_arrives(struct wire_out *out, bool with_trace)
{
    struct wire_decoder *decoder = wire_decoder_new(true, NULL);
    struct wire_message message;
    struct error err;
    struct str bytes;
    size_t used;
    struct trace *sent = example(), *read = trace_new();
    str_init(&bytes);
    wire_out_copy(out, &bytes);
    wire_out_clear(out);
    assert_int_equal(wire_decode(decoder, bytes.data, bytes.length, &used, &message, &err), 1);
    wire_read_trace(message.reply, read);
    assert_int_equal(read->count, with_trace ? sent->count : 0);
    for (size_t i = 0; i < read->count; i++) {
        assert_int_equal(read->steps[i].kind, sent->steps[i].kind);
        assert_string_equal(read->steps[i].name, sent->steps[i].name);
        assert_string_equal(read->steps[i].device, sent->steps[i].device);
        assert_string_equal(read->steps[i].pass, sent->steps[i].pass);
        assert_int_equal(read->steps[i].n_outputs, sent->steps[i].n_outputs);
    }
    assert_true(!with_trace || trace_find(read, "rest") == &read->steps[2]);
    wire_message_release(&message);
    wire_decoder_free(decoder);
    str_release(&bytes);
    trace_free(sent);
    trace_free(read);
}

static void one_reply_carries_it(void **state)
{
    (void)state;
    struct wire_out out;
    struct trace *trace = example();
    Assay__Reply failure = ASSAY__REPLY__INIT;
    Assay__Error error = ASSAY__ERROR__INIT;
    failure.error = &error;
    wire_out_init(&out);
    wire_out_trace(&out, trace);
    wire_put_values(&out, 1, NULL, 0, NULL);
    assert_arrives(&out, true);
    wire_put_values(&out, 2, NULL, 0, NULL);
    assert_arrives(&out, false);
    wire_out_trace(&out, trace);
    wire_put_reply(&out, &failure);
    assert_arrives(&out, true);
    wire_out_release(&out);
    trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_found),       cmocka_unit_test(many_names_are_cut_short),
        cmocka_unit_test(names_are_a_sorted_set), cmocka_unit_test(hostile_text_is_tamed),
        cmocka_unit_test(floods_are_cut),         cmocka_unit_test(one_reply_carries_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
