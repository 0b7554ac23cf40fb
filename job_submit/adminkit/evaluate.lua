-- The rules over a job: what submissions and updates share.
local need = ...
local binding = need("binding")
local conditions = need("conditions")
local decision = need("decision")
local rule_text = need("rule_text")
local rules = need("rules")

local evaluate = {}

local UNTOLD = rules.UNTOLD
local applies, outcome_of = conditions.applies, rules.outcome
local huge = math.huge

-- More rounds than a policy without contradictions ever needs.
local ROUNDS = 4

-- The lists of an outcome, by what a rule does.
local LINES = { reject = "refused", amend = "messages", warn = "warned" }

-- What the user typed where `number`, which broke a rule of limits, is what an earlier rule made of it.
local function typed(number, job, request)
    if number == job.limit and number ~= request.limit then
        return request.limit_kind == "unlimited" and huge or request.limit or number
    elseif number == job.time_min and number ~= request.time_min then
        return request.time_min or number
    end
    return number
end

-- `number` breaks a rule: amend, refuse or warn, with one message for each rule whose bound binds. True where the job was
-- changed.
local function act(outcome, rule, number, job, queue, facts, request)
    local action, later = outcome_of(rule, request.now)
    local limit, time_min, asked = job.limit, job.time_min, number
    if rules.is_limit(rule.check) then
        asked = typed(number, job, request)
    end
    if action == "amend" then
        rules.amend[rule.check](job, rule.value, facts)
    elseif action == "reject" then
        outcome.code = outcome.code or rules.CODES[rule.check]
    end
    if decision.fire(outcome, rule.fired[action]) then
        local messages = rule_text.messages(rule, later and "later" or action, number, job, request)
        local lines, bound = decision.list(outcome, LINES[action]), nil
        if not later then -- what a later day brings says nothing against what is
            bound = binding.bound(rule, number)
        end
        if (not bound or binding.takes(outcome, lines, bound, #messages))
            and rule_text.say(lines, messages, job, request, queue, facts, asked) then
            outcome.asks_fit = true
        end
    end
    return job.limit ~= limit or job.time_min ~= time_min
end

-- Whether the job keeps a rule as long as Slurm gives it no more nodes than it needs, or than the rule allows. It is held to
-- that, but for a rule that only warns. `spread`: the rule's conditions hold only for a job on several nodes.
local function hold(rule, spread, job, facts, request)
    if spread and (request.max_nodes or rules.is_loose(request)) then
        return false
    end
    local most = spread and 1 or rules.is_count(rule.check) and rules.cap(rule.check, job, rule.value, facts, request)
    if not most then
        return false
    end
    if outcome_of(rule, request.now) ~= "warn" and most < (job.most_nodes or huge) then
        job.most_nodes = most
    end
    return true
end

-- A rule that `number` breaks and whose conditions hold, or may (`applied` and `spread` are of conditions.applies). True
-- where the job was changed.
local function judge(outcome, rule, number, applied, spread, job, queue, facts, request, accept)
    local when = rule.when
    if number == UNTOLD or applied == nil or (queue == nil and when and when.queues) then
        decision.leave(outcome, rule)
        return false
    end
    if accept and accept(rule, facts) then
        return false
    end
    if hold(rule, spread, job, facts, request) then
        return false
    end
    return act(outcome, rule, number, job, queue, facts, request)
end

-- The rules of one check over a job that measures `first` and `second`: whether it was changed, and what it measures then.
local function judge_list(outcome, list, first, second, job, queue, facts, request, accept)
    local changed = false
    for i = 1, #list do
        local rule = list[i]
        local number, applied, spread = list.compare(first, second, rule.value, request), false, nil
        if number then
            applied, spread = applies(rule.when, job, request, facts)
        end
        if applied ~= false then
            changed = judge(outcome, rule, number, applied, spread, job, queue, facts, request, accept) or changed
            first, second = list.measure(job, facts, request) -- which the rule may have changed
        end
    end
    return changed, first, second
end

-- All rules of one queue once, in order; nil is an unknown queue. True where the job was changed.
local function judge_queue(outcome, job, queue, request, ruleset, accept)
    local facts = queue and ruleset.facts[queue]
    local checks = queue and (ruleset.of_queue[queue] or ruleset.anywhere) or ruleset.everything
    local changed, measured, first, second = false, nil, nil, nil
    for c = 1, #checks do
        local list = checks[c]
        if list.measure ~= measured then -- else the check before it has measured the same
            measured = list.measure
            first, second = measured(job, facts, request)
        end
        if list.compare(first, second, list.tightest, request) then
            local is_changed
            is_changed, first, second = judge_list(outcome, list, first, second, job, queue, facts, request, accept)
            changed = changed or is_changed
        end
    end
    return changed
end

-- The rules over the job in each of its queues, again after an amendment, until nothing changes; its size is known. `outcome`
-- is of decision.outcome. `accept(rule, facts)`, where given, says of a broken rule that it does not matter.
function evaluate.rules(outcome, job, request, ruleset, accept)
    for _ = 1, ROUNDS do
        if outcome.untold then
            outcome.untold = nil
        end
        local queues = job.queues
        local changed = judge_queue(outcome, job, queues[1] or ruleset.default, request, ruleset, accept)
        for i = 2, #queues do
            changed = judge_queue(outcome, job, queues[i], request, ruleset, accept) or changed
        end
        if not changed then
            return
        end
    end
end

return evaluate
