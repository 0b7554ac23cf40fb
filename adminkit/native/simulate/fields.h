/* fields.h - the names of the input's fields, and where their numbers go. */
#ifndef ADMINKIT_SIMULATE_FIELDS_H
#define ADMINKIT_SIMULATE_FIELDS_H

#include "workload.h"

/* A number of a record: `wide` is int64_t, else int32_t. `usual` is its value where it is not given. */
struct sim_field {
    const char *name; /* NULL ends a table */
    size_t offset;
    bool wide;
    int64_t least, most, usual;
};

extern const struct sim_field sim_set_fields[], sim_queue_fields[], sim_nodes_fields[], sim_down_fields[],
    sim_qos_fields[], sim_curve_fields[], sim_job_fields[];

const struct sim_field *sim_field_named(const struct sim_field *fields, const char *name);
/* False: the value is out of the field's range. */
bool sim_field_put(const struct sim_field *field, void *record, int64_t value);
void sim_fields_usual(const struct sim_field *fields, void *record);

#endif
