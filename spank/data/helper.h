/* helper.h - the process that copies (stage_main.c), as the plugin starts it, waits for it and ends it. */
#ifndef ADMINKIT_DATA_HELPER_H
#define ADMINKIT_DATA_HELPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "record.h"
#include "request.h"
#include "site.h"

#define DA_READY_SPAN 10 /* s that tasks of mode behind wait for their folder */

/* A step of a job on this node. */
struct da_step {
    const struct da_site *site;
    struct da_request request;
    uint32_t job, node, nodes; /* the place of the node in the step, and how many it has */
    uid_t uid;
    gid_t gid;
    const gid_t *groups;
    int group_count;
};

/* Starts the helper, unless one of the job runs or has done its work, and keeps the job's state in use while
 * the descriptor is open. Returns it, or a negative errno. */
int da_helper_start(const struct da_step *step);

/* Waits in a task, by the mode. Returns what is known then; `*impatient`: the part was not whole in time. A
 * task that has a SIGTERM waits no longer. */
struct da_record da_helper_wait(int state, const struct da_site *site, enum da_mode mode, bool *impatient);

/* The job has ended: the helper ends, within a second, and the job's folder goes. */
void da_helper_end(const struct da_site *site, uint32_t job);

#endif
