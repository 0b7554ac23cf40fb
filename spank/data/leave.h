/* leave.h - out of the job's cgroups. */
#ifndef ADMINKIT_DATA_LEAVE_H
#define ADMINKIT_DATA_LEAVE_H

/* Moves this process to the cgroups above the job's, so that what it reads and caches is not counted as the
 * job's memory, and the end of the job does not end it. What fails leaves it where it is. */
void da_leave_job(void);

#endif
