/* 128-bit integers, for products of two 64-bit numbers that are divided at once. */
#ifndef POCKETLOAD_BASE_WIDE_H
#define POCKETLOAD_BASE_WIDE_H

__extension__ typedef unsigned __int128 wide;

#endif
