/* The database as a file: opening, identity, journal mode. */
#include "results/store_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "results/store_schema.h"

enum {
    BUSY_MS = 30000,    /* a writer holds the file for milliseconds; half a minute means that something hangs */
    ENTER_MS = 50,      /* a reader's wait in one attempt at entering WAL */
    ATTEMPT_MS = 5,     /* pause between two attempts at what SQLite's busy handler does not wait for */
    LEAVE_ATTEMPTS = 12 /* at leaving WAL beside other closers; a writer that stays will leave it itself */
};

char *store_file_path(const char *path)
{
    const bool plain = path[0] == '/' || path[0] == '.';
    char *out = malloc(strlen(path) + 3);
    if (out)
        sprintf(out, "%s%s", plain ? "" : "./", path);
    return out;
}

static const char *reason(sqlite3 *db, char *buffer, size_t size)
{
    const int code = sqlite3_extended_errcode(db);
    const int system = sqlite3_system_errno(db);
    const char *what = "input or output failed";
    switch (code & 0xFF) {
    case SQLITE_NOTADB:
        return "not a SQLite database";
    case SQLITE_FULL:
        return "no space left on the disk";
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return "another program keeps it locked";
    case SQLITE_READONLY:
        return "it is read-only";
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
        return system != 0 ? strerror(system) : "cannot be opened";
    case SQLITE_IOERR:
        if (code == SQLITE_IOERR_WRITE || code == SQLITE_IOERR_FSYNC || code == SQLITE_IOERR_TRUNCATE)
            what = "writing failed";
        else if (code == SQLITE_IOERR_READ || code == SQLITE_IOERR_SHORT_READ)
            what = "reading failed";
        snprintf(buffer, size, "%s (SQLite %d)%s%s", what, code, system != 0 ? ": " : "",
                 system != 0 ? strerror(system) : "");
        return buffer;
    default:
        return sqlite3_errmsg(db);
    }
}

bool store_file_fail(const char *path, sqlite3 *db, const char *doing, struct error *err)
{
    char buffer[256];
    return fail(err, STATUS_IO, "%s: %s: %s", path, doing, db ? reason(db, buffer, sizeof buffer) : "out of memory");
}

/* The file as a URI that touches nothing: no lock, no journal, no -wal. */
static char *immutable_uri(const char *path)
{
    char *uri = malloc(3 * strlen(path) + 64);
    if (!uri)
        return NULL;
    char *end = uri + sprintf(uri, "file:%s", path[0] == '/' ? "//" : "");
    for (; *path != '\0'; path++)
        end += sprintf(end, strchr("/._-", *path) ? "%c" : "%%%02x", (unsigned char)*path);
    strcpy(end, "?mode=ro&immutable=1");
    return uri;
}

/* Application and version by the file's header alone (SQLite's file format, section 1.3: the magic, user_version at
 * byte 60, application_id at byte 68, big-endian). Without a lock, anything further may be half of what another process
 * is just writing. False when the header is not that of a database of ours. */
static bool read_header(sqlite3 *db, struct store_identity *id)
{
    sqlite3_file *file = NULL;
    unsigned char head[100];
    if (sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK || !file || !file->pMethods ||
        file->pMethods->xRead(file, head, sizeof head, 0) != SQLITE_OK || memcmp(head, "SQLite format 3", 16) != 0)
        return false;
    uint32_t fields[2] = {0, 0};
    for (int i = 0; i < 4; i++) {
        fields[0] = fields[0] << 8 | head[60 + i];
        fields[1] = fields[1] << 8 | head[68 + i];
    }
    *id = (struct store_identity){.application = fields[1], .version = fields[0]};
    return id->application == STORE_APPLICATION_ID;
}

/* Looks at a stranger's file before it is opened in earnest, which would replay its journal or make files beside it. A
 * connection of its own, rather than read(2): closing a descriptor would drop this process's locks on the file. */
static bool preflight(const char *path, struct error *err)
{
    char *uri = immutable_uri(path);
    if (!uri)
        return fail(err, STATUS_IO, "%s: out of memory", path);
    sqlite3 *db = NULL;
    struct store_identity id;
    const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    bool ok = sqlite3_open_v2(uri, &db, flags, NULL) == SQLITE_OK && (read_header(db, &id) || store_identify(db, &id));
    if (!ok)
        store_file_fail(path, db, "cannot read", err);
    else
        ok = store_is_empty(&id) || store_check(path, &id, err);
    sqlite3_close(db);
    free(uri);
    return ok;
}

/* Makes the folders above the file. */
static bool make_parents(const char *path, struct error *err)
{
    char *copy = strdup(path);
    if (!copy)
        return fail(err, STATUS_IO, "%s: out of memory", path);
    bool ok = true;
    for (char *slash = strchr(copy + 1, '/'); ok && slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(copy, 0777) != 0 && errno != EEXIST)
            ok = fail(err, STATUS_IO, "%s: cannot make the folder %s: %s", path, copy, strerror(errno));
        *slash = '/';
    }
    free(copy);
    return ok;
}

/* Is there something that can be a database? *absent: nothing is there. */
static bool check_kind(const char *path, bool write, bool *absent, struct error *err)
{
    struct stat status;
    *absent = false;
    if (stat(path, &status) != 0) {
        if (errno != ENOENT || !write)
            return fail(err, STATUS_IO, "%s: cannot open: %s", path, strerror(errno));
        *absent = true;
        return make_parents(path, err);
    }
    if (S_ISDIR(status.st_mode))
        return fail(err, STATUS_IO, "%s: is a folder, expected a database file", path);
    if (!S_ISREG(status.st_mode))
        return fail(err, STATUS_IO, "%s: not a regular file, expected a database file", path);
    return status.st_size == 0 || preflight(path, err);
}

static bool configure(sqlite3 *db)
{
    return sqlite3_busy_timeout(db, BUSY_MS) == SQLITE_OK &&
           sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL) == SQLITE_OK &&
           sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL) == SQLITE_OK;
}

/* A different pause in each process, so that two that wait for each other get out of step. */
static void pause_a_little(int attempt)
{
    const long spread = (long)getpid() * 7919 % 1000;
    const struct timespec pause = {.tv_nsec = (ATTEMPT_MS * 1000L + spread * (attempt + 1) * 10) * 1000L};
    nanosleep(&pause, NULL);
}

/* Beside another that changes the mode SQLite answers "busy" at once, without its busy handler; beside a reader it
 * waits each time. When the time is over, rollback mode does: it takes a transaction a run too, but needs synchronous =
 * FULL, the default. In WAL, NORMAL loses at most the last runs when the power fails, and nothing when the process
 * dies. */
static bool enter_wal(sqlite3 *db)
{
    const int64_t deadline_ns = wall_clock_ns() + BUSY_MS * INT64_C(1000000);
    int code, attempt = 0;
    sqlite3_busy_timeout(db, ENTER_MS);
    while (((code = sqlite3_exec(db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL)) & 0xFF) == SQLITE_BUSY &&
           wall_clock_ns() < deadline_ns)
        pause_a_little(attempt++ % 10);
    sqlite3_busy_timeout(db, BUSY_MS);
    if (code == SQLITE_OK)
        code = sqlite3_exec(db, "PRAGMA synchronous = NORMAL", NULL, NULL, NULL);
    return code == SQLITE_OK || (code & 0xFF) == SQLITE_BUSY;
}

static bool prepare(const char *path, sqlite3 *db, bool write, const char *sql, struct error *err)
{
    struct store_identity id;
    if (!configure(db) || !store_identify(db, &id))
        return store_file_fail(path, db, "cannot open", err);
    if (write && sqlite3_db_readonly(db, "main") == 1)
        return fail(err, STATUS_IO, "%s: cannot write: it is read-only", path);
    if (write && store_is_empty(&id)) {
        if (!store_create(path, db, sql, err))
            return false;
        if (!store_identify(db, &id))
            return store_file_fail(path, db, "cannot open", err);
    }
    if (!store_check(path, &id, err) || !store_migrate(path, db, &id, sql, err))
        return false;
    if (write && !enter_wal(db))
        return store_file_fail(path, db, "cannot write", err);
    if (!write && sqlite3_exec(db, "PRAGMA query_only = ON", NULL, NULL, NULL) != SQLITE_OK)
        return store_file_fail(path, db, "cannot open", err);
    return true;
}

/* Readers ask for writing too: without it a killed writer's -wal could not be replayed. SQLite opens a file that may
 * not be written for reading. */
static int open_connection(const char *path, bool create, sqlite3 **db)
{
    return sqlite3_open_v2(
        path, db,
        SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0) | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
}

/* Why a new file could not be made. SQLite tries once more without making it, and so forgets the reason. */
static bool fail_new(const char *path, sqlite3 *db, struct error *err)
{
    const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0)
        return fail(err, STATUS_IO, "%s: cannot create: %s", path, strerror(errno));
    close(fd);
    unlink(path);
    return store_file_fail(path, db, "cannot create", err);
}

bool store_file_open(const char *path, bool write, const char *sql, sqlite3 **db, struct error *err)
{
    bool absent;
    *db = NULL;
    if (!check_kind(path, write, &absent, err))
        return false;
    bool ok = open_connection(path, write, db) == SQLITE_OK ||
              (absent ? fail_new(path, *db, err) : store_file_fail(path, *db, "cannot open", err));
    if (ok && prepare(path, *db, write, sql, err))
        return true;
    sqlite3_close(*db);
    *db = NULL;
    struct stat status;
    if (absent && stat(path, &status) == 0 && status.st_size == 0)
        unlink(path);
    return false;
}

/* "path-wal" or "path-shm"; size of the file in *size. */
static bool find_beside(const char *path, const char *suffix, char **name, int64_t *size)
{
    struct stat status;
    *name = malloc(strlen(path) + strlen(suffix) + 1);
    if (!*name)
        return false;
    sprintf(*name, "%s%s", path, suffix);
    const bool found = stat(*name, &status) == 0;
    *size = found ? status.st_size : 0;
    return found;
}

static bool has_wal(const char *path)
{
    char *name;
    int64_t size;
    const bool found = find_beside(path, "-wal", &name, &size);
    free(name);
    return found;
}

/* One that opens at the moment at which another leaves WAL makes an empty -wal and its -shm, which nobody uses and
 * SQLite leaves behind. With the exclusive lock in rollback mode nobody can be about to use them. */
static void sweep(const char *path, sqlite3 *db)
{
    char *wal, *shm;
    int64_t wal_size, shm_size, rollback_mode;
    if (find_beside(path, "-wal", &wal, &wal_size) && wal_size == 0 &&
        sqlite3_exec(db, "BEGIN EXCLUSIVE", NULL, NULL, NULL) == SQLITE_OK) {
        const char *sql = "SELECT journal_mode = 'delete' FROM pragma_journal_mode";
        if (store_query_integer(db, sql, &rollback_mode) && rollback_mode) {
            if (find_beside(path, "-shm", &shm, &shm_size))
                unlink(shm);
            free(shm);
            unlink(wal);
        }
        sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    }
    free(wal);
}

/* True when the file is out of WAL, or another connection is still in it. */
static bool leave_wal(const char *path, sqlite3 *db, struct error *err)
{
    sqlite3_busy_timeout(db, ATTEMPT_MS);
    sqlite3_exec(db, "PRAGMA query_only = OFF", NULL, NULL, NULL);
    const int code = sqlite3_exec(db, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL);
    if (code == SQLITE_OK)
        sweep(path, db);
    return code == SQLITE_OK || (code & 0xFF) == SQLITE_BUSY ||
           store_file_fail(path, db, "cannot finish (runs may be left in its -wal)", err);
}

/* Two that close at the same moment each see the other and leave the work to it, and one that opens while another
 * leaves makes an empty -wal: so look again after closing. */
bool store_file_close(const char *path, sqlite3 *db, struct error *err)
{
    for (int attempt = 0;; attempt++) {
        const bool read_only = sqlite3_db_readonly(db, "main") == 1;
        const bool ok = read_only || leave_wal(path, db, err);
        if (sqlite3_close(db) != SQLITE_OK)
            return fail(err, STATUS_IO, "%s: cannot close: statements are still open", path);
        if (!ok)
            return false;
        if (read_only || attempt >= LEAVE_ATTEMPTS || !has_wal(path))
            return true;
        pause_a_little(attempt);
        if (open_connection(path, false, &db) != SQLITE_OK || !configure(db)) {
            store_file_fail(path, db, "cannot finish", err);
            sqlite3_close(db);
            return false;
        }
    }
}
