-- `scontrol update` by the owner of a job: the result has to keep the rules, but for what the job was allowed before.
local need = ...
local answer = need("answer")
local found = need("found")
local plan = need("plan")
local points = need("points")
local rules = need("rules")
local text = need("text")
local verdict = need("verdict")

local modify = {}

local ROUNDS = 4
local LAST_ARRAY = "adminkit: this change lowers the priority bonus, which cannot be done for a whole array;"
    .. " cancel it and submit it anew."

-- What an update can change of a job. `usable` and the like describe the request, not the job.
local FIELDS = {
    "limit", "limit_kind", "time_min", "account", "qos", "nodes", "max_nodes", "cpus", "gpus", "gpus_per_node", "gpu_type",
    "most_nodes", "gpus_fixed", "gpus_each", "node_gpus_most", "cpus_fixed", "cpus_each", "whole",
    "features", "reservation", "node_list", "min_cpus", "min_mem_per_cpu",
}

local function changed_fields(request, job)
    local changed, any = {}, false
    for i = 1, #FIELDS do
        local field = FIELDS[i]
        if request[field] ~= job[field] then
            changed[field], any = true, true
        end
    end
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

-- A rule that the job broke already, and that this change does not break further, does not forbid the change.
local function forgiving(changed, request, job, policy, made)
    local before = verdict.job_of(job)
    local after = verdict.job_of(request)
    verdict.shape(before, job, policy, made)
    verdict.shape(after, request, policy, made)
    return function(rule, facts)
        if rule.check == "require_limit" or rule.check == "default_limit" then
            return true
        end
        if changed.queues or changed.account or changed.qos then
            return false
        end
        local broken = rules.check[rule.check](before, rule.value, facts, job)
        if not broken or broken == rules.UNTOLD or not rules.applies(rule.when, before, job, facts) then
            return false
        end
        if TIME[rule.check] then
            return no_longer(after, before) and (request.time_min or 0) <= (job.time_min or request.time_min or 0)
        end
        if rule.check == "min_limit" then
            return no_shorter(after, before, rule.value)
        end
        local below, above, most = rules.distance(rule.check, before, rule.value, job, facts)
        local now_below, now_above, now_most = rules.distance(rule.check, after, rule.value, request, facts)
        return below and now_below and now_below <= below and now_above <= above and now_most <= most
    end
end

local function class_of(request, policy, made)
    local job = verdict.job_of(request)
    verdict.shape(job, request, policy, made)
    return verdict.sure_class(job, request, policy, made)
end

-- What the bonus has to become: nil to leave it, a number, or false where the job is an array and would keep too much.
local function new_points(request, job, policy, made, incentives)
    if job.state ~= "PENDING" or not incentives then
        return nil
    end
    local before = points.of(class_of(job, policy, made), request.uid, incentives)
    local after = points.of(class_of(request, policy, made), request.uid, incentives)
    local has = job.points or 0
    if after == before or after == has then
        return nil
    end
    if not job.array then
        return after
    end
    if has > after then
        return false
    end
    return nil
end

-- The decision on an update. `request` is the job as it would be (and `by`, who asks); `job` is the job as it is, with
-- its state, points (site_factor) and whether it is part of an array. There is no record in it: Slurm would refuse the update.
function modify.decide(request, job, policy, incentives)
    local made = plan.of(policy)
    local now = found.begin()
    local after = verdict.job_of(request)
    local changed, any = changed_fields(request, job)
    local by = request.by or request.uid
    if not any or (by ~= nil and policy.exempt and policy.exempt[by]) then
        return answer.of(now, after, nil, made)
    end
    local accept = forgiving(changed, request, job, policy, made)
    verdict.shape(after, request, policy, made)
    for _ = 1, ROUNDS do
        if not verdict.round(now, after, request, policy, made, accept) then
            break
        end
    end
    if now.refused then
        return answer.refuse(now, after, request, policy, made)
    end
    local bonus = new_points(request, job, policy, made, incentives)
    if bonus == false then
        found.fire(now, "incentives", "reject")
        now.misfit = true -- no other queue would help
        text.say(found.lines(now, "refused"), policy, "array", "reject", {}, nil, LAST_ARRAY)
        return answer.refuse(now, after, request, policy, made)
    end
    return answer.of(now, after, nil, made, bonus)
end

return modify
