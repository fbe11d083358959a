"""The plots of bench/growth: processor time and memory against size, both on logarithmic scales, one panel for each axis."""
import math

WIDTH, HEIGHT, LEFT, TOP, GAP = 240, 180, 64, 44, 92
COLOURS = {"s": "#1f6fb4", "MiB": "#b4541f"}


def decades(values):
    return math.floor(math.log10(min(values))), max(math.floor(math.log10(min(values))) + 1, math.ceil(math.log10(max(values))))


def name_of(axis, power):
    if axis != "weights":
        return f"{10 ** power:,}" if power >= 0 else f"{10 ** power:g}"
    return f"{10 ** power // 10 ** 6:,} MB" if power >= 6 else f"{10 ** power:,}"


def panel(axis, rows, left):
    """One panel: a curve for seconds and one for MiB, with grid lines at each power of ten."""
    x0, x1 = decades([r[0] for r in rows])
    y0, y1 = decades([value for r in rows for value in r[1:]])
    across = lambda size: left + (math.log10(size) - x0) / (x1 - x0) * WIDTH
    down = lambda value: TOP + HEIGHT - (math.log10(value) - y0) / (y1 - y0) * HEIGHT
    out = []
    for power in range(x0, x1 + 1):
        x = across(10 ** power)
        out.append(f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{TOP + HEIGHT}" stroke="#ddd"/>')
        out.append(f'<text x="{x:.1f}" y="{TOP + HEIGHT + 16}" text-anchor="middle">{name_of(axis, power)}</text>')
    for power in range(y0, y1 + 1):
        y = down(10 ** power)
        out.append(f'<line x1="{left}" y1="{y:.1f}" x2="{left + WIDTH}" y2="{y:.1f}" stroke="#ddd"/>')
        out.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{name_of("", power)}</text>')
    for column, unit in ((1, "s"), (2, "MiB")):
        points = " ".join(f"{across(r[0]):.1f},{down(r[column]):.1f}" for r in rows)
        out.append(f'<polyline points="{points}" fill="none" stroke="{COLOURS[unit]}" stroke-width="2"/>')
        out += [f'<circle cx="{across(r[0]):.1f}" cy="{down(r[column]):.1f}" r="3" fill="{COLOURS[unit]}"/>' for r in rows]
    out.append(f'<text x="{left + WIDTH / 2}" y="{TOP + HEIGHT + 34}" text-anchor="middle">{axis}</text>')
    return out


def write(path, word, plot):
    total = LEFT + len(plot) * (WIDTH + GAP)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total} {TOP + HEIGHT + 48}" font-family="sans-serif" '
           f'font-size="11"><rect width="100%" height="100%" fill="white"/>',
           f'<text x="{LEFT}" y="20" font-size="14">assay {word}</text>',
           f'<text x="{LEFT + 150}" y="20" fill="{COLOURS["s"]}">CPU seconds</text>',
           f'<text x="{LEFT + 230}" y="20" fill="{COLOURS["MiB"]}">MiB of the largest process</text>']
    for i, (axis, rows) in enumerate(plot.items()):
        out += panel(axis, rows, LEFT + i * (WIDTH + GAP))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(out + ["</svg>", ""]))
