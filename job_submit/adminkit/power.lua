-- The power budget: what a job's GPUs may draw, as licences of Slurm's, of which there are as many as the site has watts. Only
-- adminkit sets their number: what a user names of this licence is taken out.
local need = ...
local allocation = need("allocation")
local counts = need("counts")
local decision = need("decision")
local licences = need("licences")
local resulting = need("resulting")
local text = need("text")

local power = {}

local concat, find, format = table.concat, string.find, string.format
local gmatch, huge, max, min = string.gmatch, math.huge, math.max, math.min

local LAST_ABOVE = "adminkit: this job may get {gpus} GPUs, which count as {watts} W; all jobs together may draw {budget} W."
local LAST_UNKNOWN = "adminkit: the GPUs of this job cannot be counted for the power budget; ask for them with --gpus=N."
local LAST_MORE = "adminkit: an update cannot give a job more watts than it has; cancel it and submit it again."
local LAST_OR = "adminkit: --licenses with | cannot be combined with the power budget; use commas."

-- The settings of a policy, nil where there is no budget.
function power.packed(settings)
    if not settings then
        return nil
    end
    local most = 0
    for _, watts in pairs(settings.gpu_w) do
        most = watts > most and watts or most
    end
    return {
        licence = settings.licence,
        budget = settings.budget_w,
        gpu_w = settings.gpu_w,
        most = most,
        each_node = settings.each_node or false,
    }
end

-- The most of `name`, gpus or gpus_per_node, that Slurm may give the job in any of its queues; nil where that is unknown.
local function most_of(name, job, request, ruleset)
    local named, most = job.queues, 0
    for i = 1, #named > 1 and #named or 1 do
        local queue = named[i] or ruleset.default
        local bodies = request.bodies or request -- what a part of a GPU draws is unknown: no more than its GPU
        local gpus = allocation.most_known(name, job, queue and ruleset.facts[queue] or nil, bodies)
        if gpus == huge and request.counted and job.most_nodes == request.nodes then
            gpus = max(bodies.gpus or huge, request.counted) -- Slurm's own count is for these nodes
        end
        if not gpus or gpus == huge then
            return nil
        end
        most = gpus > most and gpus or most
    end
    return most
end

-- The watts of the most GPUs that Slurm may give the job, these GPUs, and the watts that Slurm is told: of all, or of one node
-- where it takes them on each. nil where they cannot be counted. A GPU whose type is not known counts as one of the type that
-- draws most.
function power.watts(job, request, ruleset)
    local settings, kind = ruleset.power, request.gpu_type
    local gpus = most_of("gpus", job, request, ruleset)
    if not gpus then
        return nil
    end
    local told = settings.each_node and gpus > 0 and most_of("gpus_per_node", job, request, ruleset) or gpus
    told = min(told, gpus)
    local each = type(kind) == "string" and settings.gpu_w[kind] or settings.most
    return gpus * each, gpus, told * each
end

-- The same of a job that is held to as few nodes as make its GPUs known, where it says itself how many it takes it is not.
local function held_watts(job, request, ruleset)
    local watts, gpus, told = power.watts(job, request, ruleset)
    if watts or request.max_nodes or counts.is_loose(request) or not job.nodes then
        return watts, gpus, told
    end
    local most = allocation.nodes_of_gpus("gpus", request.bodies or request) or (request.older and job.nodes) or huge
    if most < job.nodes or most == huge then
        return nil
    end
    job.most_nodes = min(job.most_nodes or huge, most)
    return power.watts(job, request, ruleset)
end

-- Whether a list with alternatives names it.
local function names_one(listed, name)
    for item in gmatch(listed, "[^|,;]+") do
        if licences.is_of(item, name) then
            return true
        end
    end
    return false
end

-- A list of licences with this number of `name` in the place of its own, "" for none; nil where they cannot be joined: of
-- alternatives Slurm takes one.
function power.licences(listed, name, watts)
    listed = listed or ""
    if find(listed, "|", 1, true) then
        return watts == 0 and not names_one(listed, name) and listed or nil
    end
    local kept = {}
    for item in gmatch(listed, "[^,;]+") do
        if not licences.is_of(item, name) then
            kept[#kept + 1] = item
        end
    end
    if watts > 0 then
        kept[#kept + 1] = format("%s:%d", name, watts)
    end
    return concat(kept, ",")
end

local function refuse(outcome, ruleset, name, values, last)
    outcome.misfit = true -- no other queue would help
    text.say(decision.list(outcome, "refused"), ruleset.policy, name, "reject", values, nil, last)
    return false
end

-- The stage of a decision that sets the outcome's `licences` where the job's have to change, and the job's `most_nodes`
-- where it has to be held to fewer. False where the job is refused. `job` has its size; `present` are the watts that Slurm
-- was told, where they stay.
function power.settle(outcome, job, request, ruleset, present)
    local settings, listed = ruleset.power, request.licenses or ""
    if not settings then
        return true
    end
    local watts, gpus, told = present, request.gpus, present
    if not watts then
        watts, gpus, told = held_watts(job, request, ruleset)
    end
    if not watts then
        return refuse(outcome, ruleset, "power_unknown", {}, LAST_UNKNOWN)
    end
    if watts > settings.budget then
        local values = { gpus = text.count[gpus], watts = text.count[watts], budget = text.count[settings.budget] }
        return refuse(outcome, ruleset, "power", values, LAST_ABOVE)
    end
    local joined = power.licences(listed, settings.licence, told)
    if not joined then
        return refuse(outcome, ruleset, "power_licences", {}, LAST_OR)
    end
    if joined ~= listed then
        outcome.licences = joined
    end
    return true
end

-- Whether an update leaves the job within `has` watts, as it is or taken over in part: Slurm may set the licences last, or not
-- at all where another field of the update is wrong. And the nodes that the job has to be held to for it, nil for any.
local function is_within(has, request, job, ruleset)
    local held
    local parts = request.parts and request.parts() or {}
    for i = 0, #parts do
        local one = i == 0 and request or parts[i]
        if not resulting.is_as_large(one, job, ruleset) then
            local sized = allocation.job_of(one)
            allocation.set_size(sized, one, ruleset)
            local _, _, told = (i == 0 and held_watts or power.watts)(sized, one, ruleset)
            if not told or told > has then
                return false
            end
            held = i == 0 and sized.most_nodes or held
        end
    end
    return true, held
end

-- The watts that the job keeps, nil for those of its GPUs as they will be. Where it changes in size an owner's update leaves it
-- what it has, since Slurm may have set the licences when another field is wrong; it gives up watts only by its licences.
local function kept(after, request, job, ruleset, has, is_owner, names)
    if not resulting.is_as_large(request, job, ruleset) then
        return is_owner and (has or 0) or nil
    elseif not has or (request.gpus or 0) <= 0 then
        return nil
    end
    local _, _, told = power.watts(after, request, ruleset)
    return is_owner and names and told and min(told, has) or has
end

-- The same of an update, which `made` accepts: of a job that waits, and of any whose owner names licences.
function power.keep(made, request, job, ruleset)
    local names = (request.licenses or false) ~= (job.licenses or false)
    if made.verdict == "reject" or (job.state ~= "PENDING" and not names) then
        return made
    end
    local exempt, has = ruleset.policy.exempt, licences.number(job.licenses or nil, ruleset.power.licence)
    local is_owner = not (exempt and exempt[request.by or request.uid])
    local after, outcome = allocation.job_of(request), decision.outcome()
    allocation.set_size(after, request, ruleset)
    after.most_nodes = made.max_nodes
    if is_owner then
        local within, held = is_within(has or 0, request, job, ruleset)
        if not within then
            refuse(outcome, ruleset, "power_more", {}, LAST_MORE)
            return decision.refuse(outcome, request, ruleset)
        end
        after.most_nodes = held and min(held, after.most_nodes or huge) or after.most_nodes
    end
    local present = kept(after, request, job, ruleset, has, is_owner, names)
    if not power.settle(outcome, after, request, ruleset, present) then
        return decision.refuse(outcome, request, ruleset)
    end
    made.licences, made.max_nodes = outcome.licences, after.most_nodes
    return made
end

return power
