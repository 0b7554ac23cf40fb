-- One line for a user whose similar jobs needed far less than this one asks for.
local need = ...
local decision = need("decision")
local rules = need("rules")
local text = need("text")

local hint = {}

local LAST = "adminkit: your {runs} similar jobs needed {expected}; --time={safe} would do (timeout risk {risk} %)."

-- Whether the site wants no hints for jobs of this account, the one given or the user's default.
local function off(hints, account)
    return hints.accounts_off and account and hints.accounts_off[string.lower(account)]
end

-- The row that counts for a request in this queue: the exact job name and queue before the general ones. nil where there is
-- none, and for all components of a heterogeneous job but the first.
function hint.row_of(hints, request, queue)
    local names = hints.users and request.uid and hints.users[request.uid]
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

-- Appends the hint of a row to `messages` where the limit is far above what similar jobs needed. `asked`: seconds, nil
-- for unknown.
local function say(messages, row, queue, asked, policy, hints)
    if not asked then
        return
    end
    local expected, safe, risk, runs = row[1], row[2], row[3], row[4]
    if asked < (hints.ratio or 3) * safe or asked < safe + (hints.floor or 7200) then
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

-- The stage of a decision that gives the job's user a hint.
function hint.give(outcome, job, request, ruleset)
    if not ruleset.hints or job.is_exempt then
        return
    end
    local queue = job.queues[1] or ruleset.default
    local row = hint.row_of(ruleset.hints, request, queue)
    if row then
        local limit = rules.effective(job, queue and ruleset.facts[queue])
        say(decision.list(outcome, "warned"), row, queue, limit, ruleset.policy, ruleset.hints)
    end
end

return hint
