-- Words for people: durations and dates as Slurm takes them, and the policy's texts with their placeholders filled in.
local text = {}

local floor, huge = math.floor, math.huge
local concat, type = table.concat, type
local find, format, gsub, match, sub = string.find, string.format, string.gsub, string.match, string.sub

-- What a user typed (a queue's name, say) may stand in a message up to this many bytes.
local LONGEST_WORD = 64
local MOST_KEPT = 1000
local LONGEST_KEPT = 256

-- The empty list, shared: never add to it.
text.NONE = {}

-- A count or duration without the ".0" that Lua 5.4 would add to a float.
function text.whole(number)
    return format("%.0f", number)
end

-- Without the blanks at both ends. Trap: "^%s*(.-)%s*$" tries as often as the square of the blanks in between, and Slurm
-- looks at the length of a field only after the script has run.
function text.trimmed(value)
    local first = find(value, "%S")
    return first and match(value, "^.*%S", first) or ""
end

-- A table of the results of `make(key)`, made when they are looked up; all are forgotten together when there are too many of
-- them. The result of a long key is not kept: users can type thousands of them.
function text.kept(make)
    local count = 0
    return setmetatable({}, {
        __index = function(kept, key)
            local made = make(key)
            if type(key) == "string" and #key > LONGEST_KEPT then
                return made
            end
            if count >= MOST_KEPT then
                for old in pairs(kept) do
                    kept[old] = nil
                end
                count = 0
            end
            kept[key], count = made, count + 1
            return made
        end,
    })
end

-- The names in a list such as `gq,gq-short`, each once; the list is shared: never change it.
text.names = text.kept(function(list)
    local names, seen = {}, {}
    for name in string.gmatch(list, "[^,]+") do
        name = text.trimmed(name)
        if name ~= "" and not seen[name] then
            seen[name] = true
            names[#names + 1] = name
        end
    end
    return names
end)

-- Whether a name of the list is in the set.
function text.any_in(set, list)
    for i = 1, #list do
        if set[list[i]] then
            return true
        end
    end
    return false
end

-- Keeps what text.whole gives for numbers that come again and again: a user's, a size.
text.count = text.kept(text.whole)

-- A number that may have a fraction, GPUs of which a slice is a part: 0.43. "?" for one that is next to nothing, as a part is
-- whose share nobody knows.
text.amount = text.kept(function(number)
    if number == floor(number) then
        return text.whole(number)
    elseif number < 0.005 then
        return "?"
    end
    return (gsub(gsub(format("%.2f", number), "0+$", ""), "%.$", ""))
end)

local shown = text.kept(function(seconds)
    if seconds == huge then
        return "UNLIMITED"
    end
    local days = floor(seconds / 86400)
    local rest = seconds - days * 86400
    local hours = floor(rest / 3600)
    local minutes = floor((rest - hours * 3600) / 60)
    local clock = format("%02.0f:%02.0f:%02.0f", hours, minutes, floor(rest - hours * 3600 - minutes * 60))
    if days > 0 then
        return format("%.0f-%s", days, clock)
    end
    return clock
end)

-- Seconds as Slurm takes them: 03:00:00, 3-00:00:00, UNLIMITED. Absent: "-".
function text.duration(seconds)
    return seconds and shown[seconds] or "-"
end

-- MiB as sbatch takes them: 16G, 1536M.
function text.memory(mib)
    return mib % 1024 == 0 and text.whole(mib / 1024) .. "G" or text.whole(mib) .. "M"
end

-- The day of a midnight somewhere between UTC-11 and UTC+12, as YYYY-MM-DD. There is no time zone here: half a day more, and
-- UTC names that day. Further east a rule has to bring its `from_day`.
function text.day(epoch)
    local days = floor((epoch + 43200) / 86400) + 719468
    local era = floor(days / 146097)
    local of_era = days - era * 146097
    local year_of_era =
        floor((of_era - floor(of_era / 1460) + floor(of_era / 36524) - floor(of_era / 146096)) / 365)
    local of_year = of_era - (365 * year_of_era + floor(year_of_era / 4) - floor(year_of_era / 100))
    local shifted = floor((5 * of_year + 2) / 153) -- months from March
    local day = of_year - floor((153 * shifted + 2) / 5) + 1
    local month = shifted < 10 and shifted + 3 or shifted - 9
    local year = year_of_era + era * 400 + (month <= 2 and 1 or 0)
    return format("%04.0f-%02.0f-%02.0f", year, month, day)
end

-- Words that came from outside, fit for one line.
text.word = text.kept(function(value)
    local clean = gsub(tostring(value), "%c", "?")
    if #clean > LONGEST_WORD then
        clean = sub(clean, 1, LONGEST_WORD) .. "..."
    end
    return clean
end)

-- A template taken apart: text, name, text, name, ..., text.
text.parts = text.kept(function(template)
    local parts, from = {}, 1
    while true do
        local first, last, name = find(template, "{([%w_]+)}", from)
        if not first then
            parts[#parts + 1] = sub(template, from)
            return parts
        end
        parts[#parts + 1] = sub(template, from, first - 1)
        parts[#parts + 1] = name
        from = last + 1
    end
end)

-- `template` with every {name} that `values` has replaced; others stay. Values are strings.
function text.fill(template, values)
    local parts = text.parts[template]
    local filled = { parts[1] }
    for i = 2, #parts, 2 do
        local value = values[parts[i]]
        filled[i] = type(value) == "string" and value or "{" .. parts[i] .. "}"
        filled[i + 1] = parts[i + 1]
    end
    return concat(filled)
end

-- The policy's text for one outcome of one check, in one language: the rule's own, else texts["check.outcome"], else
-- texts[check]. nil where the policy has none.
function text.template(policy, language, check, outcome, own)
    if own and own[language] then
        return own[language]
    end
    local texts = policy.texts and policy.texts[language]
    return texts and (texts[check .. "." .. outcome] or texts[check])
end

-- The message of a check in every language of the policy, appended to `messages`; `last` is the English line that serves
-- where the policy has no text at all.
function text.say(messages, policy, check, outcome, values, own, last)
    local is_written = false
    local languages = policy.languages or {}
    for i = 1, #languages do
        local template = text.template(policy, languages[i], check, outcome, own)
        if template then
            messages[#messages + 1] = text.fill(template, values)
            is_written = true
        end
    end
    if not is_written then
        messages[#messages + 1] = text.fill(last, values)
    end
end

return text
