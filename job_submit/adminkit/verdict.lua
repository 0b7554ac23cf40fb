-- A round of rules over a job: what submission and update share.
local need = ...
local bounds = need("bounds")
local classes = need("classes")
local found = need("found")
local rules = need("rules")
local text = need("text")
local values = need("values")

local verdict = {}

local UNTOLD = rules.UNTOLD
local COUNTS, NONE = rules.COUNTS, text.NONE
local class_of, least_nodes, nodes_for = classes.of, classes.least_nodes, classes.nodes_for
local check, amend, codes, applies = rules.check, rules.amend, rules.CODES, rules.applies
local huge, max = math.huge, math.max
local keeps, highest_of = bounds.keeps, bounds.highest
local fire, is_new, lines = found.fire, found.is_new, found.lines

-- One table for what is being submitted, one for the same as it was asked for: less garbage.
local submitted, asked_for = {}, {}

-- The part of a request that decisions change. `asked_limit` and `asked_time_min` stay.
local function read_job(job, request)
    local limit, time_min = request.limit, request.time_min
    job.limit, job.asked_limit = limit, limit
    job.kind = request.limit_kind or (limit and "finite" or "unset")
    job.time_min, job.asked_time_min = time_min, time_min
    job.queues = request.queues or NONE
    job.nodes, job.class, job.most_nodes = nil, nil, nil -- until shape(), and until a rule needs the last
    return job
end

-- A job of its own; the other two are read into the one table for each.
function verdict.job_of(request)
    return read_job({}, request)
end

function verdict.submitted_job(request)
    return read_job(submitted, request)
end

function verdict.asked_job(request)
    return read_job(asked_for, request)
end

-- The largest of a fact of the job's queues.
local function largest(fact, job, queues, made)
    local named = job.queues
    local first = named[1] or made.default
    local facts = first and queues[first]
    local most = facts and facts[fact]
    for i = 2, #named do
        facts = queues[named[i]]
        if facts and facts[fact] and facts[fact] > (most or 0) then
            most = facts[fact]
        end
    end
    return most
end

local function nodes_of(cpus, nodes, job, request, queues, made)
    local mem = request.min_mem_per_cpu and largest("node_mem", job, queues, made)
    return nodes_for(cpus, nodes, largest("node_cpus", job, queues, made), mem, request)
end

-- Nodes and class, which depend on how large a node of the job's queues is.
function verdict.shape(job, request, policy, made)
    local nodes, gpus, cpus = request.nodes, request.gpus, request.min_cpus
    if gpus and gpus > 1 then
        nodes = least_nodes(request, largest("node_gpus", job, policy.queues or NONE, made))
    end
    if cpus and cpus > 1 and nodes then
        nodes = nodes_of(cpus, nodes, job, request, policy.queues or NONE, made)
    end
    job.nodes = nodes
    job.class = class_of(nodes, gpus)
end

-- The class that the job is of however Slurm reads its request, in each of its queues; nil where it may be another.
function verdict.sure_class(job, request, policy, made)
    local class, queues, named = job.class, policy.queues or NONE, job.queues
    if class == nil or class == "multi-node" then
        return class
    end
    for i = 1, max(#named, 1) do
        local queue = named[i] or made.default
        if not rules.is_of(class, job, request, queue and queues[queue] or nil) then
            return nil
        end
    end
    return class
end

local INTO = { reject = "refused", amend = "amended", warn = "warned" }

-- One rule has been broken: amend, refuse or warn, and note it once. True where the job was changed.
local function act(now, rule, job, queue, facts, broken, request, policy, made)
    local outcome, later = rules.outcome(rule, rule.from and request.now)
    local changed = false
    if outcome == "amend" then
        local limit, time_min = job.limit, job.time_min
        amend[rule.check](job, rule.value, facts)
        changed = job.limit ~= limit or job.time_min ~= time_min
        now.blind_before = now.blind
    elseif outcome == "reject" then
        now.code = now.code or codes[rule.check]
    end
    if is_new(rule) then
        fire(now, rule.name, outcome)
        local into = lines(now, INTO[outcome])
        if values.say(into, rule, later and "later" or outcome, job, queue, facts, broken, policy, made) then
            now.asks_fit = true
        end
    end
    return changed
end

-- A rule that cannot be judged. Nearly always there is one at most, and no list needed.
local function note_blind(now, rule)
    local one = now.blind
    if not one or (one.name == rule.name and not now.more_blind) then
        now.blind = rule
        return
    end
    local more = now.more_blind
    if not more then
        more = { [one.name] = one }
        now.more_blind = more
    end
    more[rule.name] = rule
end

-- Whether the job keeps a rule as long as Slurm gives it no more nodes than it needs, or than the rule allows. It is held to
-- that, but for a rule that only warns.
local function hold(rule, spread, job, facts, request)
    if spread and request.max_nodes then
        return false
    end
    local most = spread and 1 or rules.cap(rule.check, job, rule.value, facts, request)
    if not most then
        return false
    end
    if rules.outcome(rule, rule.from and request.now) ~= "warn" and most < (job.most_nodes or huge) then
        job.most_nodes = most
    end
    return true
end

-- A rule that may be broken, in one queue (nil: nobody knows which). Its conditions are looked at only now.
local function judge(now, rule, job, queue, facts, request, policy, made, accept)
    local broken = check[rule.check](job, rule.value, facts, request)
    if broken == nil then
        return false
    end
    local when = rule.when
    local meant, spread = applies(when, job, request, facts)
    if meant == false then
        return false
    end
    if broken == UNTOLD or meant == nil or (queue == nil and when and when.queues) then
        note_blind(now, rule)
        return false
    end
    if accept and accept(rule, facts) then
        return false
    end
    if (spread or COUNTS[rule.check]) and hold(rule, spread, job, facts, request) then
        return false
    end
    return act(now, rule, job, queue, facts, broken, request, policy, made)
end

local function judge_queue(now, groups, job, queue, request, policy, made, accept)
    local facts = queue and policy.queues and policy.queues[queue] or nil
    local changed = false
    for g = 1, #groups do
        local group = groups[g]
        if not group.holds(group, job, facts, request) then
            local highest = highest_of(group, job, facts)
            local rest = group.rest
            for i = 1, #group do
                local rule = group[i]
                if not highest or rule.value < highest then
                    changed = judge(now, rule, job, queue, facts, request, policy, made, accept) or changed
                elseif rest[i] >= highest then
                    break
                end
            end
        end
    end
    return changed
end

-- Whether a job that rules of its one queue have changed would see the same in another round. Rules are in the order of
-- plan.ORDER: those behind a change have seen it, and of those before it a lower limit breaks none but the least ones.
local function settled(now, job, groups)
    return not now.blind_before and job.kind == "finite" and job.limit >= groups.bounds.least and not job.time_min
end

-- All rules once, in order, in every queue of the job, whose shape() is known. True when something changed and another round
-- may see more. `accept(rule, facts)`, where given, says of a broken rule that it does not matter.
function verdict.round(now, job, request, policy, made, accept)
    if now.blind then
        now.blind, now.more_blind, now.blind_before = false, false, false
    end
    local queues = job.queues
    local first = queues[1] or made.default
    local groups = first and (made.of_queue[first] or made.anywhere) or made.everything
    local changed = not keeps(groups, job, request) and judge_queue(now, groups, job, first, request, policy, made, accept)
    if not queues[2] then
        return changed and not settled(now, job, groups)
    end
    for i = 2, #queues do
        groups = made.of_queue[queues[i]] or made.anywhere
        if not keeps(groups, job, request) then
            changed = judge_queue(now, groups, job, queues[i], request, policy, made, accept) or changed
        end
    end
    return changed
end

-- The rules that the last round could not judge, in the order of their checks.
function verdict.untold(now, made)
    local one, more = now.blind, now.more_blind
    if not one then
        return NONE
    end
    if not more then
        local alone = made.alone[one] or { one.name }
        made.alone[one] = alone
        return alone
    end
    local names = {}
    for i = 1, #made.rules do
        local rule = made.rules[i]
        if more[rule.name] == rule then
            names[#names + 1] = rule.name
        end
    end
    return names
end

return verdict
