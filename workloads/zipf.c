/* Zipf weights by an integer logarithm and an integer exponential, and drawing without replacement. */
#include "workloads/zipf.h"

#include <inttypes.h>
#include <stdlib.h>

#define ONE (UINT64_C(1) << 32)
enum { FRACTION_BITS = 32 };

/* log2(x) for x >= 1 with 32 fractional bits, rounded down to about 2^-30: the bits of the fraction one by one, by
 * squaring a mantissa in [1, 2) (Knuth, The Art of Computer Programming 1, section 1.2.2, exercise 25). */
static uint64_t log2_fixed(uint32_t x)
{
    const int top = 31 - __builtin_clz(x);
    uint64_t mantissa = (uint64_t)x << (31 - top); /* 31 fractional bits */
    uint64_t result = (uint64_t)top;
    for (int i = 0; i < FRACTION_BITS; i++) {
        mantissa = mantissa * mantissa >> 31;
        result <<= 1;
        if (mantissa >= UINT64_C(1) << 32) {
            mantissa >>= 1;
            result |= 1;
        }
    }
    return result;
}

static uint64_t square_root(uint64_t x) /* rounded down; digit by digit */
{
    uint64_t root = 0, bit = UINT64_C(1) << 62;
    while (bit > x)
        bit >>= 2;
    for (; bit != 0; bit >>= 2) {
        if (x >= root + bit) {
            x -= root + bit;
            root = (root >> 1) + bit;
        } else {
            root >>= 1;
        }
    }
    return root;
}

/* 2^-x with 32 fractional bits, for x with 32 fractional bits; halves[i] is 2^-(2^-(i+1)). At least 1. */
static uint64_t exp2_negative(uint64_t x, const uint64_t halves[FRACTION_BITS])
{
    const uint64_t whole = x >> FRACTION_BITS;
    if (whole >= FRACTION_BITS)
        return 1;
    uint64_t result = ONE;
    for (int i = 0; i < FRACTION_BITS; i++)
        if (x >> (FRACTION_BITS - 1 - i) & 1)
            result = result * halves[i] >> FRACTION_BITS; /* halves < 2^32, result <= 2^32 */
    result >>= whole;
    return result > 0 ? result : 1;
}

bool zipf_init(struct zipf *zipf, uint32_t count, uint64_t exponent_ppm, struct error *err)
{
    must(count >= 1 && count <= UINT32_C(1) << 20);
    *zipf = (struct zipf){.count = count, .start = calloc(2 * ((size_t)count + 1), sizeof *zipf->start)};
    if (zipf->start == NULL)
        return fail(err, STATUS_IO, "out of memory: the popularity of %" PRIu32 " experts", count);
    uint64_t halves[FRACTION_BITS];
    for (int i = 0; i < FRACTION_BITS; i++) /* 2^(-1/2), then each the root of the one before */
        halves[i] = square_root(i == 0 ? UINT64_C(1) << 63 : halves[i - 1] << FRACTION_BITS);
    /* From s = 64 on every weight but the first is below the last bit; so the product below fits: 37 + 26 bits. */
    const uint64_t exponent = exponent_ppm < 64000000 ? exponent_ppm : 64000000;
    for (uint32_t i = 0; i < count; i++)
        zipf->start[i + 1] = zipf->start[i] + exp2_negative(log2_fixed(i + 1) * exponent / 1000000, halves);
    zipf->tree = zipf->start + count + 1;
    zipf->left = zipf->start[count];
    for (uint32_t i = 1; i <= count; i++)
        zipf->tree[i] = zipf->start[i] - zipf->start[i - (i & -i)];
    return true;
}

void zipf_free(struct zipf *zipf)
{
    free(zipf->start);
    *zipf = (struct zipf){0};
}

/* Adds to a rank's weight, modulo 2^64. */
static void change(struct zipf *zipf, uint32_t rank, uint64_t weight)
{
    zipf->left += weight;
    for (uint32_t i = rank + 1; i <= zipf->count; i += i & -i)
        zipf->tree[i] += weight;
}

void zipf_take(struct zipf *zipf, uint32_t rank)
{
    change(zipf, rank, -zipf_weight(zipf, rank));
}

void zipf_put_back(struct zipf *zipf, uint32_t rank)
{
    change(zipf, rank, zipf_weight(zipf, rank));
}

uint32_t zipf_at(const struct zipf *zipf, uint64_t point)
{
    must(point < zipf->left);
    uint32_t rank = 0; /* the last one before which no more than `point` lies */
    for (uint32_t stride = UINT32_C(1) << (31 - __builtin_clz(zipf->count)); stride > 0; stride /= 2)
        if (rank + stride <= zipf->count && zipf->tree[rank + stride] <= point) {
            rank += stride;
            point -= zipf->tree[rank];
        }
    return rank;
}

uint32_t zipf_draw(const struct zipf *zipf, struct rng *rng)
{
    return zipf_at(zipf, rng_below(rng, zipf->left));
}
