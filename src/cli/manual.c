/* Manual pages in mdoc, made from the tables of the commands (cli.h). The build makes one for each command.
 */
#include "cli/cli.h"
#include "config.h"
#include "judge/standing.h"

#include <ctype.h>
#include <string.h>

enum { COLUMNS = 68 }; /* mandoc wants 80, and escapes are longer than what they stand for */

/* A piece of text with what roff would take for its own made plain. bare: at the start of a line. */
static void add_escaped(struct str *out, const char *text, size_t length, bool bare)
{
    if (bare && length && (*text == '.' || *text == '\''))
        str_add(out, "\\&");
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\\')
            str_add(out, "\\e");
        else if (text[i] == '-' && (i == 0 || !isalnum((unsigned char)text[i - 1])))
            str_add(out, "\\-"); /* an option, which is copied, and no hyphen */
        else if (text[i] == '"')
            str_add(out, "\\(dq");
        else if (text[i] == '\'' || text[i] == '`')
            str_add(out, text[i] == '\'' ? "\\(aq" : "\\(ga");
        else
            str_append(out, &text[i], 1);
    }
}

/* Whether a sentence ends with this word, so that mdoc wants a new line. */
static bool ends_sentence(const char *word, size_t length)
{
    while (length && strchr(")'\"", word[length - 1]))
        length--;
    return length && strchr(".!?", word[length - 1]);
}

/* One paragraph, filled: short lines, each sentence on a line of its own. */
static void add_filled(struct str *out, const char *text, size_t length)
{
    size_t column = 0;
    for (size_t at = strspn(text, " \n"), size; at < length; at += size + strspn(text + at + size, " \n")) {
        size = strcspn(text + at, " \n");
        bool fits = column && column + 1 + size < COLUMNS;
        str_add(out, fits ? " " : at && column ? "\n" : "");
        column = fits ? column + 1 + size : size;
        add_escaped(out, text + at, size, !fits);
        if (ends_sentence(text + at, size)) {
            str_add(out, "\n");
            column = 0;
        }
    }
    str_add(out, column ? "\n" : "");
}

/* Lines as they are. */
static void add_literal(struct str *out, const char *text, size_t length, const char *offset)
{
    str_printf(out, ".Bd -literal%s\n", offset);
    for (size_t at = 0; at < length;) {
        size_t indent = strspn(text + at, " ");
        at += indent < 2 ? indent : 2;
        size_t size = strcspn(text + at, "\n");
        add_escaped(out, text + at, size, true);
        str_add(out, "\n");
        at += size + 1;
    }
    str_add(out, ".Ed\n");
}

/* Paragraphs with an empty line between; one that begins with spaces is a table. */
static void add_paragraphs(struct str *out, const char *text)
{
    for (bool first = true; *text; first = false) {
        const char *end = strstr(text, "\n\n");
        size_t length = end ? (size_t)(end - text) : strlen(text);
        if (*text == ' ')
            add_literal(out, text, length, "");
        else {
            str_add(out, first ? "" : ".Pp\n");
            add_filled(out, text, length);
        }
        text += length + strspn(text + length, "\n");
    }
}

static void add_head(struct str *out, const char *name, const char *summary)
{
    str_printf(out, ".Dd %s\n.Dt ", ASSAY_DATE);
    for (const char *at = name; *at; at++)
        str_append(out, &(char){(char)toupper((unsigned char)*at)}, 1);
    str_printf(out, " 1\n.Os\n.Sh NAME\n.Nm %s\n.Nd ", name);
    add_escaped(out, summary, strlen(summary), false);
    str_add(out, "\n.Sh SYNOPSIS\n");
}

static void add_option(struct str *out, const struct cli_option *option)
{
    str_add(out, ".It ");
    if (option->letter)
        str_printf(out, "Fl %c , ", option->letter);
    str_printf(out, "Fl \\-%s", option->name);
    if (option->kind == OPTION_MAYBE)
        str_add(out, " Ns Oo Ns = Ns Ar ");
    else if (option->kind != OPTION_FLAG)
        str_add(out, option->kind == OPTION_CHOICE ? " Cm " : " Ar ");
    if (option->kind != OPTION_FLAG)
        add_escaped(out, option->argument, strlen(option->argument), false);
    str_add(out, option->kind == OPTION_MAYBE ? " Oc\n" : "\n");
    add_filled(out, option->help, strlen(option->help));
}

static void add_status(struct str *out, const struct promise *promise)
{
    str_add(out, ".Sh EXIT STATUS\n"
                 ".Bl -tag -width Ds\n"
                 ".It 0\nEvery engine answered, every answer was judged, and all agree.\n"
                 ".It 1\nSomething was found.\n"
                 ".It 2\nTrouble: usage, no such engine, an unreadable file, or nothing judged.\n"
                 ".El\n");
    if (!promise)
        return;
    str_add(out, ".Pp\nStatus 0 promises, of every engine:\n.Bl -tag -width operators\n.It answered\n");
    add_filled(out, promise->answered, strlen(promise->answered));
    str_add(out, ".It judged\n");
    add_filled(out, promise->judged, strlen(promise->judged));
    str_add(out, ".It operators\n");
    add_filled(out, promise->operators, strlen(promise->operators));
    str_add(out, ".El\n");
}

static const char see_also[] =
    ".Sh SEE ALSO\n%s.Xr assay-engines 5 ,\n.Xr assay-known 5 ,\n.Xr assay-protocol 7\n";

void cli_manual(const struct command *command, struct str *out)
{
    struct str name;
    str_init(&name);
    str_printf(&name, "assay-%s", command->name);
    add_head(out, name.data, command->summary);
    str_release(&name);
    str_printf(out, ".Nm assay Cm %s\n", command->name);
    add_filled(out, command->usage, strlen(command->usage));
    str_add(out, ".Sh DESCRIPTION\n");
    if (command->about)
        add_paragraphs(out, command->about);
    str_add(out, ".Pp\nThe options are:\n.Bl -tag -width Ds\n");
    for (size_t i = 0; i < command->n_options; i++)
        add_option(out, &command->options[i]);
    str_add(out, ".It Fl h , Fl \\-help\nshow a short form of this page\n.El\n");
    add_status(out, standing_promise(command->name));
    str_add(out, ".Sh EXAMPLES\n");
    add_literal(out, command->examples, strlen(command->examples), " -offset indent");
    str_printf(out, see_also, ".Xr assay 1 ,\n");
}

void cli_manual_overview(struct str *out)
{
    add_head(out, "assay", "test deep-learning engines against each other");
    str_add(out, ".Nm\n.Ar COMMAND\n.Op Ar OPTION ...\n.Op Ar ARGUMENT ...\n"
                 ".Nm\n.Cm help\n.Op Ar COMMAND\n"
                 ".Nm\n.Cm completion\n.Op Cm bash | zsh | fish\n"
                 ".Nm\n.Fl \\-version\n"
                 ".Sh DESCRIPTION\n"
                 "Assay runs models on several engines and on a reference with error bounds.\n"
                 "It tells which engine is wrong, at which operator,\n"
                 "and by how much more than rounding can explain.\n"
                 ".Pp\n"
                 "An engine is named\n"
                 ".Ar name Ns Oo @ Ns Ar version Oc Ns Oo : Ns Ar knob Ns = Ns Ar value , ... Oc ;\n"
                 ".Nm\n.Cm engines\nlists what there is.\n"
                 ".Pp\nEach command has a page of its own:\n.Bl -tag -width Ds\n");
    for (size_t i = 0; i < cli_n_commands; i++) {
        str_printf(out, ".It Xr assay-%s 1\n", cli_commands[i]->name);
        add_filled(out, cli_commands[i]->summary, strlen(cli_commands[i]->summary));
    }
    str_add(out,
            ".El\n.Pp\n"
            ".Cm completion\nprints a script by which a shell completes commands, options, engines, their\n"
            "releases, knobs and values.\n");
    add_status(out, NULL);
    str_printf(out, see_also, "");
}
