-- Between Slurm and the decision: the only module that knows `slurm`. Nothing here raises into Slurm, whose releases differ in
-- what an error does to a submission; the policy's `fail` says it instead.
local need = ...
local decide = need("decide")
local request = need("request")
local resulting = need("resulting")
local rules = need("rules")
local ruleset_of = need("ruleset").of
local soft = need("soft")
local text = need("text")

local slurm_api = {}

local ceil = math.ceil
local NONE = text.NONE

local PROBE = "adminkit:generation?"
local LAST_FAILED = "adminkit: the site's policy could not be applied, so this request was refused. Please tell the operators."

local NO_VAL = 4294967294

-- The generations of the tables that are in force, by this format: policy, incentives, hints; behind `more`, the soft limits
-- where there are some.
local function generations(format, more, tables)
    local function of(name)
        return tables[name] and tables[name].generation or "none"
    end
    local line = string.format(format, of("policy"), of("incentives"), of("hints"))
    return tables.soft_limits and line .. more .. of("soft_limits") or line
end

-- An error that has no name in scripts, by its number in every release: "Job can not be altered now, try again later".
local UNNAMED = { TRANSITION_STATE_NO_UPDATE = 2020 }

-- Slurm's error of that name; where this release lacks it, that a policy is broken; the general one for no name.
local function code_of(slurm, name)
    local code = name and (slurm[name] or UNNAMED[name] or slurm[rules.POLICY])
    if type(code) == "number" and code ~= 0 then
        return code
    end
    return type(slurm.ERROR) == "number" and slurm.ERROR or -1
end

-- Writes what the decision changes. `field`: of the record, nil for none; `asked`: the request of a submission, nil for an
-- update.
local function write(job_desc, decision, field, asked)
    -- Trap: of a job of 0 nodes, for which no client of Slurm's asks, job_rec never shows the GPUs of --ntasks-per-gpu.
    if asked and asked.ntasks_per_tres and job_desc.min_nodes == 0 then
        job_desc.min_nodes = 1
    end
    if decision.queue then
        job_desc.partition = decision.queue
    end
    if decision.limit then
        job_desc.time_limit = ceil(decision.limit / 60)
    end
    if decision.soft then
        job_desc.time_min = ceil(decision.soft / 60)
    elseif decision.time_min then
        job_desc.time_min = decision.time_min == 0 and asked and NO_VAL or ceil(decision.time_min / 60)
    end
    if decision.licences then
        job_desc.licenses = decision.licences
    end
    if decision.max_nodes then
        job_desc.max_nodes = decision.max_nodes
        local flags = asked and asked.fewest_nodes -- else Slurm would take as many as it may
        if flags then
            job_desc.bitflags = flags
        end
    end
    if field and decision.record then
        job_desc[field] = decision.record
    end
    if decision.points then
        job_desc.site_factor = decision.points
    end
end

local function take_back(job_desc, field, value)
    if value then
        pcall(function()
            job_desc[field] = value
        end)
    end
end

-- All of the decision or none of it: what had been written is taken back where Slurm does not take the next. Slurm takes ""
-- for an unset text.
local function apply(job_desc, decision, field, asked)
    local partition = decision.queue and (job_desc.partition or "")
    local time_limit = decision.limit and job_desc.time_limit
    local plans = decision.soft or decision.time_min
    local time_min = plans and (asked and not asked.time_min and NO_VAL or job_desc.time_min)
    local max_nodes = decision.max_nodes and job_desc.max_nodes
    local bitflags = max_nodes and job_desc.bitflags
    local licences = decision.licences and (job_desc.licenses or "")
    local there = field and decision.record and (asked[field] or "")
    local ok, wrong = pcall(write, job_desc, decision, field, asked)
    if ok then
        return
    end
    take_back(job_desc, "partition", partition)
    take_back(job_desc, "time_limit", time_limit)
    take_back(job_desc, "time_min", time_min)
    take_back(job_desc, "max_nodes", max_nodes)
    take_back(job_desc, "bitflags", bitflags)
    take_back(job_desc, "licenses", licences)
    take_back(job_desc, field, there)
    error(wrong, 0)
end

-- Writes the decision and its messages; the code for Slurm.
local function answer(slurm, job_desc, decision, field, asked)
    local code = slurm.SUCCESS
    if decision.verdict == "reject" then
        code = code_of(slurm, decision.code)
    else
        apply(job_desc, decision, field, asked)
    end
    local messages, lines = decision.messages or NONE, decision.log or NONE
    for i = 1, #messages do
        slurm.user_msg(messages[i])
    end
    for i = 1, #lines do
        slurm.log_info("%s", lines[i])
    end
    return code
end

-- Minutes; nil for unset.
local function given(value)
    return value and value ~= NO_VAL and value or nil
end

-- Takes time_min away where an update must not leave it, whoever asks. No rule of the policy sees it.
local function drop_planned(slurm, job_desc, job_rec)
    local typed, state = given(job_desc.time_min), job_rec.job_state
    if not soft.is_dropped(given(job_desc.time_limit), typed, given(job_rec.time_min), state and state % 256 == 0) then
        return
    end
    job_desc.time_min = 0
    if typed and typed ~= 0 then
        slurm.log_info("%s", "adminkit: left a typed TimeMin out of an update")
    end
end

-- The two functions that Slurm calls, over the tables that were loaded. `clock()` is the time in seconds, `lease(now)` the
-- lease of soft limits as it is then, or nil.
function slurm_api.callbacks(slurm, tables, clock, lease)
    local policy = tables.policy
    local ruleset = policy and ruleset_of(policy, tables.incentives, tables.hints, tables.soft_limits)
    local field = ruleset and ruleset.record
    local reader = policy and request.reader(ruleset, slurm.ESLURM_INVALID_TRES ~= nil) -- gres/gpu:2, as the error, is of 23.11
    local in_force = generations("adminkit generation %s incentives %s hints %s", " soft ", tables)

    local needs_now = ruleset and ruleset.needs_now
    local function submit(job_desc, part_list, uid)
        local name = job_desc.name
        if name == PROBE then
            slurm.user_msg(in_force)
            return code_of(slurm)
        end
        if not policy then
            return slurm.SUCCESS
        end
        local time = needs_now and clock() or nil
        local asked = reader.of_submission(job_desc, part_list, uid, time, name)
        asked.lease = ruleset.soft and lease and lease(time) or false
        return answer(slurm, job_desc, decide.decide(asked, ruleset), field, asked)
    end

    local function modify(job_desc, job_rec, part_list, uid)
        if not policy then
            return slurm.SUCCESS
        end
        local is_policed = resulting.is_policed(job_desc)
        if ruleset.soft and (is_policed or job_desc.admin_comment) then -- without its record nobody would raise it
            drop_planned(slurm, job_desc, job_rec)
        end
        local names, is_exempt = ruleset.power and job_desc.licenses ~= nil, policy.exempt[uid]
        if not (is_policed or names) or (is_exempt and (names or not ruleset.power)) then
            return slurm.SUCCESS -- exempt users may name licences, and changes no job's GPUs without theirs
        end
        local wanted, job = reader.of_update(job_desc, job_rec, part_list, uid, needs_now and clock() or nil)
        if ruleset.soft then -- what is there is the policy's own: no rule looks at it
            wanted.time_min, job.time_min = false, false
        end
        return answer(slurm, job_desc, decide.modify(wanted, job, ruleset))
    end

    -- Handle adminkit's own error: log it, and let the job pass or not, as the policy says.
    local function failed(wrong, uid)
        pcall(slurm.log_error, "%s", "adminkit: error: " .. tostring(wrong))
        if policy and policy.fail == "closed" and not (policy.exempt and policy.exempt[uid]) then
            local messages = {}
            if not pcall(text.say, messages, policy, "failed", "reject", {}, nil, LAST_FAILED) then
                messages = { LAST_FAILED }
            end
            for i = 1, #messages do
                pcall(slurm.user_msg, messages[i])
            end
            return code_of(slurm)
        end
        return slurm.SUCCESS
    end

    local callbacks = {}

    function callbacks.submit(job_desc, part_list, submit_uid)
        local ok, code = pcall(submit, job_desc, part_list, submit_uid)
        if ok then
            return code
        end
        return failed(code, submit_uid)
    end

    function callbacks.modify(job_desc, job_rec, part_list, modify_uid)
        local ok, code = pcall(modify, job_desc, job_rec, part_list, modify_uid)
        if ok then
            return code
        end
        return failed(code, modify_uid)
    end

    return callbacks
end

-- A line on what was loaded, for slurmctld.log.
function slurm_api.summary(tables)
    local line = generations("adminkit: policy %s, incentives %s, hints %s", ", soft limits ", tables)
    return line .. (tables.policy and "" or "; without a policy every submission is accepted")
end

return slurm_api
