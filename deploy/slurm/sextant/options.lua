-- A job as Slurm's controller sees it, made from the options of sbatch, salloc or srun.

local options = {}

-- "4" -> 4, 4; "2-4" -> 2, 4; nil for other forms, such as "1k" and "1,3".
local function nodes_of(text)
  local low, high = text:match("^(%d+)%-(%d+)$")
  low = tonumber(low or text:match("^%d+$"))
  return low, low and (tonumber(high) or low)
end

-- "90", "90:00", "1:30:00", "1-2", "1-2:30" or "1-2:30:00" -> minutes, rounded up; nil for other
-- forms (man sbatch, --time).
function options.minutes(text)
  local days, rest = text:match("^(%d+)%-([%d:]+)$")
  local fields = {}
  for field in (rest or text):gmatch("[^:]+") do fields[#fields + 1] = tonumber(field) end
  if #fields == 0 or #fields > 3 or not (rest or text):match("^%d[%d:]*$") then return nil end
  if days then
    local hours, minutes, seconds = fields[1], fields[2] or 0, fields[3] or 0
    return (tonumber(days) * 24 + hours) * 60 + minutes + math.ceil(seconds / 60)
  end
  if #fields == 3 then return fields[1] * 60 + fields[2] + math.ceil(fields[3] / 60) end
  return fields[1] + math.ceil((fields[2] or 0) / 60)
end

-- "h100:4" or "4" of --gpus and its kin -> "gres:gpu:h100:4", several with commas between.
local function gpu_tres(text)
  local parts = {}
  for part in text:gmatch("[^,]+") do
    part = part:gsub("^gpu:", "")
    parts[#parts + 1] = "gres:gpu:" .. part
  end
  return #parts > 0 and table.concat(parts, ",") or nil
end

local function gres_tres(text)
  local parts = {}
  for part in text:gmatch("[^,]+") do
    parts[#parts + 1] = (part:find("^gres[:/]") and "" or "gres:") .. part
  end
  return #parts > 0 and table.concat(parts, ",") or nil
end

-- get(name) -> the text of the option --name, or nil where it is not set. -> a job with the fields that
-- admission.decide takes, as job_submit gets them; or nil and which option is not understood.
function options.job(get)
  local job = { partition = get("partition"), name = get("job-name"), comment = get("comment") }
  local nodes = get("nodes")
  if nodes then
    job.min_nodes, job.max_nodes = nodes_of(nodes)
    if not job.min_nodes then return nil, "--nodes=" .. nodes .. " is not one number or range" end
  elseif get("nodelist") or get("nodefile") then
    return nil, "--nodelist is given without --nodes"
  end
  for field, name in pairs({ num_tasks = "ntasks", ntasks_per_node = "ntasks-per-node",
                             ntasks_per_gpu = "ntasks-per-gpu" }) do
    local value = get(name)
    job[field] = value and tonumber(value)
    if value and not job[field] then return nil, "--" .. name .. "=" .. value .. " is no number" end
  end
  local parts = {}
  if get("gres") then parts[1] = gres_tres(get("gres")) end
  if get("gpus-per-node") then parts[#parts + 1] = gpu_tres(get("gpus-per-node")) end
  job.tres_per_node = #parts > 0 and table.concat(parts, ",") or nil
  for field, name in pairs({ tres_per_job = "gpus", tres_per_task = "gpus-per-task",
                             tres_per_socket = "gpus-per-socket" }) do
    job[field] = get(name) and gpu_tres(get(name))
  end
  if get("tres-per-task") then return nil, "--tres-per-task is not understood" end
  local exclusive = get("exclusive")
  job.exclusive = exclusive ~= nil and exclusive ~= "user" and exclusive ~= "mcs"
  job.time_limit_min = get("time") and options.minutes(get("time"))
  return job
end

-- What a layout says as words, where `given` does not say it: { SEXTANT_TP = "8" } -> "tp=8". Sorted,
-- so that the same layout is the same text. The number of devices is the scheduler's to say.
function options.layout_words(layout, given)
  local found = {}
  for variable, value in pairs(layout) do
    local name = variable:match("^SEXTANT_([%u%d_]+)$")
    name = name and name:lower():gsub("_", "-")
    local pattern = name and "%f[%w-]%-*" .. name:gsub("%-", "%%-") .. "[=%s]"
    if name and name ~= "devices" and value:match("^[%w_.,:+-]+$") and
       not (" " .. given .. " "):find(pattern) then
      found[#found + 1] = name .. "=" .. value
    end
  end
  table.sort(found)
  return table.concat(found, " ")
end

return options
