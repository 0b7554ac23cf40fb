-- A line for a user whose similar jobs needed far less time than this one asks for, and one for memory.
local need = ...
local decision = need("decision")
local rules = need("rules")
local text = need("text")

local hint = {}

local huge = math.huge

local LAST = "adminkit: your {runs} similar jobs needed {expected}; --time={safe} would do (timeout risk {risk} %)."
local LAST_MEMORY = "adminkit: your last {runs} similar jobs used at most {used} of memory on a node; instead of {option}"
    .. " ({asked}), --mem={safe} would have been enough for {enough} of them (risk {risk} %)."

-- Whether the site wants no hints for jobs of this account, the one given or the user's default.
local function off(hints, account)
    return hints.accounts_off and account and hints.accounts_off[string.lower(account)]
end

-- The row among `users` that counts for a request in this queue: the exact job name and queue before the general ones. nil
-- where there is none, and for all components of a heterogeneous job but the first.
local function row_of(users, hints, request, queue)
    local names = users and request.uid and users[request.uid]
    if not names or (request.het_offset or 0) ~= 0 or off(hints, request.account) then
        return nil
    end
    local own, any = names[request.job_name or ""], names[""]
    queue = queue or ""
    return own and (own[queue] or own[""]) or any and (any[queue] or any[""]) or nil
end

-- A limit to type: the first step of the menu at or above `safe`, else `safe` in whole minutes.
local function advised(menu, safe)
    for i = 1, #menu do
        if menu[i] >= safe then
            return menu[i]
        end
    end
    return math.ceil(safe / 60) * 60
end

-- Whether `asked` is so far above `safe` that the site wants it said.
local function is_far(asked, safe, ratio, floor)
    return asked >= ratio * safe and asked >= safe + floor
end

-- Appends the hint of a row to `messages` where the limit is far above what similar jobs needed. `asked`: seconds, nil
-- for unknown.
local function say(messages, row, queue, asked, policy, hints)
    if not asked then
        return
    end
    local expected, safe, risk, runs = row[1], row[2], row[3], row[4]
    if not is_far(asked, safe, hints.ratio or 3, hints.floor or 7200) then
        return
    end
    local paste = advised(policy.menu or {}, safe)
    if paste >= asked then
        return
    end
    text.say(messages, policy, "hint", "warn", {
        queue = queue and text.word[queue] or "-",
        asked = text.duration(asked),
        expected = text.duration(expected),
        safe = text.duration(paste),
        risk = string.format("%.4g", risk),
        runs = text.whole(runs),
    }, nil, LAST)
end

-- MiB of each node that the request asks for, and with which option. nil where it names none, where it takes whole nodes,
-- whose memory nobody else could use, and where it names memory by the CPU or GPU and may be put on several nodes.
local function memory_asked(request, facts)
    if request.whole or (facts and facts.whole) then
        return nil
    end
    local of_node = request.mem_per_node
    if of_node then
        return of_node < huge and of_node or nil, "--mem"
    end
    local of_job = (request.nodes or 1) == 1 and request.most_nodes == 1 and request.mem
    return of_job or nil, request.min_mem_per_cpu and "--mem-per-cpu" or "--mem-per-gpu"
end

-- Appends the hint about memory.
local function say_memory(messages, row, queue, request, facts, policy, bounds)
    local used, safe, risk, runs, enough = row[1], row[2], row[3], row[4], row[5]
    local asked, option = memory_asked(request, facts)
    if not asked or not is_far(asked, safe, bounds.ratio, bounds.floor) then
        return
    end
    text.say(messages, policy, "memory_hint", "warn", {
        queue = queue and text.word[queue] or "-",
        asked = text.memory(asked),
        option = option,
        used = text.memory(used),
        safe = text.memory(safe),
        risk = string.format("%.4g", risk),
        runs = text.whole(runs),
        enough = text.whole(enough),
    }, nil, LAST_MEMORY)
end

-- The stage of a decision that gives the job's user a hint.
function hint.give(outcome, job, request, ruleset)
    local hints = ruleset.hints
    if not hints or job.is_exempt then
        return
    end
    local queue = job.queues[1] or ruleset.default
    local facts = queue and ruleset.facts[queue]
    local row = row_of(hints.users, hints, request, queue)
    if row then
        local limit = rules.effective(job, facts)
        say(decision.list(outcome, "warned"), row, queue, limit, ruleset.policy, hints)
    end
    local memory = hints.memory
    row = memory and row_of(memory.users, hints, request, queue)
    if row then
        say_memory(decision.list(outcome, "warned"), row, queue, request, facts, ruleset.policy, memory)
    end
end

return hint
