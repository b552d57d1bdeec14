/* Runs gnuplot on a script that lies in a folder, and checks what it drew. */
#ifndef POCKETLOAD_RESULTS_GNUPLOT_H
#define POCKETLOAD_RESULTS_GNUPLOT_H

#include "base/error.h"

enum { GNUPLOT_NAME_MAX = 200 }; /* bytes of a name, with its NUL */

/* Runs `gnuplot NAME.gp` in the folder, without a shell. The script makes NAME.svg and NAME.png; gnuplot exits with 0
 * even when it drew nothing for want of a font, so both are looked at. STATUS_IO. */
bool gnuplot_run(const char *folder, const char *name, struct error *err);

#endif
