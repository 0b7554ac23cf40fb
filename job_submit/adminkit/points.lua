-- What a job earns: the user's points, and those of its class. Never negative, never above the cap, whole.
local points = {}

local floor = math.floor
local MOST = 2 ^ 30 -- above the offset that Slurm adds, a site factor has 31 bits

-- A table of incentives with plain numbers in `earned` and the users whose class earns nothing in `classless`: thousands of
-- small tables are what makes Lua's garbage collector slow.
function points.packed(incentives)
    local earned, classless = {}, {}
    for uid, row in pairs(incentives.users or {}) do
        earned[uid] = row.points
        if row.class == false then
            classless[uid] = true
        end
    end
    return { earned = earned, classless = classless, class_points = incentives.class_points or {}, cap = incentives.cap }
end

-- The points of a job of this class and user, and the class where it has earned some of them. `class` is one that the job
-- surely has, or nil; `packed` a table of the function above.
function points.of(class, uid, packed)
    local sum, of_class = uid and packed.earned[uid] or 0, class and packed.class_points[class]
    local paid
    if of_class and of_class > 0 and not packed.classless[uid] then
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

return points
