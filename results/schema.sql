-- The database of runs, schema version 4. Sizes are bytes, times are nanoseconds of virtual time.
-- The columns of run are those of sim/record.c; docs and outputs use the same names.
-- IF NOT EXISTS: the tables that an older version has already stay (store_schema.c).

CREATE TABLE IF NOT EXISTS run (
    id INTEGER PRIMARY KEY, -- in the order of first storing
    run_key TEXT NOT NULL UNIQUE,
    experiment TEXT NOT NULL, -- that it was first run for; see member
    device TEXT NOT NULL,
    model TEXT NOT NULL,
    quant TEXT,
    workload TEXT NOT NULL,
    loader TEXT NOT NULL,
    policy TEXT NOT NULL,
    evict TEXT NOT NULL,
    pin TEXT NOT NULL,
    prefetch TEXT NOT NULL,
    budget_bytes INTEGER NOT NULL,
    seed INTEGER NOT NULL,
    outcome TEXT NOT NULL CHECK (outcome IN ('completed', 'killed', 'rejected', 'failed')),
    killed_by TEXT,
    killed_phase TEXT,
    tokens INTEGER NOT NULL,
    accesses INTEGER NOT NULL,
    hits INTEGER NOT NULL,
    delayed_hits INTEGER NOT NULL,
    misses INTEGER NOT NULL,
    hit_rate REAL,
    bytes_accessed INTEGER NOT NULL,
    byte_hit_rate REAL,
    evictions INTEGER NOT NULL,
    bytes_read INTEGER NOT NULL,
    bytes_prefetched INTEGER NOT NULL,
    bytes_prefetch_wasted INTEGER NOT NULL,
    major_faults INTEGER NOT NULL,
    minor_faults INTEGER NOT NULL,
    peak_memory_bytes INTEGER NOT NULL,
    peak_weights_bytes INTEGER NOT NULL,
    peak_kv_bytes INTEGER NOT NULL,
    peak_activation_bytes INTEGER NOT NULL,
    virtual_time_ns INTEGER NOT NULL,
    load_ns INTEGER NOT NULL,
    compute_ns INTEGER NOT NULL,
    stall_ns INTEGER NOT NULL,
    idle_ns INTEGER NOT NULL,
    ttft_ns INTEGER,
    tpot_mean_ns INTEGER,
    tpot_p50_ns INTEGER,
    tpot_p95_ns INTEGER,
    tpot_p99_ns INTEGER,
    tokens_per_s REAL,
    flash_busy_ns INTEGER NOT NULL,
    uncacheable INTEGER NOT NULL,
    bytes_prefetch_useful INTEGER NOT NULL,
    bytes_prefetch_late INTEGER NOT NULL,
    admit TEXT NOT NULL,
    note TEXT,
    refaults INTEGER NOT NULL,
    bytes_readahead_wasted INTEGER NOT NULL,
    peak_resident_bytes INTEGER NOT NULL,
    peak_footprint_bytes INTEGER NOT NULL,
    peak_file_bytes INTEGER NOT NULL,
    peak_page_tables_bytes INTEGER NOT NULL,
    peak_zram_bytes INTEGER NOT NULL,
    bytes_swapped_out INTEGER NOT NULL,
    bytes_swapped_in INTEGER NOT NULL,
    apps_killed INTEGER NOT NULL,
    kills TEXT,
    alloc_failures INTEGER NOT NULL,
    alloc_calls INTEGER NOT NULL,
    alloc_hole_failures INTEGER NOT NULL,
    alloc_ns INTEGER NOT NULL,
    alloc_compactions INTEGER NOT NULL,
    alloc_moved_bytes INTEGER NOT NULL,
    peak_internal_fragmentation_bytes INTEGER NOT NULL,
    peak_external_fragmentation_bytes INTEGER NOT NULL,
    least_hole_bytes INTEGER,
    load_10_ns INTEGER,
    load_50_ns INTEGER,
    load_90_ns INTEGER,
    load_100_ns INTEGER,
    first_layer_ns INTEGER,
    parse_ns INTEGER NOT NULL,
    stage_alloc_ns INTEGER NOT NULL,
    stage_init_ns INTEGER NOT NULL,
    bytes_warm INTEGER NOT NULL,
    turns INTEGER NOT NULL,
    restarts INTEGER NOT NULL,
    bytes_reclaimed INTEGER NOT NULL,
    drafted_tokens INTEGER NOT NULL,
    accepted_tokens INTEGER NOT NULL,
    turn_ttft_mean_ns INTEGER,
    turn_ttft_max_ns INTEGER,
    hot_at_ns INTEGER,
    hot_ns INTEGER NOT NULL,
    tokens_per_s_cold REAL,
    tokens_per_s_hot REAL,
    perplexity REAL,
    estimates TEXT,
    config TEXT NOT NULL,
    -- Runs with equal settings differ in experiment, seed, policy and budget only: the config's parts from device up to
    -- the policy, without loader.budget. Cut out as text, for SQLite trusts no JSON function in a schema.
    setting TEXT NOT NULL AS (
        substr(config, 1, instr(config, ',"experiment":')) || replace(
            substr(config, instr(config, '"device":'), instr(config, ',"policy":') - instr(config, '"device":')),
            '"budget":' || budget_bytes || ',', '')
    ) VIRTUAL,
    CHECK (accesses = hits + delayed_hits + misses),
    CHECK (virtual_time_ns = load_ns + compute_ns + stall_ns + idle_ns),
    CHECK (bytes_prefetched = bytes_prefetch_useful + bytes_prefetch_late + bytes_prefetch_wasted)
) STRICT;

-- Which experiments asked for a run: a run is computed and stored once, however many they are.
CREATE TABLE IF NOT EXISTS member (
    id INTEGER PRIMARY KEY, -- rises with each asking
    experiment TEXT NOT NULL,
    run_key TEXT NOT NULL,
    UNIQUE (experiment, run_key)
) STRICT;

CREATE TABLE IF NOT EXISTS token (
    run_key TEXT NOT NULL,
    token INTEGER NOT NULL,
    phase TEXT NOT NULL,
    latency_ns INTEGER NOT NULL,
    stall_ns INTEGER NOT NULL,
    accesses INTEGER NOT NULL,
    hits INTEGER NOT NULL,
    bytes_accessed INTEGER NOT NULL,
    bytes_read INTEGER NOT NULL,
    major_faults INTEGER NOT NULL, -- the chunked and read loaders take no faults
    minor_faults INTEGER NOT NULL,
    refaults INTEGER NOT NULL,
    bytes_readahead_wasted INTEGER NOT NULL,
    turn INTEGER NOT NULL, -- from 1 on; 0: the workload has no turns
    hot INTEGER NOT NULL, -- 1: begun while the device was hot
    PRIMARY KEY (run_key, token, phase)
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS sample (
    run_key TEXT NOT NULL,
    time_ns INTEGER NOT NULL,
    weights_bytes INTEGER NOT NULL,
    kv_bytes INTEGER NOT NULL,
    activation_bytes INTEGER NOT NULL,
    runtime_bytes INTEGER NOT NULL,
    streamed_bytes INTEGER NOT NULL, -- blocks read for the running step without being kept
    file_bytes INTEGER NOT NULL, -- pages of the mapped file
    page_tables_bytes INTEGER NOT NULL,
    os_bytes INTEGER NOT NULL,
    other_apps_bytes INTEGER NOT NULL,
    zram_bytes INTEGER NOT NULL, -- compressed pages, as they lie there
    in_flight_bytes INTEGER NOT NULL, -- of weights_bytes, what is reserved and not yet there
    free_bytes INTEGER NOT NULL,
    flash_bytes INTEGER NOT NULL,       -- moved since the start
    flash_bytes_per_s INTEGER NOT NULL, -- since the sample before
    swap_used_bytes INTEGER NOT NULL,   -- of zram, before compression
    internal_fragmentation_bytes INTEGER NOT NULL,
    external_fragmentation_bytes INTEGER NOT NULL,
    largest_hole_bytes INTEGER NOT NULL, -- of the allocator; 0 without one
    loaded_bytes INTEGER NOT NULL, -- of the weights, what has been in memory at least once
    heat REAL NOT NULL, -- of what makes the device hot, 1: it is
    PRIMARY KEY (run_key, time_ns)
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS block (
    run_key TEXT NOT NULL,
    block INTEGER NOT NULL,
    name TEXT NOT NULL,
    accesses INTEGER NOT NULL,
    hits INTEGER NOT NULL,
    loads INTEGER NOT NULL,
    evictions INTEGER NOT NULL,
    bytes_read INTEGER NOT NULL,
    PRIMARY KEY (run_key, block)
) STRICT, WITHOUT ROWID;

-- Other apps that the system killed, in order of time.
CREATE TABLE IF NOT EXISTS app_kill (
    run_key TEXT NOT NULL,
    n INTEGER NOT NULL, -- from 1 on
    time_ns INTEGER NOT NULL,
    app TEXT NOT NULL,
    adj INTEGER NOT NULL,
    bytes INTEGER NOT NULL, -- that it had
    rule TEXT NOT NULL,
    PRIMARY KEY (run_key, n)
) STRICT, WITHOUT ROWID;

-- What each process that mapped the file did.
CREATE TABLE IF NOT EXISTS process (
    run_key TEXT NOT NULL,
    process INTEGER NOT NULL, -- from 1 on
    major_faults INTEGER NOT NULL,
    minor_faults INTEGER NOT NULL,
    page_tables_bytes INTEGER NOT NULL, -- its page tables alone, at the end
    PRIMARY KEY (run_key, process)
) STRICT, WITHOUT ROWID;

-- The turns of a conversation: a prompt and its answer each.
CREATE TABLE IF NOT EXISTS turn (
    run_key TEXT NOT NULL,
    turn INTEGER NOT NULL, -- from 1 on
    restarted INTEGER NOT NULL, -- 1: the app was started anew before it
    start_ns INTEGER NOT NULL,
    idle_ns INTEGER NOT NULL, -- the pause before it
    ttft_ns INTEGER,
    latency_ns INTEGER NOT NULL,
    stall_ns INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    bytes_read INTEGER NOT NULL,
    bytes_reclaimed INTEGER NOT NULL, -- in the pause before it
    PRIMARY KEY (run_key, turn)
) STRICT, WITHOUT ROWID;

-- In the views a run appears once for each experiment that asked for it.
CREATE VIEW runs AS
SELECT run_key, member.experiment, device, model, quant, workload, loader, policy, budget_bytes / 1048576.0 AS budget_mib, seed,
    outcome, killed_by, killed_phase, tokens, hit_rate, ttft_ns / 1e9 AS ttft_s, tpot_mean_ns / 1e6 AS tpot_ms, tokens_per_s,
    CASE WHEN virtual_time_ns > 0 THEN 1.0 * (load_ns + stall_ns) / virtual_time_ns END AS waiting_share,
    CASE WHEN tokens > 0 THEN bytes_read / 1048576.0 / tokens END AS read_mib_per_token,
    peak_memory_bytes / 1048576.0 AS peak_memory_mib, virtual_time_ns / 1e9 AS virtual_time_s,
    major_faults, minor_faults, refaults, peak_resident_bytes / 1048576.0 AS peak_resident_mib,
    peak_footprint_bytes / 1048576.0 AS peak_footprint_mib, apps_killed,
    load_100_ns / 1e9 AS loaded_s, turn_ttft_mean_ns / 1e9 AS turn_ttft_s, tokens_per_s_cold, tokens_per_s_hot, perplexity,
    estimates
FROM run JOIN member USING (run_key) ORDER BY member.experiment, run.id;

-- Best first: completed before killed, then the least time per token, then the least time to the first token.
-- Places are among runs of one setting.
CREATE VIEW ranking AS
SELECT rank() OVER (
        PARTITION BY member.experiment, device, model, quant, workload, loader, setting, budget_bytes, seed
        ORDER BY outcome <> 'completed', tpot_mean_ns IS NULL, tpot_mean_ns, ttft_ns IS NULL, ttft_ns
    ) AS place, policy, budget_bytes / 1048576.0 AS budget_mib, hit_rate, ttft_ns / 1e9 AS ttft_s,
    tpot_mean_ns / 1e6 AS tpot_ms, tokens_per_s, outcome, member.experiment, device, model, quant, workload, loader, seed, run_key
FROM run JOIN member USING (run_key)
ORDER BY member.experiment, device, model, quant, workload, loader, setting, budget_bytes, seed, place, run.id;

CREATE VIEW tokens AS
SELECT member.experiment, run.device, run.model, run.quant, run.policy, run.budget_bytes, run.seed, token.*
FROM token JOIN run USING (run_key) JOIN member USING (run_key);

CREATE VIEW samples AS
SELECT member.experiment, run.device, run.model, run.quant, run.policy, run.budget_bytes, run.seed, sample.*
FROM sample JOIN run USING (run_key) JOIN member USING (run_key);

CREATE VIEW blocks AS
SELECT member.experiment, run.device, run.model, run.quant, run.policy, run.budget_bytes, run.seed, block.*
FROM block JOIN run USING (run_key) JOIN member USING (run_key);

CREATE VIEW app_kills AS
SELECT member.experiment, run.device, run.model, run.quant, run.policy, run.budget_bytes, run.seed, app_kill.*
FROM app_kill JOIN run USING (run_key) JOIN member USING (run_key);

CREATE VIEW turns AS
SELECT member.experiment, run.device, run.model, run.quant, run.policy, run.budget_bytes, run.seed, turn.*
FROM turn JOIN run USING (run_key) JOIN member USING (run_key);

CREATE VIEW processes AS
SELECT member.experiment, run.device, run.model, run.quant, run.policy, run.budget_bytes, run.seed, process.*
FROM process JOIN run USING (run_key) JOIN member USING (run_key);
