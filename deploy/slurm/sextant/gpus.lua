-- How many GPUs a job gets, and which. Nothing is guessed, as a wrong count accepts as easily as it
-- refuses: what Slurm leaves open is not judged.
--
-- Slurm has five spellings: GPUs of a node (--gres, --gpus-per-node), of the job (--gpus), of a
-- task (--gpus-per-task), all of a node (--exclusive, or a partition with OverSubscribe=EXCLUSIVE),
-- and tasks of a GPU (--ntasks-per-gpu). A job may use several, which have to agree.

local gpus = {}

-- The GPUs in a list of Slurm's such as "gres:gpu:h100:8,gres:shard:1" (22.05), "gpu:8" (scontrol)
-- or "gres/gpu:h100=8": count and type ("" where none is named); nil where it has none; or nil and
-- what is wrong.
function gpus.parse(text)
  local count, kind
  for item in (text or ""):gmatch("[^,]+") do
    item = item:gsub("%s", ""):gsub("^gres[:/]", ""):gsub("%(.*%)$", "")
    local rest = item == "gpu" and "1" or item:match("^gpu[:=](.+)$")
    if rest then
      if count then return nil, "it names GPUs twice: " .. text end
      local name, number = rest:match("^([%w_.-]*[%a_.-][%w_.-]*)[:=](%d+)$")
      if not name and rest:find("^%d+$") then name, number = "", rest end
      if not name and rest:find("^[%w_.-]+$") then name, number = rest, "1" end
      if not name or #number > 7 then return nil, "its GPUs are not understood: " .. text end
      count, kind = tonumber(number), name
    end
  end
  return count, kind
end

-- The nodes of a job, or nil where Slurm may choose. Without --ntasks each node has a task, and a
-- job has one node, or those of --nodelist, unless GPUs of the whole job need more.
local function node_count(job)
  local least, most = job.min_nodes, job.max_nodes
  if most then return least == most and least or nil end
  if job.tres_per_job then return nil end
  if job.num_tasks == nil or (job.num_tasks == 1 and (least or 1) == 1) then return least or 1 end
end

-- The counts that the spellings give, each with its name; and the type that they name.
local function spelled(job, nodes)
  local given, kind, open = {}, nil, nil
  local function add(text, factor, name, unknown)
    local count, type_or_fault = gpus.parse(text)
    if not count then return type_or_fault end
    if count == 0 then return end
    if type_or_fault ~= "" then
      if kind and kind ~= type_or_fault then
        return "it asks for two types of GPU, " .. kind .. " and " .. type_or_fault
      end
      kind = type_or_fault
    end
    if not factor then
      open = unknown
      return
    end
    given[#given + 1] = { count = count * factor, name = name }
  end
  local fault = add(job.tres_per_job, 1, "--gpus")
    or add(job.tres_per_node, nodes, "GPUs of each node",
           "its number of nodes is open: give --nodes")
    or add(job.tres_per_task, job.num_tasks or nil, "--gpus-per-task",
           "its number of tasks is not known: give --gpus")
    or add(job.tres_per_socket, nil, "--gpus-per-socket",
           "--gpus-per-socket leaves the number open: give --gpus-per-node")
  if fault then return nil, fault end
  if not given[1] and not open and job.ntasks_per_gpu and job.num_tasks then
    local count = job.num_tasks / job.ntasks_per_gpu
    if count % 1 ~= 0 then return nil, "--ntasks is no multiple of --ntasks-per-gpu" end
    given[1] = { count = count, name = "--ntasks-per-gpu" }
  end
  return given, kind, open
end

-- Whether a row of the site's devices is of this partition and type. A job that names no type may
-- get any of the partition's.
local function is_row_of(row, partition, kind)
  return (not row.partition or row.partition == partition) and
         (kind == nil or row.gres == kind)
end

-- The one row for a job of these partitions (texts separated by commas, or nil) and type (or nil);
-- or nil and why there is none.
local function row_of(settings, job, kind)
  local found
  local partitions = {}
  for name in (job.partition or ""):gmatch("[^,%s]+") do partitions[#partitions + 1] = name end
  if #partitions == 0 then partitions[1] = "" end
  for _, partition in ipairs(partitions) do
    local of_partition
    for _, row in ipairs(settings.devices) do
      if is_row_of(row, partition, kind) then
        if found and (found.accelerator ~= row.accelerator or found.node_type ~= row.node_type or
                      found.gpus_per_node ~= row.gpus_per_node) then
          return nil, "it may get " .. found.accelerator .. " or " .. row.accelerator ..
                      ": give the GPUs a type, or one partition"
        end
        found, of_partition = found or row, true
      end
    end
    if not of_partition then
      return nil, "the site's file has no devices for " ..
                  (kind and "GPU type " .. kind or "GPUs without a type") .. " in partition " ..
                  (partition ~= "" and partition or "(default)")
    end
  end
  return found
end

-- Whole nodes: all of their GPUs, whatever the job asks for.
local function whole_nodes(row, nodes)
  if not nodes then return nil, "it gets whole nodes, and their number is open: give --nodes" end
  if not row.gpus_per_node then
    return nil, "it gets whole nodes, and the site's file has no gpus_per_node for " ..
                row.accelerator
  end
  return nodes * row.gpus_per_node
end

-- The count on which all spellings agree.
local function agreed(given)
  for index = 2, #given do
    if given[index].count ~= given[1].count then
      return nil, string.format("%s gives %d GPUs and %s gives %d", given[1].name, given[1].count,
                                given[index].name, given[index].count)
    end
  end
  return given[1].count
end

-- job, each or nil where it is not set: tres_per_node, tres_per_job, tres_per_task, tres_per_socket
-- (texts of Slurm), min_nodes, max_nodes, num_tasks, ntasks_per_gpu (numbers; num_tasks is false
-- where it is not known), exclusive (true: it gets whole nodes; "some": in some of its partitions),
-- partition (names, separated by commas).
-- -> { count =, nodes = (or nil), accelerator =, node_type = (or nil) }; or nil and why not.
function gpus.count(settings, job)
  local nodes = node_count(job)
  local given, kind, open = spelled(job, nodes)
  if not given then return nil, kind end
  if not given[1] and not open and not job.exclusive then return nil, "it asks for no GPU" end
  if job.exclusive == "some" then
    return nil, "it gets whole nodes in some of its partitions: give one"
  end
  local row, why = row_of(settings, job, kind)
  if not row then return nil, why end
  local count
  if job.exclusive then
    count, why = whole_nodes(row, nodes)
  elseif given[1] then
    count, why = agreed(given)
  else
    why = open
  end
  if not count then return nil, why end
  return { count = math.floor(count), nodes = nodes, accelerator = row.accelerator,
           node_type = row.node_type }
end

return gpus
