/* resize.h - the order to continue with another number of GPUs. Pure: text in, values out.
 *
 * A job opts in by ADMINKIT_ELASTIC=LEAST-MOST beside a requeue. `adminkit elastic run` leaves its order in
 * the job's AdminComment, which only operators can write:
 *
 *     el1:gpus=4,until=1790000600
 *
 *     gpus   of the job's one node; 0: as many as it has, for a job that opted in to nothing but a requeue,
 * which `adminkit idle` orders where GPUs are not used (docs/idle.md) until  epoch seconds: later the order
 * is void
 *
 * The plugin then signals the job as it does before the limit, and where the run leaves with the code for
 * "more to do", puts it back held, so that it does not start before its GPUs are changed. An order that would
 * cost the job anything but that is not obeyed: where the job could not be put back, or the run is too young
 * to have come far. docs/elastic.md */
#ifndef ADMINKIT_CKPT_RESIZE_H
#define ADMINKIT_CKPT_RESIZE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/slurmctld.h"

#define CK_MOST_GPUS 1024
#define CK_SAME_GPUS UINT32_MAX /* of an order that says 0 */

/* What a job opted in to; most 0: to nothing. */
struct ck_range {
    uint32_t least, most;
};

struct ck_order {
    uint32_t gpus;
    int64_t until; /* epoch seconds */
};

/* What is known of the job whose order is looked at. */
struct ck_elastic {
    struct ck_range range;
    bool requeue;  /* it asked for one */
    uint32_t most; /* how often it may be put back */
    int64_t lead;  /* seconds */
};

/* LEAST-MOST, 1-1024. False: not understood, and *range is all zeros. */
bool ck_range_read(struct ck_range *range, const char *text);

/* The first word of an AdminComment that is wholly an order. False: none, and *order is all zeros. */
bool ck_order_find(const char *comment, struct ck_order *order);

/* GPUs of a node by what slurmctld has in tres_per_node: gres:gpu:2, gres/gpu:a100:2; 0 where anything else
 * stands there, such as a second resource. */
uint32_t ck_gpus_of(const char *tres_per_node);

/* Whether the order holds at `now`, epoch seconds: it is one that the job opted in to, and of another number
 * than it has; or it is only to put a job back that asked for a requeue. */
bool ck_order_holds(const struct ck_order *order, const struct ck_elastic *job,
                    const struct ak_job_info *info, int64_t now);

/* Whether the job may be signalled for it now, and will be put back when it leaves with the code. */
bool ck_order_due(const struct ck_order *order, const struct ck_elastic *job, const struct ak_job_info *info,
                  int64_t now);

#endif
