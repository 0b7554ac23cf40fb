-- What a decision has come to so far, and the decision itself: what Slurm is told, the lines for the user and for
-- slurmctld.log.
local need = ...
local allocation = need("allocation")
local route = need("route")
local rules = need("rules")
local text = need("text")

local decision = {}

local find, format = string.find, string.format

local LAST_FIT = "adminkit: queue {fit} takes this job: -p {fit}"

-- An outcome without anything in it. What it may hold: the lists `fired`, `refused`, `amended`, `warned` and `log`, of which
-- the three in the middle are lines for the user; `broken`, the set of rules that fired; `untold`, by their names the rules
-- that could not be judged; `queue`, where routing sends the job; `code`, Slurm's error; `misfit`, where the refusal names the
-- queue that fits; `asks_fit`, where {fit} stands in a line.
function decision.outcome()
    return {}
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
    local lines = list(outcome, name)
    lines[#lines + 1] = value
end
decision.add = add

-- A rule, routing or the points took this action.
function decision.fire(outcome, name, action)
    add(outcome, "fired", { rule = name, action = action })
end

-- Whether this rule is broken for the first time in this decision.
function decision.is_new(outcome, rule)
    local broken = list(outcome, "broken")
    if broken[rule] then
        return false
    end
    broken[rule] = true
    return true
end

-- A line for slurmctld.log on a job for which something fired.
function decision.note(outcome, request, what)
    local fired, names = outcome.fired, ""
    for i = 1, #fired do
        names = names .. " " .. fired[i].rule .. "=" .. fired[i].action
    end
    local uid = request.uid and format("%d", request.uid) or "-"
    add(outcome, "log", "adminkit: " .. what .. " job of uid " .. uid .. ":" .. names)
end

local function in_order(a, b)
    return a.place < b.place
end

-- The names of the rules that the last round could not judge, in the order of their checks; nil for none.
local function untold_of(outcome)
    if not outcome.untold then
        return nil
    end
    local names = {}
    for _, rule in pairs(outcome.untold) do
        names[#names + 1] = rule
    end
    table.sort(names, in_order)
    for i = 1, #names do
        names[i] = names[i].name
    end
    return names
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
                lines[i] = text.fill(lines[i], { fit = fit and text.word[fit] or "-" })
                is_named = true
            end
        end
    end
    if fit and not is_named then
        text.say(lines, ruleset.policy, "fit", "reject", { fit = text.word[fit] }, nil, LAST_FIT)
    end
    return {
        verdict = "reject",
        code = outcome.code or rules.POLICY,
        fired = outcome.fired,
        untold = untold_of(outcome),
        messages = lines,
        log = outcome.log,
    }
end

-- The decision on a job that is not refused: what changes, and the lines for the user. `is_logged`: slurmctld.log hears of it.
function decision.accept(outcome, job, request, is_logged, points, record)
    if next(outcome) == nil then -- most jobs: nothing fired, and there is nothing to say
        return { verdict = "accept", max_nodes = job.most_nodes, points = points, record = record }
    end
    local limit = job.limit ~= request.limit and job.limit or nil
    local time_min = job.time_min ~= request.time_min and job.time_min or nil
    local is_amended = outcome.queue or limit or time_min
    if outcome.fired and is_logged then
        decision.note(outcome, request, is_amended and "amended" or "warned")
    end
    local messages, warned = outcome.amended or outcome.warned, outcome.warned
    if warned and messages ~= warned then
        for i = 1, #warned do
            messages[#messages + 1] = warned[i]
        end
    end
    return {
        verdict = is_amended and "amend" or "accept",
        queue = outcome.queue,
        limit = limit,
        time_min = time_min,
        max_nodes = job.most_nodes,
        points = points,
        record = record,
        fired = outcome.fired,
        untold = untold_of(outcome),
        messages = messages,
        log = outcome.log,
    }
end

return decision
