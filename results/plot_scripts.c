/* The gnuplot scripts of the figures.
 *
 * Colours: the eight of Okabe and Ito that people with any form of colour vision tell apart ("Color universal design",
 * 2008, https://jfly.uni-koeln.de/color/), the yellow last, for it is faint on white. Lines differ in dashes, points
 * and width too: where two policies do the same, the later, thinner line lies visibly on the earlier one. */
#include "results/plot_scripts.h"

#include <inttypes.h>

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
    "subtitle = ''\n"
    "stats data skip 1 every ::::0 using (subtitle = strcol(columns), 0) nooutput\n"
    "\n"
    "set linetype 1 lc rgb '#0072B2' dt solid pt 6\n"
    "set linetype 2 lc rgb '#E69F00' dt (10,5) pt 4\n"
    "set linetype 3 lc rgb '#009E73' dt solid pt 8\n"
    "set linetype 4 lc rgb '#CC79A7' dt (6,3) pt 12\n"
    "set linetype 5 lc rgb '#D55E00' dt solid pt 10\n"
    "set linetype 6 lc rgb '#56B4E9' dt (16,4,4,4) pt 14\n"
    "set linetype 7 lc rgb '#000000' dt (2,4) pt 2\n"
    "set linetype 8 lc rgb '#F0E442' dt solid pt 1\n"
    "set linetype cycle 8\n"
    "set style fill solid 1.0 noborder\n"
    "set border 3 lc rgb '#606060'\n"
    "set tics nomirror textcolor rgb '#202020'\n"
    "set grid ytics lc rgb '#d8d8d8' lt 1 dt solid lw 1\n"
    "set yrange [0:*]\n"
    "set key noenhanced\n"
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

void script_begin(FILE *file, const char *name, unsigned columns, unsigned legend_lines)
{
    fprintf(file,
            "# A figure by pocketload. Change it and draw it again with `gnuplot %s.gp`;\n"
            "# its data is in %s.csv: sizes in bytes, times in nanoseconds.\n"
            "name = '%s'\n"
            "columns = %u\n"
            "height = %u\n",
            name, name, name, columns, legend_lines > 4 ? 600 + 24 * (legend_lines - 4) : 600);
    fputs(head, file);
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

void script_lines(FILE *file, const char *title, const char *x_label, struct axis_unit x, const char *y_label,
                  struct axis_unit y, unsigned series, bool points)
{
    fprintf(file,
            "    set title \"%s\\n\" . subtitle\n"
            "    set xlabel '%s%s%s%s' offset 0,0.4\n"
            "    set ylabel '%s (%s)'\n"
            "    set key outside bottom center horizontal reverse Left samplen 3 width 2 height 0.7\n"
            "    set xrange [%s]\n"
            "    width(i) = %u == 1 ? 3.0 : 5.0 - 2.8 * (i - 1) / (%u - 1)\n"
            "    plot for [i = 1:%u] data using ($1 / %" PRId64 ".0):(column(i + 1) / %" PRId64 ".0) with %s "
            "linetype i linewidth width(i) %stitle columnheader(i + 1)\n",
            title, x_label, x.name[0] != '\0' ? " (" : "", x.name, x.name[0] != '\0' ? ")" : "", y_label, y.name,
            points ? "0:*" : "*:*", series, series, series, x.factor, y.factor, points ? "linespoints" : "lines",
            points ? "pointsize 1.6 - 0.7 * (i - 1) / 8.0 " : "");
}

/* Bars are named by labels, not by tics, which gnuplot reads as formats: a name may hold "%s". */
void script_bars(FILE *file, const struct bars *bars)
{
    const struct axis_unit y = axis_bytes(bars->highest_bytes);
    fprintf(file,
            "    unit = %" PRId64 ".0\n"
            "    set title \"Peak memory of the app by class%s\\n\" . subtitle\n"
            "    set ylabel 'peak memory (%s)'\n"
            "    set key outside bottom center horizontal reverse Left samplen 2 width 2\n"
            "    unset xtics\n"
            "    set bmargin %u\n"
            "    set boxwidth 0.8\n"
            "    set xrange [0:%g]\n"
            "    top = %g\n"
            "    set yrange [0:top * 1.14]\n"
            "    plot data skip 1 using 1:(($5 + $6 + $7 + $8) / unit) with boxes lc rgb '#56B4E9' "
            "title 'weights', \\\n"
            "        data skip 1 using 1:(($5 + $6 + $7) / unit) with boxes lc rgb '#E69F00' title 'activations', \\\n"
            "        data skip 1 using 1:(($5 + $6) / unit) with boxes lc rgb '#009E73' title 'KV cache', \\\n"
            "        data skip 1 using 1:($5 / unit) with boxes lc rgb '#808080' title 'runtime', \\\n"
            "        data skip 1 using 1:(0):2 with labels rotate by 45 right offset 0.5,-0.5 font ',%s' noenhanced "
            "notitle, \\\n"
            "        data skip 1 using 4:(top * 1.07):3 with labels noenhanced notitle\n",
            y.factor, bars->left_out ? " (the first runs of many)" : "", y.name, 4 + bars->longest_label / 3,
            bars->last_x + 1, (double)bars->highest_bytes / (double)y.factor, bars->count > 32 ? "8" : "12");
}

/* A round step that gives an axis at most four ticks. */
static double tick_step(double largest)
{
    double step = 1e-6;
    for (int i = 0; step * 4 < largest; i++)
        step *= i % 3 == 1 ? 2.5 : 2; /* 1, 2, 5, 10 ... */
    return step;
}

void script_memory(FILE *file, struct axis_unit x, struct axis_unit y, int64_t fastest)
{
    fprintf(
        file,
        "    tick = %" PRId64 ".0\n"
        "    unit = %" PRId64 ".0\n"
        "    set multiplot\n"
        "    set lmargin at screen 0.125\n"
        "    set rmargin at screen 0.765\n"
        "    set xrange [0:*] noextend\n"
        "    set tmargin at screen 0.87\n"
        "    set bmargin at screen 0.42\n"
        "    set label 1 \"Memory and flash over time\\n\" . subtitle at screen 0.5,0.96 center noenhanced font ',13'\n"
        "    set ylabel 'memory (%s)'\n"
        "    set format x ''\n"
        "    set key at screen 0.77,0.86 left top vertical reverse Left samplen 1.5\n"
        "    plot data skip 1 using ($1/tick):(($2+$3+$4+$5+$6)/unit) with filledcurves x1 lc rgb '#B3DCF5' "
        "title 'weights in flight', \\\n"
        "        data skip 1 using ($1/tick):(($2+$3+$4+$5)/unit) with filledcurves x1 lc rgb '#56B4E9' "
        "title 'weights', \\\n"
        "        data skip 1 using ($1/tick):(($2+$3+$4)/unit) with filledcurves x1 lc rgb '#E69F00' "
        "title 'activations', \\\n"
        "        data skip 1 using ($1/tick):(($2+$3)/unit) with filledcurves x1 lc rgb '#009E73' title 'KV "
        "cache', \\\n"
        "        data skip 1 using ($1/tick):($2/unit) with filledcurves x1 lc rgb '#808080' title 'runtime'\n"
        "    unset label 1\n"
        "    set tmargin at screen 0.36\n"
        "    set bmargin at screen 0.13\n"
        "    set format x '%%g'\n"
        "    set xlabel 'time (%s)'\n"
        "    set ylabel 'flash (GB/s)'\n"
        "    set ytics %g\n"
        "    set grid ytics\n"
        "    set key at screen 0.77,0.35 left top\n"
        "    plot data skip 1 using ($1/tick):($7/1e9) with filledcurves x1 lc rgb '#D55E00' title 'read rate'\n"
        "    unset multiplot\n"
        "    unset xlabel\n"
        "    set ytics autofreq\n",
        x.factor, y.factor, y.name, x.name, tick_step((double)fastest / 1e9));
}
