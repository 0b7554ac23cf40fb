-- The tables of a site as decisions use them, made once when they are loaded: the rules in the order they are looked at, for
-- each queue, with their texts; the queues; the points.
local need = ...
local decision = need("decision")
local extend = need("extend")
local points = need("points")
local power = need("power")
local rule_text = need("rule_text")
local rules = need("rules")
local soft = need("soft")
local text = need("text")

local ruleset = {}

local floor, huge, max, min = math.floor, math.huge, math.max, math.min
local NONE = text.NONE
local ANY = {}

-- What a decision says of a rule that took an action, for each action.
local function fired_of(name)
    return {
        reject = decision.alone(name, "reject"),
        amend = decision.alone(name, "amend"),
        warn = decision.alone(name, "warn"),
    }
end

local function rule_of(place, rule, policy)
    local made = {
        place = place,
        name = rule.name,
        check = rule.check,
        value = rule.value,
        action = rule.action,
        from = rule.from,
        when = rule.when,
        messages = rule_text.of(rule, policy),
        fired = fired_of(rule.name),
        names = { rule.name },
    }
    made.alone = { made }
    return made
end

local function in_order(policy)
    local list = {}
    for i = 1, #(policy.rules or NONE) do
        list[i] = rule_of(i, policy.rules[i], policy)
    end
    table.sort(list, function(a, b)
        local first, second = rules.ORDER[a.check], rules.ORDER[b.check]
        if first ~= second then
            return first < second
        end
        return a.place < b.place
    end)
    for i = 1, #list do
        list[i].place = i
    end
    return list
end

-- The intersection of these rules' ranges. The least of a job may be unknown where every rule has only a maximum.
local function tightest_range(list)
    local low, high, is_bounded = nil, nil, true
    for i = 1, #list do
        local range = list[i].value
        low = range.min and max(range.min, low or 0) or low
        high = range.max and min(range.max, high or huge) or high
        is_bounded = is_bounded and range.max ~= nil
    end
    return { min = low or not is_bounded and 0 or nil, max = high }
end

-- A value for the check of these rules: a job that keeps it keeps every one of them, so most need one comparison.
local function tightest_of(list)
    local check, value = list.check, list[1].value
    if not list[2] then
        return value
    elseif rules.is_count(check) then
        return tightest_range(list)
    elseif type(value) == "number" then
        for i = 2, #list do
            value = (check == "min_limit" and max or min)(value, list[i].value)
        end
    end
    return value
end

-- The rules that can matter in a queue, in order, a list for each check; `queue` is nil for one that no rule names, ANY
-- for an unknown one.
local function rules_in(list, queue)
    local checks, of_check = {}, nil
    for i = 1, #list do
        local rule = list[i]
        local queues = rule.when and rule.when.queues
        if not queues or queue == ANY or queues[queue] then
            if not of_check or of_check.check ~= rule.check then
                of_check = { check = rule.check, measure = rules.measure[rule.check], compare = rules.compare[rule.check] }
                checks[#checks + 1] = of_check
            end
            of_check[#of_check + 1] = rule
        end
    end
    for i = 1, #checks do
        checks[i].tightest = tightest_of(checks[i])
    end
    return checks
end

local function default_of(queues)
    for name, facts in pairs(queues) do
        if facts.is_default then
            return name
        end
    end
    return nil
end

-- Whether a set of users can only be compared with names: asking Slurm for a name costs a look into the user database.
local function only_names(set)
    local names = false
    for key in pairs(set or NONE) do
        if type(key) == "number" then
            return false
        end
        names = true
    end
    return names
end

-- A queue with a number wherever Slurm has none: no bound is infinite.
local function queue_of(name, facts, list)
    return {
        name = name,
        facts = facts,
        rules = list,
        most_limit = facts.max_limit or huge,
        least_nodes = facts.min_nodes or 0,
        node_cpus = facts.node_cpus ~= 0 and facts.node_cpus or huge,
        node_mem = facts.node_mem ~= 0 and facts.node_mem or huge,
        most_nodes = floor(min(facts.max_nodes or huge, facts.total_nodes or huge)),
        node_gpus = facts.node_gpus or 0,
        by_account = facts.allow_accounts ~= nil or facts.deny_accounts ~= nil,
        by_qos = facts.allow_qos ~= nil or facts.deny_qos ~= nil,
    }
end

-- The queues of the routing order that there are, each with the list of queues and the messages of a job that goes there.
local function candidates_of(routing, queues, policy)
    local order, list = routing.order or NONE, {}
    for i = 1, #order do
        local queue = queues[order[i]]
        if queue then
            queue.alone, queue.messages = { queue.name }, rule_text.of_routing(queue.name, policy)
            list[#list + 1] = queue
        end
    end
    return list
end

-- What a decision needs of these tables, which must not change afterwards; all but the policy may be nil.
--
-- `of_queue` are the rules of each queue that is known or named by a rule, `anywhere` those of every other one, `everything`
-- all of them, for a job whose queue is unknown. `facts` are the policy's queues, `queues` the same as of queue_of,
-- `candidates` those of them to which jobs may be routed, `routed` what fired where one is, and `default` the
-- name of Slurm's default queue, or nil. `help` are the last lines that a user reads, or nil.
function ruleset.of(policy, incentives, hints, soft_limits)
    local facts, routing = policy.queues or NONE, policy.routing or NONE
    local list = in_order(policy)
    local made = {
        policy = policy,
        anywhere = rules_in(list, nil),
        everything = rules_in(list, ANY),
        of_queue = {},
        check_of = { routing = "routing" },
        routed = fired_of("routing"),
        facts = facts,
        queues = {},
        default = default_of(facts),
        record = policy.record ~= "none" and policy.record or nil,
        points = incentives and points.packed(incentives),
        hints = hints,
        power = power.packed(policy.power),
        soft = soft.packed(policy.soft_limits, soft_limits),
        extend = extend.packed(policy.extend),
        help = rule_text.of_help(policy),
    }
    for name in pairs(facts) do
        made.of_queue[name] = rules_in(list, name)
        made.queues[name] = queue_of(name, facts[name], made.of_queue[name])
    end
    for i = 1, #list do
        local rule = list[i]
        local when = rule.when or NONE
        made.check_of[rule.name] = rule.check
        for name in pairs(when.queues or NONE) do
            made.of_queue[name] = made.of_queue[name] or rules_in(list, name)
        end
        made.needs_now = made.needs_now or rule.from ~= nil
        made.needs_user = made.needs_user or only_names(when.users) or only_names(when.except_users)
    end
    made.candidates = candidates_of(routing, made.queues, policy)
    if routing.action == "amend" or routing.action == "warn" then
        made.routing, made.routing_from = routing.action, routing.from
    end
    made.needs_now = made.needs_now or routing.from ~= nil or made.soft ~= nil
    return made
end

return ruleset
