-- Which jobs may get more time when they reach their limit: the record says so, in the field that users cannot write. Whether
-- there is time to give is decided when the job reaches its limit. docs/extend.md has the reason of every condition. Pure.
local need = ...
local decision = need("decision")
local text = need("text")

local extend = {}

local LAST_OFF = "adminkit: ADMINKIT_EXTEND=auto has no effect on this job; it ends at its limit."
local LAST_WORD = "adminkit: ADMINKIT_EXTEND is neither auto nor off; this job ends at its limit."

-- The settings of a policy, with what saves a look at a set that is empty; nil where nothing is extended.
function extend.packed(settings)
    if not settings then
        return nil
    end
    local packed = {}
    for key, value in pairs(settings) do
        packed[key] = value
    end
    for _, name in ipairs({ "classes", "qos", "accounts_off", "qos_off" }) do
        packed["by_" .. name] = next(settings[name]) ~= nil
    end
    return packed
end

-- Whether each name of a list is in the set, and whether one is.
local function all_in(set, list)
    for i = 1, #list do
        if not set[list[i]] then
            return false
        end
    end
    return #list > 0
end

-- Whether all queues that the job may start in are among those of the settings.
local function is_in_queue(job, packed, default)
    if job.queues[1] then
        return all_in(packed.queues, job.queues)
    end
    return default ~= nil and packed.queues[default] == true
end

local function is_of_qos(request, packed)
    if not packed.by_qos and not packed.by_qos_off then
        return true
    end
    local names = request.qos and text.names[request.qos]
    return names and (not packed.by_qos or all_in(packed.qos, names)) and not text.any_in(packed.qos_off, names) or false
end

-- Why the site leaves this job out; nil where it does not. A name that is not known may be one that is left out.
local function left_out(job, request, packed, default)
    if not is_in_queue(job, packed, default) then
        return "queue"
    elseif packed.by_classes and not packed.classes[job.class or ""] then
        return "class"
    elseif packed.users_off[request.uid] or (request.user and packed.users_off[request.user]) then
        return "user"
    elseif packed.by_accounts_off and (not request.account or packed.accounts_off[request.account]) then
        return "account"
    elseif not is_of_qos(request, packed) then
        return "qos"
    end
    return nil
end

-- Why the job is of a kind that gets no more time; nil where it is not. Slurm ends the components of a heterogeneous job
-- together.
local function unfit(request, packed)
    if request.het_offset then
        return "het"
    elseif not packed.interactive and (not request.batch or request.job_name == packed.server) then
        return "interactive"
    end
    return nil
end

-- "auto" where the job may get more time, else the word for why it may not. `word` is the user's. Only who names a limit takes
-- part in the bargain: an honest limit, and more where nobody waits.
local function decided(job, request, packed, default, word)
    if word and word ~= "auto" then
        return word == "off" and "off" or "word"
    elseif job.kind ~= "finite" or job.asked_kind ~= "finite" or job.limit <= 0 then
        return "limit"
    end
    local why = left_out(job, request, packed, default) or unfit(request, packed)
    if why then
        return why
    end
    return word or packed.default
end

-- The stage that sets job.extend, the word of decided(); nil where nothing is extended. It stands before the stage that writes
-- the record.
function extend.judge(_, job, request, ruleset)
    local packed = ruleset.extend
    if packed then
        job.extend = decided(job, request, packed, ruleset.default, request.extend or nil)
    end
end

-- The stage behind the record, by which the job goes: what the decision says, "record" where there was no room for it, and a
-- line for a user whose word has no effect.
function extend.settle(outcome, job, request, ruleset)
    local what = job.extend
    if not what then
        return
    elseif job.extends then
        what = "auto"
    elseif what == "auto" then
        what = "record"
    end
    outcome.extend = what
    if what == "word" then
        text.say(decision.list(outcome, "warned"), ruleset.policy, "extend_word", "amend", {}, nil, LAST_WORD)
    elseif request.extend == "auto" and what ~= "auto" then
        text.say(decision.list(outcome, "warned"), ruleset.policy, "extend_off", "amend", {}, nil, LAST_OFF)
    end
end

return extend
