#include "report/chart.h"

#include "base/markup.h"

#include <math.h>
#include <stdio.h>

enum { WIDTH = 340, HEIGHT = 170, LEFT = 42, RIGHT = WIDTH - 8, TOP = 12, BOTTOM = 148 };

struct axes {
    double end, most;
};

static double as_finite(double number)
{
    return isfinite(number) ? number : 0;
}

static double across(const struct axes *axes, double seconds)
{
    return LEFT + (RIGHT - LEFT) * fmin(fmax(as_finite(seconds) / axes->end, 0), 1);
}

static double down(const struct axes *axes, double value)
{
    return BOTTOM - (BOTTOM - TOP) * fmin(fmax(as_finite(value) / axes->most, 0), 1);
}

/* The next round number that is not below it. */
static double round_up(double number)
{
    static const double steps[] = {1, 2, 2.5, 5};
    if (!(number > 0))
        return 1;
    double size = pow(10, floor(log10(number)));
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (steps[i] * size >= number * 0.999)
            return steps[i] * size;
    return 10 * size;
}

static void add_number(struct str *out, double number)
{
    if (number >= 1e6)
        str_printf(out, "%.3g M", number / 1e6);
    else if (number >= 1e4)
        str_printf(out, "%.3g k", number / 1e3);
    else
        str_printf(out, "%.4g", number);
}

static void add_span(struct str *out, double seconds)
{
    if (seconds >= 7200)
        str_printf(out, "%.3g h", seconds / 3600);
    else if (seconds >= 120)
        str_printf(out, "%.3g min", seconds / 60);
    else
        str_printf(out, "%.0f s", seconds);
}

static void add_axes(struct str *out, const struct axes *axes)
{
    static const char *const anchors[] = {"start", "middle", "end"};
    for (int i = 0; i < 3; i++) {
        double part = i / 2.0, y = down(axes, part * axes->most);
        str_printf(out, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>", LEFT, RIGHT, y,
                   y);
        str_printf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">", LEFT - 6, y + 4);
        add_number(out, part * axes->most);
        str_printf(out, "</text><text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">",
                   across(axes, part * axes->end), BOTTOM + 15, anchors[i]);
        add_span(out, part * axes->end);
        str_add(out, "</text>\n");
    }
}

static void add_path(struct str *out, const struct axes *axes, const struct chart_line *line)
{
    for (size_t i = 0; i < line->count; i++)
        str_printf(out, "%s%.1f %.1f", i ? " L" : "", across(axes, line->points[i].seconds),
                   down(axes, line->points[i].value));
}

static void add_line(struct str *out, const struct axes *axes, const struct chart_line *line, char kind,
                     bool alone)
{
    if (!line->count)
        return;
    if (alone) {
        str_printf(out, "<path class=\"area\" d=\"M%.1f %d L", across(axes, line->points[0].seconds), BOTTOM);
        add_path(out, axes, line);
        str_printf(out, " L%.1f %d Z\"/>\n", across(axes, line->points[line->count - 1].seconds), BOTTOM);
    }
    str_printf(out, "<path class=\"%c\" d=\"M", kind);
    add_path(out, axes, line);
    str_add(out, "\"/>\n");
}

void chart_svg(struct str *out, const char *label, const struct chart_line *lines, size_t count, double end,
               double least)
{
    struct axes axes = {.end = end > 1 && isfinite(end) ? end : 1, .most = least};
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < lines[i].count; k++)
            axes.most = fmax(axes.most, as_finite(lines[i].points[k].value));
    axes.most = round_up(axes.most);
    str_printf(out, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", WIDTH, HEIGHT);
    markup_escape(out, label);
    str_add(out, "\">\n");
    add_axes(out, &axes);
    for (size_t i = 0; i < count; i++)
        add_line(out, &axes, &lines[i], i ? 'b' : 'a', count == 1);
    str_add(out, "</svg>\n");
}
