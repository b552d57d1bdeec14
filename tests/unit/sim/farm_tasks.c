/* The farm's parent against workers whose task runs foreign code: what it closes, starts, prints and sends. */
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "sim/farm_worker.h"
#include "tests/cmocka_fixed.h"

enum { TASKS = 4, FOREIGN = 1, DESCRIPTORS = 64, HURRY_S = 20 };

enum deed { CLOSES, STARTS, PRINTS, SENDS_ZEROS, SENDS_NO_TEXT, SENDS_NO_CODE, SENDS_NO_BOOL, ENDS };

struct seen {
    enum deed deed;
    _Atomic pid_t *started; /* by the foreign task; shared with the workers */
    unsigned good, lost, errors;
    char error[1024];
};

static int first_pipe_end; /* what the test itself has open lies below */

static void send(const void *data, size_t size)
{
    for (int fd = first_pipe_end; fd < DESCRIPTORS; fd++)
        if (write(fd, data, size) < 0)
            continue;
    for (;;)
        pause();
}

static void send_as_error(enum deed deed)
{
    struct farm_message message;
    memset(&message, deed == SENDS_NO_TEXT ? 'x' : 0, sizeof message);
    message.task = FOREIGN;
    message.size = 0;
    message.good = deed == SENDS_NO_BOOL ? 255 : 0;
    const int code = deed == SENDS_NO_TEXT ? STATUS_CHECK : 77;
    memcpy(&message.error.code, &code, sizeof code);
    send(&message, sizeof message);
}

static void do_deed(const struct seen *seen)
{
    static const char zeros[4096];
    if (seen->deed == CLOSES) {
        for (int fd = 0; fd < DESCRIPTORS; fd++)
            close(fd);
        for (;;)
            pause();
    }
    if (seen->deed == STARTS) {
        const pid_t pid = fork();
        if (pid == 0)
            for (;;)
                pause();
        *seen->started = pid;
    }
    if (seen->deed == PRINTS) {
        puts("a plug-in says");
        fflush(stdout);
    }
    if (seen->deed == ENDS)
        exit(0);
    if (seen->deed == SENDS_ZEROS)
        send(zeros, sizeof zeros);
    if (seen->deed == SENDS_NO_TEXT || seen->deed == SENDS_NO_CODE || seen->deed == SENDS_NO_BOOL)
        send_as_error(seen->deed);
}

static bool work(void *context, size_t task, struct farm_part parts[FARM_PARTS_MAX], struct error *err)
{
    (void)err;
    if (task == FOREIGN)
        do_deed(context);
    parts[0] = (struct farm_part){"done", 4};
    return true;
}

static bool take(void *context, const struct farm_outcome *outcome, struct error *err)
{
    (void)err;
    struct seen *seen = context;
    seen->good += outcome->error == NULL && outcome->size == 4 && memcmp(outcome->bytes, "done", 4) == 0;
    seen->errors += outcome->error != NULL;
    seen->lost += outcome->lost;
    if (outcome->error != NULL)
        strcpy(seen->error, outcome->error->text);
    return true;
}

static void run(struct seen *seen, unsigned jobs)
{
    const struct farm_tasks tasks = {.count = TASKS, .context = seen, .work = work, .take = take};
    const struct farm_options options = {.jobs = jobs};
    struct error err;
    bool stopped;
    alarm(HURRY_S); /* what a farm that waits without end is ended by */
    first_pipe_end = dup(STDERR_FILENO);
    close(first_pipe_end);
    assert_true(farm_do(&tasks, &options, &stopped, &err));
    alarm(0);
    assert_false(stopped);
}

static void a_deed_ends_its_task(void **unused)
{
    (void)unused;
    static const enum deed deeds[] = {CLOSES, SENDS_ZEROS, SENDS_NO_TEXT, SENDS_NO_CODE, SENDS_NO_BOOL};
    for (size_t i = 0; i < sizeof deeds / sizeof *deeds; i++)
        for (unsigned jobs = 1; jobs <= 2; jobs++) {
            struct seen seen = {.deed = deeds[i]};
            run(&seen, jobs);
            assert_int_equal(seen.errors, 1);
            assert_int_equal(seen.lost, 1);
            assert_int_equal(seen.good, TASKS - 1);
            assert_string_equal(seen.error, "the worker process closed its pipe, or sent what is no result");
        }
}

static void a_process_left_behind_is_not_waited_for(void **unused)
{
    (void)unused;
    _Atomic pid_t *started = mmap(NULL, sizeof *started, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(started != MAP_FAILED);
    struct seen seen = {.deed = STARTS, .started = started};
    run(&seen, 1);
    assert_int_equal(seen.good, TASKS);
    assert_true(*started > 0);
    kill(*started, SIGKILL);
    munmap(started, sizeof *started);
}

/* What stands in `stdout` when the farm starts, and what comes out of it altogether. */
static void stdout_is_the_parents(void **unused)
{
    (void)unused;
    for (unsigned ends = 0; ends < 2; ends++) {
        char path[] = "/tmp/pocketload-farm-XXXXXX", text[128] = "";
        const int file = mkstemp(path);
        fflush(stdout);
        const int kept = dup(STDOUT_FILENO);
        assert_true(file >= 0 && kept >= 0 && dup2(file, STDOUT_FILENO) >= 0);
        struct seen seen = {.deed = ends ? ENDS : PRINTS};
        fputs("a record\n", stdout);
        run(&seen, 1);
        fflush(stdout);
        dup2(kept, STDOUT_FILENO);
        close(kept);
        assert_true(pread(file, text, sizeof text - 1, 0) >= 0);
        close(file);
        unlink(path);
        assert_string_equal(text, "a record\n");
        assert_int_equal(seen.good, ends ? TASKS - 1 : TASKS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_deed_ends_its_task),
        cmocka_unit_test(a_process_left_behind_is_not_waited_for),
        cmocka_unit_test(stdout_is_the_parents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
