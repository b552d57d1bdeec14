/* Sentences about memory. */
#include "results/memory_words.h"

#include <inttypes.h>

#include "base/units.h"
#include "results/text.h"

const char *memory_words(const struct run_record *record, char out[MEMORY_WORDS])
{
    const struct run_numbers *n = &record->numbers;
    char read[UNITS_TEXT], wasted[UNITS_TEXT], resident[UNITS_TEXT], footprint[UNITS_TEXT], file[UNITS_TEXT];
    out[0] = '\0';
    if (n->outcome == OUTCOME_FAILED || n->peak_file_bytes == 0)
        return out;
    snprintf(out, MEMORY_WORDS,
             "%" PRIu64 " major and %" PRIu64 " minor faults, %" PRIu64 " pages came back; %s read, %s of it in vain; "
             "peaks: %s resident, %s of it the file, %s footprint",
             n->major_faults, n->minor_faults, n->refaults, format_bytes(n->bytes_read, read),
             format_bytes(n->bytes_readahead_wasted, wasted), format_bytes(n->peak_resident_bytes, resident),
             format_bytes(n->peak_file_bytes, file), format_bytes(n->peak_footprint_bytes, footprint));
    return out;
}

const char *process_words(const struct run_record *record, char out[PROCESS_WORDS])
{
    const struct run_numbers *n = &record->numbers;
    size_t used = 0;
    out[0] = '\0';
    if (n->outcome == OUTCOME_FAILED || n->peak_file_bytes == 0 || n->process_count < 2)
        return out;
    for (uint32_t i = 0; i < n->process_count; i++) {
        const struct page_process_counts *p = &n->processes[i];
        char tables[UNITS_TEXT];
        used += (size_t)snprintf(
            out + used, PROCESS_WORDS - used,
            "%sprocess %" PRIu32 ": %" PRIu64 " major and %" PRIu64 " minor faults, %s of page tables",
            i > 0 ? "; " : "", i + 1, p->major_faults, p->minor_faults, format_bytes(p->table_bytes, tables));
        must(used < PROCESS_WORDS);
    }
    return out;
}

const char *swap_words(const struct run_record *record, char out[SWAP_WORDS])
{
    const struct run_numbers *n = &record->numbers;
    char gone[UNITS_TEXT], back[UNITS_TEXT], peak[UNITS_TEXT];
    out[0] = '\0';
    if (n->outcome != OUTCOME_FAILED && n->bytes_swapped_out > 0)
        snprintf(out, SWAP_WORDS, "swap, of all apps: %s compressed, %s of it brought back; it took %s at most",
                 format_bytes(n->bytes_swapped_out, gone), format_bytes(n->bytes_swapped_in, back),
                 format_bytes(n->peak_zram_bytes, peak));
    return out;
}

const char *kill_words(const struct run_record *record, char out[KILL_WORDS])
{
    const uint64_t count = record->numbers.apps_killed;
    out[0] = '\0';
    if (count > 0 && record->numbers.outcome != OUTCOME_FAILED)
        snprintf(out, KILL_WORDS, "%" PRIu64 " app%s killed: %s", count, count == 1 ? " was" : "s were",
                 record->kills ? record->kills : "");
    return out;
}

bool memory_print_words(FILE *file, const struct run_record *record, bool named)
{
    char words[MEMORY_WORDS], processes[PROCESS_WORDS], swap[SWAP_WORDS], kills[KILL_WORDS];
    const char *name = named ? record->policy : NULL;
    return text_named_line(file, name, memory_words(record, words)) &&
           text_named_line(file, name, process_words(record, processes)) &&
           text_named_line(file, name, swap_words(record, swap)) &&
           text_named_line(file, name, kill_words(record, kills));
}
