/* A real walk of a real mapped file, for tests/kernel/check: touches one byte of each page (or of one page each stride)
 * of blocks in a given order, and counts the kernel's faults.
 *
 *   walk FILE ADVICE BLOCK_BYTES STRIDE_BYTES ORDER GROUP
 *
 * ADVICE is normal, sequential or random. ORDER is a file of block numbers; one line is one pass. GROUP is the folder
 * of the control group, v1 or v2, in which the process runs: what it uses is read right before the first touch. Prints
 * that number of bytes, then a line for each pass: major faults, minor faults, nanoseconds. The file has to be out of
 * the page cache before. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ARGUMENTS = 7, PASSES_MAX = 1024, ORDER_MAX = 1 << 20, PATH_BYTES = 512, STATISTICS_MAX = 1 << 14 };
enum { TOUCHES_BETWEEN = 32 }; /* two looks at the statistics */

/* The group's files. They stay open, and the buffers that the kernel has for each are part of the use from before the
 * walk to its end. */
struct group {
    int statistics;  /* memory.stat */
    int use, giving; /* memory.usage_in_bytes and memory.force_empty of v1; -1 in v2 */
};

struct walk {
    const volatile unsigned char *bytes;
    uint64_t size, block, stride;
    char *order;
    struct group group;
    unsigned touches;
};

struct pass {
    long major, minor;
    int64_t ns;
};

_Noreturn static void die(const char *what)
{
    fprintf(stderr, "walk: %s: %s\n", what, errno != 0 ? strerror(errno) : "not understood");
    exit(1);
}

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = calloc(1, ORDER_MAX + 1);
    if (file == NULL || text == NULL)
        die(path);
    size_t size = fread(text, 1, ORDER_MAX, file);
    if (ferror(file) || size == 0 || size == ORDER_MAX)
        die(path);
    fclose(file);
    return text;
}

static uint64_t number(const char *text)
{
    char *end;
    errno = 0;
    uint64_t value = strtoull(text, &end, 10);
    if (errno != 0 || end == text || (*end != '\0' && *end != '\n'))
        die(text);
    return value;
}

static int open_in(const char *group, const char *name, int flags)
{
    char path[PATH_BYTES];
    int length = snprintf(path, sizeof path, "%s/%s", group, name);
    if (length < 0 || length >= PATH_BYTES)
        die(group);
    return open(path, flags | O_CLOEXEC);
}

static void group_open(const char *name, struct group *group)
{
    group->statistics = open_in(name, "memory.stat", O_RDONLY);
    group->use = open_in(name, "memory.usage_in_bytes", O_RDONLY);
    group->giving = open_in(name, "memory.force_empty", O_WRONLY);
    if (group->statistics < 0)
        die("memory.stat");
}

/* The text of one of these files: in memory that is there from the first call on. */
static const char *group_read(int file)
{
    static char text[STATISTICS_MAX];
    ssize_t got = pread(file, text, sizeof text - 1, 0);
    if (got <= 0)
        die("the control group");
    text[got] = '\0';
    return text;
}

/* What the group uses. The kernel charges memory in batches that a processor keeps to itself (MEMCG_CHARGE_BATCH), so
 * the plain counter is up to 63 pages a processor too high. In v1 force_empty gives these back first; v2 has the parts
 * that make up the use, which are exact. */
static uint64_t group_use(const struct group *group)
{
    static const char *const parts[] = {"anon ", "file ", "kernel "};
    uint64_t sum = 0;
    if (group->use >= 0 && group->giving >= 0) {
        if (write(group->giving, "0", 1) != 1 && errno != EBUSY) /* EBUSY: the process itself is there */
            die("memory.force_empty");
        return number(group_read(group->use));
    }
    const char *text = group_read(group->statistics);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *line = strstr(text, parts[i]);
        while (line != NULL && line != text && line[-1] != '\n')
            line = strstr(line + 1, parts[i]);
        if (line == NULL)
            die(parts[i]);
        sum += strtoull(line + strlen(parts[i]), NULL, 10);
    }
    return sum;
}

static int advice_of(const char *name)
{
    if (strcmp(name, "normal") == 0)
        return MADV_NORMAL;
    if (strcmp(name, "sequential") == 0)
        return MADV_SEQUENTIAL;
    if (strcmp(name, "random") == 0)
        return MADV_RANDOM;
    errno = 0;
    die(name);
}

static void map_file(const char *path, int advice, struct walk *walk)
{
    struct stat status;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &status) != 0)
        die(path);
    walk->size = (uint64_t)status.st_size;
    void *bytes = mmap(NULL, walk->size, PROT_READ, MAP_SHARED, file, 0);
    if (bytes == MAP_FAILED || madvise(bytes, walk->size, advice) != 0)
        die(path);
    close(file);
    walk->bytes = bytes;
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Touches the blocks of one line and puts in `pass` what that cost. */
static void make_pass(struct walk *walk, char *line, struct pass *pass)
{
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    int64_t start = now_ns();
    for (char *word; (word = strsep(&line, " ")) != NULL;) {
        if (word[0] == '\0')
            continue;
        uint64_t at = number(word) * walk->block, end = at + walk->block;
        if (end > walk->size)
            die("a block behind the end of the file");
        for (; at < end; at += walk->stride) {
            (void)walk->bytes[at];
            if (++walk->touches % TOUCHES_BETWEEN == 0)
                group_read(walk->group.statistics);
        }
    }
    pass->ns = now_ns() - start;
    getrusage(RUSAGE_SELF, &after);
    pass->major = after.ru_majflt - before.ru_majflt;
    pass->minor = after.ru_minflt - before.ru_minflt;
}

int main(int argc, char **argv)
{
    static struct pass passes[PASSES_MAX];
    struct walk walk = {0};
    if (argc != ARGUMENTS) {
        fputs("usage: walk FILE ADVICE BLOCK_BYTES STRIDE_BYTES ORDER GROUP\n", stderr);
        return 2;
    }
    walk.block = number(argv[3]);
    walk.stride = number(argv[4]);
    char *rest = walk.order = read_text(argv[5]);
    if (walk.block == 0 || walk.stride == 0)
        die("0 bytes");
    /* All that the process itself needs is there before the use is read: what comes after is the file's. */
    memset(passes, 1, sizeof passes);
    group_open(argv[6], &walk.group);
    group_read(walk.group.statistics);
    group_use(&walk.group);
    map_file(argv[1], advice_of(argv[2]), &walk);
    const uint64_t use = group_use(&walk.group);
    size_t count = 0;
    for (char *line; (line = strsep(&rest, "\n")) != NULL && line[0] != '\0' && count < PASSES_MAX;)
        make_pass(&walk, line, &passes[count++]);
    printf("%" PRIu64 "\n", use);
    for (size_t i = 0; i < count; i++)
        printf("%ld %ld %" PRId64 "\n", passes[i].major, passes[i].minor, passes[i].ns);
    return 0;
}
