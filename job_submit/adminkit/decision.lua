-- What a decision has come to so far, and the decision itself: what Slurm is told, the lines for the user and for
-- slurmctld.log.
local need = ...
local allocation = need("allocation")
local route = need("route")
local rule_text = need("rule_text")
local rules = need("rules")
local text = need("text")

local decision = {}

local find, format = string.find, string.format

-- A decision that accepts, as it begins. What it may hold until it ends: the lists `fired`, `refused`, `messages`, `warned` and
-- `log`, of which the three in the middle are lines for the user: on refusals, on what was amended, on warnings; `untold`,
-- the rules that could not be judged; `queue`, where routing sends the job; `code`, Slurm's error; `misfit`, where
-- the refusal names the queue that fits; `fit`, that queue; `asks_fit`, where {fit} stands in a line; `bounds`, of binding.lua;
-- `drops`, where a typed --time-min goes; `soft`, the policy's soft limit; `extend`, whether the job may get more time.
-- refuse() and accept() end it.
function decision.outcome()
    return { -- room for what most decisions hold: Lua moves a table that grows
        verdict = "accept", queue = nil, limit = nil, points = nil, record = nil, fired = nil, messages = nil, log = nil,
    }
end

-- The list of that name, to add to.
local function list(outcome, name)
    local lines = outcome[name]
    if not lines then
        lines = {}
        outcome[name] = lines
    end
    return lines
end
decision.list = list

local function add(outcome, name, value)
    local lines = outcome[name]
    if lines then
        lines[#lines + 1] = value
    else
        outcome[name] = { value }
    end
end
decision.add = add

-- A list with one entry, what fired, made when the policy is loaded: most jobs break no second rule.
function decision.alone(name, action)
    return { { rule = name, action = action } }
end

-- A rule, routing or the points took an action, `alone` is of the function above; false where it has done so before in this
-- decision.
function decision.fire(outcome, alone)
    local fired, one = outcome.fired, alone[1]
    if not fired then
        outcome.fired = alone
        return true
    end
    for i = 1, #fired do
        if fired[i] == one then
            return false
        end
    end
    if fired[2] then
        fired[#fired + 1] = one
    else
        outcome.fired = { fired[1], one }
    end
    return true
end

-- A line for slurmctld.log on a job for which something fired.
function decision.note(outcome, request, what)
    local fired = outcome.fired
    local first, uid = fired[1], request.uid and format("%d", request.uid) or "-"
    local line = "adminkit: " .. what .. " job of uid " .. uid .. ": " .. first.rule .. "=" .. first.action
    for i = 2, #fired do
        line = line .. " " .. fired[i].rule .. "=" .. fired[i].action
    end
    add(outcome, "log", line)
end

local function in_order(a, b)
    return a.place < b.place
end

-- A rule that could not be judged in this round; `rule.alone` is a list of it, made when the policy is loaded.
function decision.leave(outcome, rule)
    local untold = outcome.untold
    if not untold then
        outcome.untold = rule.alone
        return
    end
    for i = 1, #untold do
        if untold[i] == rule then
            return
        end
    end
    if untold[2] then
        untold[#untold + 1] = rule
    else
        outcome.untold = { untold[1], rule }
    end
end

-- The names of the rules that the last round could not judge, in the order of their checks.
local function names_of(untold)
    if not untold[2] then
        return untold[1].names
    end
    table.sort(untold, in_order)
    local names = {}
    for i = 1, #untold do
        names[i] = untold[i].name
    end
    return names
end

-- Ends a decision: the lines for the user, with `help` (nil for none) behind them, take the place of what it no longer needs.
-- Trap: a nil that is written to a field that was not there takes room, as a value does.
local function finish(outcome, lines, help)
    if outcome.untold then
        outcome.untold = names_of(outcome.untold)
    end
    if outcome.asks_fit then
        outcome.asks_fit = nil
    end
    if outcome.bounds then
        outcome.bounds = nil
    end
    if lines then
        for i = 1, help and #help or 0 do
            lines[#lines + 1] = help[i]
        end
        outcome.messages = lines
        if outcome.refused then
            outcome.refused = nil
        end
        if outcome.warned then
            outcome.warned = nil
        end
    end
    return outcome
end

-- The queue that would take the job as it was asked for, or nil.
local function fitting(request, ruleset)
    if not ruleset.policy.routing or request.reservation or request.node_list then
        return nil
    end
    return (route.shortest(allocation.job_of(request), request, ruleset))
end

-- The refusal. The queue that fits stands in the texts that ask for it, else behind them.
function decision.refuse(outcome, request, ruleset)
    local lines, is_named = outcome.refused, outcome.misfit
    local fit = fitting(request, ruleset)
    if outcome.asks_fit then
        for i = 1, #lines do
            if find(lines[i], "{fit}", 1, true) then
                lines[i] = text.fill(lines[i], { fit = fit and text.word[fit.name] or "-" })
                is_named = true
            end
        end
    end
    if fit and not outcome.misfit then
        outcome.fit = fit.name
    end
    if fit and not is_named then
        rule_text.say(lines, fit.messages.fit)
    end
    outcome.verdict, outcome.code = "reject", outcome.code or rules.POLICY
    outcome.queue, outcome.misfit = nil, nil
    return finish(outcome, lines, ruleset.help)
end

-- The decision on a job that is not refused: what changes, the lines for the user and, with `is_logged`, for
-- slurmctld.log.
function decision.accept(outcome, job, request, ruleset, is_logged)
    local limit, time_min, most_nodes = job.limit, job.time_min, job.most_nodes
    local amended, warned = outcome.messages, outcome.warned
    local is_amended = outcome.queue
    if limit and limit ~= request.limit then
        outcome.limit, is_amended = limit, true
    end
    if time_min and time_min ~= request.time_min then
        outcome.time_min, is_amended = time_min, true
    end
    if outcome.drops then
        outcome.time_min, outcome.drops, is_amended = 0, nil, true
    end
    if is_amended then
        outcome.verdict = "amend"
    end
    if most_nodes then
        outcome.max_nodes = most_nodes
    end
    if outcome.fired and is_logged then
        decision.note(outcome, request, is_amended and "amended" or "warned")
    end
    if amended and warned then
        for i = 1, #warned do
            amended[#amended + 1] = warned[i]
        end
    end
    return finish(outcome, amended or warned, ruleset.help)
end

return decision
