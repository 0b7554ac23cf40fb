-- `scontrol update` by the owner of a job: the result has to keep the rules, but for what the job was allowed before.
local need = ...
local allocation = need("allocation")
local conditions = need("conditions")
local decision = need("decision")
local evaluate = need("evaluate")
local points = need("points")
local ratios = need("ratios")
local resulting = need("resulting")
local rules = need("rules")
local text = need("text")

local max, min = math.max, math.min

local modify = {}

local POINTS = decision.alone("incentives", "reject")

local LAST_POINTS = "adminkit: this change lowers the priority bonus, which an update cannot do; cancel it and submit it again."

local PART = decision.alone("part", "reject")

local LAST_PART = "adminkit: Slurm may apply only part of this change, which would break a rule; change one thing at a time."

-- What a job keeps of before, whatever an update says.
local KEEPS = {
    gpu_type = decision.alone("gpu_type", "reject"),
    whole = decision.alone("whole", "reject"),
    ending = decision.alone("ending", "reject"),
}

local LAST_KEEPS = {
    gpu_type = "adminkit: Slurm would give this job the GPUs of both types; cancel it and submit it again.",
    whole = "adminkit: a job that ran on whole nodes keeps them in any queue; cancel it and submit it again.",
    ending = "adminkit: the last run of this job is still ending, so it cannot be changed now; try again in a few seconds.",
}

-- scontrol of 22.05 shows only the text of this error.
local CODES = { ending = "TRANSITION_STATE_NO_UPDATE" }

local function no_longer(now, before)
    if now.kind == "unset" or before.kind == "unset" then
        return now.kind == before.kind
    end
    if now.kind == "unlimited" then
        return before.kind == "unlimited"
    end
    return before.kind == "unlimited" or (now.limit or 0) <= (before.limit or 0)
end

-- Whether a value below `least` is as close to it as before, or closer.
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

-- What the bonus has to become: nil to leave it, a number, or false where the job would keep too much: Slurm sets it last,
-- and not at all where another field of the update is wrong.
local function new_points(request, after, job, before, ruleset, changed)
    if job.state ~= "PENDING" or not ruleset.points then
        return nil
    end
    local was, is = allocation.sure_class(before, job, ruleset), allocation.sure_class(after, request, ruleset)
    local uid, packed = request.uid, ruleset.points
    local had = allocation.sure_gpus(job)
    local earned, earns = points.of(was, uid, packed, had), points.of(is, uid, packed, allocation.sure_gpus(request))
    -- The class of an older job is often unknown. Its points are for its sure class at submission, and it may be of
    -- another class now that its size changed, or that it moves to whole nodes.
    local grows = changed.size or (changed.queues and resulting.gives_whole_nodes(request.queues or {}, ruleset))
    if not was and not is and grows then
        earned = nil
        earns = min(earns, job.points or 0)
    elseif grows and job.paid then -- for what it was at submission, before it was held to one node
        earned = max(earned, (points.of(job.paid, uid, packed, had)))
    end
    local has = job.points or 0
    if earns == earned or earns == has then
        return nil
    elseif has > earns then
        return false
    end
    return not job.array and earns or nil
end

-- The refusal of what no rule of the policy's forbids.
local function refused(outcome, alone, name, last, request, ruleset)
    decision.fire(outcome, alone)
    outcome.misfit = true -- no other queue would help
    text.say(decision.list(outcome, "refused"), ruleset.policy, name, "reject", {}, nil, last)
    return decision.refuse(outcome, request, ruleset)
end

-- The rules over a request, which is the job after an update or a part of one: the outcome, the job as they leave it, and the
-- new bonus.
local function judged(request, job, before, ruleset)
    local changed, any = resulting.changes(request, job)
    local outcome, decided = decision.outcome(), allocation.job_of(request)
    if not any then
        return outcome, decided, nil
    end
    local after = sized(request, ruleset)
    decided.nodes, decided.class = after.nodes, after.class
    evaluate.rules(outcome, decided, request, ruleset, forgiving(changed, request, after, job, before))
    return outcome, decided, new_points(request, after, job, before, ruleset, changed)
end

-- Whether each part of an update keeps the rules as it is: what a rule would change Slurm may not have come to.
local function keeps_in_parts(request, job, before, ruleset)
    local parts = request.parts and request.parts() or nil
    if request.parts and not parts then
        return false
    end
    for i = 1, parts and #parts or 0 do
        local outcome, decided, bonus = judged(parts[i], job, before, ruleset)
        if outcome.refused or bonus == false or decided.most_nodes or decided.limit ~= parts[i].limit
            or decided.time_min ~= parts[i].time_min then
            return false
        end
    end
    return true
end

-- The decision on an update. `request` is the job as it would be (and `by`, who asks); `job` is the job as it is, with
-- its state, points (site_factor) and whether it is part of an array. There is no record in it: Slurm would refuse the update.
function modify.decide(request, job, ruleset)
    local by, exempt = request.by or request.uid, ruleset.policy.exempt
    local _, any = resulting.changes(request, job)
    if not any or (by ~= nil and exempt and exempt[by]) then
        return decision.accept(decision.outcome(), allocation.job_of(request), request, ruleset, false)
    end
    local keeps = request.keeps
    if keeps then
        local outcome = decision.outcome()
        outcome.code = CODES[keeps]
        return refused(outcome, KEEPS[keeps], keeps, LAST_KEEPS[keeps], request, ruleset)
    end
    local before = sized(job, ruleset)
    local outcome, decided, bonus = judged(request, job, before, ruleset)
    if outcome.refused then
        return decision.refuse(outcome, request, ruleset)
    end
    if bonus == false then
        return refused(outcome, POINTS, "points", LAST_POINTS, request, ruleset)
    end
    if job.state == "PENDING" and not keeps_in_parts(request, job, before, ruleset) then
        return refused(outcome, PART, "part", LAST_PART, request, ruleset)
    end
    outcome.points = bonus
    return decision.accept(outcome, decided, request, ruleset, false)
end

return modify
