-- Whether a table that was loaded is whole: every part of the kind that decide.lua takes it for. A damaged table never decides.
local need = ...
local demands = need("demands")
local rules = need("rules")

local validate = {}

local ACTIONS = { reject = true, amend = true, warn = true }
local RECORDS = { admin_comment = true, extra = true, comment = true, none = true }
local MOST = 2 ^ 53 -- up to here a double holds every whole number

-- Each of these returns nil when the value is good, else what is wrong with it.

local function of_type(value, wanted, where)
    if type(value) ~= wanted then
        return where .. " is not a " .. wanted
    end
    return nil
end

local function optional(value, wanted, where)
    if value == nil then
        return nil
    end
    return of_type(value, wanted, where)
end

local function amount(value, where)
    if type(value) ~= "number" or value ~= value or value < 0 then
        return where .. " is not a number of 0 or more"
    end
    if value > MOST then
        return where .. " is above " .. MOST
    end
    return nil
end

local function optional_amount(value, where)
    if value == nil then
        return nil
    end
    return amount(value, where)
end

-- The first complaint of `check(key, value)` about a table's entries.
local function every(value, where, check)
    local wrong = of_type(value, "table", where)
    if wrong then
        return wrong
    end
    for key, entry in pairs(value) do
        wrong = check(key, entry)
        if wrong then
            return where .. ": " .. wrong
        end
    end
    return nil
end

local function set(value, where)
    if value == nil then
        return nil
    end
    return every(value, where, function(key, entry)
        if entry ~= true or (type(key) ~= "string" and type(key) ~= "number") then
            return "an entry is not true"
        end
        return nil
    end)
end

local function list(value, wanted, where)
    local count = 0
    local wrong = every(value, where, function(key, entry)
        count = count + 1
        if type(key) ~= "number" then
            return where .. " is not a list"
        end
        return of_type(entry, wanted, "an entry")
    end)
    if not wrong and count ~= #value then
        return where .. " has gaps"
    end
    return wrong
end

local function words(value, where)
    if value == nil then
        return nil
    end
    return every(value, where, function(key, entry)
        return of_type(key, "string", "a key") or of_type(entry, "string", "a text")
    end)
end

local function head(value)
    if type(value) ~= "table" then
        return "it is not a table"
    end
    if value.format ~= 1 then
        return "its format is not 1"
    end
    return of_type(value.generation, "string", "generation") or optional_amount(value.made_at, "made_at")
end

local AMOUNTS = {
    "default_limit", "max_limit", "min_nodes", "max_nodes", "total_nodes", "node_cpus", "node_mem", "node_gpus",
    "node_gpu_size", "node_gpu_slices",
}
local SETS = {
    "gpu_types", "features", "allow_accounts", "deny_accounts", "allow_qos", "deny_qos", "allow_groups",
}

local function queue(name, facts)
    local wrong = of_type(name, "string", "a name") or of_type(facts, "table", tostring(name))
    for i = 1, #AMOUNTS do
        wrong = wrong or optional_amount(facts[AMOUNTS[i]], AMOUNTS[i])
    end
    for i = 1, #SETS do
        wrong = wrong or set(facts[SETS[i]], SETS[i])
    end
    return wrong or optional(facts.up, "boolean", "up") or optional(facts.is_default, "boolean", "is_default")
        or optional(facts.whole, "boolean", "whole")
end

local function rule_value(rule)
    local value = rule.value
    if rules.is_count(rule.check) then
        return of_type(value, "table", "value")
            or optional_amount(value.min, "value.min")
            or optional_amount(value.max, "value.max")
    end
    if demands.is_demand(rule.check) then
        return value ~= true and "value is not true" or nil
    end
    return amount(value, "value")
end

local function rule_when(when)
    if when == nil then
        return nil
    end
    return every(when, "when", function(key, entry)
        return of_type(key, "string", "a key") or set(entry, key)
    end)
end

local function one_rule(number, rule)
    if type(number) ~= "number" then
        return "it is not a list"
    end
    local wrong = of_type(rule, "table", "a rule") or of_type(rule.name, "string", "a name")
    if wrong then
        return wrong
    end
    if not rules.ORDER[rule.check] then
        return rule.name .. " has an unknown check"
    end
    if not ACTIONS[rule.action] or (rule.action == "amend" and not rules.amend[rule.check]) then
        return rule.name .. " has an action that its check does not allow"
    end
    wrong = rule_value(rule)
        or optional_amount(rule.from, "from")
        or optional(rule.from_day, "string", "from_day")
        or rule_when(rule.when)
        or words(rule.text, "text")
        or words(rule.whose, "whose")
    return wrong and (rule.name .. ": " .. wrong)
end

local function routing(value)
    if value == nil then
        return nil
    end
    local wrong = of_type(value, "table", "routing")
    if wrong then
        return wrong
    end
    if value.action ~= "off" and value.action ~= "amend" and value.action ~= "warn" then
        return "routing has an unknown action"
    end
    return list(value.order, "string", "routing.order") or optional_amount(value.from, "routing.from")
end

local function ckpt(value)
    if value == nil then
        return nil
    end
    return words(value, "ckpt")
        or of_type(value.variable, "string", "ckpt.variable")
        or of_type(value.option, "string", "ckpt.option")
        or of_type(value.off, "string", "ckpt.off")
        or optional(value.elastic, "string", "ckpt.elastic")
end

-- What is wrong with the settings of soft limits, or nil.
local function soft_settings(value)
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

-- What is wrong with the settings of the power budget, or nil.
local function power_settings(value)
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

-- What is wrong with the shares of a GPU, or nil.
local function gpu_shares(value)
    if value == nil then
        return nil
    end
    return every(value, "gpu_shares", function(name, entry)
        return of_type(name, "string", "a name") or every(entry, "gpu_shares", function(kind, number)
            return of_type(kind, "string", "a type") or amount(number, "gpu_shares")
        end)
    end)
end

-- What is wrong with a policy table, or nil.
function validate.policy(value)
    local wrong = head(value)
    if wrong then
        return wrong
    end
    if value.fail ~= "open" and value.fail ~= "closed" then
        return "fail is neither open nor closed"
    end
    if not RECORDS[value.record] then
        return "record names an unknown field"
    end
    return list(value.languages, "string", "languages")
        or of_type(value.exempt, "table", "exempt")
        or set(value.exempt, "exempt")
        or list(value.menu or {}, "number", "menu")
        or optional(value.help_url, "string", "help_url")
        or routing(value.routing)
        or every(value.queues, "queues", queue)
        or every(value.rules, "rules", one_rule)
        or list(value.rules, "table", "rules")
        or every(value.texts or {}, "texts", function(language, texts)
            return of_type(language, "string", "a language") or words(texts, language)
        end)
        or ckpt(value.ckpt)
        or soft_settings(value.soft_limits)
        or power_settings(value.power)
        or gpu_shares(value.gpu_shares)
end

-- What is wrong with a table of incentives, or nil.
function validate.incentives(value)
    local wrong = head(value) or optional_amount(value.cap, "cap")
    if wrong then
        return wrong
    end
    wrong = every(value.class_points or {}, "class_points", function(class, points)
        return of_type(class, "string", "a class") or amount(points, "points")
    end)
    return wrong
        or every(value.users, "users", function(uid, row)
            if type(uid) ~= "number" or type(row) ~= "table" then
                return "a row is damaged"
            end
            return amount(row.points, "points") or optional(row.class, "boolean", "class")
        end)
end

local function hint_row(row)
    for i = 1, 4 do
        if type(row) ~= "table" or amount(row[i], "a number of a row") then
            return "a row is damaged"
        end
    end
    return nil
end

-- What is wrong with a table of hints, or nil.
function validate.hints(value)
    local wrong = head(value)
        or amount(value.ratio, "ratio")
        or amount(value.floor, "floor")
        or set(value.accounts_off, "accounts_off")
    if wrong then
        return wrong
    end
    return every(value.users, "users", function(uid, names)
        return of_type(uid, "number", "a uid")
            or every(names, "names", function(name, queues)
                return of_type(name, "string", "a name")
                    or every(queues, "queues", function(at, row)
                        return of_type(at, "string", "a queue") or hint_row(row)
                    end)
            end)
    end)
end

-- What is wrong with a table of needs, or nil. Its rows are looked at when one is asked for: a damaged one gives nobody any.
function validate.soft_limits(value)
    return head(value) or list(value.quantiles, "number", "quantiles") or list(value.rows, "string", "rows")
end

local function lease_queue(name, limits)
    return of_type(name, "string", "a name")
        or of_type(limits, "table", name)
        or optional_amount(limits.most, "most")
        or optional_amount(limits.reserved_at, "reserved_at")
end

-- What is wrong with the lease of soft limits, or nil.
function validate.soft_lease(value)
    local wrong = head(value) or amount(value.made_at, "made_at") or amount(value.valid_until, "valid_until")
    if wrong then
        return wrong
    end
    for _, name in ipairs({ "qos_off", "accounts_off", "users_off" }) do
        wrong = wrong or of_type(value[name], "table", name) or set(value[name], name)
    end
    return wrong or every(value.queues, "queues", lease_queue)
end

return validate
