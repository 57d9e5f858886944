-- Slurm's job_submit plugin: asks the planner before a job is queued. slurm.conf has
-- "JobSubmitPlugins=lua", and this file, or one that says
-- dofile("/usr/share/sextant/slurm/job_submit.lua"), is job_submit.lua beside slurm.conf. Settings
-- are in /etc/sextant/slurm.lua (sextant/site.lua).
--
-- An error in here lets the job pass: the log says so. Nothing but functions is made when the file
-- is loaded, as an error then would end slurmctld.

-- Modules are beside this file, or where the package has them. None comes from the current folder,
-- which is anybody's: entries of Lua's own path that do not begin with "/" are left out, before the
-- first require.
local function set_path()
  local here = debug.getinfo(1, "S").source:match("^@(/.*/)[^/]*$")
  local function absolute(path) return ((";" .. path):gsub(";[^/;][^;]*", "")) end
  package.path = (here and here .. "?.lua;" or "") .. "/usr/share/sextant/slurm/?.lua" ..
                 absolute(package.path)
  package.cpath = absolute(package.cpath)
end
set_path()

local NOT_SET = 4294967290  -- and above: NO_VAL, INFINITE and their like in 32 bits

-- A number of Slurm's, or nil where it is not set. `not_set` is the first that says so.
local function number(value, not_set)
  if type(value) ~= "number" or value < 1 or value >= (not_set or NOT_SET) then return nil end
  return math.floor(value)
end

-- The partition that jobs without one go to.
local function default_partition(partitions)
  for name, partition in pairs(partitions or {}) do
    if partition.flag_default == 1 then return name end
  end
end

-- Whether a job of these partitions gets whole nodes: true, false or "some".
-- OverSubscribe=EXCLUSIVE is a max_share of 0.
local function has_whole_nodes(partition, partitions)
  local whole, shared = false, false
  for name in (partition or ""):gmatch("[^,%s]+") do
    local found = partitions and partitions[name]
    if found and found.max_share == 0 then whole = true else shared = true end
  end
  return whole and (shared and "some" or true)
end

-- A new job as admission.decide takes it.
local function submitted(job_desc, partitions)
  local partition = job_desc.partition or default_partition(partitions)
  local script = job_desc.script
  return {
    kind = "submit", script = script, comment = job_desc.comment,
    plan = script and job_desc.environment.SEXTANT_PLAN,  -- srun and salloc send no environment
    user = job_desc.user_name, uid = job_desc.user_id, name = job_desc.name, partition = partition,
    tres_per_node = job_desc.tres_per_node, tres_per_job = job_desc.tres_per_job,
    tres_per_task = job_desc.tres_per_task, tres_per_socket = job_desc.tres_per_socket,
    min_nodes = number(job_desc.min_nodes), max_nodes = number(job_desc.max_nodes),
    num_tasks = number(job_desc.num_tasks),
    ntasks_per_gpu = number(job_desc.ntasks_per_gpu, 65530),
    exclusive = job_desc.shared == 0 or has_whole_nodes(partition, partitions),
    time_limit_min = number(job_desc.time_limit),
    is_part = (job_desc.het_job_offset or NOT_SET) < NOT_SET,
  }
end

local function changes(job_desc)
  return number(job_desc.min_nodes) or number(job_desc.max_nodes) or number(job_desc.num_tasks) or
         job_desc.tres_per_node or job_desc.tres_per_job or job_desc.tres_per_task or
         job_desc.tres_per_socket or job_desc.partition or
         (job_desc.shared or NOT_SET) < 65530
end

-- A queued job as it will be. Slurm shows neither its tasks nor whether it is exclusive:
-- words.lua's mark in the comment says the latter.
local function modified(job_desc, job_rec, partitions)
  local words = require "sextant.words"
  local partition = job_desc.partition or job_rec.partition
  local comment = job_desc.comment or job_rec.comment
  -- "NumNodes=1" of a job on two makes it one or two, and most jobs then get one: judged is that
  -- end, as the other one was before.
  local least, most = number(job_desc.min_nodes), number(job_desc.max_nodes)
  if least then most = most or least else
    least, most = number(job_rec.min_nodes), most or number(job_rec.max_nodes)
  end
  local tasks = nil
  if (job_rec.min_cpus or 0) > 1 or number(job_desc.num_tasks) then tasks = false end
  return {
    kind = "modify", id = job_rec.job_id, script = job_rec.script, comment = comment,
    user = job_desc.user_id == job_rec.user_id and job_desc.user_name or nil, uid = job_rec.user_id,
    name = job_desc.name or job_rec.name, partition = partition,
    tres_per_node = job_desc.tres_per_node or job_rec.tres_per_node,
    tres_per_job = job_desc.tres_per_job or job_rec.tres_per_job,
    tres_per_task = job_desc.tres_per_task or job_rec.tres_per_task,
    tres_per_socket = job_desc.tres_per_socket or job_rec.tres_per_socket,
    min_nodes = least, max_nodes = most, num_tasks = tasks,
    exclusive = job_desc.shared == 0 or words.is_exclusive(job_rec.comment) or
                has_whole_nodes(partition, partitions),
    time_limit_min = number(job_desc.time_limit) or number(job_rec.time_limit),
    is_part = (job_rec.het_job_id or 0) ~= 0,
  }
end

local function settings()
  local found, why = require("sextant.site").read()
  if not found then slurm.log_error("%s", "sextant: off: " .. tostring(why)) end
  return found or { mode = "off" }
end

-- `existing` with our text after it, in the place of an older one.
local function admin_comment(existing, text)
  local kept = (existing or ""):gsub("%s*%[sextant: [^%]]*%]", "")
  return kept == "" and text or kept .. " " .. text
end

-- What the job carries from here on: the layout in a batch job's environment, and in its comment
-- what slurm_job_modify can't see any more.
local function hand_over(job_desc, job, decision)
  local words = require "sextant.words"
  if job.script then
    for name, value in pairs(decision.layout) do job_desc.environment[name] = value end
  end
  local comment = job_desc.comment
  if job.exclusive then comment = words.mark_exclusive(comment) end
  if decision.from == "environment" then comment = words.to_comment(comment, decision.words) end
  if comment ~= job_desc.comment and #comment <= words.MOST_COMMENT then
    job_desc.comment = comment
  end
end

local function refusal()
  return slurm.ESLURM_ACCOUNTING_POLICY or slurm.ERROR
end

local function submit(job_desc, partitions)
  local site = settings()
  if site.mode == "off" then return slurm.SUCCESS end
  local job = submitted(job_desc, partitions)
  local decision = require("sextant.admission").decide(site, job)
  for _, line in ipairs(decision.lines) do slurm.log_user("%s", line) end
  if not decision.log then return slurm.SUCCESS end
  slurm.log_info("%s", decision.log)
  if decision.action == "refuse" then return refusal() end
  hand_over(job_desc, job, decision)
  if site.admin_comment then
    job_desc.admin_comment = admin_comment(job_desc.admin_comment, decision.admin)
  end
  return slurm.SUCCESS
end

-- Slurm 22.05 shows no line to who changes a job, so the log alone has it.
local function modify(job_desc, job_rec, partitions, uid)
  if not changes(job_desc) then return slurm.SUCCESS end
  local site = settings()
  if site.mode == "off" then return slurm.SUCCESS end
  if job_desc.partition and job_desc.user_id == 0 then  -- forget_errno can't
    slurm.log_info("%s", "sextant: event=modify action=pass verdict=NOT_JUDGED job=" ..
                         string.format("%d", job_rec.job_id) .. ' line="a partition of root\'s"')
    return slurm.SUCCESS
  end
  local job = modified(job_desc, job_rec, partitions)
  local decision = require("sextant.admission").decide(site, job)
  if not decision.log then return slurm.SUCCESS end
  slurm.log_info("%s", decision.log)
  if decision.action == "refuse" then return refusal() end
  if site.admin_comment and uid == 0 then  -- others may not set it
    job_desc.admin_comment =
      admin_comment(job_desc.admin_comment or job_rec.admin_comment, decision.admin)
  end
  return slurm.SUCCESS
end

-- Slurm takes the errno that a socket of ours leaves for its own error where a job gets another
-- partition and there is no accounting (src/slurmctld/job_mgr.c, 22.05 and later: _update_job after
-- _retrieve_new_assoc). Its look-up of a user's name ends with errno 0, but for root, whom it knows.
local function forget_errno(job_desc) return job_desc.user_name end

-- The result of `call`, or SUCCESS where it fails, which is logged and counted.
local function guarded(event, call, ...)
  local ok, result = pcall(call, ...)
  if ok then return result end
  sextant_counts = sextant_counts or { errors = 0, unanswered = 0 }
  sextant_counts.errors = sextant_counts.errors + 1
  local line = tostring(result):gsub("[^\32-\126]", " "):gsub('"', "'")
  pcall(slurm.log_error, "%s", string.format(
    'sextant: event=%s action=pass verdict=ERROR errors=%d line="%s"', event, sextant_counts.errors,
    line))
  return slurm.SUCCESS
end

function slurm_job_submit(job_desc, partitions)
  return guarded("submit", submit, job_desc, partitions)
end

function slurm_job_modify(job_desc, job_rec, partitions, uid)
  local result = guarded("modify", modify, job_desc, job_rec, partitions, uid)
  pcall(forget_errno, job_desc)
  return result
end

return slurm.SUCCESS
