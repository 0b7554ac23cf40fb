-- Rules by the group: a few comparisons with the bounds that plan.lua worked out spare most jobs a look at each rule.
local need = ...
local rules = need("rules")

local bounds = {}

local UNTOLD = rules.UNTOLD
local check, effective = rules.check, rules.effective

-- Whether a job surely keeps every rule of a group: one comparison instead of one for each.
local holds = {}

function holds.require_limit(_, job)
    return job.kind ~= "unset" and job.kind ~= "unknown"
end

holds.default_limit = holds.require_limit

function holds.min_limit(group, job)
    if job.time_min and job.time_min < group.most then
        return false
    end
    return job.kind ~= "unknown" and (job.kind ~= "finite" or job.limit >= group.most)
end

function holds.max_limit(group, job, facts)
    local limit = job.limit
    if job.kind ~= "finite" then
        limit = effective(job, facts)
    end
    local time_min = job.time_min
    return limit and limit <= group.least and not (time_min and time_min > group.least)
end

-- Whether the job is restartable is asked once, when it breaks a rule.
holds.restartable_above = holds.max_limit

local function within(group, number)
    return number and number >= group.most and number <= group.least
end

-- A job may take as many as there are between its number and its most.
function holds.gpus(group, _, _, request)
    return within(group, request.gpus) and not (request.most_gpus and request.most_gpus > group.least)
end

function holds.gpus_per_node(group, job, _, request)
    return within(group, request.gpus_per_node or (job.nodes == 1 and request.gpus or nil))
end

function holds.nodes(group, job, _, request)
    return within(group, job.nodes) and not (request.max_nodes and request.max_nodes > group.least)
end

function holds.cpus(group, _, _, request)
    return within(group, request.cpus)
end

bounds.holds = holds

-- Whether a job surely keeps every rule of these groups, by numbers alone; false says nothing. Most jobs go no further.
function bounds.keeps(groups, job, request)
    local all = groups.bounds
    if all.limits then
        local limit, time_min = job.limit, job.time_min
        if job.kind ~= "finite" or not limit or limit < all.least or limit > all.most then
            return false
        end
        if time_min and (time_min < all.least or time_min > all.most) then
            return false
        end
    end
    if not all.counts then
        return true
    end
    local nodes, gpus, per_node, cpus = all.nodes, all.gpus, all.gpus_per_node, all.cpus
    return not (
        (nodes and not holds.nodes(nodes, job, nil, request))
        or (gpus and not holds.gpus(gpus, job, nil, request))
        or (per_node and not holds.gpus_per_node(per_node, job, nil, request))
        or (cpus and not within(cpus, request.cpus))
    )
end

-- A number that every rule of this group with a value as high is kept at; nil where each has to be looked at.
function bounds.highest(group, job, facts)
    if group.check ~= "max_limit" and group.check ~= "restartable_above" then
        return nil
    end
    local limit, time_min = effective(job, facts), job.time_min
    if limit and time_min and time_min > limit then
        return time_min
    end
    return limit
end

-- Whether a job would come through `groups` (the rules of one queue) unrefused and unchanged.
function bounds.pass(groups, job, request, facts)
    for g = 1, #groups do
        local group = groups[g]
        if group.bites and not group.holds(group, job, facts, request) then
            for i = 1, #group do
                local rule = group[i]
                local broken = check[rule.check](job, rule.value, facts, request)
                if
                    broken
                    and broken ~= UNTOLD
                    and rules.outcome(rule, request.now) ~= "warn"
                    and rules.applies(rule.when, job, request)
                then
                    return false
                end
            end
        end
    end
    return true
end

return bounds
