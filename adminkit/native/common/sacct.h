/* clang-format off */
/* sacct.h - accounting text into typed values. This header is the manual.
 *
 * Two layers, no I/O, no globals, no allocation but in ak_rows_init():
 *
 *   bytes --ak_reader_next()--> records (N fields each) --ak_rows_take()--> cells (NULL, integer, real, text)
 *
 * THE COLUMN SPEC
 * One kind per input column, with commas between, in the order of the input:
 *
 *     jobid!,rawid!,time!^,state,limit,tres,free
 *
 *     !   the row is refused where the column's first output is unknown
 *     ^   a step row gets the values that its job's row had (sacct prints a step's own start as its Submit)
 *
 * A kind has a fixed number of outputs. They are numbered through: with the spec above ?1..?7 are jobid's, ?8 is
 * rawid's, ?9 the time, ?10 and ?11 state's, ?12 and ?13 limit's, ?14..?21 tres's, ?22 the text.
 *
 *   kind      outputs                         examples
 *   skip                                      anything, not looked at
 *   text      text                            gpu-a100; empty and (null) are unknown
 *   free      text                            as text, "(null)" kept; surplus delimiters are put back in here (below)
 *   admin_comment text limit source           free text whose first word may be a record of adminkit's policy:
 *             at heard requeues end           "ak1:lim=7200,src=e,rules=gq-max mine" -> all of it, 7200, "explicit";
 *                                             lim=none,src=d -> , "default"; lim=inf,src=e -> , "explicit"; and any
 *                                             word of which may be the note of its checkpoint plugin:
 *                                             "mine ck1:at=1700000000,heard=3,rq=1,end=more" -> 1700000000, 3, 1,
 *             asked extended times            "more"; and any word of which may say how much more time the job was
 *                                             given: "xt1:asked=3600,lim=5400,n=2" -> 3600, 5400, 2. Anything else is
 *                                             text only. Counts as free below.
 *   submitted by ckpt program                 a command line: "srun -n4 --ckpt-signal=USR1@300 /opt/bin/torchrun x.py" -> "srun",
 *             framework container             1, "torchrun", "torchrun",   docs/ingest-spec.md has its rules. Counts as free below;
 *                                             no more than these outputs is kept of it. One such column at most.
 *   int       value                           48; 4294967294/5, 18446744073709551614/5, -1 and -2 are unknown
 *   serial    value                           48; the same are unknown; from 2^63 on, which SQLite lacks, the number less 2^64
 *   real      value                           0.25, 1e6
 *   swf       value                           12 -> 12, 12.50 -> 12.5, -1 -> unknown
 *   time      epoch                           1700000000; 2024-03-05T07:00:00 or with a blank, in the zone given, or with
 *                                             Z, +01, +0100, +01:00; 0 is unknown. In an hour that occurs twice: ak_spec_order().
 *   epoch     epoch                           1700000000; 0 is unknown. Without a seal (below), for times that no text of a
 *                                             user stands before, between two that have it.
 *   seconds   seconds                         90, 01:30.250 -> 90, 00:01:30, 1-00:00:00
 *   cputime   seconds                         the same as a real, 01:30.250 -> 90.25
 *   limit     seconds kind                    2880 (minutes), 08:00:00, 2-00:00:00 -> finite; UNLIMITED, INFINITE,
 *                                             4294967295 -> unlimited; Partition_Limit, 4294967294 -> partition;
 *                                             empty, 0 -> unknown. Clocks also M:S, D-H, D-H:M, as sbatch reads them.
 *   jobid     job_id array_job array_task     123 | 123_4 | 123_[5-9%2] (task unknown) | 123+1, each with .batch, .0 …
 *             het_job het_offset step         123_4.batch -> "123_4", 123, 4, , , "batch". At most one such column.
 *             array_tasks                     Of a list in brackets its tasks: [5-9%2] -> 5, [0-9:3,20] -> 5; unknown
 *                                             where the list was cut: [1,3,5,... or [1,3,5
 *   rawid     value                           123, 123.batch -> 123
 *   state     state cancelled_by              COMPLETED; CANCELLED by 1000 -> CANCELLED, 1000
 *   exit      code signal                     0:15 -> 0, 15; 1 -> 1,
 *   mem       bytes                           1024K, 1,024K, 1.50T, plain bytes. 2^63 bytes and above are unknown, as is 16?,
 *                                             which older releases write for 2^64 bytes; the same of every size below
 *   reqmem    bytes per                       3000Mc -> 3145728000, c; 4Gn; 199G; 0n. 2^31 MiB and above are Slurm's
 *                                             "unset", multiplied, and so unknown; the same in tres
 *   tres      cpus mem nodes gpus             cpu=12,mem=48000M,node=1,gres/gpu=2,gres/gpu:a100=2
 *             gpu_type energy billing         -> 12, 50331648000, 1, 2, "a100", , ,   mem without a unit is MiB. gpus are
 *             gpu_parts                       the whole ones: gres/gpu, a total, where that is given, else the sum of
 *                                             the typed ones, less the slices of MIG; 0 where the text names none.
 *                                             gpu_parts has what is not whole: "shard=4", "mps=50",
 *                                             "slice:a100_3g.20gb=2", and "?", with gpus unknown, where a word that
 *                                             names GPUs cannot be read. Shards and MPS beside GPUs are theirs, and not
 *                                             counted. Several types (16 at most) are joined: "a100+v100". Other keys
 *                                             are ignored. 1 to 5 are slurmdbd's ids of cpu, mem, energy, node and
 *                                             billing; ak_tres_ids_parse() has those of a site's own.
 *   gres      gpus gpu_type gpu_parts per     gpu:2 | gpu:a100:2(S:0-1) | gpu (one) | 7696487:2 | shard:4 | hbm:0 -> 0;
 *                                             per: of what it is, node, job (PER_JOB:gpu:2), task or socket
 *   usage     cpu_time mem disk energy        cpu=15:33:58,energy=0,fs/disk=934,gres/gpumem=20M,gres/gpuutil=90,mem=4K
 *             gpu_util gpu_mem                mem without a unit is bytes. 2, 3 and 6 are slurmdbd's ids of mem, energy
 *                                             and fs/disk, 1 is CPU time in thousandths of a second
 *   nodelist  nodes                           n[1-4]; "None assigned" is unknown
 *
 * In every kind but text, free, admin_comment, submitted and skip these are unknown: empty, Unknown, None, None assigned, INVALID, N/A, ? and (null).
 * Anything else that does not fit refuses the whole row, with a reason that names column and kind. Bytes of a text that
 * are not UTF-8 become U+FFFD each, and are counted.
 *
 * RECORDS
 * A record has N columns: N-1 delimiters (sacct -P) or, with .ends, N, the last just before the line's end (sacct -p).
 * Nothing is escaped in such text, so fields may hold newlines and delimiters, and records are found by counting:
 *   - a line with the right count is a record, whatever stands around it;
 *   - lines with too few are put together until the count is right; where the sum gets too big the first line is set
 *     aside, and so on, so a broken record never takes a whole one with it. Nothing is looked at twice.
 *     A line without any delimiter begins no record, unless the first column is free; behind what was set aside it
 *     belongs to that, so that one broken record of many lines is one rejected row;
 *   - a line with too many is repaired where the spec has exactly one free column: the surplus belongs to it. With
 *     .surplus_ignore the columns at the end are dropped instead;
 *   - without .ends and with a free last column, lines without any delimiter continue it;
 *   - a record has at most 1 MiB and 131072 lines, and no NUL byte. \r\n is a line's end too. Empty lines between records, and
 *     lines that begin with .comment, are passed over.
 * With .packed, that many columns at the front have one byte, AK_PACK, between them, and the delimiter only behind the
 * last. No user may write into them: a record with another number of AK_PACK in them is broken, and none of them is free.
 * With .space, columns are separated by runs of blanks and tabs and every line is a record (SWF).
 *
 * DEMANDS ON ROWS
 * Users write most texts of an answer of sacct's, and can read its delimiter on the command line. So a row is refused
 * also by
 *   - a seal: a text behind the digits of every `time`, which sacct gets by its environment, where other users cannot
 *     read it. A time without it is `not sealed`; the words for unknown have no seal;
 *   - ak_spec_wants(): a column of a job's row has one certain text, or its time, if known, is in a span;
 *   - .no_steps: a step is refused.
 *
 * STEPS
 * A row whose jobid has a step is a step row. It takes `^` columns from its job's row, which must stand before it with
 * nothing but steps of that job between; otherwise it is refused.
 */
/* clang-format on */
#ifndef ADMINKIT_SACCT_H
#define ADMINKIT_SACCT_H

#include "spec.h"

/* ---- records ---- */

/* Stands between packed columns. */
#define AK_PACK '\x1e'

struct ak_format {
    char delimiter[AK_MAX_DELIMITER + 1];
    int packed; /* the number of columns at the front that have AK_PACK between them; 0 for none */
    char comment[AK_MAX_DELIMITER + 1]; /* "" for none */
    bool space, ends, surplus_ignore;
};

enum ak_event {
    AK_MORE,   /* all lines of the buffer are used up: release, read on, call again; at eof: the end */
    AK_RECORD, /* field[] is filled */
    AK_BROKEN, /* `raw` is not a record, `reason` says why */
    AK_HEADER  /* `raw` names the columns of what follows; with a `reason` that cannot be read */
};

struct ak_record {
    uint64_t line;       /* its first line, from 1 */
    struct ak_slice raw; /* without the last line's end; at most AK_MAX_RECORD bytes */
    struct ak_slice field[AK_MAX_COLUMNS];
    bool repaired; /* surplus delimiters were put back into the free column */
    bool plain;    /* surely ASCII */
    char reason[AK_REASON];
};

#define AK_CHUNK 8192

/* All fields are private but `bytes_*`: input bytes that were in records, in broken text, in blank and
 * comment lines. At the end their sum is the input. */
struct ak_reader {
    struct ak_format format;
    size_t delimiter_size, comment_size;
    size_t columns, want; /* want: delimiters of a record; packed columns are one */
    size_t more;          /* columns that packed ones are more than one */
    int free_one;
    bool first_free, hold_last;
    const struct ak_fields *fields; /* NULL: every line is a record's */
    struct ak_layout *layout;       /* of the last header */
    uint64_t bytes_records, bytes_broken, bytes_blank;
    /* marks: places of newlines and of the delimiter's first byte within the chunk at `chunk`; which are
     * newlines */
    uint32_t mark[AK_CHUNK + 1], newline[AK_CHUNK + 1];
    size_t marks, next_mark, newlines, next_newline, chunk, scanned;
    bool chunk_odd; /* the chunk has a NUL or a byte above 127 */
    /* the line being read; all places count from the start of the input, `base` is the buffer's */
    size_t base, line_at, line_end, line_all, line_text, last_end;
    size_t count;
    uint64_t line;
    uint32_t at[AK_MAX_COLUMNS + 1]; /* its delimiters, from line_at */
    bool line_odd, line_ready, line_ends, skipping;
    /* lines that are not yet a record, or a record (`held`) that may continue */
    size_t first, lines, sum, pending_end, pending_text;
    uint64_t pending_line;
    bool held, pending_ends;
    bool trailing; /* behind what was set aside: lines without a delimiter belong to it */
    struct {
        size_t at;
        uint32_t count;
        bool blank;
    } pending[AK_MAX_LINES]; /* last: ak_reader_init() does not clear it */
};

/* Prepares `reader` for records of `spec` in `format`. False: the format is invalid, and `error` is a
 * sentence. */
bool ak_reader_init(struct ak_reader *reader, const struct ak_spec *spec, const struct ak_format *format,
                    char *error, size_t error_size);

/* Treats a later header between the records as one, and fills `layout`, which is that of the text's
 * beginning. */
void ak_reader_heads(struct ak_reader *reader, const struct ak_fields *fields, struct ak_layout *layout);

/* The next thing in buf[0..len), which holds the input from where the last release ended. `eof`: no more will
 * come. */
enum ak_event ak_reader_next(struct ak_reader *reader, const char *buf, size_t len, bool eof,
                             struct ak_record *record);

/* After AK_MORE: how many bytes at the buffer's front are done with. The caller moves the rest to the front.
 * At most 2 * AK_MAX_RECORD + 64 bytes ever remain. */
size_t ak_reader_release(struct ak_reader *reader);

/* ---- rows ---- */

/* PASSED: a job's row that ak_spec_without passes over, with its cells. */
enum ak_verdict { AK_JOB, AK_STEP, AK_PASSED, AK_SKIPPED, AK_REJECTED, AK_HEADS };

extern const char ak_step_alone[]; /* the reason where the step's job was rejected or is missing */

#define AK_HOURS 1024

struct ak_rows {
    const struct ak_spec *spec;
    const struct ak_zone *zone; /* NULL: a time that is not an epoch refuses the row */
    bool want_jobs,
        want_steps;       /* rows of the other sort are AK_SKIPPED, but jobs are remembered for their steps */
    bool no_steps;        /* a step's row is refused */
    struct ak_slice seal; /* what stands behind the digits of each time; empty for none */
    const struct ak_known *known;       /* NULL: no program has a name */
    const struct ak_tres_ids *tres_ids; /* NULL: no number of a site's own TRES has a name */
    const int *place;                   /* column of the spec -> of the text, for reasons; NULL: the same */
    struct ak_cell cell[AK_MAX_OUTPUTS];
    char reason[AK_REASON];
    uint32_t utf8, ambiguous; /* of the last row: bytes replaced, times that may be of two hours */
    bool contradictory;       /* the last row, a job's, contradicts itself: ak_contradictory() */
    /* private */
    char *scratch, *kept;
    size_t scratch_used, kept_used;
    struct ak_cell parent[AK_MAX_OUTPUTS];
    struct ak_slice parent_id;
    int twice_at[AK_MAX_TWICE], twices; /* outputs that are times in an hour that occurs twice */
    int64_t twice[AK_MAX_TWICE][2];     /* both */
    struct ak_slice tres;               /* the row's last TRES text, if any, and the place of its outputs */
    int tres_out;
    bool parent_known;
    struct {
        int64_t hour;
        int32_t offset;
        bool known;
    } hours[AK_HOURS];
};

/* Allocates the rows' two scratch areas; ak_rows_free() gives them back. False: no memory. */
bool ak_rows_init(struct ak_rows *rows, const struct ak_spec *spec, const struct ak_zone *zone);
void ak_rows_free(struct ak_rows *rows);

/* Converts a record into rows->cell[0..outputs). AK_REJECTED: rows->reason says why. */
enum ak_verdict ak_rows_take(struct ak_rows *rows, const struct ak_record *record);

/* To call after AK_BROKEN: the next step may belong to a job whose row was not read. */
void ak_rows_broken(struct ak_rows *rows);

#endif
