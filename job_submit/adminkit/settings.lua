-- Whether the settings in a policy are whole: those of checkpoints, soft limits, more time and the power budget. nil when they
-- are, else what is wrong; a section that is not there is off.
local need = ...
local checks = need("checks")

local settings = {}

local amount, every, of_type = checks.amount, checks.every, checks.of_type
local optional, set, words = checks.optional, checks.set, checks.words

local EXTEND_SETS = { "queues", "classes", "qos", "users_off", "accounts_off", "qos_off" }

function settings.ckpt(value)
    if value == nil then
        return nil
    end
    return words(value, "ckpt")
        or of_type(value.variable, "string", "ckpt.variable")
        or of_type(value.option, "string", "ckpt.option")
        or of_type(value.off, "string", "ckpt.off")
        or optional(value.elastic, "string", "ckpt.elastic")
end

function settings.soft_limits(value)
    if value == nil then
        return nil
    end
    return of_type(value, "table", "soft_limits")
        or amount(value.quantile, "soft_limits.quantile")
        or amount(value.least, "soft_limits.least")
        or amount(value.gap, "soft_limits.gap")
        or of_type(value.queues, "table", "soft_limits.queues")
        or set(value.queues, "soft_limits.queues")
        or of_type(value.users_off, "table", "soft_limits.users_off")
        or set(value.users_off, "soft_limits.users_off")
        or of_type(value.accounts_off, "table", "soft_limits.accounts_off")
        or set(value.accounts_off, "soft_limits.accounts_off")
        or of_type(value.classes_off, "table", "soft_limits.classes_off")
        or set(value.classes_off, "soft_limits.classes_off")
        or of_type(value.arrays, "boolean", "soft_limits.arrays")
        or optional(value.typed, "boolean", "soft_limits.typed")
        or of_type(value.variable, "string", "soft_limits.variable")
end

function settings.power(value)
    if value == nil then
        return nil
    end
    return of_type(value, "table", "power")
        or of_type(value.licence, "string", "power.licence")
        or amount(value.budget_w, "power.budget_w")
        or optional(value.each_node, "boolean", "power.each_node")
        or of_type(value.gpu_w, "table", "power.gpu_w")
        or every(value.gpu_w, "power.gpu_w", function(kind, watts)
            return of_type(kind, "string", "a type of GPU") or amount(watts, "power.gpu_w")
        end)
end

-- How much more at a time: seconds, or a share of the limit.
local function step(value)
    return of_type(value, "table", "extend.step")
        or amount(value.seconds or value.share, "extend.step")
end

-- What only the round reads is checked there.
function settings.extend(value)
    if value == nil then
        return nil
    end
    local wrong = of_type(value, "table", "extend")
    for i = 1, #EXTEND_SETS do
        local name = EXTEND_SETS[i]
        wrong = wrong or of_type(value[name], "table", "extend." .. name) or set(value[name], "extend." .. name)
    end
    if wrong then
        return wrong
    end
    if value.default ~= "auto" and value.default ~= "off" then
        return "extend.default is neither auto nor off"
    end
    return of_type(value.interactive, "boolean", "extend.interactive")
        or of_type(value.variable, "string", "extend.variable")
        or of_type(value.server, "string", "extend.server")
        or step(value.step)
end

return settings
