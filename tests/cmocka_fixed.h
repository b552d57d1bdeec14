/* cmocka with the headers that it wants before it, and without its macro fail(), which is the name of our error
 * function. Include it last. */
#ifndef POCKETLOAD_TESTS_CMOCKA_FIXED_H
#define POCKETLOAD_TESTS_CMOCKA_FIXED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail

/* Ends a test with a message: cmocka's own fail_msg calls the macro that is gone. */
#define fail_because(...) (print_error(__VA_ARGS__), print_error("\n"), _fail(__FILE__, __LINE__))

#endif
