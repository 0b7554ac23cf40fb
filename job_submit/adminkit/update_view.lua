-- An update, and the job that it is about, under the names of a submission.
local update_view = {}

local NO_VAL16 = 65534
local NO_VAL = 4294967294

-- The fields of an update that rules look at. A hold, a release or a new name sets no such field.
local POLICED = {
    { unset = NO_VAL, "time_limit", "time_min", "min_nodes", "max_nodes", "min_cpus", "max_cpus", "num_tasks" },
    { unset = NO_VAL16, "cpus_per_task", "ntasks_per_node", "pn_min_cpus", "ntasks_per_tres", "shared", "sockets_per_node" },
    { "partition", "account", "qos", "features", "reservation", "req_nodes" },
    { "tres_per_job", "tres_per_node", "tres_per_socket", "tres_per_task", "cpus_per_tres", "min_mem_per_cpu",
        "min_mem_per_node", "mem_per_tres" },
}

function update_view.is_policed(job_desc)
    for i = 1, #POLICED do
        local fields = POLICED[i]
        for j = 1, #fields do
            local value = job_desc[fields[j]]
            if value and value ~= fields.unset then
                return true
            end
        end
    end
    return false
end

-- In job_rec, which has no cpus_per_task: it is no more than the CPUs of a node.
local RENAMED = { reservation = "resv_name", cpus_per_task = "pn_min_cpus" }

-- A job_rec under the names of job_desc.
function update_view.of_record(job_rec)
    return setmetatable({}, {
        __index = function(_, field)
            return job_rec[RENAMED[field] or field]
        end,
    })
end

local SMALL = {
    cpus_per_task = true, ntasks_per_node = true, ntasks_per_tres = true, sockets_per_node = true, pn_min_cpus = true,
    shared = true, reboot = true,
}

-- Slurm has one field for both: who sets one takes the other away.
local MEMORY = { min_mem_per_cpu = "min_mem_per_node", min_mem_per_node = "min_mem_per_cpu" }

-- What the update leaves of the job: its fields where they are set, the record's else. An empty text clears a field.
function update_view.after(job_desc, job_rec)
    return setmetatable({}, {
        __index = function(_, field)
            if field == "script" then
                return job_rec.script -- no update changes it
            end
            local value = job_desc[field]
            if value == nil and MEMORY[field] and job_desc[MEMORY[field]] then
                return nil
            elseif value == nil or value == NO_VAL or (value == NO_VAL16 and SMALL[field]) then
                return job_rec[RENAMED[field] or field]
            end
            return value
        end,
    })
end

return update_view
