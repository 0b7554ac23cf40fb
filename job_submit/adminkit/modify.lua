-- `scontrol update` by the owner of a job: the result has to keep the rules, but for what the job was allowed before.
local need = ...
local allocation = need("allocation")
local conditions = need("conditions")
local decision = need("decision")
local evaluate = need("evaluate")
local points = need("points")
local ratios = need("ratios")
local rules = need("rules")
local text = need("text")

local min = math.min

local modify = {}

local ARRAY = decision.alone("incentives", "reject")

local LAST_ARRAY = "adminkit: this change lowers the priority bonus, which cannot be done for a whole array;"
    .. " cancel it and submit it again."

-- What an update can change of a job. `usable` and the like describe the request, not the job.
local FIELDS = { "limit", "limit_kind", "time_min", "account", "qos", "features", "reservation" }
local SIZES = {
    "nodes", "max_nodes", "num_tasks", "cpus", "gpus", "gpus_per_node", "gpu_type", "most_nodes", "gpus_fixed", "gpus_each",
    "node_gpus_most", "gpu_slices", "gpu_slices_fixed", "gpu_slices_each", "cpus_fixed", "cpus_each", "whole", "node_list",
    "min_cpus", "min_mem_per_cpu",
}
local MEMORY = { "mem_per_node", "mem_per_gpu" }

local function differs(fields, request, job, changed)
    local any = false
    for i = 1, #fields do
        local field = fields[i]
        if request[field] ~= job[field] then
            changed[field], any = true, true
        end
    end
    return any
end

-- The fields that differ, with `size` where one of the job's size does; and whether there are any.
local function changed_fields(request, job)
    local changed = {}
    changed.size = differs(SIZES, request, job, changed) or nil
    changed.memory = differs(MEMORY, request, job, changed) or nil
    local any = differs(FIELDS, request, job, changed) or changed.size or changed.memory or false
    local now, before = request.queues or {}, job.queues or {}
    if table.concat(now, ",") ~= table.concat(before, ",") then
        changed.queues, any = true, true
    end
    return changed, any
end

local function no_longer(now, before)
    if now.kind == "unset" or before.kind == "unset" then
        return now.kind == before.kind
    end
    if now.kind == "unlimited" then
        return before.kind == "unlimited"
    end
    return before.kind == "unlimited" or (now.limit or 0) <= (before.limit or 0)
end

-- Whether what is below `least` is no further below it than before.
local function no_shorter(now, before, least)
    if now.kind == "finite" and now.limit < least and not (before.kind == "finite" and now.limit >= before.limit) then
        return false
    end
    local time_min = now.time_min
    return not time_min or time_min >= least or (before.time_min and time_min >= before.time_min)
end

local TIME = { max_limit = true, restartable_above = true }

-- The job of a request, with its size.
local function sized(request, ruleset)
    local job = allocation.job_of(request)
    allocation.set_size(job, request, ruleset)
    return job
end

-- A rule that the job broke already, and that this change does not break further, does not forbid the change. `before` and
-- `after` are the jobs of `job` and `request`.
local function forgiving(changed, request, after, job, before)
    return function(rule, facts)
        if rule.check == "require_limit" or rule.check == "default_limit" then
            return true
        end
        if changed.queues or changed.account or changed.qos then
            return false
        end
        local number = rules.broken(rule, before, facts, job)
        if not number or number == rules.UNTOLD then
            return false
        end
        local applied, spread = conditions.applies(rule.when, before, job, facts)
        if not applied or spread then
            return false -- it is unknown whether the job broke it before
        end
        if rule.value == true then
            return true -- there is no further to break it
        end
        if TIME[rule.check] then
            return no_longer(after, before) and (request.time_min or 0) <= (job.time_min or request.time_min or 0)
        end
        if rule.check == "min_limit" then
            return no_shorter(after, before, rule.value)
        end
        if ratios.measure[rule.check] then
            return not (changed.size or changed.memory)
                or ratios.no_worse(rule.check, after, request, before, job, facts)
        end
        if not changed.size then
            return true
        end
        local below, above, most = rules.distance(rule.check, before, rule.value, job, facts)
        local now_below, now_above, now_most = rules.distance(rule.check, after, rule.value, request, facts)
        if not below or not now_below or most == math.huge or now_most == math.huge then
            return false -- it is unknown whether the job takes more than before
        end
        return now_below <= below and now_above <= above and now_most <= most
    end
end

-- Whether one of the queues gives whole nodes, which makes a job of any class one of all their GPUs.
local function gives_whole_nodes(queues, ruleset)
    for i = 1, #queues do
        local facts = ruleset.facts[queues[i]]
        if facts and facts.whole then
            return true
        end
    end
    return false
end

-- What the bonus has to become: nil to leave it, a number, or false where the job is an array and would keep too much.
local function new_points(request, after, job, before, ruleset, changed)
    if job.state ~= "PENDING" or not ruleset.points then
        return nil
    end
    local was, is = allocation.sure_class(before, job, ruleset), allocation.sure_class(after, request, ruleset)
    local uid, packed = request.uid, ruleset.points
    local earned, earns = points.of(was, uid, packed), points.of(is, uid, packed)
    -- The class of an older job is often unknown. Its points are for its sure class at submission, and it may be of
    -- another class now that its size changed, or that it moves to whole nodes.
    local grows = changed.size or (changed.queues and gives_whole_nodes(request.queues or {}, ruleset))
    if not was and not is and grows then
        earned = nil
        earns = min(earns, job.points or 0)
    end
    local has = job.points or 0
    if earns == earned or earns == has then
        return nil
    end
    if not job.array then
        return earns
    end
    if has > earns then
        return false
    end
    return nil
end

-- The decision on an update. `request` is the job as it would be (and `by`, who asks); `job` is the job as it is, with
-- its state, points (site_factor) and whether it is part of an array. There is no record in it: Slurm would refuse the update.
function modify.decide(request, job, ruleset)
    local outcome, decided = decision.outcome(), allocation.job_of(request) -- which rules may change
    local changed, any = changed_fields(request, job)
    local by, exempt = request.by or request.uid, ruleset.policy.exempt
    if not any or (by ~= nil and exempt and exempt[by]) then
        return decision.accept(outcome, decided, request, ruleset, false)
    end
    local before, after = sized(job, ruleset), sized(request, ruleset)
    decided.nodes, decided.class = after.nodes, after.class
    evaluate.rules(outcome, decided, request, ruleset, forgiving(changed, request, after, job, before))
    if outcome.refused then
        return decision.refuse(outcome, request, ruleset)
    end
    local bonus = new_points(request, after, job, before, ruleset, changed)
    if bonus == false then
        decision.fire(outcome, ARRAY)
        outcome.misfit = true -- no other queue would help
        text.say(decision.list(outcome, "refused"), ruleset.policy, "array", "reject", {}, nil, LAST_ARRAY)
        return decision.refuse(outcome, request, ruleset)
    end
    return decision.accept(outcome, decided, request, ruleset, false, bonus)
end

return modify
