/* spellings: asks slurmctld for jobs that no client of Slurm's would ask for, one command a line of standard
 * input:
 *
 *   alloc FIELD=VALUE\tFIELD=VALUE ...   an allocation that starts at once or not at all
 *
 *   queue FIELD=VALUE\tFIELD=VALUE ...   one that may wait
 *
 *   batch FIELD=VALUE\tFIELD=VALUE ...   a batch job that may wait and be requeued
 *
 *   update ID\tFIELD=VALUE ...           an update of a job
 *
 *   show ID                              what slurmctld knows of it
 *
 *   requeue ID                           to the queue again, where it is held
 *
 *   kill ID                              its end
 *
 * Answers with one line each: "job ID", "error NUMBER WORDS", or for show
 * "STATE\tPARTITION\tQOS\tMINUTES\tNODES\tPOINTS\tTRES\tLICENCES". Numbers are as C reads them, with a sign
 * and 0x. Link with -lslurmfull. */
#include <errno.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A job as calls and records name it, since 26.05 by its step. */
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
#define NAMED(id) ((slurm_step_id_t){.job_id = (id), .step_id = NO_VAL, .step_het_comp = NO_VAL})
#define ID_OF(record) ((record)->step_id.job_id)
#else
#define NAMED(id) (id)
#define ID_OF(record) ((record)->job_id)
#endif

struct field {
    const char *name;
    size_t offset;
    size_t size; /* of the number; 0 for a text */
};

#define NUMBER(name)                                                                                         \
    { #name, offsetof(job_desc_msg_t, name), sizeof(((job_desc_msg_t *)0)->name) }
#define TEXT(name)                                                                                           \
    { #name, offsetof(job_desc_msg_t, name), 0 }

static const struct field FIELDS[] = {
    NUMBER(min_nodes),
    NUMBER(max_nodes),
    NUMBER(num_tasks),
    NUMBER(min_cpus),
    NUMBER(max_cpus),
    NUMBER(cpus_per_task),
    NUMBER(ntasks_per_node),
    NUMBER(ntasks_per_socket),
    NUMBER(ntasks_per_core),
    NUMBER(ntasks_per_tres),
    NUMBER(pn_min_cpus),
    NUMBER(pn_min_memory),
    NUMBER(shared),
    NUMBER(overcommit),
    NUMBER(contiguous),
    NUMBER(sockets_per_node),
    NUMBER(cores_per_socket),
    NUMBER(threads_per_core),
    NUMBER(core_spec),
    NUMBER(time_limit),
    NUMBER(time_min),
    NUMBER(bitflags),
    NUMBER(plane_size),
    NUMBER(task_dist),
    NUMBER(reboot),
    NUMBER(req_switch),
    NUMBER(site_factor),
    NUMBER(priority),
    TEXT(req_nodes),
    TEXT(exc_nodes),
    TEXT(tres_per_job),
    TEXT(tres_per_node),
    TEXT(tres_per_socket),
    TEXT(tres_per_task),
    TEXT(cpus_per_tres),
    TEXT(mem_per_tres),
    TEXT(partition),
    TEXT(qos),
    TEXT(account),
    TEXT(features),
    TEXT(name),
    TEXT(licenses),
};

/* Set one field from "NAME=VALUE", which is kept. False: there is no such field. */
static int set_field(job_desc_msg_t *job, char *word) {
    char *value = strchr(word, '=');
    if (!value)
        return 0;
    *value++ = '\0';
    for (size_t i = 0; i < sizeof FIELDS / sizeof *FIELDS; i++) {
        const struct field *field = &FIELDS[i];
        if (strcmp(field->name, word) != 0)
            continue;
        char *place = (char *)job + field->offset;
        uint64_t number = strtoull(value, NULL, 0);
        if (field->size == 0)
            memcpy(place, &value, sizeof value);
        else
            memcpy(place, &number, field->size); /* little endian, as all that Debian's Slurm runs on here */
        return 1;
    }
    return 0;
}

/* The fields of `words`, parted by tabs, into `job`. */
static int set_fields(job_desc_msg_t *job, char *words) {
    for (char *word = strtok(words, "\t"); word; word = strtok(NULL, "\t"))
        if (!set_field(job, word))
            return 0;
    return 1;
}

static void failed(void) {
    printf("error %d %s\n", errno, slurm_strerror(errno));
}

/* A job of this user's with the fields of `words` in `job`; 0 where one is unknown, which has been said. */
static int begin(job_desc_msg_t *job, char *words) {
    slurm_init_job_desc_msg(job);
    job->user_id = getuid();
    job->group_id = getgid();
    job->work_dir = "/tmp";
    job->name = "spelt";
    if (set_fields(job, words))
        return 1;
    printf("error -1 no such field\n");
    return 0;
}

static void allocate(char *words, uint16_t at_once) {
    job_desc_msg_t job;
    resource_allocation_response_msg_t *answer = NULL;
    if (!begin(&job, words))
        return;
    job.immediate = at_once;
    if (slurm_allocate_resources(&job, &answer) != SLURM_SUCCESS) {
        failed();
        return;
    }
    printf("job %u\n", ID_OF(answer));
    slurm_free_resource_allocation_response_msg(answer);
}

static void submit(char *words) {
    job_desc_msg_t job;
    submit_response_msg_t *answer = NULL;
    char *environment[] = {"PATH=/usr/bin:/bin", NULL};
    if (!begin(&job, words))
        return;
    job.script = "#!/bin/sh\nexec sleep 300\n";
    job.std_out = "/dev/null";
    job.environment = environment;
    job.env_size = 1;
    job.requeue = 1;
    if (slurm_submit_batch_job(&job, &answer) != SLURM_SUCCESS) {
        failed();
        return;
    }
    printf("job %u\n", ID_OF(answer));
    slurm_free_submit_response_response_msg(answer);
}

static void requeue(uint32_t id) {
    if (slurm_requeue(NAMED(id), JOB_REQUEUE_HOLD) != SLURM_SUCCESS)
        failed();
    else
        printf("job %u\n", id);
}

static void update(char *words) {
    job_desc_msg_t job;
    char *rest = NULL;
    slurm_init_job_desc_msg(&job);
    job.job_id_str = strtok_r(words, "\t", &rest);
    ID_OF(&job) = (uint32_t)strtoul(job.job_id_str, NULL, 10);
    if (!set_fields(&job, rest)) {
        printf("error -1 no such field\n");
        return;
    }
    if (slurm_update_job(&job) != SLURM_SUCCESS)
        failed();
    else
        printf("job %s\n", words);
}

static const char *or_none(const char *text) {
    return text ? text : "";
}

static void show(uint32_t id) {
    job_info_msg_t *found = NULL;
    if (slurm_load_job(&found, NAMED(id), SHOW_ALL) != SLURM_SUCCESS || found->record_count == 0) {
        failed();
        return;
    }
    const slurm_job_info_t *job = &found->job_array[0];
    printf("%u\t%s\t%s\t%u\t%u\t%u\t%s\t%s\n", job->job_state, or_none(job->partition), or_none(job->qos),
           job->time_limit, job->num_nodes, job->site_factor == NO_VAL ? 0 : job->site_factor - NICE_OFFSET,
           or_none(job->tres_alloc_str), or_none(job->licenses));
    slurm_free_job_info_msg(found);
}

static void end(uint32_t id) {
    if (slurm_kill_job(NAMED(id), 9, 0) != SLURM_SUCCESS)
        failed();
    else
        printf("job %u\n", id);
}

int main(void) {
    char *line = NULL;
    size_t room = 0;
    ssize_t length;

    slurm_init(NULL);
    while ((length = getline(&line, &room, stdin)) > 0) {
        line[length - 1] = '\0';
        char *words = strchr(line, ' ');
        if (!words)
            return 2;
        *words++ = '\0';
        if (strcmp(line, "alloc") == 0)
            allocate(words, 1);
        else if (strcmp(line, "queue") == 0)
            allocate(words, 0);
        else if (strcmp(line, "batch") == 0)
            submit(words);
        else if (strcmp(line, "requeue") == 0)
            requeue((uint32_t)strtoul(words, NULL, 10));
        else if (strcmp(line, "update") == 0)
            update(words);
        else if (strcmp(line, "show") == 0)
            show((uint32_t)strtoul(words, NULL, 10));
        else if (strcmp(line, "kill") == 0)
            end((uint32_t)strtoul(words, NULL, 10));
        else
            return 2;
        fflush(stdout);
    }
    free(line);
    return 0;
}
