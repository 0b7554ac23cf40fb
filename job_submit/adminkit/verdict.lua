-- A round of rules over a job, what fired in it, and the decision's parts that submission and update share.
local need = ...
local bounds = need("bounds")
local classes = need("classes")
local route = need("route")
local rules = need("rules")
local text = need("text")
local values = need("values")

local verdict = {}

local UNTOLD = rules.UNTOLD
local NONE = text.NONE
local find = string.find
local class_of, least_nodes = classes.of, classes.least_nodes
local check, holds, keeps = rules.check, bounds.holds, bounds.keeps

local LAST_FIT = "adminkit: queue {fit} takes this job: -p {fit}"

-- Garbage is what makes the slowest calls slow: these tables serve every decision, one after the other.
local results, submitted, asked_for, answered = {}, {}, {}, {}
local accepted = { verdict = "accept", fired = NONE, untold = NONE, messages = NONE, log = NONE }

-- Results with nothing in them. fired, refused, amended, warned and log are lists, absent until there is something in them;
-- a rule that fired is a key.
function verdict.begin()
    if next(results) ~= nil then
        for key in pairs(results) do
            results[key] = nil
        end
    end
    return results
end

-- Adds to a list that may not be there yet.
local function add(found, list, value)
    local there = found[list]
    if there then
        there[#there + 1] = value
    else
        found[list] = { value }
    end
end
verdict.add = add

-- A list to put lines into.
local function lines(found, list)
    local there = found[list]
    if not there then
        there = { nil } -- room for one line from the start
        found[list] = there
    end
    return there
end
verdict.lines = lines

local entries = {} -- of lists of what fired, by action and name

function verdict.fire(found, name, action)
    local of_action = entries[action]
    if not of_action then
        of_action = {}
        entries[action] = of_action
    end
    local entry = of_action[name]
    if not entry then
        entry = { rule = name, action = action }
        of_action[name] = entry
    end
    add(found, "fired", entry)
end

-- The part of a request that decisions change. `asked_limit` and `asked_time_min` stay.
local function read_job(job, request)
    local limit, time_min = request.limit, request.time_min
    job.limit, job.asked_limit = limit, limit
    job.kind = request.limit_kind or (limit and "finite" or "unset")
    job.time_min, job.asked_time_min = time_min, time_min
    job.queues = request.queues or NONE
    job.nodes, job.class = nil, nil -- until shape()
    return job
end

-- A job of its own; submitted_job() is the same in the one table for what is being submitted.
function verdict.job_of(request)
    return read_job({}, request)
end

function verdict.submitted_job(request)
    return read_job(submitted, request)
end

local function most_gpus(job, queues, made)
    local named = job.queues
    local first = named[1] or made.default
    local facts = first and queues[first]
    local most = facts and facts.node_gpus
    for i = 2, #named do
        facts = queues[named[i]]
        if facts and facts.node_gpus and facts.node_gpus > (most or 0) then
            most = facts.node_gpus
        end
    end
    return most
end

-- Nodes and class, which depend on how many GPUs a node of the job's queues has.
function verdict.shape(job, request, policy, made)
    local nodes, gpus = request.nodes, request.gpus
    if gpus and gpus > 1 then
        nodes = least_nodes(request, most_gpus(job, policy.queues or NONE, made))
    end
    job.nodes = nodes
    job.class = class_of(nodes, gpus)
end

local INTO = { reject = "refused", amend = "amended", warn = "warned" }

-- One rule has been broken: amend, refuse or warn, and note it once. True where the job was changed.
local function act(found, rule, job, queue, facts, broken, request, policy, made)
    local outcome, later = rules.outcome(rule, rule.from and request.now)
    local changed = false
    if outcome == "amend" then
        local limit, time_min = job.limit, job.time_min
        rules.amend[rule.check](job, rule.value, facts)
        changed = job.limit ~= limit or job.time_min ~= time_min
        found.blind_before = found.blind
    elseif outcome == "reject" then
        found.code = found.code or rules.CODES[rule.check] or "ERROR"
    end
    if not found[rule] then
        found[rule] = true
        verdict.fire(found, rule.name, outcome)
        local word = later and "later" or outcome
        values.say(lines(found, INTO[outcome]), rule, word, job, queue, facts, broken, policy, made)
    end
    return changed
end

-- A rule that cannot be judged. Nearly always there is one at most, and no list needed.
local function note_blind(found, rule)
    local one = found.blind
    if one == nil or (one.name == rule.name and not found.more_blind) then
        found.blind = rule
        return
    end
    local more = found.more_blind
    if not more then
        more = { [one.name] = one }
        found.more_blind = more
    end
    more[rule.name] = rule
end

-- A rule that may be broken, in one queue (nil: nobody knows which). Its conditions are looked at only now.
local function judge(found, rule, job, queue, facts, request, policy, made, accept)
    local broken = check[rule.check](job, rule.value, facts, request)
    if broken == nil then
        return false
    end
    local when = rule.when
    local applies = rules.applies(when, job, request)
    if applies == false then
        return false
    end
    if broken == UNTOLD or applies == nil or (queue == nil and when and when.queues) then
        note_blind(found, rule)
        return false
    end
    if accept and accept(rule, facts) then
        return false
    end
    return act(found, rule, job, queue, facts, broken, request, policy, made)
end

local function judge_queue(found, groups, job, queue, request, policy, made, accept)
    local facts = queue and policy.queues and policy.queues[queue] or nil
    local changed = false
    for g = 1, #groups do
        local group = groups[g]
        if not holds[group.check](group, job, facts, request) then
            local highest = bounds.highest(group, job, facts)
            local rest = group.rest
            for i = 1, #group do
                local rule = group[i]
                if not highest or rule.value < highest then
                    changed = judge(found, rule, job, queue, facts, request, policy, made, accept) or changed
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
local function settled(found, job, groups)
    return not found.blind_before and job.kind == "finite" and job.limit >= groups.bounds.least and not job.time_min
end

-- All rules once, in order, in every queue of the job, whose shape() is known. True when something changed and another round
-- may see more. `accept(rule, facts)`, where given, says of a broken rule that it does not matter.
function verdict.round(found, job, request, policy, made, accept)
    if found.blind then
        found.blind, found.more_blind, found.blind_before = nil, nil, nil
    end
    local queues = job.queues
    local first = queues[1] or made.default
    local groups = first and (made.of_queue[first] or made.anywhere) or made.everything
    local changed = not keeps(groups, job, request) and judge_queue(found, groups, job, first, request, policy, made, accept)
    if not queues[2] then
        return changed and not settled(found, job, groups)
    end
    for i = 2, #queues do
        groups = made.of_queue[queues[i]] or made.anywhere
        if not keeps(groups, job, request) then
            changed = judge_queue(found, groups, job, queues[i], request, policy, made, accept) or changed
        end
    end
    return changed
end

-- The rules that the last round could not judge, in the order of their checks.
function verdict.untold(found, made)
    local one, more = found.blind, found.more_blind
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

-- The queue that would take the job as it was asked for, or nil.
function verdict.fit(request, policy, made)
    local routing = policy.routing
    if not routing or request.reservation or request.node_list then
        return nil
    end
    return (route.shortest(read_job(asked_for, request), request, made))
end

-- The lines that name the queue that fits, made once for each.
local function fit_lines(fit, policy, made)
    local kept = made.fit[fit]
    if not kept then
        kept = {}
        text.say(kept, policy, "fit", "reject", { fit = text.word(fit) }, nil, LAST_FIT)
        made.fit[fit] = kept
    end
    return kept
end

-- The decision to refuse. The queue that fits stands in the texts that ask for it, else behind them.
function verdict.refuse(found, request, policy, made)
    local refused = found.refused
    local fit = verdict.fit(request, policy, made)
    local named = found.misfit
    for i = 1, #refused do
        local line = refused[i]
        if find(line, "{fit}", 1, true) then
            refused[i] = text.fill(line, { fit = fit and text.word(fit) or "-" })
            named = true
        end
    end
    if fit and not named then
        local kept = fit_lines(fit, policy, made)
        for i = 1, #kept do
            refused[#refused + 1] = kept[i]
        end
    end
    local answer = answered
    answer.verdict = "reject"
    answer.queue, answer.limit, answer.time_min, answer.points, answer.record = nil, nil, nil, nil, nil
    answer.code = found.code or "ERROR"
    answer.fired = found.fired
    answer.untold = verdict.untold(found, made)
    answer.messages = refused
    answer.log = found.log or NONE
    return answer
end

-- The decision on a job that is not refused: what changes, and the lines for the user.
function verdict.answer(found, job, made)
    if next(found) == nil then
        accepted.points, accepted.record = nil, nil
        return accepted
    end
    local messages = found.amended or found.warned
    if found.amended and found.warned then
        for i = 1, #found.warned do
            messages[#messages + 1] = found.warned[i]
        end
    end
    local limit = job.limit ~= job.asked_limit and job.limit or nil
    local time_min = job.time_min ~= job.asked_time_min and job.time_min or nil
    local answer = answered
    answer.verdict = (found.queue or limit or time_min) and "amend" or "accept"
    answer.queue, answer.limit, answer.time_min = found.queue, limit, time_min
    answer.points, answer.record, answer.code = nil, nil, nil
    answer.fired = found.fired or NONE
    answer.untold = found.blind and verdict.untold(found, made) or NONE
    answer.messages = messages or NONE
    answer.log = found.log or NONE
    return answer
end

return verdict
