-- What a job earns: the user's points, and those of its class or size. Never negative, never above the cap, whole.
local need = ...
local allocation = need("allocation")

local points = {}

local floor = math.floor
local MOST = 2 ^ 30 -- above the offset that Slurm adds, a site factor has 31 bits

-- Lua's garbage collector looks at a table in one go, in the middle of a decision: so the table of all users has parts.
local PARTS = 32
-- The classes of jobs that may have several GPUs.
local PARALLEL = { ["multi-gpu"] = true, ["multi-node"] = true }

-- The points by size as a list, the largest size first.
local function sizes_of(size_points)
    local sizes = {}
    for least, worth in pairs(size_points or {}) do
        sizes[#sizes + 1] = { least = least, points = worth }
    end
    table.sort(sizes, function(a, b)
        return a.least > b.least
    end)
    return sizes
end

-- A table of incentives with plain numbers in `earned` and the users whose class earns nothing in `classless`, each in the part
-- of its uid: thousands of small tables are what makes Lua's garbage collector slow.
function points.packed(incentives)
    local earned, classless = {}, {}
    for i = 1, PARTS do
        earned[i], classless[i] = {}, {}
    end
    for uid, row in pairs(incentives.users or {}) do
        local part = uid % PARTS + 1
        if earned[part] then -- else a damaged row: no uid has a fraction
            earned[part][uid] = row.points
            if row.class == false then
                classless[part][uid] = true
            end
        end
    end
    return {
        earned = earned, classless = classless, class_points = incentives.class_points or {},
        sizes = sizes_of(incentives.size_points), cap = incentives.cap,
    }
end

-- The points of a class, or of the size where these are more; nil for a class that is not known, 0 for one that earns none.
local function of_shape(class, gpus, packed)
    if not class then
        return nil
    end
    local worth, sizes = packed.class_points[class] or 0, packed.sizes
    if PARALLEL[class] and gpus then
        for i = 1, #sizes do
            if gpus >= sizes[i].least then
                return sizes[i].points > worth and sizes[i].points or worth
            end
        end
    end
    return worth
end

-- The points of a job of this class, user and GPUs, and the class where it has earned some of them. `class` is one that the
-- job surely has, or nil; `gpus` as many as it surely has; `packed` a table of the function above.
function points.of(class, uid, packed, gpus)
    local part = uid and uid % PARTS + 1
    local sum, of_class = part and packed.earned[part][uid] or 0, of_shape(class, gpus, packed)
    local paid
    if of_class and of_class > 0 and not (part and packed.classless[part][uid]) then
        sum, paid = sum + of_class, class
    end
    local cap = packed.cap or MOST
    if sum > cap then
        sum = cap
    end
    if sum > MOST then
        sum = MOST
    end
    if sum % 1 ~= 0 then
        sum = floor(sum)
    end
    return sum > 0 and sum or 0, paid
end

-- The stage of a decision that gives the job its points; job.paid is the class that some of them are for.
function points.give(outcome, job, request, ruleset)
    local packed = ruleset.points
    if not packed then
        return
    end
    local pays = packed.class_points[job.class or ""] or (packed.sizes[1] and PARALLEL[job.class or ""])
    local class = pays and allocation.sure_class(job, request, ruleset) or nil
    local sum, paid = points.of(class, request.uid, packed, allocation.sure_gpus(request))
    outcome.points, job.paid = sum > 0 and sum or nil, paid
end

return points
