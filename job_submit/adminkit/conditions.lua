-- The conditions of a rule: whose jobs it looks at.
local need = ...
local allocation = need("allocation")
local text = need("text")

local conditions = {}

local find = string.find

-- Whether a set has a name, or one of a list of names such as `normal,high`.
local function has(set, list)
    if set[list] then
        return true
    end
    if find(list, ",", 1, true) then
        local names = text.names[list]
        for i = 1, #names do
            if set[names[i]] then
                return true
            end
        end
    end
    return false
end

-- Whether the conditions of a rule hold: true, false, or nil where the request does not show what they look at. The second
-- value is true where they hold only if the job is spread over more nodes than it needs. One of a list of QOS is enough.
function conditions.applies(when, job, request, facts)
    if not when then
        return true
    end
    local told, spread = true, nil
    local users, others = when.users, when.except_users
    if users or others then
        local uid, user = request.uid, request.user
        if not uid and not user then
            told = nil
        elseif users and not ((uid and users[uid]) or (user and users[user])) then
            return false
        elseif others and ((uid and others[uid]) or (user and others[user])) then
            return false
        end
    end
    if when.classes then
        if job.class == nil then
            told = nil
        elseif not when.classes[job.class] then
            local may = allocation.may_be(when.classes, job, request, facts)
            if not may then
                return false
            end
            spread = may == "spread"
        end
    end
    if when.accounts or when.except_accounts then
        local account = request.account
        if not account then
            told = nil
        elseif when.accounts and not when.accounts[account] then
            return false
        elseif when.except_accounts and when.except_accounts[account] then
            return false
        end
    end
    if when.qos then
        local qos = request.qos
        if not qos then
            told = nil
        elseif not has(when.qos, qos) then
            return false
        end
    end
    return told, spread
end

return conditions
