-- What slurmctld 22.05 hands to a job_submit script, as far as its source shows: empty tables with metatables, numbers that mean
-- "unset", C's own checks on what is written, and errors where C raises them.
local mock = {}

local NO_VAL, NO_VAL16 = 4294967294, 65534

local function set(words)
    local made = {}
    for word in string.gmatch(words, "%S+") do
        made[word] = true
    end
    return made
end

local STRINGS = set([[account acctg_freq admin_comment array_inx batch_features burst_buffer clusters comment container
    cpus_per_tres dependency exc_nodes extra features gres licenses mail_user mem_per_tres name partition prefer qos req_nodes
    reservation script std_err std_in std_out tres_bind tres_freq tres_per_job tres_per_node tres_per_socket tres_per_task wckey
    work_dir]])
local SMALL = set([[contiguous cores_per_socket cpus_per_task immediate mail_type ntasks_per_node ntasks_per_socket
    ntasks_per_tres oversubscribe pn_min_cpus reboot requeue shared sockets_per_node threads_per_core wait4switch]])
local LARGE = set([[begin_time bitflags cpu_freq_gov cpu_freq_max cpu_freq_min delay_boot end_time max_cpus max_nodes min_cpus
    min_nodes nice num_tasks pn_min_memory pn_min_tmp_disk power_flags priority req_switch site_factor time_limit time_min]])
local NIL_NUMBERS = set("min_mem_per_node min_mem_per_cpu")

-- C pushes every number as lua_Number: a float under Lua 5.4.
local function pushed(value)
    return type(value) == "number" and value + 0.0 or value
end
mock.pushed = pushed

-- Constants that a later release added, by that release.
local LATER = { ESLURM_INVALID_TRES = { 23.11, 2115 } }

-- A fresh `slurm` of a release, 22.05 by default. What it was told is in `said`: messages (for the user), info and errors
-- (slurmctld.log), lookups (getpwuid).
function mock.slurm(release)
    local said = { messages = {}, info = {}, errors = {}, lookups = 0 }
    local slurm = {
        SUCCESS = 0, ERROR = -1, FAILURE = -1, NO_VAL = NO_VAL, NO_VAL16 = NO_VAL16, INFINITE = 4294967295,
        NICE_OFFSET = 2147483648, ESLURM_ACCESS_DENIED = 2002, ESLURM_INVALID_TIME_LIMIT = 2051,
        ESLURM_MISSING_TIME_LIMIT = 8000, ESLURM_INVALID_NODE_COUNT = 2006, ESLURM_ACCOUNTING_POLICY = 2050,
        ESLURM_INVALID_CPU_COUNT = 2069, ESLURM_INVALID_GRES = 2072, ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE = 2014,
    }
    for name, added in pairs(LATER) do
        slurm[name] = (release or 22.05) >= added[1] and added[2] or nil
    end
    local function writer(list)
        return function(format, ...)
            list[#list + 1] = string.format(format, ...)
        end
    end
    slurm.log_info, slurm.log_error, slurm.log_user = writer(said.info), writer(said.errors), writer(said.messages)
    slurm.log_debug = writer(said.info)
    function slurm.user_msg(message)
        if type(message) ~= "string" then
            error("bad argument #1 to 'user_msg' (string expected)")
        end
        said.messages[#said.messages + 1] = message
    end
    return slurm, said
end

local function environment(fields, said)
    if (not fields.script or fields.script == "") and not fields.environment then
        said.errors[#said.errors + 1] = "job_desc->environment only accessible for batch jobs."
        return nil
    end
    return setmetatable({}, {
        __index = function(_, name)
            return (fields.environment or {})[name]
        end,
    })
end

-- A job_desc that holds `fields`. Reading and writing go through what C does; the values stay in `fields`.
function mock.job_desc(fields, said)
    return setmetatable({}, {
        __index = function(_, field)
            if field == "environment" then
                return environment(fields, said)
            end
            if field == "user_name" then
                said.lookups = said.lookups + 1
            end
            if fields[field] ~= nil or STRINGS[field] or NIL_NUMBERS[field] then
                return pushed(fields[field])
            end
            if field == "bitflags" then
                return pushed(0)
            end
            if SMALL[field] then
                return pushed(NO_VAL16)
            end
            if LARGE[field] or field == "het_job_offset" then
                return pushed(NO_VAL)
            end
            return nil
        end,
        __newindex = function(_, field, value)
            if STRINGS[field] then
                if type(value) ~= "string" and type(value) ~= "number" then
                    error("bad argument #3 to '?' (string expected, got " .. type(value) .. ")")
                end
                fields[field] = value ~= "" and tostring(value) or nil
            elseif SMALL[field] or LARGE[field] or NIL_NUMBERS[field] then
                if type(value) ~= "number" then
                    error("bad argument #3 to '?' (number expected, got " .. type(value) .. ")")
                end
                if value < 0 or value > 4294967295 then
                    error("the test's own: a C cast of " .. value .. " is undefined")
                end
                fields[field] = math.floor(value)
            else
                said.errors[#said.errors + 1] = "_set_job_field: unrecognized field: " .. tostring(field)
            end
        end,
    })
end

local RECORD = set([[account admin_comment alloc_node array_job_id array_task_id batch_features burst_buffer comment
    cpus_per_tres extra features gres_req job_id job_state licenses max_cpus max_nodes mem_per_tres min_cpus min_mem_per_cpu
    min_mem_per_node min_nodes name nice partition pn_min_cpus priority qos restart_cnt resv_name script site_factor
    time_limit time_min total_cpus total_nodes tres_per_job tres_fmt_req_str tres_per_node tres_per_socket tres_per_task
    user_id user_name work_dir]])
local RECORD_LARGE = set("array_task_id max_cpus priority time_limit")

-- A job_rec. Fields it does not have (num_tasks, environment, reservation) are nil; what is written lands nowhere.
function mock.job_rec(fields)
    return setmetatable({}, {
        __index = function(_, field)
            if not RECORD[field] then
                return nil
            end
            if fields[field] == nil and RECORD_LARGE[field] then
                return pushed(NO_VAL)
            end
            return pushed(fields[field])
        end,
    })
end

-- A part_list: a real table by name, of empty tables with metatables.
function mock.part_list(parts)
    local list = {}
    for name, fields in pairs(parts) do
        list[name] = setmetatable({}, {
            __index = function(_, field)
                if field == "state_up" and fields.state_up == nil then
                    return pushed(3)
                end
                return pushed(fields[field])
            end,
        })
    end
    return list
end

return mock
