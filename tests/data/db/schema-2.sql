BEGIN TRANSACTION;
CREATE TABLE "_sqlite_migrations" (
   "id" INTEGER PRIMARY KEY,
   "migration_set" TEXT,
   "name" TEXT,
   "applied_at" TEXT
);
INSERT INTO "_sqlite_migrations" VALUES(1,'adminkit','m001_trace','2026-01-01 00:00:00+00:00');
INSERT INTO "_sqlite_migrations" VALUES(2,'adminkit','m002_months','2026-01-01 00:00:00+00:00');
CREATE TABLE action (
    at INTEGER NOT NULL, host TEXT, who TEXT, what TEXT, generation TEXT, line TEXT NOT NULL UNIQUE
) STRICT
;
INSERT INTO "action" VALUES(1500010000,'head','root','policy install','3f2a9c01d2e4','{}');
CREATE TABLE fact (
    cluster TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, at INTEGER NOT NULL,
    PRIMARY KEY (cluster, key)
) STRICT
;
INSERT INTO "fact" VALUES('alpha','dbd_started','1500000000',1500010000);
CREATE TABLE forgotten (mark TEXT PRIMARY KEY, person TEXT NOT NULL, at INTEGER NOT NULL) STRICT, WITHOUT ROWID
;
INSERT INTO "forgotten" VALUES('7777777777777777777777777777777777777777777777777777777777777777','person:fedcba9876543210',1500010000);
CREATE TABLE gpu_untracked (
    cluster TEXT NOT NULL, queue TEXT NOT NULL, since INTEGER NOT NULL, until INTEGER NOT NULL,
    PRIMARY KEY (cluster, queue, since)
) STRICT
;
CREATE TABLE gpu_untyped (
    cluster TEXT NOT NULL, queue TEXT NOT NULL, since INTEGER NOT NULL, until INTEGER NOT NULL,
    PRIMARY KEY (cluster, queue, since)
) STRICT
;
CREATE TABLE gpu_words (
    cluster TEXT NOT NULL, words TEXT NOT NULL, kind TEXT,
    slices INTEGER, shards INTEGER, mps INTEGER, equivalents REAL,
    PRIMARY KEY (cluster, words)
) STRICT
;
CREATE TABLE job (
    cluster TEXT NOT NULL, job_id_raw INTEGER NOT NULL, submit_time INTEGER NOT NULL,
    source TEXT NOT NULL DEFAULT 'text', audited TEXT, seen_open INTEGER, db_index INTEGER,
    job_id TEXT, array_job INTEGER, array_task INTEGER, array_tasks INTEGER, het_job INTEGER, het_offset INTEGER,
    user TEXT, uid INTEGER, "group" TEXT, account TEXT, queue TEXT, qos TEXT, job_name TEXT,
    state TEXT, cancelled_by INTEGER, reason TEXT,
    exit_code INTEGER, exit_signal INTEGER, derived_exit_code INTEGER,
    priority INTEGER, flags TEXT, restarts INTEGER,
    eligible_time INTEGER, start_time INTEGER, end_time INTEGER, elapsed INTEGER, suspended INTEGER,
    time_limit INTEGER, limit_kind TEXT NOT NULL DEFAULT 'unknown',
    limit_source TEXT NOT NULL DEFAULT 'unknown', limit_original INTEGER,
    ext_asked INTEGER, ext_limit INTEGER, ext_times INTEGER,
    ckpt_at INTEGER, ckpt_heard INTEGER, ckpt_requeues INTEGER, ckpt_end TEXT,
    req_nodes INTEGER, req_cpus INTEGER, req_gpus INTEGER, req_gpu_parts TEXT, req_mem INTEGER,
    nodes INTEGER, cpus INTEGER, gpus INTEGER, gpu_type TEXT, gpu_parts TEXT, mem INTEGER, node_list TEXT,
    cpu_time REAL, max_rss INTEGER, disk_read INTEGER, disk_write INTEGER, energy INTEGER,
    admin_comment TEXT,
    submitted_by TEXT, ckpt_asked INTEGER, program TEXT, framework TEXT, container TEXT, fingerprint INTEGER
) STRICT
;
INSERT INTO "job" VALUES('alpha',1,1500000000,'slurmdbd',NULL,NULL,NULL,'1',NULL,NULL,NULL,NULL,NULL,'user1',NULL,'group1',NULL,'gq',NULL,NULL,'COMPLETED',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1500000060,1500003660,3600,NULL,259200,'finite','unknown',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE job_aside (
    why TEXT NOT NULL, aside_at INTEGER NOT NULL,
    cluster TEXT NOT NULL, job_id_raw INTEGER NOT NULL, submit_time INTEGER NOT NULL,
    source TEXT NOT NULL DEFAULT 'text', audited TEXT, seen_open INTEGER, db_index INTEGER,
    job_id TEXT, array_job INTEGER, array_task INTEGER, array_tasks INTEGER, het_job INTEGER, het_offset INTEGER,
    user TEXT, uid INTEGER, "group" TEXT, account TEXT, queue TEXT, qos TEXT, job_name TEXT,
    state TEXT, cancelled_by INTEGER, reason TEXT,
    exit_code INTEGER, exit_signal INTEGER, derived_exit_code INTEGER,
    priority INTEGER, flags TEXT, restarts INTEGER,
    eligible_time INTEGER, start_time INTEGER, end_time INTEGER, elapsed INTEGER, suspended INTEGER,
    time_limit INTEGER, limit_kind TEXT NOT NULL DEFAULT 'unknown',
    limit_source TEXT NOT NULL DEFAULT 'unknown', limit_original INTEGER,
    ext_asked INTEGER, ext_limit INTEGER, ext_times INTEGER,
    ckpt_at INTEGER, ckpt_heard INTEGER, ckpt_requeues INTEGER, ckpt_end TEXT,
    req_nodes INTEGER, req_cpus INTEGER, req_gpus INTEGER, req_gpu_parts TEXT, req_mem INTEGER,
    nodes INTEGER, cpus INTEGER, gpus INTEGER, gpu_type TEXT, gpu_parts TEXT, mem INTEGER, node_list TEXT,
    cpu_time REAL, max_rss INTEGER, disk_read INTEGER, disk_write INTEGER, energy INTEGER,
    admin_comment TEXT,
    submitted_by TEXT, ckpt_asked INTEGER, program TEXT, framework TEXT, container TEXT, fingerprint INTEGER
) STRICT
;
CREATE TABLE ledger (
    n INTEGER PRIMARY KEY, billed TEXT NOT NULL, kind TEXT NOT NULL,
    cluster TEXT, job_id_raw INTEGER, submit_time INTEGER, last_submit INTEGER, runs INTEGER NOT NULL,
    period TEXT NOT NULL, seconds INTEGER NOT NULL, person TEXT, account TEXT,
    amount TEXT NOT NULL, unit TEXT NOT NULL, scheme TEXT NOT NULL, at INTEGER NOT NULL,
    previous TEXT NOT NULL, hash TEXT NOT NULL UNIQUE,
    CHECK (CASE kind
        WHEN 'close' THEN cluster IS NULL AND job_id_raw IS NULL AND person IS NULL
        WHEN 'charge' THEN period = billed AND job_id_raw IS NOT NULL AND person IS NOT NULL
        WHEN 'late' THEN period < billed AND job_id_raw IS NOT NULL AND person IS NOT NULL
        WHEN 'correction' THEN job_id_raw IS NOT NULL AND person IS NOT NULL
        ELSE FALSE END)
) STRICT
;
INSERT INTO "ledger" VALUES(1,'2017-07','charge','alpha',1,1500000000,1500000000,1,'2017-07',3600,'person:0123456789abcdef','vision','1.00','points','9f86d081',1501600000,'0000000000000000000000000000000000000000000000000000000000000000','5555555555555555555555555555555555555555555555555555555555555555');
CREATE TABLE ledger_scheme (scheme TEXT PRIMARY KEY, name TEXT NOT NULL, text TEXT NOT NULL, at INTEGER NOT NULL) STRICT
;
INSERT INTO "ledger_scheme" VALUES('9f86d081','actual','{}',1501600000);
CREATE TABLE load (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, source TEXT NOT NULL, cluster TEXT,
    started_at INTEGER NOT NULL, seconds REAL NOT NULL,
    rows INTEGER NOT NULL, new INTEGER NOT NULL, changed INTEGER NOT NULL, rejected INTEGER NOT NULL,
    skipped INTEGER NOT NULL
) STRICT
;
INSERT INTO "load" VALUES(1,'sync','sacct','alpha',1500010000,0.5,1,1,0,0,0);
CREATE TABLE month_file (
    cluster TEXT NOT NULL, month TEXT NOT NULL, name TEXT NOT NULL, token TEXT NOT NULL, shape TEXT NOT NULL,
    rows INTEGER, size INTEGER, sha256 TEXT, inode INTEGER, changed INTEGER, written_at INTEGER,
    PRIMARY KEY (cluster, month, name)
) STRICT, WITHOUT ROWID
;
INSERT INTO "month_file" VALUES('alpha','2017-07','run','0123456789abcdef','fedcba9876543210',1,9000,'9999999999999999999999999999999999999999999999999999999999999999',77,1500010000000000000,1500010000);
CREATE TABLE node (
    cluster TEXT NOT NULL, node TEXT NOT NULL, since INTEGER NOT NULL, present INTEGER NOT NULL,
    cpus INTEGER, mem INTEGER, gpus INTEGER, gpu_types TEXT, gpu_shares TEXT, features TEXT, queues TEXT,
    PRIMARY KEY (cluster, node, since)
) STRICT
;
INSERT INTO "node" VALUES('alpha','n1',1500010000,1,40,274877906944,4,'a100:4','shard:16','ib','gq');
CREATE TABLE node_event (
    cluster TEXT NOT NULL, node TEXT NOT NULL, start_time INTEGER NOT NULL, end_time INTEGER,
    state TEXT NOT NULL, reason TEXT, user TEXT, uid INTEGER,
    PRIMARY KEY (cluster, node, start_time)
) STRICT
;
INSERT INTO "node_event" VALUES('alpha','n1',1500000000,1500003600,'DRAIN','disk','root',0);
CREATE TABLE outbox (
    cluster TEXT NOT NULL, run TEXT NOT NULL, kind TEXT NOT NULL,
    until INTEGER NOT NULL, language TEXT NOT NULL, address TEXT NOT NULL,
    user TEXT, uid INTEGER,
    job_id_raw INTEGER, submit_time INTEGER, is_array INTEGER, job_name TEXT,
    week TEXT, since INTEGER, notes TEXT,
    state TEXT NOT NULL, attempts INTEGER NOT NULL DEFAULT 0, copy INTEGER NOT NULL DEFAULT 0,
    due_at INTEGER NOT NULL, next_at INTEGER NOT NULL, claimed_at INTEGER, sent_at INTEGER, said TEXT,
    PRIMARY KEY (cluster, run, kind),
    CHECK (CASE kind
        WHEN 'end' THEN user IS NOT NULL AND uid IS NOT NULL
            AND job_id_raw IS NOT NULL AND submit_time IS NOT NULL AND is_array IS NOT NULL
        WHEN 'digest' THEN user IS NOT NULL AND uid IS NOT NULL AND week IS NOT NULL AND since IS NOT NULL
        WHEN 'statement' THEN user IS NOT NULL AND uid IS NOT NULL AND week IS NOT NULL AND since IS NOT NULL
        WHEN 'operator' THEN week IS NOT NULL AND since IS NOT NULL
        WHEN 'budget' THEN week IS NOT NULL AND since IS NOT NULL
        ELSE FALSE END)
) STRICT
;
INSERT INTO "outbox" VALUES('alpha','1@1500000000','end',1500003660,'en','user1@example.org','user1',1001,1,1500000000,0,'train',NULL,NULL,NULL,'sent',1,0,1500004000,1500004000,1500004001,1500004002,'ok');
CREATE TABLE person (
    person TEXT PRIMARY KEY, cluster TEXT NOT NULL, user TEXT NOT NULL, uid INTEGER, since INTEGER NOT NULL,
    UNIQUE (cluster, user)
) STRICT
;
INSERT INTO "person" VALUES('person:0123456789abcdef','alpha','user1',1001,1500010000);
CREATE TABLE power_curve (
    source TEXT NOT NULL, line INTEGER NOT NULL, loaded_at INTEGER NOT NULL,
    model TEXT NOT NULL, gpu TEXT NOT NULL, gpus INTEGER NOT NULL, batch REAL, cap REAL,
    seconds REAL NOT NULL, joules REAL, iterations REAL,
    PRIMARY KEY (source, line, gpus)
) STRICT
;
INSERT INTO "power_curve" VALUES('resnet.csv',2,1500010000,'resnet50','a100',4,256.0,250.0,100.5,90000.0,1000.0);
CREATE TABLE queue (
    cluster TEXT NOT NULL, queue TEXT NOT NULL, since INTEGER NOT NULL,
    default_limit INTEGER, max_limit INTEGER, nodes INTEGER,
    PRIMARY KEY (cluster, queue, since)
) STRICT
;
INSERT INTO "queue" VALUES('alpha','gq',1500010000,3600,259200,4);
CREATE TABLE rejected (
    source TEXT NOT NULL, line INTEGER NOT NULL, reason TEXT NOT NULL, raw BLOB NOT NULL, seen_at INTEGER NOT NULL,
    UNIQUE (source, raw)
) STRICT
;
INSERT INTO "rejected" VALUES('sacct alpha',3,'no Submit',X'317C7C',1500010000);
CREATE TABLE step (
    cluster TEXT NOT NULL, job_id_raw INTEGER NOT NULL, submit_time INTEGER NOT NULL, step TEXT NOT NULL,
    source TEXT NOT NULL DEFAULT 'text', step_name TEXT, state TEXT, nodes INTEGER, tasks INTEGER, gpus INTEGER,
    start_time INTEGER, end_time INTEGER, elapsed INTEGER,
    cpu_time REAL, max_rss INTEGER, disk_read INTEGER, disk_write INTEGER, energy INTEGER,
    exit_code INTEGER, exit_signal INTEGER, fingerprint INTEGER, mem_used INTEGER, gpus_used REAL,
    UNIQUE (cluster, job_id_raw, submit_time, step)
) STRICT
;
INSERT INTO "step" VALUES('alpha',1,1500000000,'batch','slurmdbd',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1.5,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE step_aside (
    why TEXT NOT NULL, aside_at INTEGER NOT NULL,
    cluster TEXT NOT NULL, job_id_raw INTEGER NOT NULL, submit_time INTEGER NOT NULL, step TEXT NOT NULL,
    source TEXT NOT NULL DEFAULT 'text', step_name TEXT, state TEXT, nodes INTEGER, tasks INTEGER, gpus INTEGER,
    start_time INTEGER, end_time INTEGER, elapsed INTEGER,
    cpu_time REAL, max_rss INTEGER, disk_read INTEGER, disk_write INTEGER, energy INTEGER,
    exit_code INTEGER, exit_signal INTEGER, fingerprint INTEGER, mem_used INTEGER, gpus_used REAL
) STRICT
;
CREATE TABLE window (
    cluster TEXT NOT NULL, pass TEXT NOT NULL, since INTEGER NOT NULL, until INTEGER NOT NULL,
    provisional INTEGER NOT NULL, asked_at INTEGER NOT NULL, seconds REAL NOT NULL,
    rows INTEGER NOT NULL, new INTEGER NOT NULL, changed INTEGER NOT NULL, rejected INTEGER NOT NULL,
    revoked INTEGER NOT NULL,
    PRIMARY KEY (cluster, pass, since, until)
) STRICT
;
INSERT INTO "window" VALUES('alpha','job',1500000000,1500003600,0,1500010000,0.5,1,1,0,0,0);
CREATE UNIQUE INDEX "idx__sqlite_migrations_migration_set_name"
    ON "_sqlite_migrations" ("migration_set", "name");
CREATE INDEX job_gpu_parts ON job (cluster, gpu_parts) WHERE gpu_parts IS NOT NULL;
CREATE INDEX job_req_gpu_parts ON job (cluster, req_gpu_parts) WHERE req_gpu_parts IS NOT NULL;
CREATE INDEX ledger_job ON ledger (cluster, job_id_raw) WHERE job_id_raw IS NOT NULL;
CREATE INDEX ledger_bill ON ledger (billed, person);
CREATE TRIGGER ledger_insert BEFORE INSERT ON ledger
WHEN new.n <> (SELECT coalesce(max(n), 0) + 1 FROM ledger)
    OR new.previous <> coalesce((SELECT hash FROM ledger ORDER BY n DESC LIMIT 1), '0000000000000000000000000000000000000000000000000000000000000000')
BEGIN SELECT RAISE(ABORT, 'the ledger is only added to'); END;
CREATE TRIGGER ledger_update BEFORE UPDATE ON ledger BEGIN SELECT RAISE(ABORT, 'the ledger is only added to'); END;
CREATE TRIGGER ledger_delete BEFORE DELETE ON ledger BEGIN SELECT RAISE(ABORT, 'the ledger is only added to'); END;
CREATE TRIGGER ledger_scheme_insert BEFORE INSERT ON ledger_scheme WHEN EXISTS (SELECT 1 FROM ledger_scheme WHERE scheme = new.scheme) BEGIN SELECT RAISE(ABORT, 'the ledger is only added to'); END;
CREATE TRIGGER ledger_scheme_update BEFORE UPDATE ON ledger_scheme BEGIN SELECT RAISE(ABORT, 'the ledger is only added to'); END;
CREATE TRIGGER ledger_scheme_delete BEFORE DELETE ON ledger_scheme BEGIN SELECT RAISE(ABORT, 'the ledger is only added to'); END;
CREATE VIEW trace AS SELECT
    coalesce(array_job, het_job, job_id_raw) AS job_id,
    CASE WHEN array_job IS NOT NULL THEN 'array' WHEN het_job IS NOT NULL THEN 'het' ELSE 'normal' END AS job_type,
    array_task AS task_id, user, "group", priority, queue, req_nodes, req_cpus, req_gpus, req_mem,
    coalesce(limit_original, CASE WHEN (ext_times > 0 AND ext_asked > 0 AND ext_asked < ext_limit AND ext_limit < 2147483647) AND time_limit <= ext_limit THEN ext_asked ELSE time_limit END) AS time_limit, node_list, exit_code,
    submit_time, start_time, end_time, start_time - submit_time AS wait_time, elapsed
FROM job;
CREATE VIEW run AS SELECT job.*,
    CASE
        WHEN limit_original > coalesce(CASE WHEN (ext_times > 0 AND ext_asked > 0 AND ext_asked < ext_limit AND ext_limit < 2147483647) AND time_limit <= ext_limit THEN ext_asked ELSE time_limit END, 0)
            THEN CASE WHEN limit_original < 2147483647 THEN limit_original END
        WHEN (CASE WHEN (ext_times > 0 AND ext_asked > 0 AND ext_asked < ext_limit AND ext_limit < 2147483647) AND time_limit <= ext_limit THEN ext_asked ELSE time_limit END) > 0 AND (CASE WHEN (ext_times > 0 AND ext_asked > 0 AND ext_asked < ext_limit AND ext_limit < 2147483647) AND time_limit <= ext_limit THEN ext_asked ELSE time_limit END) < 2147483647 THEN CASE WHEN (ext_times > 0 AND ext_asked > 0 AND ext_asked < ext_limit AND ext_limit < 2147483647) AND time_limit <= ext_limit THEN ext_asked ELSE time_limit END END AS req_limit,
    CASE WHEN coalesce(nodes, req_nodes) > 1 THEN 'multi-node'
        WHEN coalesce(gpus, req_gpus) = 0 AND (CASE WHEN gpu_parts IS NULL AND gpus IS NULL THEN req_gpu_parts ELSE gpu_parts END) IS NULL THEN CASE WHEN NOT EXISTS (SELECT 1 FROM gpu_untracked AS u WHERE u.cluster = job.cluster
        AND u.queue = coalesce(job.queue, '') AND coalesce(job.start_time, job.submit_time) >= u.since
        AND coalesce(job.start_time, job.submit_time) < u.until) THEN 'cpu' END
        WHEN (CASE WHEN gpu_parts IS NULL AND gpus IS NULL THEN req_gpu_parts ELSE gpu_parts END) IS NULL THEN CASE WHEN NOT (coalesce(gpus, req_gpus) > 1 AND (gpu_type IS NULL AND EXISTS (SELECT 1 FROM gpu_untyped AS u WHERE u.cluster = job.cluster
        AND u.queue = coalesce(job.queue, '') AND coalesce(job.start_time, job.submit_time) >= u.since
        AND coalesce(job.start_time, job.submit_time) < u.until))) THEN CASE WHEN 1 > 1 THEN 'multi-node' WHEN coalesce(gpus, req_gpus) > 1 THEN 'multi-gpu' WHEN coalesce(gpus, req_gpus) > 0 THEN 'single-gpu' WHEN coalesce(gpus, req_gpus) = 0 THEN 'cpu' END END
        ELSE CASE WHEN 1 > 1 THEN 'multi-node' WHEN CASE WHEN (CASE WHEN gpu_parts IS NULL AND gpus IS NULL THEN req_gpu_parts ELSE gpu_parts END) IS NOT NULL THEN coalesce(gpus, req_gpus) + (SELECT w.equivalents FROM gpu_words AS w WHERE w.cluster = job.cluster AND w.words = (CASE WHEN gpu_parts IS NULL AND gpus IS NULL THEN req_gpu_parts ELSE gpu_parts END))
        WHEN coalesce(gpus, req_gpus) = 0 THEN CASE WHEN NOT EXISTS (SELECT 1 FROM gpu_untracked AS u WHERE u.cluster = job.cluster
        AND u.queue = coalesce(job.queue, '') AND coalesce(job.start_time, job.submit_time) >= u.since
        AND coalesce(job.start_time, job.submit_time) < u.until) THEN 0 END WHEN NOT (gpu_type IS NULL AND EXISTS (SELECT 1 FROM gpu_untyped AS u WHERE u.cluster = job.cluster
        AND u.queue = coalesce(job.queue, '') AND coalesce(job.start_time, job.submit_time) >= u.since
        AND coalesce(job.start_time, job.submit_time) < u.until)) THEN coalesce(gpus, req_gpus) END > 1 THEN 'multi-gpu' WHEN CASE WHEN (CASE WHEN gpu_parts IS NULL AND gpus IS NULL THEN req_gpu_parts ELSE gpu_parts END) IS NOT NULL THEN coalesce(gpus, req_gpus) + (SELECT w.equivalents FROM gpu_words AS w WHERE w.cluster = job.cluster AND w.words = (CASE WHEN gpu_parts IS NULL AND gpus IS NULL THEN req_gpu_parts ELSE gpu_parts END))
        WHEN coalesce(gpus, req_gpus) = 0 THEN CASE WHEN NOT EXISTS (SELECT 1 FROM gpu_untracked AS u WHERE u.cluster = job.cluster
        AND u.queue = coalesce(job.queue, '') AND coalesce(job.start_time, job.submit_time) >= u.since
        AND coalesce(job.start_time, job.submit_time) < u.until) THEN 0 END WHEN NOT (gpu_type IS NULL AND EXISTS (SELECT 1 FROM gpu_untyped AS u WHERE u.cluster = job.cluster
        AND u.queue = coalesce(job.queue, '') AND coalesce(job.start_time, job.submit_time) >= u.since
        AND coalesce(job.start_time, job.submit_time) < u.until)) THEN coalesce(gpus, req_gpus) END > 0 THEN 'single-gpu' WHEN CASE WHEN (CASE WHEN gpu_parts IS NULL AND gpus IS NULL THEN req_gpu_parts ELSE gpu_parts END) IS NOT NULL THEN coalesce(gpus, req_gpus) + (SELECT w.equivalents FROM gpu_words AS w WHERE w.cluster = job.cluster AND w.words = (CASE WHEN gpu_parts IS NULL AND gpus IS NULL THEN req_gpu_parts ELSE gpu_parts END))
        WHEN coalesce(gpus, req_gpus) = 0 THEN CASE WHEN NOT EXISTS (SELECT 1 FROM gpu_untracked AS u WHERE u.cluster = job.cluster
        AND u.queue = coalesce(job.queue, '') AND coalesce(job.start_time, job.submit_time) >= u.since
        AND coalesce(job.start_time, job.submit_time) < u.until) THEN 0 END WHEN NOT (gpu_type IS NULL AND EXISTS (SELECT 1 FROM gpu_untyped AS u WHERE u.cluster = job.cluster
        AND u.queue = coalesce(job.queue, '') AND coalesce(job.start_time, job.submit_time) >= u.since
        AND coalesce(job.start_time, job.submit_time) < u.until)) THEN coalesce(gpus, req_gpus) END = 0 THEN 'cpu' END END AS class,
    coalesce(nodes, req_nodes) AS size_nodes, coalesce(cpus, req_cpus) AS size_cpus, CASE WHEN (CASE WHEN gpu_parts IS NULL AND gpus IS NULL THEN req_gpu_parts ELSE gpu_parts END) IS NOT NULL THEN coalesce(gpus, req_gpus) + (SELECT w.equivalents FROM gpu_words AS w WHERE w.cluster = job.cluster AND w.words = (CASE WHEN gpu_parts IS NULL AND gpus IS NULL THEN req_gpu_parts ELSE gpu_parts END))
        WHEN coalesce(gpus, req_gpus) = 0 THEN CASE WHEN NOT EXISTS (SELECT 1 FROM gpu_untracked AS u WHERE u.cluster = job.cluster
        AND u.queue = coalesce(job.queue, '') AND coalesce(job.start_time, job.submit_time) >= u.since
        AND coalesce(job.start_time, job.submit_time) < u.until) THEN 0 END WHEN NOT (gpu_type IS NULL AND EXISTS (SELECT 1 FROM gpu_untyped AS u WHERE u.cluster = job.cluster
        AND u.queue = coalesce(job.queue, '') AND coalesce(job.start_time, job.submit_time) >= u.since
        AND coalesce(job.start_time, job.submit_time) < u.until)) THEN coalesce(gpus, req_gpus) END AS size_gpus,
    CASE WHEN (coalesce(gpus, req_gpus) > 0 OR (CASE WHEN gpu_parts IS NULL AND gpus IS NULL THEN req_gpu_parts ELSE gpu_parts END) IS NOT NULL) AND (CASE WHEN (CASE WHEN gpu_parts IS NULL AND gpus IS NULL THEN req_gpu_parts ELSE gpu_parts END) IS NOT NULL THEN coalesce(gpus, req_gpus) + (SELECT w.equivalents FROM gpu_words AS w WHERE w.cluster = job.cluster AND w.words = (CASE WHEN gpu_parts IS NULL AND gpus IS NULL THEN req_gpu_parts ELSE gpu_parts END))
        WHEN coalesce(gpus, req_gpus) = 0 THEN CASE WHEN NOT EXISTS (SELECT 1 FROM gpu_untracked AS u WHERE u.cluster = job.cluster
        AND u.queue = coalesce(job.queue, '') AND coalesce(job.start_time, job.submit_time) >= u.since
        AND coalesce(job.start_time, job.submit_time) < u.until) THEN 0 END WHEN NOT (gpu_type IS NULL AND EXISTS (SELECT 1 FROM gpu_untyped AS u WHERE u.cluster = job.cluster
        AND u.queue = coalesce(job.queue, '') AND coalesce(job.start_time, job.submit_time) >= u.since
        AND coalesce(job.start_time, job.submit_time) < u.until)) THEN coalesce(gpus, req_gpus) END) > 0 THEN CASE WHEN (CASE WHEN gpu_parts IS NULL AND gpus IS NULL THEN req_gpu_parts ELSE gpu_parts END) IS NOT NULL THEN coalesce(gpus, req_gpus) + (SELECT w.equivalents FROM gpu_words AS w WHERE w.cluster = job.cluster AND w.words = (CASE WHEN gpu_parts IS NULL AND gpus IS NULL THEN req_gpu_parts ELSE gpu_parts END))
        WHEN coalesce(gpus, req_gpus) = 0 THEN CASE WHEN NOT EXISTS (SELECT 1 FROM gpu_untracked AS u WHERE u.cluster = job.cluster
        AND u.queue = coalesce(job.queue, '') AND coalesce(job.start_time, job.submit_time) >= u.since
        AND coalesce(job.start_time, job.submit_time) < u.until) THEN 0 END WHEN NOT (gpu_type IS NULL AND EXISTS (SELECT 1 FROM gpu_untyped AS u WHERE u.cluster = job.cluster
        AND u.queue = coalesce(job.queue, '') AND coalesce(job.start_time, job.submit_time) >= u.since
        AND coalesce(job.start_time, job.submit_time) < u.until)) THEN coalesce(gpus, req_gpus) END
        WHEN coalesce(cpus, req_cpus) > 0 THEN coalesce(cpus, req_cpus) END AS size_units,
    CASE WHEN job_name IN ('interactive', 'jupyter') OR submitted_by IN ('salloc', 'srun')
            OR EXISTS (SELECT 1 FROM step WHERE step.cluster = job.cluster AND step.job_id_raw = job.job_id_raw AND step.submit_time = job.submit_time AND step.source = job.source AND step.step = 'interactive')
            OR submitted_by IS NULL AND EXISTS (SELECT 1 FROM step WHERE step.cluster = job.cluster AND step.job_id_raw = job.job_id_raw AND step.submit_time = job.submit_time AND step.source = job.source) AND NOT EXISTS (SELECT 1 FROM step WHERE step.cluster = job.cluster AND step.job_id_raw = job.job_id_raw AND step.submit_time = job.submit_time AND step.source = job.source AND step.step = 'batch')
        THEN 1 ELSE 0 END AS interactive,
    CASE WHEN ckpt_requeues IS NOT NULL AND (ckpt_requeues > 0 OR ckpt_heard > 0) THEN 1 ELSE CASE WHEN job_id_raw IN (SELECT job_id_raw FROM job AS put_back WHERE (state IN ('REQUEUED', 'PREEMPTED', 'NODE_FAIL', 'BOOT_FAIL', 'RESIZING') OR restarts > 0)) THEN CASE WHEN CASE WHEN restarts > 0
            THEN CASE WHEN CASE WHEN job.submitted_by = 'scrontab' OR job.submitted_by IS NULL AND job.eligible_time > job.submit_time AND job.eligible_time % 60 = 0 THEN 1 ELSE 0 END = 1 AND (SELECT CASE WHEN earlier.submitted_by = 'scrontab' OR earlier.submitted_by IS NULL AND earlier.eligible_time > earlier.submit_time AND earlier.eligible_time % 60 = 0 THEN 1 ELSE 0 END = 1 AND earlier.state = 'REQUEUED' FROM job AS earlier
        WHERE earlier.cluster = job.cluster AND earlier.job_id_raw = job.job_id_raw AND ((earlier.source IN ('slurmdbd', 'trusted') AND coalesce(earlier.audited, '') <> 'beyond' OR earlier.source = 'demo') OR NOT (job.source IN ('slurmdbd', 'trusted') AND coalesce(job.audited, '') <> 'beyond' OR job.source = 'demo')) AND earlier.submit_time < job.submit_time ORDER BY earlier.submit_time DESC LIMIT 1) THEN 0 ELSE 1 END
        WHEN (SELECT CASE WHEN (job.restarts > 0 OR earlier.state IN ('REQUEUED', 'PREEMPTED', 'NODE_FAIL', 'BOOT_FAIL', 'RESIZING') AND (job.restarts IS NULL OR job.submit_time BETWEEN coalesce(earlier.end_time, earlier.start_time + earlier.elapsed) AND coalesce(earlier.end_time, earlier.start_time + earlier.elapsed) + 60)) AND (earlier.user = job.user OR earlier.user IS NULL OR job.user IS NULL) AND job.submit_time <= coalesce(coalesce(earlier.end_time, earlier.start_time + earlier.elapsed), job.submit_time) + 172800 AND NOT (earlier.state = 'REQUEUED' AND CASE WHEN earlier.submitted_by = 'scrontab' OR earlier.submitted_by IS NULL AND earlier.eligible_time > earlier.submit_time AND earlier.eligible_time % 60 = 0 THEN 1 ELSE 0 END = 1 AND CASE WHEN job.submitted_by = 'scrontab' OR job.submitted_by IS NULL AND job.eligible_time > job.submit_time AND job.eligible_time % 60 = 0 THEN 1 ELSE 0 END = 1) THEN earlier.submit_time END FROM job AS earlier
        WHERE earlier.cluster = job.cluster AND earlier.job_id_raw = job.job_id_raw AND ((earlier.source IN ('slurmdbd', 'trusted') AND coalesce(earlier.audited, '') <> 'beyond' OR earlier.source = 'demo') OR NOT (job.source IN ('slurmdbd', 'trusted') AND coalesce(job.audited, '') <> 'beyond' OR job.source = 'demo')) AND earlier.submit_time < job.submit_time ORDER BY earlier.submit_time DESC LIMIT 1) IS NOT NULL THEN 1 ELSE 0 END = 1 THEN 1 ELSE CASE WHEN state = 'REQUEUED' THEN
            CASE WHEN CASE WHEN job.submitted_by = 'scrontab' OR job.submitted_by IS NULL AND job.eligible_time > job.submit_time AND job.eligible_time % 60 = 0 THEN 1 ELSE 0 END = 1 AND coalesce((SELECT CASE WHEN later.submitted_by = 'scrontab' OR later.submitted_by IS NULL AND later.eligible_time > later.submit_time AND later.eligible_time % 60 = 0 THEN 1 ELSE 0 END FROM job AS later
        WHERE later.cluster = job.cluster AND later.job_id_raw = job.job_id_raw AND ((later.source IN ('slurmdbd', 'trusted') AND coalesce(later.audited, '') <> 'beyond' OR later.source = 'demo') OR NOT (job.source IN ('slurmdbd', 'trusted') AND coalesce(job.audited, '') <> 'beyond' OR job.source = 'demo')) AND later.submit_time > job.submit_time ORDER BY later.submit_time LIMIT 1), 1) = 1 THEN 0 ELSE 1 END
        ELSE coalesce((SELECT CASE WHEN (later.restarts > 0 OR job.state IN ('REQUEUED', 'PREEMPTED', 'NODE_FAIL', 'BOOT_FAIL', 'RESIZING') AND (later.restarts IS NULL OR later.submit_time BETWEEN coalesce(job.end_time, job.start_time + job.elapsed) AND coalesce(job.end_time, job.start_time + job.elapsed) + 60)) AND (job.user = later.user OR job.user IS NULL OR later.user IS NULL) AND later.submit_time <= coalesce(coalesce(job.end_time, job.start_time + job.elapsed), later.submit_time) + 172800 AND NOT (job.state = 'REQUEUED' AND CASE WHEN job.submitted_by = 'scrontab' OR job.submitted_by IS NULL AND job.eligible_time > job.submit_time AND job.eligible_time % 60 = 0 THEN 1 ELSE 0 END = 1 AND CASE WHEN later.submitted_by = 'scrontab' OR later.submitted_by IS NULL AND later.eligible_time > later.submit_time AND later.eligible_time % 60 = 0 THEN 1 ELSE 0 END = 1) THEN 1 ELSE 0 END FROM job AS later
        WHERE later.cluster = job.cluster AND later.job_id_raw = job.job_id_raw AND ((later.source IN ('slurmdbd', 'trusted') AND coalesce(later.audited, '') <> 'beyond' OR later.source = 'demo') OR NOT (job.source IN ('slurmdbd', 'trusted') AND coalesce(job.audited, '') <> 'beyond' OR job.source = 'demo')) AND later.submit_time > job.submit_time ORDER BY later.submit_time LIMIT 1), 0) END END ELSE 0 END END AS checkpoint,
    start_time - eligible_time AS wait,
    CASE WHEN limit_source = 'explicit' THEN CASE WHEN instr(admin_comment, ',soft=') BETWEEN 1 AND instr(admin_comment || ' ', ' ') AND length(substr(substr(admin_comment, instr(admin_comment, ',soft=') + 6), 1, length(substr(admin_comment, instr(admin_comment, ',soft=') + 6)) - length(ltrim(substr(admin_comment, instr(admin_comment, ',soft=') + 6), '0123456789')))) > 0 AND substr(substr(admin_comment, instr(admin_comment, ',soft=') + 6) || ' ', length(substr(substr(admin_comment, instr(admin_comment, ',soft=') + 6), 1, length(substr(admin_comment, instr(admin_comment, ',soft=') + 6)) - length(ltrim(substr(admin_comment, instr(admin_comment, ',soft=') + 6), '0123456789')))) + 1, 1) IN (',', ' ') THEN CASE WHEN length(substr(substr(admin_comment, instr(admin_comment, ',soft=') + 6), 1, length(substr(admin_comment, instr(admin_comment, ',soft=') + 6)) - length(ltrim(substr(admin_comment, instr(admin_comment, ',soft=') + 6), '0123456789')))) < 19 THEN CAST(substr(substr(admin_comment, instr(admin_comment, ',soft=') + 6), 1, length(substr(admin_comment, instr(admin_comment, ',soft=') + 6)) - length(ltrim(substr(admin_comment, instr(admin_comment, ',soft=') + 6), '0123456789'))) AS BIGINT) ELSE 9223372036854775807 END END END AS soft_limit,
    CASE WHEN (job.source IN ('slurmdbd', 'trusted') AND coalesce(job.audited, '') <> 'beyond' OR job.source = 'demo') THEN 1 ELSE 0 END AS acting,
    CASE
        WHEN state IN ('COMPLETED', 'TIMEOUT') AND elapsed > 60 AND elapsed < 2147483647
            AND (CASE
        WHEN limit_original > coalesce(CASE WHEN (ext_times > 0 AND ext_asked > 0 AND ext_asked < ext_limit AND ext_limit < 2147483647) AND time_limit <= ext_limit THEN ext_asked ELSE time_limit END, 0)
            THEN CASE WHEN limit_original < 2147483647 THEN limit_original END
        WHEN (CASE WHEN (ext_times > 0 AND ext_asked > 0 AND ext_asked < ext_limit AND ext_limit < 2147483647) AND time_limit <= ext_limit THEN ext_asked ELSE time_limit END) > 0 AND (CASE WHEN (ext_times > 0 AND ext_asked > 0 AND ext_asked < ext_limit AND ext_limit < 2147483647) AND time_limit <= ext_limit THEN ext_asked ELSE time_limit END) < 2147483647 THEN CASE WHEN (ext_times > 0 AND ext_asked > 0 AND ext_asked < ext_limit AND ext_limit < 2147483647) AND time_limit <= ext_limit THEN ext_asked ELSE time_limit END END) > 0
        THEN 1 ELSE 0 END AS study_counted,
    CASE WHEN instr(' ' || admin_comment, ' pf1:it=') > 0 AND length(substr(substr((' ' || admin_comment), instr((' ' || admin_comment), ' pf1:it=') + 8), 1, length(substr((' ' || admin_comment), instr((' ' || admin_comment), ' pf1:it=') + 8)) - length(ltrim(substr((' ' || admin_comment), instr((' ' || admin_comment), ' pf1:it=') + 8), '0123456789')))) BETWEEN 1 AND 20 AND substr(substr((' ' || admin_comment), instr((' ' || admin_comment), ' pf1:it=') + 8) || ' ', length(substr(substr((' ' || admin_comment), instr((' ' || admin_comment), ' pf1:it=') + 8), 1, length(substr((' ' || admin_comment), instr((' ' || admin_comment), ' pf1:it=') + 8)) - length(ltrim(substr((' ' || admin_comment), instr((' ' || admin_comment), ' pf1:it=') + 8), '0123456789')))) + 1, 1) = ' ' THEN CASE WHEN length(substr(substr((' ' || admin_comment), instr((' ' || admin_comment), ' pf1:it=') + 8), 1, length(substr((' ' || admin_comment), instr((' ' || admin_comment), ' pf1:it=') + 8)) - length(ltrim(substr((' ' || admin_comment), instr((' ' || admin_comment), ' pf1:it=') + 8), '0123456789')))) < 19 THEN CAST(substr(substr((' ' || admin_comment), instr((' ' || admin_comment), ' pf1:it=') + 8), 1, length(substr((' ' || admin_comment), instr((' ' || admin_comment), ' pf1:it=') + 8)) - length(ltrim(substr((' ' || admin_comment), instr((' ' || admin_comment), ' pf1:it=') + 8), '0123456789'))) AS BIGINT) ELSE 9223372036854775807 END END AS iterations,
    CASE WHEN (CASE WHEN gpu_parts IS NULL AND gpus IS NULL THEN req_gpu_parts ELSE gpu_parts END) IS NULL THEN CASE WHEN coalesce(gpus, req_gpus) > 0 AND NOT (gpu_type IS NULL AND EXISTS (SELECT 1 FROM gpu_untyped AS u WHERE u.cluster = job.cluster
        AND u.queue = coalesce(job.queue, '') AND coalesce(job.start_time, job.submit_time) >= u.since
        AND coalesce(job.start_time, job.submit_time) < u.until)) THEN 'whole' END
        WHEN coalesce(gpus, req_gpus) > 0 THEN 'mixed' ELSE (SELECT w.kind FROM gpu_words AS w WHERE w.cluster = job.cluster AND w.words = (CASE WHEN gpu_parts IS NULL AND gpus IS NULL THEN req_gpu_parts ELSE gpu_parts END)) END AS gpu_kind,
    CASE WHEN job_id_raw IN (SELECT job_id_raw FROM job AS put_back WHERE (state IN ('REQUEUED', 'PREEMPTED', 'NODE_FAIL', 'BOOT_FAIL', 'RESIZING') OR restarts > 0)) THEN CASE WHEN restarts > 0
            THEN CASE WHEN CASE WHEN job.submitted_by = 'scrontab' OR job.submitted_by IS NULL AND job.eligible_time > job.submit_time AND job.eligible_time % 60 = 0 THEN 1 ELSE 0 END = 1 AND (SELECT CASE WHEN earlier.submitted_by = 'scrontab' OR earlier.submitted_by IS NULL AND earlier.eligible_time > earlier.submit_time AND earlier.eligible_time % 60 = 0 THEN 1 ELSE 0 END = 1 AND earlier.state = 'REQUEUED' FROM job AS earlier
        WHERE earlier.cluster = job.cluster AND earlier.job_id_raw = job.job_id_raw AND ((earlier.source IN ('slurmdbd', 'trusted') AND coalesce(earlier.audited, '') <> 'beyond' OR earlier.source = 'demo') OR NOT (job.source IN ('slurmdbd', 'trusted') AND coalesce(job.audited, '') <> 'beyond' OR job.source = 'demo')) AND earlier.submit_time < job.submit_time ORDER BY earlier.submit_time DESC LIMIT 1) THEN 0 ELSE 1 END
        WHEN (SELECT CASE WHEN (job.restarts > 0 OR earlier.state IN ('REQUEUED', 'PREEMPTED', 'NODE_FAIL', 'BOOT_FAIL', 'RESIZING') AND (job.restarts IS NULL OR job.submit_time BETWEEN coalesce(earlier.end_time, earlier.start_time + earlier.elapsed) AND coalesce(earlier.end_time, earlier.start_time + earlier.elapsed) + 60)) AND (earlier.user = job.user OR earlier.user IS NULL OR job.user IS NULL) AND job.submit_time <= coalesce(coalesce(earlier.end_time, earlier.start_time + earlier.elapsed), job.submit_time) + 172800 AND NOT (earlier.state = 'REQUEUED' AND CASE WHEN earlier.submitted_by = 'scrontab' OR earlier.submitted_by IS NULL AND earlier.eligible_time > earlier.submit_time AND earlier.eligible_time % 60 = 0 THEN 1 ELSE 0 END = 1 AND CASE WHEN job.submitted_by = 'scrontab' OR job.submitted_by IS NULL AND job.eligible_time > job.submit_time AND job.eligible_time % 60 = 0 THEN 1 ELSE 0 END = 1) THEN earlier.submit_time END FROM job AS earlier
        WHERE earlier.cluster = job.cluster AND earlier.job_id_raw = job.job_id_raw AND ((earlier.source IN ('slurmdbd', 'trusted') AND coalesce(earlier.audited, '') <> 'beyond' OR earlier.source = 'demo') OR NOT (job.source IN ('slurmdbd', 'trusted') AND coalesce(job.audited, '') <> 'beyond' OR job.source = 'demo')) AND earlier.submit_time < job.submit_time ORDER BY earlier.submit_time DESC LIMIT 1) IS NOT NULL THEN 1 ELSE 0 END ELSE 0 END AS continues, CASE WHEN job_id_raw IN (SELECT job_id_raw FROM job AS put_back WHERE (state IN ('REQUEUED', 'PREEMPTED', 'NODE_FAIL', 'BOOT_FAIL', 'RESIZING') OR restarts > 0)) THEN (SELECT CASE WHEN (job.restarts > 0 OR earlier.state IN ('REQUEUED', 'PREEMPTED', 'NODE_FAIL', 'BOOT_FAIL', 'RESIZING') AND (job.restarts IS NULL OR job.submit_time BETWEEN coalesce(earlier.end_time, earlier.start_time + earlier.elapsed) AND coalesce(earlier.end_time, earlier.start_time + earlier.elapsed) + 60)) AND (earlier.user = job.user OR earlier.user IS NULL OR job.user IS NULL) AND job.submit_time <= coalesce(coalesce(earlier.end_time, earlier.start_time + earlier.elapsed), job.submit_time) + 172800 AND NOT (earlier.state = 'REQUEUED' AND CASE WHEN earlier.submitted_by = 'scrontab' OR earlier.submitted_by IS NULL AND earlier.eligible_time > earlier.submit_time AND earlier.eligible_time % 60 = 0 THEN 1 ELSE 0 END = 1 AND CASE WHEN job.submitted_by = 'scrontab' OR job.submitted_by IS NULL AND job.eligible_time > job.submit_time AND job.eligible_time % 60 = 0 THEN 1 ELSE 0 END = 1) THEN earlier.submit_time END FROM job AS earlier
        WHERE earlier.cluster = job.cluster AND earlier.job_id_raw = job.job_id_raw AND earlier.submit_time < job.submit_time ORDER BY earlier.submit_time DESC LIMIT 1) END AS previous_submit, CASE WHEN job_id_raw IN (SELECT job_id_raw FROM job AS put_back WHERE (state IN ('REQUEUED', 'PREEMPTED', 'NODE_FAIL', 'BOOT_FAIL', 'RESIZING') OR restarts > 0)) THEN CASE WHEN state = 'REQUEUED' THEN
            CASE WHEN CASE WHEN job.submitted_by = 'scrontab' OR job.submitted_by IS NULL AND job.eligible_time > job.submit_time AND job.eligible_time % 60 = 0 THEN 1 ELSE 0 END = 1 AND coalesce((SELECT CASE WHEN later.submitted_by = 'scrontab' OR later.submitted_by IS NULL AND later.eligible_time > later.submit_time AND later.eligible_time % 60 = 0 THEN 1 ELSE 0 END FROM job AS later
        WHERE later.cluster = job.cluster AND later.job_id_raw = job.job_id_raw AND ((later.source IN ('slurmdbd', 'trusted') AND coalesce(later.audited, '') <> 'beyond' OR later.source = 'demo') OR NOT (job.source IN ('slurmdbd', 'trusted') AND coalesce(job.audited, '') <> 'beyond' OR job.source = 'demo')) AND later.submit_time > job.submit_time ORDER BY later.submit_time LIMIT 1), 1) = 1 THEN 0 ELSE 1 END
        ELSE coalesce((SELECT CASE WHEN (later.restarts > 0 OR job.state IN ('REQUEUED', 'PREEMPTED', 'NODE_FAIL', 'BOOT_FAIL', 'RESIZING') AND (later.restarts IS NULL OR later.submit_time BETWEEN coalesce(job.end_time, job.start_time + job.elapsed) AND coalesce(job.end_time, job.start_time + job.elapsed) + 60)) AND (job.user = later.user OR job.user IS NULL OR later.user IS NULL) AND later.submit_time <= coalesce(coalesce(job.end_time, job.start_time + job.elapsed), later.submit_time) + 172800 AND NOT (job.state = 'REQUEUED' AND CASE WHEN job.submitted_by = 'scrontab' OR job.submitted_by IS NULL AND job.eligible_time > job.submit_time AND job.eligible_time % 60 = 0 THEN 1 ELSE 0 END = 1 AND CASE WHEN later.submitted_by = 'scrontab' OR later.submitted_by IS NULL AND later.eligible_time > later.submit_time AND later.eligible_time % 60 = 0 THEN 1 ELSE 0 END = 1) THEN 1 ELSE 0 END FROM job AS later
        WHERE later.cluster = job.cluster AND later.job_id_raw = job.job_id_raw AND ((later.source IN ('slurmdbd', 'trusted') AND coalesce(later.audited, '') <> 'beyond' OR later.source = 'demo') OR NOT (job.source IN ('slurmdbd', 'trusted') AND coalesce(job.audited, '') <> 'beyond' OR job.source = 'demo')) AND later.submit_time > job.submit_time ORDER BY later.submit_time LIMIT 1), 0) END ELSE 0 END AS continued,
    CASE WHEN array_job IS NULL OR array_task IS NOT NULL THEN 1
        WHEN array_tasks IS NOT NULL THEN array_tasks WHEN start_time IS NOT NULL AND (end_time IS NULL OR end_time > start_time OR elapsed > 0 OR node_list IS NOT NULL) THEN 1 END AS tasks,
    CASE WHEN (ext_times > 0 AND ext_asked > 0 AND ext_asked < ext_limit AND ext_limit < 2147483647) AND time_limit > 0 AND time_limit < 2147483647 THEN time_limit
        ELSE CASE
        WHEN limit_original > coalesce(CASE WHEN (ext_times > 0 AND ext_asked > 0 AND ext_asked < ext_limit AND ext_limit < 2147483647) AND time_limit <= ext_limit THEN ext_asked ELSE time_limit END, 0)
            THEN CASE WHEN limit_original < 2147483647 THEN limit_original END
        WHEN (CASE WHEN (ext_times > 0 AND ext_asked > 0 AND ext_asked < ext_limit AND ext_limit < 2147483647) AND time_limit <= ext_limit THEN ext_asked ELSE time_limit END) > 0 AND (CASE WHEN (ext_times > 0 AND ext_asked > 0 AND ext_asked < ext_limit AND ext_limit < 2147483647) AND time_limit <= ext_limit THEN ext_asked ELSE time_limit END) < 2147483647 THEN CASE WHEN (ext_times > 0 AND ext_asked > 0 AND ext_asked < ext_limit AND ext_limit < 2147483647) AND time_limit <= ext_limit THEN ext_asked ELSE time_limit END END END AS last_limit,
    CASE WHEN (ext_times > 0 AND ext_asked > 0 AND ext_asked < ext_limit AND ext_limit < 2147483647) THEN ext_limit - ext_asked END AS more_given,
    CASE WHEN (ext_times > 0 AND ext_asked > 0 AND ext_asked < ext_limit AND ext_limit < 2147483647) AND elapsed >= 0 AND elapsed < 2147483647 THEN CASE
        WHEN elapsed <= ext_asked THEN 0 WHEN elapsed < ext_limit THEN elapsed - ext_asked
        ELSE ext_limit - ext_asked END END AS more_used
FROM job;
CREATE UNIQUE INDEX job_key ON job (cluster, job_id_raw, submit_time);
CREATE INDEX job_end ON job (end_time);
CREATE INDEX job_db_index ON job (db_index);
CREATE INDEX job_open ON job (cluster, seen_open) WHERE end_time IS NULL;
CREATE INDEX job_demo ON job (cluster) WHERE source = 'demo';
CREATE INDEX job_requeued ON job (cluster, job_id_raw, submit_time, state, restarts) WHERE (state IN ('REQUEUED', 'PREEMPTED', 'NODE_FAIL', 'BOOT_FAIL', 'RESIZING') OR restarts > 0);
CREATE INDEX job_array ON job (cluster, array_job) WHERE array_job IS NOT NULL;
CREATE INDEX outbox_open ON outbox (next_at) WHERE state IN ('due', 'claimed');
CREATE INDEX outbox_user ON outbox (cluster, uid, kind);
COMMIT;
PRAGMA user_version = 2;
