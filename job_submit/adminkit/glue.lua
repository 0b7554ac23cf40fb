-- Between Slurm and the decision: the only module that knows `slurm`. Nothing here raises into Slurm, whose releases differ in
-- what an error does to a submission; the policy's `fail` says it instead.
local need = ...
local decide = need("decide")
local gres = need("gres")
local plan = need("plan")
local request = need("request")
local rules = need("rules")
local text = need("text")

local glue = {}

local ceil = math.ceil
local decided, of_submission = decide.decide, request.of_submission

local PROBE = "adminkit:generation?"
local LAST_FAILED = "adminkit: the site's policy could not be applied, so this was refused. Please tell the operators."

local function generation(value)
    return value and value.generation or "none"
end

-- Slurm's error of that name; where this release lacks it, that a policy is broken; the general one for no name.
local function code_of(slurm, name)
    local code = name and (slurm[name] or slurm[rules.POLICY])
    if type(code) == "number" and code ~= 0 then
        return code
    end
    return type(slurm.ERROR) == "number" and slurm.ERROR or -1
end

-- What stood in the fields of the job that is being written to, by their names: an error leaves them here.
local before = {}

-- All of the decision or none of it: whoever calls this answers an error with take_back.
local function write(job_desc, decision, field, asked)
    local changes, record = decision.verdict == "amend", field and decision.record
    if changes then
        local queue, limit, time_min = decision.queue, decision.limit, decision.time_min
        if queue then
            before.partition = job_desc.partition or ""
            job_desc.partition = queue
        end
        if limit then
            before.time_limit = job_desc.time_limit
            job_desc.time_limit = ceil(limit / 60)
        end
        if time_min then
            before.time_min = job_desc.time_min
            job_desc.time_min = ceil(time_min / 60)
        end
    end
    local most = decision.max_nodes
    if most then
        before.max_nodes = job_desc.max_nodes
        job_desc.max_nodes = most
        local flags = asked and asked.fewest_nodes -- else Slurm would take as many as it may
        if flags then
            before.bitflags = job_desc.bitflags
            job_desc.bitflags = flags
        end
    end
    if record then
        before[field] = asked[field] or ""
        job_desc[field] = record
    end
    if decision.points then
        job_desc.site_factor = decision.points
    end
    if record then
        before[field] = nil
    end
    if changes then
        before.partition, before.time_limit, before.time_min = nil, nil, nil
    end
    if most then
        before.max_nodes, before.bitflags = nil, nil
    end
end

-- Slurm takes "" for an unset text.
local function take_back(job_desc)
    for name, value in pairs(before) do
        pcall(function()
            job_desc[name] = value
        end)
        before[name] = nil
    end
end

-- `codes` are those of code_of, kept.
local function apply(slurm, codes, job_desc, decision, field, asked)
    local code = slurm.SUCCESS
    if decision.verdict == "reject" then
        code = codes[decision.code]
    else
        write(job_desc, decision, field, asked)
    end
    local messages, lines = decision.messages, decision.log
    for i = 1, #messages do
        slurm.user_msg(messages[i])
    end
    for i = 1, #lines do
        slurm.log_info("%s", lines[i])
    end
    return code
end

-- The two functions that Slurm calls, over the tables that were loaded. `clock()` is the time in seconds.
function glue.callbacks(slurm, tables, clock)
    local policy, incentives, hints = tables.policy, tables.incentives, tables.hints
    local made = policy and plan.of(policy)
    local field = policy and policy.record ~= "none" and policy.record or nil
    local needs_now = made and made.needs_now
    gres.slash = slurm.ESLURM_INVALID_TRES ~= nil -- of 23.11
    local codes = text.kept(function(name)
        return code_of(slurm, name)
    end)

    local function submit(job_desc, part_list, submit_uid)
        if job_desc.name == PROBE then
            slurm.user_msg("adminkit generation " .. generation(policy) .. " incentives " .. generation(incentives)
                .. " hints " .. generation(hints))
            return code_of(slurm)
        end
        if not policy then
            return slurm.SUCCESS
        end
        local asked = of_submission(job_desc, part_list, submit_uid, policy, made, needs_now and clock() or nil)
        return apply(slurm, codes, job_desc, decided(asked, policy, incentives, hints, made), field, asked)
    end

    local function modify(job_desc, job_rec, part_list, modify_uid)
        if not policy or policy.exempt[modify_uid] or not request.is_policed(job_desc) then
            return slurm.SUCCESS
        end
        local wanted, job = request.of_update(job_desc, job_rec, part_list, modify_uid, made, needs_now and clock() or nil)
        return apply(slurm, codes, job_desc, decide.modify(wanted, job, policy, incentives))
    end

    -- An error of ours: logged, and open or closed as the policy says.
    local function failed(wrong, uid, job_desc)
        take_back(job_desc)
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
        local ok, answer = pcall(submit, job_desc, part_list, submit_uid)
        if ok then
            return answer
        end
        return failed(answer, submit_uid, job_desc)
    end

    function callbacks.modify(job_desc, job_rec, part_list, modify_uid)
        local ok, answer = pcall(modify, job_desc, job_rec, part_list, modify_uid)
        if ok then
            return answer
        end
        return failed(answer, modify_uid, job_desc)
    end

    return callbacks
end

-- A line on what was loaded, for slurmctld.log.
function glue.summary(tables)
    return "adminkit: policy " .. generation(tables.policy) .. ", incentives " .. generation(tables.incentives)
        .. ", hints " .. generation(tables.hints)
        .. (tables.policy and "" or "; without a policy every submission is accepted")
end

return glue
