/* crontab QUEUE MINUTES [ready]: what scrontab sends to slurmctld for one line that runs every minute, held
 * unless it is ready. Debian packages no scrontab. Prints the job's id; or what slurmctld said, with exit
 * code 1. Link with -lslurmfull, which has new_cron_entry(). */
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A cron_entry_t. It begins with its flags, 32 bits; bits 1 to 5 are an asterisk each. */
extern void *new_cron_entry(void);

#define ASTERISKS 0x3e

/* What job_submit said to the user has a field of its own since 23.02. */
static const char *said(const crontab_update_response_msg_t *answer) {
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 2, 0)
    if (answer->job_submit_user_msg)
        return answer->job_submit_user_msg;
#endif
    return answer->err_msg ? answer->err_msg : "";
}

int main(int argc, char **argv) {
    char *environment[] = {"PATH=/usr/bin:/bin", NULL};
    job_desc_msg_t job;

    if (argc != 3 && argc != 4)
        return 2;
    slurm_init(NULL);
    slurm_init_job_desc_msg(&job);
    job.name = "cron";
    job.partition = argv[1];
    job.time_limit = (uint32_t)atoi(argv[2]);
    job.script = "#!/bin/sh\ntrue\n";
    job.work_dir = "/tmp";
    job.environment = environment;
    job.env_size = 1;
    job.min_nodes = 1;
    job.user_id = getuid();
    job.group_id = getgid();
    if (argc == 3)
        job.priority = 0;
    job.crontab_entry = new_cron_entry();
    *(uint32_t *)job.crontab_entry = ASTERISKS;

    void *jobs = slurm_list_create(NULL);
    slurm_list_append(jobs, &job);
    crontab_update_response_msg_t *answer =
        slurm_update_crontab(getuid(), getgid(), "* * * * * true\n", jobs);
    if (answer->return_code != SLURM_SUCCESS) {
        printf("%s\n%s\n", said(answer), slurm_strerror((int)answer->return_code));
        return 1;
    }
    printf("job %u\n%s", answer->jobids_count ? answer->jobids[0] : 0, said(answer));
    return 0;
}
