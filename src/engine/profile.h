/*
 * What an engine's registry section declares about the engine besides how to start it: what its knobs choose,
 * how its messages are written, which knobs do not distinguish its bugs, and the program that a bug report
 * contains (docs/engines.md explains the keys). An engine that declares nothing has a zeroed profile; NULL
 * means the same wherever a profile is passed.
 */
#ifndef ENGINE_PROFILE_H
#define ENGINE_PROFILE_H

#include "engine/declared_knobs.h"
#include "engine/message_pattern.h"
#include "eval/lowered_products.h"

/* Something that Assay does otherwise than the library by itself: "departs.threads = 1 | one for each core |
 * so that results repeat". */
struct departure {
    const char *name, *value; /* what it is about, which may be a knob, and what Assay does */
    const char *library;      /* what the library does by itself */
    const char *because;
    struct departure *next;
};

/*
 * A setting by which the library computes in fewer bits than the type has, as its own documents say:
 * "lowers.accuracy = library|4; DequantizeLinear; MatMul|Gemm; words". It holds where the knob has one of the
 * values. Not ONNX but the setting allows for that, and a result that needs it says so.
 */
struct lowering {
    const char *knob, *values; /* "library|4" */
    struct lowered_products products;
    const char *words; /* what is computed how, and the setting that does not */
    struct lowering *next;
};

/* Strings live in the registry. A list of words is a text with spaces between them (profile_lists). */
struct engine_profile {
    /* The engine of which this section starts another build of the same library: what is known of that engine
     * is known of this one. NULL: none. */
    const char *like;
    /* Knobs that signatures leave out, because the same bugs show with every value. */
    const char *signature_without;
    const char *float64_knob;       /* reports hold the answer with each of its values against what the engine
                                       computes in float64; NULL: they do not */
    struct declared_knob *knobs;    /* what others than the user may choose */
    struct message_pattern *around; /* what the engine puts before every message; signatures cut it off */
    struct message_pattern *reason; /* further text that only says where it failed; titles cut it off and keep
                                       the reason behind it */
    struct message_pattern *names;  /* where messages name nodes and values */
    struct message_pattern *no_kernel; /* messages that mean: there is no kernel for OPERATOR */
    struct message_pattern *operators; /* where messages name the operator they are about */
    /* Texts that stand for an operator which the engine itself inserts into graphs. */
    struct message_pattern *inserted;
    /* The adapter reads the model and calls the library's operators. That it accepts what ONNX forbids is
     * then no fault of the library, which never sees ONNX. */
    bool adapter_reads;
    bool no_onnx;            /* it takes models in another form alone, and is no part of "all" */
    bool convolves_directly; /* never by Winograd's algorithm, whose error is larger than that of a sum */
    bool second_opinion; /* it implements the ONNX text, and is asked before another engine is called wrong */
    struct departure *departures; /* in the order of the section */
    struct lowering *lowerings;   /* likewise */
    const char *made_by_several;  /* operators that several of its optimiser passes create */
    /* Set by the registry: the path of the template for the program in a report, and of the file that the
     * user gave (-E), in which the section stands; NULL for other files. */
    const char *program, *given;
};

/*
 * Sets what a key of the section declares. Returns 0, 1 when the key does not belong to profiles, or -1 with
 * an error when the value is not valid.
 */
int profile_set(struct engine_profile *profile, struct arena *arena, const char *key, const char *value,
                struct error *err);

/* The keys that profile_set knows, for messages. */
extern const char profile_keys[];

/* Whether a list of words holds the first `length` bytes of `word`; false for the list NULL. */
bool profile_lists(const char *list, const char *word, size_t length);

#endif
