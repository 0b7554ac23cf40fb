-- Rules by the group: a few comparisons with the bounds that plan.lua worked out spare most jobs a look at each rule.
local need = ...
local rules = need("rules")

local bounds = {}

local huge = math.huge
local COUNTS, UNTOLD = rules.COUNTS, rules.UNTOLD
local check, effective, most_of = rules.check, rules.effective, rules.most_of

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

-- Slurm may give as many as there are between a job's number and its most.
local function surely_within(group, number, name, job, facts, request)
    if not within(group, number) then
        return false
    end
    return group.least == huge or (most_of(name, job, facts, request) or number) <= group.least
end

function holds.gpus(group, job, facts, request)
    return surely_within(group, request.gpus, "gpus", job, facts, request)
end

function holds.gpus_per_node(group, job, facts, request)
    local number = request.gpus_per_node or (job.nodes == 1 and request.gpus or nil)
    return surely_within(group, number, "gpus_per_node", job, facts, request)
end

function holds.nodes(group, job, facts, request)
    return surely_within(group, job.nodes, "nodes", job, facts, request)
end

function holds.cpus(group, job, facts, request)
    return surely_within(group, request.cpus, "cpus", job, facts, request)
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
    if request.whole or groups.whole then
        return false
    end
    local nodes, gpus, per_node, cpus = all.nodes, all.gpus, all.gpus_per_node, all.cpus
    return not (
        (nodes and not holds.nodes(nodes, job, nil, request))
        or (gpus and not holds.gpus(gpus, job, nil, request))
        or (per_node and not holds.gpus_per_node(per_node, job, nil, request))
        or (cpus and not holds.cpus(cpus, job, nil, request))
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
                if broken and broken ~= UNTOLD and rules.outcome(rule, request.now) ~= "warn" then
                    local applies, spread = rules.applies(rule.when, job, request, facts)
                    local cap = applies and not spread and COUNTS[rule.check]
                        and rules.cap(rule.check, job, rule.value, facts, request)
                    if applies and not spread and not cap then
                        return false
                    end
                end
            end
        end
    end
    return true
end

return bounds
