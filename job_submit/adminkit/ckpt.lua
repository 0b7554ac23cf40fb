-- Whether a batch job can be stopped and carried on, by its environment. tests/data/ckpt_options.tsv is the manual: its
-- cases hold here and in the plugin.
local ckpt = {}

local format, gmatch, gsub, match, upper = string.format, string.gmatch, string.gsub, string.match, string.upper

local SIGNALS = { HUP = true, INT = true, QUIT = true, USR1 = true, USR2 = true, TERM = true, XCPU = true }
local TARGETS = { shell = true, jvm = true }
local MOST_SECONDS = 86400
local MOST_REQUEUES = 1000

local function between(digits, least, most)
    local number = #digits <= 6 and match(digits, "^%d+$") and tonumber(digits)
    return number and number >= least and number <= most or false
end

-- SIG or SIG@SECONDS; SIGTERM is TERM.
local function is_signal(word)
    local name, at, seconds = match(word, "^(%a[%a%d]*)(@?)(.*)$")
    if not name then
        return false
    end
    if not SIGNALS[(gsub(upper(name), "^SIG", ""))] then
        return false
    end
    if at == "" then
        return seconds == ""
    end
    return between(seconds, 1, MOST_SECONDS)
end

local function kind_of(item)
    if item == "requeue" or item == "on" then
        return item
    end
    local count = match(item, "^requeue=(.*)$")
    if count then
        return between(count, 1, MOST_REQUEUES) and "requeue" or nil
    end
    local target = match(item, "^target=(.*)$")
    if target then
        return TARGETS[target] and "target" or nil
    end
    return is_signal(item) and "signal" or nil
end

-- Whether a value of the variable asks for checkpoints: `on`, or items joined by commas, each kind once. `off`, the empty text
-- and any other value do not.
function ckpt.wants(value)
    if value == "" or match(value, "^,") or match(value, ",$") or match(value, ",,") then
        return false
    end
    local seen = {}
    for item in gmatch(value, "[^,]+") do
        local kind = kind_of(item)
        if not kind or seen[kind] then
            return false
        end
        seen[kind] = true
    end
    return not (seen.on and next(seen, next(seen)) ~= nil)
end

-- Whether the options of the plugin ask for it; nil where no option decides it. `option` is the prefix of their variables.
local function by_options(environment, option)
    if environment[option .. "ckpt_off"] then
        return false
    end
    local signal = environment[option .. "ckpt_signal"]
    local requeue = environment[option .. "ckpt_requeue"]
    if not signal and not requeue then
        return nil
    end
    if signal and not is_signal(signal) then
        return false
    end
    return requeue == nil or requeue == "" or between(requeue, 1, MOST_REQUEUES)
end

local MOST_GPUS = 1024

-- The range of GPUs that an elastic job may be given, "1-8" from "1-08"; nil for any other value.
function ckpt.range(value)
    local least, most = match(value or "", "^(%d%d?%d?%d?)%-(%d%d?%d?%d?)$")
    least, most = tonumber(least), tonumber(most)
    if not least or least < 1 or least > most or most > MOST_GPUS then
        return nil
    end
    return format("%d-%d", least, most)
end

-- `environment` answers to names of variables. An option given on the command line counts before the variable.
function ckpt.restartable(environment, names)
    local restartable = by_options(environment, names.option)
    if restartable ~= nil then
        return restartable
    end
    local value = environment[names.variable]
    return value ~= nil and value ~= names.off and ckpt.wants(value)
end

return ckpt
