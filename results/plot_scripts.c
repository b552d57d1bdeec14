/* The gnuplot scripts of the figures.
 *
 * Colours: seven of the eight of Okabe and Ito that people with any form of colour vision tell apart ("Color universal
 * design", 2008, https://jfly.uni-koeln.de/color/); a brown stands for their yellow, which is faint on white. Each
 * series has markers of its own shape, and no two series have theirs at one place: where two policies do the same, both
 * are seen. */
#include "results/plot_scripts.h"

#include <inttypes.h>

#include "base/units.h"

struct axis_unit axis_bytes(uint64_t largest)
{
    return largest < UINT64_C(2) << 30 ? (struct axis_unit){"MiB", 1 << 20} : (struct axis_unit){"GiB", 1 << 30};
}

struct axis_unit axis_time(double largest_ns)
{
    if (largest_ns >= 2e9)
        return (struct axis_unit){"s", 1000000000};
    return largest_ns >= 2e6 ? (struct axis_unit){"ms", 1000000} : (struct axis_unit){"us", 1000};
}

static const char head[] =
    "set encoding utf8\n"
    "set datafile separator comma\n"
    "data = name . '.csv'\n"
    "# gnuplot ends a text of the csv at a comma: names have U+201A in its stead there\n"
    "text(s) = strstrt(s, '\xE2\x80\x9A') > 0 ? s[1:strstrt(s, '\xE2\x80\x9A') - 1] . ',' . "
    "text(s[strstrt(s, '\xE2\x80\x9A') + 1:*]) : s\n"
    "heading = ''\n"
    "subtitle = ''\n"
    "stats data skip 1 every ::::0 using (heading = text(strcol(columns - 1)), 0) nooutput\n"
    "stats data skip 1 every ::::0 using (subtitle = text(strcol(columns)), 0) nooutput\n"
    "heading = heading . (subtitle eq '' ? '' : \"\\n\" . subtitle)\n"
    "array names[series + 1]\n"
    "do for [i = 1:series] {\n"
    "    stats data every ::::0 using (names[i] = text(strcol(i + 1)), 0) nooutput\n"
    "}\n"
    "\n"
    "array colors[8] = [0x0072B2, 0xE69F00, 0x009E73, 0xCC79A7, 0xD55E00, 0x56B4E9, 0x000000, 0x7F4F24]\n"
    "array shapes[8] = [6, 4, 8, 12, 10, 14, 1, 3]\n"
    "color(i) = colors[(i - 1) % 8 + 1]\n"
    "shape(i) = shapes[(i - 1) % 8 + 1] + (i > 8 && i < 15 ? 1 : 0)\n"
    "set style fill solid 1.0 noborder\n"
    "set border 3 lc rgb '#606060'\n"
    "set tics nomirror textcolor rgb '#202020'\n"
    "set grid ytics lc rgb '#d8d8d8' lt 1 dt solid lw 1\n"
    "set yrange [0:*]\n"
    "set key noenhanced outside bottom center horizontal reverse Left samplen 3 width 2 height 0.7\n"
    "set title noenhanced font ',13'\n"
    "\n"
    "do for [kind in 'svg png'] {\n"
    "    if (kind eq 'svg') {\n"
    "        set terminal svg size 960,height noenhanced font 'DejaVu Sans,15' name name background rgb '#ffffff'\n"
    "    } else {\n"
    "        if (strstrt(GPVAL_TERMINALS, 'pngcairo')) {\n"
    "            set terminal pngcairo size 1440,height*3/2 noenhanced font 'DejaVu Sans,15' fontscale 1.5 linewidth "
    "1.5 "
    "pointscale 1.5\n"
    "        } else {\n"
    "            set terminal png size 1440,height*3/2 noenhanced font 'DejaVuSans,22' linewidth 1.5\n"
    "        }\n"
    "    }\n"
    "    set output name . '.' . kind\n";

void script_begin(FILE *file, const char *name, unsigned columns, unsigned series, const char *configs, unsigned height)
{
    fprintf(file,
            "# A figure by pocketload. Change it and draw it again with `gnuplot %s.gp`;\n"
            "# its data is in %s.csv: sizes in bytes, times in nanoseconds.\n"
            "name = '%s'\n"
            "columns = %u\n"
            "series = %u\n"
            "height = %u\n"
            "configs = '%s'\n",
            name, name, name, columns, series, height, configs);
    fputs(head, file);
}

unsigned script_legend_height(unsigned series)
{
    return SCRIPT_HEIGHT + (series > 4 ? 24 * (series - 4) : 0);
}

/* Long labels at a slant would leave the picture. */
static bool stands_upright(const struct bars *bars)
{
    return bars->longest_label > 16;
}

/* What the labels and the legend take below the bars. */
static unsigned below_bars(const struct bars *bars)
{
    return 150 + bars->longest_label * (stands_upright(bars) ? 76 : 54) / 10;
}

unsigned script_bars_height(const struct bars *bars)
{
    return 420 + below_bars(bars);
}

void script_end(FILE *file)
{
    /* Where no font is installed, pngcairo's letters have no width, and it says nothing. */
    fputs("    if (exists('GPVAL_TERM_SCALE') && GPVAL_TERM_HCHAR < GPVAL_TERM_SCALE) {\n"
          "        exit error 'no font for text was found: install fonts-dejavu-core'\n"
          "    }\n"
          "}\n"
          "unset output\n",
          file);
}

/* Between two budgets nothing was simulated: the lines there only lead the eye. Series that coincide stay visible, as
 * the first are drawn widest and the last smallest. */
void script_curves(FILE *file, const struct curves_drawing *d)
{
    fprintf(file,
            "    set title \"%s%s\" . configs . \"\\n\" . heading\n"
            "    set xlabel 'budget for weights (%s)' offset 0,0.4\n"
            "    set ylabel '%s (%s)'\n"
            "    set xrange [0:%g]\n"
            "    x(i) = $1 / %" PRId64 ".0\n"
            "    y(i) = column(i + 1) / %" PRId64 ".0\n"
            "    nested(i) = series > 1 ? (series - i) / (series - 1.0) : 0\n",
            d->title, d->left_out ? " (the first 16 series)" : "", d->x.name, d->y_label, d->y.name,
            d->largest_x * 1.03 / (double)d->x.factor, d->x.factor, d->y.factor);
    fputs("    plot for [i = 1:series] data skip 1 using (x(i)):(y(i)) with lines lw 1 + 3 * nested(i) dt (4,4) lc rgb "
          "color(i) notitle, \\\n"
          "        for [i = 1:series] data skip 1 using (x(i)):(y(i)) with points pt shape(i) ps 1.1 + 1.5 * nested(i) "
          "lw 2 lc rgb color(i) notitle, \\\n"
          "        for [i = 1:series] data skip 1 using (x(i)):(column(series + i + 1) == 1 ? 0 : NaN) with points "
          "pt 2 ps 1.3 lw 4 lc rgb color(i) notitle, \\\n"
          "        for [i = 1:series] keyentry with linespoints pt shape(i) ps 1.1 + 0.9 * nested(i) lw 2 dt (4,4) lc "
          "rgb color(i) title names[i]",
          file);
    fputs(d->killed ? ", \\\n        keyentry with points pt 2 ps 1.3 lw 4 lc rgb '#606060' title 'killed'\n" : "\n",
          file);
}

void script_latencies(FILE *file, const char *title, struct axis_unit y, unsigned series, size_t rows)
{
    const size_t sparse = rows / 10 > series ? rows / 10 : series; /* rows from one marker to the next */
    fprintf(file,
            "    set title \"%s\" . configs . \"\\n\" . heading\n"
            "    set xlabel 'token' offset 0,0.4\n"
            "    set ylabel 'latency (%s)'\n"
            "    set xrange [*:*] noextend\n"
            "    y(i) = column(i + 1) / %" PRId64 ".0\n"
            "    sparse = %zu\n"
            "    start(i) = ((i - 1) * sparse / series) %% %zu\n"
            "    width(i) = 4.0 - 2.5 * (i - 1) / series\n",
            title, y.name, y.factor, sparse, rows);
    fputs("    plot for [i = 1:series] data skip 1 using 1:(y(i)) with lines lw width(i) lc rgb color(i) notitle, \\\n"
          "        for [i = 1:series] data skip 1 every sparse::start(i) using 1:(y(i)) with points pt shape(i) ps 1.4 "
          "lw 2 lc rgb color(i) notitle, \\\n"
          "        for [i = 1:series] keyentry with linespoints pt shape(i) ps 1.4 lw width(i) lc rgb color(i) title "
          "names[i]\n",
          file);
}

/* Bars are named by labels, not by tics, which gnuplot reads as formats: a name may hold "%s". Classes peak at
 * different times, so that a bar may be higher than what the app held at once: a mark shows that. */
void script_bars(FILE *file, const struct bars *bars)
{
    static const struct {
        const char *sum, *color, *title;
    } classes[] = {
        {"$3 + $4 + $5 + $6 + $7 + $8", "0072B2", "mapped file"},
        {"$3 + $4 + $5 + $6 + $7", "56B4E9", "weights"},
        {"$3 + $4 + $5 + $6", "CC79A7", "streamed weights"},
        {"$3 + $4 + $5", "E69F00", "activations"},
        {"$3 + $4", "009E73", "KV cache"},
        {"$3", "808080", "runtime"},
    };
    const struct axis_unit y = axis_bytes(bars->highest_bytes);
    const uint64_t top = bars->kill_bytes > bars->highest_bytes ? bars->kill_bytes : bars->highest_bytes;
    const bool upright = stands_upright(bars);
    char kill[UNITS_TEXT];
    fprintf(file,
            "    unit = %" PRId64 ".0\n"
            "    set title \"Peak memory of the app, of each class and of all at once%s\" . configs . \"\\n\" . "
            "heading\n"
            "    set ylabel 'peak memory (%s)'\n"
            "    unset xtics\n"
            "    set bmargin at screen %u.0 / height\n"
            "    set key maxrows 3\n"
            "    set boxwidth 0.8\n"
            "    set xrange [0:%g]\n"
            "    top = %g\n"
            "    set yrange [0:top * 1.14]\n"
            "    plot ",
            y.factor, bars->left_out ? " (the first runs of many)" : "", y.name, below_bars(bars), bars->last_x + 1,
            (double)top / (double)y.factor);
    for (size_t i = bars->mapped ? 0 : 1; i < sizeof classes / sizeof *classes; i++)
        fprintf(file, "data skip 1 using 1:((%s) / unit) with boxes lc rgb '#%s' title '%s', \\\n        ",
                classes[i].sum, classes[i].color, classes[i].title);
    if (bars->kill_bytes > 0)
        fprintf(file,
                "%" PRIu64 " / unit with lines lw 2 dt (8,4) lc rgb '#C00000' title 'killed above %s', \\\n"
                "        ",
                bars->kill_bytes, format_bytes(bars->kill_bytes, kill));
    fprintf(file,
            "data skip 1 using ($1 - 0.4):($9 / unit):(0.8):(0) with vectors nohead lw 2 lc rgb '#000000' title "
            "'all at once', \\\n"
            "        data skip 1 using 1:(0):(text(strcol(10))) with labels rotate by %u right offset %s font ',%s' "
            "noenhanced notitle, \\\n"
            "        data skip 1 using 2:(top * 1.07):11 with labels noenhanced notitle\n",
            upright ? 90 : 45, upright ? "0,-0.5" : "0.5,-0.5", bars->count > 32 ? "8" : "12");
}

/* A round step that gives an axis at most four ticks. */
static double tick_step(double largest)
{
    double step = 1e-6;
    for (int i = 0; step * 4 < largest; i++)
        step *= i % 3 == 1 ? 2.5 : 2; /* 1, 2, 5, 10 ... */
    return step;
}

/* The highest first, so that the lower ones are drawn over it. Classes that are empty all the time are left out: of
 * nine names the legend holds three columns of short ones. */
static void script_classes(FILE *file, const struct memory_drawing *drawing)
{
    static const struct {
        const char *color, *title;
    } classes[MOMENT_CLASSES] = {
        {"808080", "runtime"},          {"009E73", "KV cache"},    {"E69F00", "activations"},
        {"CC79A7", "streamed weights"}, {"56B4E9", "weights"},     {"B3DCF5", "weights being read"},
        {"7F4F24", "page tables"},      {"0072B2", "mapped file"}, {"F0C0A0", "zram, of all apps"},
    };
    const char *between = "";
    for (int i = MOMENT_CLASSES - 1; i >= 0; i--) {
        if (!drawing->has_class[i])
            continue;
        fprintf(file, "%sdata skip 1 using ($1 / tick):((", between);
        for (int k = 0; k <= i; k++)
            fprintf(file, "%s$%d", k > 0 ? " + " : "", k + 2);
        fprintf(file, ") / unit) with fillsteps lc rgb '#%s' title '%s'", classes[i].color, classes[i].title);
        between = ", \\\n        ";
    }
    putc('\n', file);
}

/* The axes are named by labels at fixed places, which no width of a number pushes out of the picture. A sample stands
 * until the next: steps. */
void script_memory(FILE *file, const struct memory_drawing *drawing)
{
    const struct axis_unit x = drawing->x, y = axis_bytes(drawing->highest_bytes);
    fprintf(file,
            "    tick = %" PRId64 ".0\n"
            "    unit = %" PRId64 ".0\n"
            "    set multiplot\n"
            "    set lmargin at screen 0.125\n"
            "    set rmargin at screen 0.96\n"
            "    set xrange [0:*] noextend\n"
            "    set tmargin at screen 0.86\n"
            "    set bmargin at screen 0.46\n"
            "    set label 1 \"Memory and flash over time\" . configs . \"\\n\" . heading at screen 0.5,0.965 center "
            "noenhanced font ',13'\n"
            "    set label 2 'memory (%s)' at screen 0.025,0.66 center rotate by 90\n"
            "    set format x ''\n"
            "    set key at screen 0.5,0.01 bottom center vertical maxrows 3 samplen 1.5 width 0 height 0 "
            "font ',12'\n"
            "    plot ",
            x.factor, y.factor, y.name);
    script_classes(file, drawing);
    fprintf(file,
            "    unset label 1\n"
            "    set label 2 'flash (GB/s)' at screen 0.025,0.32 center rotate by 90\n"
            "    set tmargin at screen 0.41\n"
            "    set bmargin at screen 0.23\n"
            "    set format x '%%g'\n"
            "    set xlabel 'time (%s)' offset 0,0.3\n"
            "    set ytics %g\n"
            "    set grid ytics\n"
            "    plot data skip 1 using ($1 / tick):($%d / 1e9) with fillsteps lc rgb '#D55E00' notitle\n"
            "    unset multiplot\n"
            "    unset label 2\n"
            "    unset xlabel\n"
            "    set ytics autofreq\n",
            x.name, tick_step((double)drawing->fastest / 1e9), MOMENT_CLASSES + 2);
}
