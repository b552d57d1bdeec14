/* Text to sizes, times and rates, and back. Exact: decimal fractions are scaled in integers, never in
 * floating point, and a value that does not fit or is not a whole number of the base unit is an error.
 *
 * Every parser takes the whole text (surrounding blanks allowed), fails with STATUS_USAGE and a line such as
 *   "512" has no unit: write 512B, 512KiB, 512MiB, 512GiB, 512KB, 512MB or 512GB
 * to which the caller adds the place with fail_in. A blank may stand between number and unit. Units are
 * matched in their exact spelling; a wrong case is answered with the right one ("512mb": did you mean 512MB?). */
#ifndef POCKETLOAD_BASE_UNITS_H
#define POCKETLOAD_BASE_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* B, KB MB GB TB (powers of 1000), KiB MiB GiB TiB (powers of 1024): "1.5GiB", "0B". At most 2^63-1. */
bool parse_bytes(const char *text, uint64_t *bytes, struct error *err);

/* ns us ms s min h: "215us", "1.5ms". Not negative; at most 2^62 ns. */
bool parse_time(const char *text, int64_t *ns, struct error *err);

/* B/s KB/s MB/s GB/s TB/s KiB/s ... : "2.42GB/s". At least 1 B/s, at most 2^60. */
bool parse_rate(const char *text, uint64_t *bps, struct error *err);

/* FLOPS KFLOPS MFLOPS GFLOPS TFLOPS, operations a second: "120GFLOPS". At least 1, at most 2^60. */
bool parse_flops(const char *text, uint64_t *flops, struct error *err);

/* A share in parts per million: "35%", "0.5%", "1" (= 100 %), "0.25". From 0 to 1000000. */
bool parse_share(const char *text, uint32_t *ppm, struct error *err);
/* The same for what may be more than all: up to most_ppm, 1000000 at least, in whole percents. */
bool parse_share_to(const char *text, uint32_t most_ppm, uint32_t *ppm, struct error *err);

/* A plain number in parts per million, for exponents and factors: "1.05" -> 1050000. At most 1e6 (1e12 ppm). */
bool parse_decimal(const char *text, uint64_t *ppm, struct error *err);

/* A whole decimal number without sign, in [min, max]. */
bool parse_count(const char *text, uint64_t min, uint64_t max, uint64_t *value, struct error *err);

enum { UNITS_TEXT = 32 }; /* enough for every format_ below */

/* For people, three or four significant digits, binary units: "1.50 GiB", "512 MiB", "17 B". */
const char *format_bytes(uint64_t bytes, char out[UNITS_TEXT]);

/* For people: "0 ns", "215 us", "1.73 s", "4 min 12 s". */
const char *format_time(int64_t ns, char out[UNITS_TEXT]);

/* Shortest exact text that parse_bytes reads back to the same value: "1536MiB", "512MB", "17B". */
const char *print_bytes(uint64_t bytes, char out[UNITS_TEXT]);

/* Shortest exact text that parse_time reads back: "215us", "1s". */
const char *print_time(int64_t ns, char out[UNITS_TEXT]);

/* Shortest exact text that parse_decimal reads back: 1050000 -> "1.05". */
const char *print_decimal(uint64_t ppm, char out[UNITS_TEXT]);

/* a * b / c rounded up, exact for all inputs whose result fits 63 bits (must() otherwise); c > 0. */
uint64_t scale_up(uint64_t a, uint64_t b, uint64_t c);

/* a * b and a + b, false on overflow. */
bool multiply(uint64_t a, uint64_t b, uint64_t *product);
bool add(uint64_t a, uint64_t b, uint64_t *sum);

#endif
