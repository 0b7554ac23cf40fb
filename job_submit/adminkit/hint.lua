-- One line for a user whose similar jobs needed far less than this one asks for.
local need = ...
local text = need("text")

local hint = {}

local huge = math.huge
local LAST = "adminkit: your {runs} similar jobs needed {expected}; --time={safe} would do (timeout risk {risk} %)."

-- The row that counts: the exact job name and queue before the general ones.
local function row_of(hints, uid, name, queue)
    local names = hints.users and uid and hints.users[uid]
    if not names then
        return nil
    end
    for _, job_name in ipairs({ name or "", "" }) do
        local queues = names[job_name]
        local row = queues and (queues[queue or ""] or queues[""])
        if row then
            return row
        end
    end
    return nil
end

-- Whether the site wants no hints for jobs of this account, the one given or the user's default.
local function off(hints, account)
    return hints.accounts_off and account and hints.accounts_off[string.lower(account)]
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

-- Appends the hint to `messages`, if there is one. `asked` is in seconds, or nil where nobody knows.
function hint.say(messages, request, queue, asked, policy, hints)
    local row = hints and asked and row_of(hints, request.uid, request.job_name, queue)
    if not row or off(hints, request.account) then
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
        queue = queue and text.word(queue) or "-",
        asked = text.duration(asked == huge and huge or asked),
        expected = text.duration(expected),
        safe = text.duration(paste),
        risk = string.format("%.4g", risk),
        runs = text.whole(runs),
    }, nil, LAST)
end

return hint
